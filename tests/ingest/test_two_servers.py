"""Two servers on one PostgreSQL that write to the same trace at the same moment: neither loses what it was sent."""

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from sqlalchemy import Connection, text

from evergold.ingest.batcher import SpansWritten, write_spans
from evergold.ingest.prepare import Request, RequestReader
from evergold.model.trace import ScoreLine
from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.store.facts import put_fact
from evergold.store.trace import archive, retention
from evergold.upkeep import archives
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.otlp import TRACE, a_span, an_llm_span, protobuf_body
from tests.patience import PATIENCE


@pytest.fixture
def servers(migrated_url: str, tmp_path: Path) -> Iterator[tuple[Workspace, Workspace]]:
    settings = [Settings(home=tmp_path / name, database_url=migrated_url) for name in ("one", "other")]
    with Workspace.open(settings[0]) as one, Workspace.open(settings[1]) as other:
        yield one, other


def send(server: Workspace, *spans: Span) -> Future[SpansWritten]:
    return server.intake.receive_traces(protobuf_body(*spans), Wire.PROTOBUF)


def send_and_wait(server: Workspace, span: Span, go: Event) -> Future[Any]:
    """Write a span in a transaction that is committed when `go` is set."""
    prepared = RequestReader(Settings()).read(Request("traces", Wire.PROTOBUF, protobuf_body(span)))

    def work(connection: Connection) -> None:
        write_spans(connection, [prepared])
        begun.set()
        assert go.wait(PATIENCE)

    begun = Event()
    done = server.store.db.submit(work)
    assert begun.wait(PATIENCE)
    return done


def wait_until_stuck_or_done(server: Workspace, work: Future[Any]) -> None:
    """Wait until something waits for a lock, or there is nothing to wait for."""
    until = time.monotonic() + PATIENCE
    while not work.done() and time.monotonic() < until:
        with server.store.db.read() as connection:
            if connection.execute(text("SELECT 1 FROM pg_locks WHERE NOT granted")).first():
                return


def test_a_new_trace_of_which_each_server_gets_a_span(servers: tuple[Workspace, Workspace]) -> None:
    one, other = servers
    go = Event()
    first = send_and_wait(one, a_span(0), go)
    second = send(other, a_span(1, parent=0))
    wait_until_stuck_or_done(one, second)
    go.set()
    first.result(PATIENCE)
    assert second.result(PATIENCE).refused == []
    assert len(one.intake.get(TRACE).spans) == 2


def test_the_summary_of_a_growing_trace_has_the_spans_of_both(servers: tuple[Workspace, Workspace]) -> None:
    one, other = servers
    send(one, a_span(0)).result(PATIENCE)
    go = Event()
    first = send_and_wait(one, an_llm_span(1, parent=0), go)
    second = send(other, an_llm_span(2, parent=0))
    wait_until_stuck_or_done(one, second)
    go.set()
    first.result(PATIENCE)
    second.result(PATIENCE)
    with one.store.db.read() as connection:
        assert connection.execute(text("SELECT tokens FROM traces")).scalar_one() == 2 * (10 + 5)


def test_a_span_that_both_servers_get_is_stored_once(servers: tuple[Workspace, Workspace]) -> None:
    one, other = servers
    send(one, a_span(0)).result(PATIENCE)
    go = Event()
    first = send_and_wait(one, a_span(1, parent=0), go)
    second = send(other, a_span(1, parent=0))
    wait_until_stuck_or_done(one, second)
    go.set()
    first.result(PATIENCE)
    assert (second.result(PATIENCE).duplicates, second.result(PATIENCE).refused) == (1, [])


@pytest.mark.parametrize("late", ["score", "span"])
def test_what_comes_while_a_trace_is_archived_is_kept(
    servers: tuple[Workspace, Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, late: str
) -> None:
    """In the moment between the look whether a trace is as it was written and its deletion."""
    one, other = servers
    send(one, a_span(0)).result(PATIENCE)
    read = archive.read_records

    def deliver() -> None:
        if late == "span":
            send(other, a_span(1, parent=0)).result(PATIENCE)
        else:
            other.intake.accept([ScoreLine(trace_id=TRACE, name="late", value=1.0)])

    with ThreadPoolExecutor(1) as thread:
        delivered: list[Future[None]] = []

        def read_again(connection: Connection, trace_ids: list[str]) -> list[archive.Record]:
            records = read(connection, trace_ids)
            delivered.append(thread.submit(deliver))
            wait_until_stuck_or_done(one, delivered[0])
            return records

        # Named in its own module, it is the reading under the lock, just before the deletion.
        monkeypatch.setattr(archive, "read_records", read_again)
        one.archives.move("1d", tmp_path / "archive")
        delivered[0].result(PATIENCE)
    with one.store.db.read() as connection:
        of_span = text("SELECT count(*) FROM spans WHERE id = :id")
        spans = connection.execute(of_span, {"id": a_span(1).span_id.hex()}).scalar_one()
        scores = connection.execute(text("SELECT count(*) FROM trace_scores WHERE name = 'late'")).scalar_one()
        pending = connection.execute(text("SELECT count(*) FROM pending_records")).scalar_one()
    assert spans + scores + pending == 1


def test_a_trace_that_is_cited_while_old_ones_are_pruned_stays(
    servers: tuple[Workspace, Workspace], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = servers
    send(one, a_span(0)).result(PATIENCE)
    lock = retention.lock_traces

    def cited_before(connection: Connection, trace_ids: list[str]) -> None:
        other.cases.put([a_case("c", dataset="live", provenance={"trace_id": TRACE})])
        lock(connection, trace_ids)

    monkeypatch.setattr(retention, "lock_traces", cited_before)
    assert one.retention.prune("1d").deleted == 0
    assert one.intake.get(TRACE).id == TRACE


def test_archives_that_two_servers_begin_at_once_are_both_known(
    servers: tuple[Workspace, Workspace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Erasing a user must find both."""
    one, other = servers

    with ThreadPoolExecutor(1) as thread:
        noted: list[Future[None]] = []

        def put_after_the_other(connection: Connection, name: str, value: str) -> None:
            if not noted:
                noted.append(thread.submit(other.archives.remember, tmp_path / "b"))
                wait_until_stuck_or_done(one, noted[0])
            put_fact(connection, name, value)

        monkeypatch.setattr(archives, "put_fact", put_after_the_other)
        one.archives.remember(tmp_path / "a")
        noted[0].result(PATIENCE)
    assert sorted(Path(known).name for known in one.archives.locations()) == ["a", "b"]
