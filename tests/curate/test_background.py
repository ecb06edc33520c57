"""Background curation: it drains when it stops, and what it cannot do is counted and shown."""

import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import text

from evergold.curate.background import Curator
from evergold.curate.live import Curation
from evergold.curate.queued import NotCurated
from evergold.machine import new_owner
from evergold.model.policy import Policy
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.case.cases import CaseFilter
from evergold.store.verdict.curation import Changes, lend_queued, set_aside, take_lent
from evergold.workspace import Workspace
from tests.builders import a_score, a_trace
from tests.patience import PATIENCE


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path)) as opened:
        yield opened


STUMBLE = """CREATE TRIGGER stumble BEFORE INSERT ON eval_dataset WHEN NEW.trace_id IN ('a1', 'b1')
BEGIN SELECT RAISE(ABORT, 'no case of this'); END"""


def test_stopping_finishes_what_waits(ws: Workspace) -> None:
    ws.live.start_background()
    for number in range(50):
        ws.intake.accept([a_trace(f"t{number}", scores=(a_score(),))])
    ws.live.stop_background()
    assert ws.cases.count(CaseFilter(dataset="live")) == 50
    assert ws.live.background() is None


def test_what_comes_in_wakes_it(ws: Workspace) -> None:
    ws.curate_in_background()
    woken = threading.Event()
    wake = ws.intake.on_commit

    def wake_and_tell() -> None:
        wake()
        woken.set()

    ws.intake.on_commit = wake_and_tell
    ws.intake.receive_traces(b'{"resourceSpans": []}', Wire.JSON).result(PATIENCE)
    assert woken.wait(PATIENCE)
    woken.clear()
    ws.intake.accept([a_trace("t1", scores=(a_score(),))])
    assert woken.is_set()
    ws.live.stop_background()
    assert ws.cases.count(CaseFilter(dataset="live")) == 1


def aside(ws: Workspace) -> Callable[[Sequence[str]], tuple[str, ...]]:
    return lambda trace_ids: ws.store.db.write(partial(set_aside, trace_ids=trace_ids))


def test_when_all_is_curated_it_does_what_could_wait(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=(a_score(),))])
    done = threading.Event()
    left = [2, 1]

    def at_leisure() -> bool:
        if left:
            left.pop()
            assert ws.cases.count(CaseFilter(dataset="live")) == 1
        else:
            done.set()
        return bool(left)

    curator = Curator(Curation(ws.store, [Policy()], None), aside(ws), at_leisure)
    curator.start()
    assert done.wait(PATIENCE)
    curator.stop()
    assert curator.state().last_error is None


def test_turned_off_it_does_nothing(tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path, eval_auto_curate=False)) as ws:
        assert ws.live.start_background() is None
        ws.intake.accept([a_trace("t1", scores=(a_score(),))])
    with Workspace.open(Settings(home=tmp_path)) as ws:
        assert ws.cases.count(CaseFilter()) == 0
        assert ws.live.background_report().waiting == 1


def test_one_bad_trace_is_set_aside_and_the_rest_is_done(ws: Workspace) -> None:
    for number, message in enumerate(["hello", "poison", "bye"]):
        session = [
            a_trace(f"a{number}", session_id=f"s{number}"),
            a_trace(f"b{number}", session_id=f"s{number}", input=message),
        ]
        ws.intake.accept([trace.model_copy(update={"scores": (a_score(),)}) for trace in session])
    ws.store.db.write(lambda connection: connection.execute(text(STUMBLE)))
    curator = Curator(Curation(ws.store, [Policy()], None), aside(ws))
    curator.start()
    curator.stop()
    state = curator.state()
    assert (state.curated, state.failed) == (4, 2)
    assert "no case of this" in (state.last_error or "")
    assert {failure.trace_id for failure in state.failures} == {"a1", "b1"}
    report = ws.live.background_report()
    assert (report.waiting, report.failed_ever) == (0, 2)


class AlwaysTakenByAnother:
    """Fails with a trace that another server has curated meanwhile."""

    def step(self, limit: int) -> tuple[int, Changes]:
        raise NotCurated(["taken"]) from RuntimeError("several writers met")


def test_no_other_trace_is_set_aside_than_the_one_that_failed(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=(a_score(),))])
    curator = Curator(AlwaysTakenByAnother(), aside(ws))
    curator.start()
    curator.stop()
    assert (curator.state().failed, curator.state().last_error) == (0, "RuntimeError: several writers met")
    assert ws.live.count_waiting() == 1


def test_a_command_waits_for_the_traces_that_a_server_has_in_hand(ws: Workspace) -> None:
    ws.intake.accept([a_trace("t1", scores=(a_score(),))])
    store, server = ws.store, new_owner()
    assert store.write(lend_queued, limit=1, owner=server) == ["t1"]
    gives_back = threading.Timer(0.5, lambda: store.write(take_lent, [], server))
    gives_back.start()
    assert ws.live.curate().traces == 1
    gives_back.join()
