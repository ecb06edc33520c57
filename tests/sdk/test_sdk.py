"""The SDK against an embedded workspace, and what it promises the app: no exception, no waiting, no loss in silence."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import numpy as np
import pytest

import evergold
from evergold.sdk import Client
from evergold.settings import Settings
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace


@pytest.fixture
def eg(tmp_path: Path) -> Iterator[Client]:
    client = evergold.connect(tmp_path)
    yield client
    client.close(300)


def stored(tmp_path: Path) -> Workspace:
    return Workspace.open(Settings(home=tmp_path))


def test_a_trace_with_spans_scores_and_a_verdict(eg: Client, tmp_path: Path) -> None:
    with eg.trace(input="q", name="chat", session_id="s", user_id="u", metadata={"model": "m"}) as t:
        with t.span("agent", kind="agent") as outer:
            with eg.span("search", kind="tool", input={"query": "x"}) as inner:
                inner.output = ["a", "b"]
            assert eg.current_trace is t
        t.output = "a"
        t.score("check", 0.9)
    t.score("late", 0.95)
    eg.score(t.id, "thumbs", 1.0)
    eg.close(300)
    with stored(tmp_path) as ws:
        trace = ws.intake.get(t.id)
        assert (trace.input, trace.output, trace.session_id, trace.user_id) == ("q", "a", "s", "u")
        spans = {span.name: span for span in trace.spans}
        assert spans["search"].parent_id == spans["agent"].id == outer.id
        assert (spans["search"].input, spans["search"].output) == ('{"query":"x"}', '["a","b"]')
        assert {score.name for score in trace.scores} == {"check", "late", "thumbs"}
        (case,) = ws.cases.page(CaseFilter(trace_id=t.id))[0]
        assert case.confirmed and set(case.tags) == {"model:m", "tool:search"}


def test_async_tasks_keep_their_own_place(eg: Client, tmp_path: Path) -> None:
    async def one(number: int) -> str:
        async with eg.trace(input=str(number)) as t:
            await asyncio.sleep(0)
            async with eg.span(f"step {number}") as s:
                await asyncio.sleep(0)
                s.output = number
            t.output = str(number)
        return t.id

    async def many() -> list[str]:
        return await asyncio.gather(*(one(number) for number in range(20)))

    ids = asyncio.run(many())
    eg.close(300)
    with stored(tmp_path) as ws:
        for number, trace_id in enumerate(ids):
            assert [span.name for span in ws.intake.get(trace_id).spans] == [f"step {number}"]


def test_the_apps_own_error_passes_through_and_is_noted(eg: Client, tmp_path: Path) -> None:
    with pytest.raises(KeyError), eg.trace(input="q") as t:
        raise KeyError("gone")
    eg.close(300)
    with stored(tmp_path) as ws:
        trace = ws.intake.get(t.id)
        assert (trace.status, trace.metadata["error"]) == ("failed", "KeyError: 'gone'")


def test_nothing_wrong_ever_raises_and_all_of_it_is_counted(eg: Client) -> None:
    eg.score("t", "x", float("nan"))
    eg.score("t", "x", 2)
    eg.score("t", "x", 0.5, source="martian")
    eg.correct("t", "")
    with eg.trace(input=object(), metadata={"odd": {1, 2}}, colour="red") as t:
        t.output = {("a", "b"): 1}
        t.score("x", -1)
    loop: list[object] = []
    loop.append(loop)
    with eg.trace(input=loop):
        pass
    eg.flush(300)
    counts = eg.counts()
    assert (counts.refused, counts.dropped, counts.delivered) == (6, 0, 2)


class Stubborn:
    """An object that cannot be shown in any way."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


def test_what_the_app_has_is_taken_as_it_is(eg: Client, tmp_path: Path) -> None:
    odd: Any = {
        "session_id": 7,
        "user_id": UUID(int=5),
        "name": None,
        "tags": "vip",
        "metadata": {"o": Stubborn(), 1: 2},
    }
    with eg.trace(id="odd", input=Stubborn(), **odd) as t:
        with t.span(cast(str, 5), metadata=cast(Any, "text")) as s:
            s.output = Stubborn()
        t.output = "half \ud800 a character"
        t.score("single", cast(float, np.float32(0.5)))
    with eg.trace(id="list", input="x", tags=5) as t:
        t.metadata = cast(Any, None)
    with pytest.raises(Mute), eg.trace(id="mute", input="x"):
        raise Mute
    eg.correct("odd", cast(str, 5))
    eg.close(300)
    assert (eg.counts().refused, eg.counts().delivered) == (0, 4)
    with stored(tmp_path) as ws:
        trace = ws.intake.get("odd")
        assert (trace.session_id, trace.user_id, trace.name, trace.tags) == ("7", str(UUID(int=5)), "", ("vip",))
        assert (trace.spans[0].name, trace.output) == ("5", "half ? a character")
        assert trace.input == "<Stubborn that cannot be shown>" and trace.scores[0].value == 0.5
        assert ws.intake.get("list").tags == ("5",)
        assert ws.intake.get("mute").metadata["error"] == "Mute"


def test_a_span_that_outlives_its_trace_is_told(eg: Client) -> None:
    with eg.trace(input="x") as t:
        span = t.span("slow").__enter__()
    span.__exit__(None, None, None)
    assert (eg.counts().refused, eg.current_trace) == (1, None)


def test_generators_closed_in_another_order_leave_nobody_inside(eg: Client) -> None:
    def answering(name: str) -> Iterator[int]:
        with eg.trace(input=name):
            yield 1

    first, second = answering("a"), answering("b")
    next(first), next(second)
    assert (list(first), list(second), eg.current_trace) == ([], [], None)


def test_corrections_and_export(eg: Client, tmp_path: Path) -> None:
    with eg.trace(input="capital of Peru?") as t:
        t.output = "Quito."
        t.score("check", 1.0)
    eg.correct(t.id, "Lima.")
    eg.correct(t.id, "Lima.")
    assert eg.flush(300)
    assert eg.export_jsonl(tmp_path / "pairs.jsonl", entry_type="correction") == 1
    assert '"expected_output":"Lima."' in (tmp_path / "pairs.jsonl").read_text()
    assert eg.export_jsonl(tmp_path / "golden.jsonl", entry_type="golden") == 0


def test_sampling_decides_by_trace_and_takes_its_scores_along(tmp_path: Path) -> None:
    eg = evergold.connect(tmp_path, tracing_sample_rate=0.3)
    kept = 0
    for _ in range(300):
        with eg.trace(input="q") as t:
            pass
        eg.score(t.id, "thumbs", 1.0)
        kept += t.recorded
    eg.close(300)
    assert 50 < kept < 130
    with stored(tmp_path) as ws:
        assert ws.live.trace_count() == kept
    assert eg.counts().recorded == 2 * kept


def test_turned_off_it_records_nothing(tmp_path: Path) -> None:
    eg = evergold.connect(tmp_path, tracing_enabled=False)
    with eg.trace(input="q") as t, t.span("s"):
        t.score("x", 1.0)
    eg.close(300)
    assert eg.counts().recorded == 0
    assert not (tmp_path / "evergold.db").exists()


def test_everything_is_delivered_when_the_program_just_ends(tmp_path: Path) -> None:
    program = (
        "import evergold, evergold.sdk.delivery as delivery\n"
        "delivery.Delivery.close.__defaults__ = (300.0,)  # as long as it takes here\n"
        "eg = evergold.connect('.')\n"
        "for n in range(500):\n"
        "    with eg.trace(input=str(n)) as t:\n"
        "        t.output = 'x'\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, timeout=300)
    with stored(tmp_path) as ws:
        assert ws.live.trace_count() == 500


def test_importing_it_for_a_server_loads_no_database_and_no_web_framework() -> None:
    program = (
        "import sys, evergold\n"
        "eg = evergold.connect('http://127.0.0.1:9')\n"
        "with eg.trace(input='q') as t: t.score('x', 1.0)\n"
        "heavy = {'sqlalchemy', 'fastapi', 'pydantic', 'numpy', 'openai', 'starlette'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=300, env={"EVERGOLD_HOME": "/nonexistent/x"})
