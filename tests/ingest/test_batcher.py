"""Requests written together: each sender hears of its own spans only, and one that cannot be stored harms no other."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from itertools import groupby
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, event

from evergold.errors import Unavailable
from evergold.ingest.batcher import ENOUGH_SPANS, Batcher, SpansWritten
from evergold.ingest.prepare import PreparedSpans, summarise_spans
from evergold.settings import Settings
from evergold.store.database.rows import SpanRow
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace
from tests.patience import PATIENCE


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path)) as opened:
        yield opened


def spans(*named: tuple[str, str, str]) -> PreparedSpans:
    rows = [
        SpanRow(trace_id, span_id, None, name, "llm", "hi", "ho", "completed", None, None, "{}", "{}")
        for trace_id, span_id, name in named
    ]
    return PreparedSpans(*summarise_spans([(row, {}) for row in rows]))


def put(batcher: Batcher, prepared: PreparedSpans) -> Future[SpansWritten]:
    done: Future[SpansWritten] = Future()
    batcher.put(prepared, done)
    return done


def written_together(workspace: Workspace, *requests: PreparedSpans) -> list[Future[SpansWritten]]:
    """The requests wait behind a job that ends when all are there."""
    batcher = Batcher(workspace.store)
    all_there = threading.Event()

    def hold(_: Connection) -> None:
        assert all_there.wait(PATIENCE)

    workspace.store.db.submit(hold)
    futures = [put(batcher, request) for request in requests]
    all_there.set()
    return futures


def test_each_sender_hears_of_its_own(workspace: Workspace) -> None:
    one, two, three = written_together(
        workspace,
        spans(("t1", "a", "first"), ("t2", "b", "x")),
        spans(("t1", "a", "other"), ("t1", "c", "y")),
        spans(("t2", "b", "x")),
    )
    assert (one.result().spans, one.result().new_traces, one.result().refused) == (2, ["t1", "t2"], [])
    assert (two.result().spans, two.result().new_traces) == (1, [])
    assert two.result().refused == ["span a of trace t1 is known with other content; the first is kept"]
    assert (three.result().spans, three.result().duplicates) == (0, 1)
    assert [span.name for span in workspace.intake.get("t1").spans] == ["first", "y"]


def test_one_that_cannot_be_stored_harms_no_other(workspace: Workspace) -> None:
    bad = spans(("t3", "d", "z"))
    bad.rows[0] = bad.rows[0]._replace(name=object())  # type: ignore[arg-type]
    good, failed = written_together(workspace, spans(("t1", "a", "x")), bad)
    assert good.result(PATIENCE).spans == 1
    assert failed.result(PATIENCE).spans == 0
    assert "span d of trace t3 cannot be stored" in failed.result().refused[0]
    assert workspace.intake.count(TraceFilter()) == 1


def test_one_span_that_cannot_be_stored_leaves_the_others_of_its_request(workspace: Workspace) -> None:
    request = spans(*((f"t{number}", f"{number}{span}", "x") for number in range(3) for span in range(3)))
    request.rows[4] = request.rows[4]._replace(kind=object())  # type: ignore[arg-type]
    (written,) = written_together(workspace, request)
    assert written.result(PATIENCE).spans == 8
    assert [line.partition(": ")[0] for line in written.result().refused] == ["span 11 of trace t1 cannot be stored"]
    assert sorted(written.result().new_traces) == ["t0", "t1", "t2"]
    assert [span.id for span in workspace.intake.get("t1").spans] == ["10", "12"]


def test_a_closed_workspace_says_so(workspace: Workspace) -> None:
    batcher = Batcher(workspace.store)
    workspace.close()
    for _ in range(2):
        with pytest.raises(Unavailable):
            put(batcher, spans(("t1", "a", "x"))).result(PATIENCE)


def test_a_transaction_takes_so_many_spans_and_no_more(workspace: Workspace) -> None:
    committed: list[int] = []

    def at_commit(connection: Connection) -> None:
        committed.append(connection.exec_driver_sql("SELECT count(*) FROM spans").scalar_one())

    half = ENOUGH_SPANS // 2
    requests = [spans(*((f"t{number}", f"{span}", "x") for span in range(half))) for number in range(5)]
    event.listen(Engine, "commit", at_commit)
    try:
        futures = written_together(workspace, *requests)
        assert [future.result(PATIENCE).spans for future in futures] == [half] * 5
    finally:
        event.remove(Engine, "commit", at_commit)
    assert [count for count, _ in groupby(committed)] == [0, 2 * half, 4 * half, 5 * half]


def test_what_is_queued_when_the_workspace_closes_is_stored(workspace: Workspace) -> None:
    requests = [spans(*((f"t{number}", f"{span}", "x") for span in range(ENOUGH_SPANS))) for number in range(3)]
    futures = written_together(workspace, *requests)
    workspace.close()
    assert [future.result(PATIENCE).spans for future in futures] == [ENOUGH_SPANS] * 3
