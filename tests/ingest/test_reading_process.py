"""The second process that reads: the same rows as in this one, nothing lost when it dies, and no process where none helps."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold import plugins
from evergold.errors import BadInput
from evergold.ingest import ingest
from evergold.ingest.decode import ReadingRules, Request, RequestReader, rules_of
from evergold.ingest.prepare import PreparedSpans
from evergold.ingest.reading_process.client import BUSY, LARGEST, MANY, MOST_WAITING, SMALLEST, Reader
from evergold.ingest.reading_process.process import packed, unpacked
from evergold.ingest.write_spans import SpansWritten
from evergold.settings import Settings
from evergold.sources.otlp import Wire
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace
from tests.otlp import a_span, an_llm_span, json_body, protobuf_body
from tests.patience import PATIENCE

RULES = rules_of(Settings())
LONG = "What was asked, at length. " * 700  # a body with it is large enough to be sent
SCORE = {"gen_ai.evaluation.name": "relevance", "gen_ai.evaluation.score.value": 0.75}
TOO_HIGH = {"gen_ai.evaluation.name": "odd", "gen_ai.evaluation.score.value": 7}
SPANS = [
    an_llm_span(0, question=LONG, answer="write to jo@example.com or 4111 1111 1111 1111"),
    an_llm_span(1, parent=0, answer='"quotes" \\ and ñ 🎉 \x00'),
    a_span(2, parent=0, failed=True, attributes={"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find"}),
    a_span(3, start=0, end=0, attributes={"llm.input_messages.0.message.role": "user", "tag.tags": ["a", "b"]}),
    a_span(4, attributes={"input.value": '{"a": [1, 2.5, null]}', "input.mime_type": "application/json"}),
    a_span(5, attributes={"langfuse.trace.input": "hello", "metadata": '{"k": 1}', "llm.cost.total": 0.25}),
    a_span(6, events=[("gen_ai.evaluation.result", SCORE), ("gen_ai.evaluation.result", TOO_HIGH)]),
    a_span(6, events=[("note", {"text": "sk-abcdefghijklmnop1234"})]),
]
LOGS = json.dumps(
    {
        "resourceLogs": [
            {
                "scopeLogs": [
                    {
                        "logRecords": [
                            {
                                "eventName": "claude_code.user_prompt",
                                "attributes": [
                                    {"key": key, "value": {"stringValue": value}}
                                    for key, value in (("session.id", "c1"), ("prompt.id", "p1"), ("prompt", LONG))
                                ],
                            },
                            {"eventName": "app.started"},
                        ]
                    }
                ]
            }
        ]
    }
).encode()
REQUESTS = [
    Request("traces", Wire.PROTOBUF, protobuf_body(*SPANS)),
    Request("traces", Wire.JSON, json_body(*SPANS)),
    Request("logs", Wire.JSON, LOGS),
]


def refuse(_: Request) -> PreparedSpans:
    raise AssertionError("read here")


def comparable(prepared: PreparedSpans) -> tuple[Any, ...]:
    """Everything but the moment at which it was read."""
    told = [summary._replace(received_at="", started_at="") for summary in prepared.summaries.values()]
    counts = (prepared.cut, prepared.ignored, prepared.redacted)
    return prepared.rows, told, prepared.scores, prepared.refused, counts


def begun(reader: Reader, request: Request = REQUESTS[0]) -> Future[PreparedSpans]:
    """Ask until the process takes requests, as a sender does who has to wait for the first ones anyway."""
    while True:
        taken = reader.take(request, BUSY)
        if taken is not None:
            return taken
        assert reader._enabled, "no process begins"
        RequestReader(RULES).read(request)


@contextmanager
def a_reader(
    read_here: Callable[[Request], PreparedSpans] = refuse, rules: ReadingRules = RULES, **how: Any
) -> Iterator[Reader]:
    reader = Reader(rules, read_here, **how)
    try:
        yield reader
    finally:
        reader.close()


def ended(pid: int) -> bool:
    """Whether a process ends within the patience of a test."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], PATIENCE)[0])
    finally:
        os.close(handle)


@pytest.mark.parametrize("longest", [RULES.longest, 2000])
def test_both_processes_read_the_same(longest: int) -> None:
    rules = RULES._replace(longest=longest)
    with a_reader(rules=rules) as reader:
        begun(reader).result(PATIENCE)
        for request in REQUESTS:
            taken = reader.take(request, 0)
            assert taken is not None
            here = RequestReader(rules).read(request)
            assert comparable(taken.result(PATIENCE)) == comparable(here)
            assert here.rows and (here.redacted or here.ignored)


VALUES = st.text(max_size=80) | st.integers(-(2**63), 2**63 - 1) | st.booleans() | st.floats(allow_nan=False)
NAMES = st.sampled_from(
    ["input.value", "output.value", "gen_ai.input.messages", "gen_ai.prompt.0.content", "session.id", "metadata"]
) | st.text(min_size=1, max_size=12)


@settings(max_examples=60)
@given(st.lists(st.dictionaries(NAMES, VALUES | st.lists(VALUES, max_size=3), max_size=6), min_size=1, max_size=4))
def test_arrivals_survive_the_journey(spans: list[dict[str, Any]]) -> None:
    body = protobuf_body(*(a_span(number, attributes=attributes) for number, attributes in enumerate(spans)))
    prepared = RequestReader(RULES).read(Request("traces", Wire.PROTOBUF, body))
    assert unpacked(bytearray(packed(prepared))) == prepared


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], ReadingRules]]:
    """Installs a redactor, given its source, and gives the rules that name it."""

    def install(source: str) -> ReadingRules:
        (tmp_path / "hush.py").write_text(source)
        facts = tmp_path / "hush-1.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: hush\nVersion: 1.0\n")
        (facts / "entry_points.txt").write_text("[evergold.redactors]\nhush = hush:Hush\n")
        monkeypatch.syspath_prepend(str(tmp_path))
        plugins._registered.cache_clear()
        return RULES._replace(redactor="hush")

    yield install
    plugins._registered.cache_clear()


HUSH = """
class Hush:
    def redact(self, text):
        return text.replace("asked", "***"), {"ASKED": text.count("asked")}
"""
HANG = """
import os, pathlib, signal
class Hush:
    def __init__(self):
        pathlib.Path(__file__).with_name("pid").write_text(str(os.getpid()))
    def redact(self, text):
        signal.pause()
"""


def test_a_redactor_from_outside_works_there_too(installed: Callable[[str], ReadingRules]) -> None:
    rules = installed(HUSH)
    with a_reader(rules=rules) as reader:
        prepared = begun(reader).result(PATIENCE)
    assert prepared.redacted["ASKED"] > 0 and "asked" not in next(iter(prepared.summaries.values())).input_text
    assert comparable(prepared) == comparable(RequestReader(rules).read(REQUESTS[0]))


def test_a_body_that_cannot_be_read_gets_the_same_answer() -> None:
    broken = Request("traces", Wire.PROTOBUF, b"\xff" * SMALLEST)
    with a_reader(RequestReader(RULES).read) as reader:
        begun(reader).result(PATIENCE)
        taken = reader.take(broken, 0)
        assert taken is not None
        with pytest.raises(BadInput, match="not an OTLP protobuf"):
            taken.result(PATIENCE)
        after = reader.take(REQUESTS[0], 0)
        assert after is not None and after.result(PATIENCE).rows, "the next one is read as ever"


def test_what_a_killed_one_leaves_unread_is_read_here(caplog: pytest.LogCaptureFixture) -> None:
    with a_reader(RequestReader(RULES).read, patience=PATIENCE) as reader:
        begun(reader).result(PATIENCE)
        pid = reader.pid
        assert pid is not None
        os.kill(pid, signal.SIGSTOP)
        taken = [reader.take(REQUESTS[0], number) for number in range(MANY)]
        assert reader.take(REQUESTS[0], MANY) is None, "the writer has little to do, so the server reads too"
        taken += [reader.take(REQUESTS[0], 2 * MOST_WAITING) for _ in range(MOST_WAITING - MANY)]
        assert reader.take(REQUESTS[0], 10 * MOST_WAITING) is None, "no more wait than that"
        os.kill(pid, signal.SIGKILL)
        assert all(one is not None and one.result(PATIENCE).rows for one in taken)
        assert ended(pid)
        assert "they are read in the server" in caplog.text
        assert begun(reader).result(PATIENCE).rows, "another one takes its place"


def test_what_a_hanging_one_leaves_unread_is_read_here(
    installed: Callable[[str], ReadingRules], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rules = installed(HANG)
    with a_reader(RequestReader(RULES).read, rules, patience=0.5) as reader:
        for time in (1, 2):
            assert begun(reader).result(PATIENCE).rows
            assert ended(int((tmp_path / "pid").read_text()))
            assert caplog.text.count("they are read in the server") == time, "and another one takes its place"


def test_no_process_where_none_is_wanted_or_none_would_help() -> None:
    with a_reader(enabled=False) as off, a_reader() as on:
        small = Request("traces", Wire.PROTOBUF, b"x" * (SMALLEST - 1))
        large = Request("traces", Wire.PROTOBUF, b"x" * (LARGEST + 1))
        assert [off.take(REQUESTS[0], BUSY), on.take(REQUESTS[0], BUSY - 1)] == [None, None]
        assert [on.take(small, BUSY), on.take(large, BUSY)] == [None, None]
        assert off._thread is None and on._thread is None


def test_a_second_process_needs_a_second_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for usable in (1, 2):
        monkeypatch.setattr(ingest, "usable_cores", lambda usable=usable: usable)
        with Workspace.open(Settings(home=tmp_path)) as workspace:
            assert workspace.intake._stage._reader._enabled == (usable > 1)


def test_one_that_cannot_begin_is_given_up(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr(sys, "executable", str(Path(sys.executable).parent / "no-such-program"))
    with a_reader() as reader:
        while reader._enabled:
            assert reader.take(REQUESTS[0], BUSY) is None
    assert caplog.text.count("they are read in the server") == 3


def test_a_killed_reader_loses_and_repeats_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "usable_cores", lambda: 2)

    def body(number: int) -> bytes:
        return protobuf_body(*(an_llm_span(n, trace=f"{number + 1:032x}", question=LONG[:300]) for n in range(30)))

    with Workspace.open(Settings(home=tmp_path)) as workspace:
        reader = workspace.intake._stage._reader
        sent: list[Future[SpansWritten]] = []
        while reader.pid is None or len(sent) < 20:
            sent.append(workspace.intake.receive_traces(body(len(sent)), Wire.PROTOBUF))
        for number in range(len(sent), len(sent) + 40):
            process = reader._process
            if number % 20 == 0 and process is not None:
                process.kill()
            sent.append(workspace.intake.receive_traces(body(number), Wire.PROTOBUF))
        assert {(one.result(PATIENCE).spans, len(one.result().new_traces)) for one in sent} == {(30, 1)}
        assert workspace.intake.count(TraceFilter()) == len(sent)
        with workspace.store.db.read() as connection:
            assert connection.exec_driver_sql("SELECT count(*) FROM spans").scalar_one() == 30 * len(sent)


def test_it_ends_with_its_server_however_that_ends() -> None:
    script = (
        "from tests.ingest.test_reading_process import Reader, RULES, begun, refuse\n"
        "import signal\nreader = Reader(RULES, refuse)\nbegun(reader).result()\nprint(reader.pid, flush=True)\n"
        "signal.pause()"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        pid = int(server.stdout.readline())
        handle = os.pidfd_open(pid)
        server.kill()
        assert select.select([handle], [], [], PATIENCE)[0], "the reading process is still there"
        os.close(handle)
