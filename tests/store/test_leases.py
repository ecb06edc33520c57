"""Leases on work: one holder at a time, given back, taken over when its end has come, on both databases."""

from datetime import UTC, datetime
from functools import partial

import pytest

from evergold.errors import Conflict
from evergold.machine import new_owner
from evergold.model.review import QueueQuery
from evergold.model.run import Run, RunSpec
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.writes import Author, put_cases
from evergold.store.database.operations import backlog_of
from evergold.store.database.rows import loads
from evergold.store.facts import drop_lease, hold_lease, take_lease
from evergold.store.run.runs import RunStore
from evergold.store.trace.archive import read_records
from evergold.store.trace.scores import enqueue
from evergold.store.trace.traces import put_traces
from evergold.store.verdict.curation import free_lent, lend_queued, set_aside, take_lent, take_queued
from evergold.upkeep.review_order import ReviewOrder
from evergold.upkeep.topics import Topics
from evergold.workspace.review import Review
from tests.builders import a_case, a_trace
from tests.clocks import clock_off_by

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_lease_is_one_holders_until_it_is_given_back_or_over(store: Store) -> None:
    take = partial(take_lease, name="work")
    assert store.db.write(partial(take, owner="one")) is None
    assert store.db.write(partial(take, owner="one")) is None  # renewed
    held = store.db.write(partial(take, owner="two"))
    assert held is not None
    assert held.owner == "one"
    store.db.write(partial(drop_lease, name="work", owner="two"))  # not theirs to give back
    assert store.db.write(partial(take, owner="two")) is not None
    assert store.db.write(partial(take, owner="one", seconds=-1)) is None  # its end has come
    assert store.db.write(partial(take, owner="two")) is None


def test_work_under_way_is_refused_with_its_holder_and_free_afterwards(store: Store) -> None:
    refused = pytest.raises(Conflict, match=r"a backfill is under way in .* since .*; wait for its end")
    with hold_lease(store.db, "work", "a backfill"), refused, hold_lease(store.db, "work", "a backfill"):
        pytest.fail("never held twice")
    with hold_lease(store.db, "work", "a backfill"):
        pass


def test_nobody_waits_for_a_process_of_this_machine_that_is_gone(store: Store) -> None:
    machine, pid, _, _ = new_owner().rsplit("/", 3)
    gone = f"{machine}/{pid}/began-earlier/0"
    store.db.write(partial(take_lease, name="work", owner=gone))
    with hold_lease(store.db, "work", "a backfill"):
        pass
    store.db.write(lambda connection: put_traces(connection, [a_trace("t1")]))
    store.db.write(lambda connection: enqueue(connection, ["t1"]))
    assert store.db.write(partial(lend_queued, limit=1, owner=gone)) == ["t1"]
    store.db.write(free_lent)
    assert store.db.write(take_queued) == ["t1"]


def test_traces_lent_to_a_server_are_left_to_it(store: Store) -> None:
    ids = [f"t{number}" for number in range(5)]
    store.db.write(lambda connection: put_traces(connection, [a_trace(one) for one in ids]))
    store.db.write(lambda connection: enqueue(connection, ids))
    lent = store.db.write(partial(lend_queued, limit=3, owner="one"))
    assert lent == ids[:3]
    with store.db.read() as connection:  # an archive holds the trace, not who works on it
        (queued,) = loads(read_records(connection, ids[:1])[0]["curation_queue"])
        assert queued.keys() == {"trace_id", "queued_at"}
    assert store.db.write(partial(lend_queued, limit=5, owner="two")) == ids[3:]
    assert store.db.write(take_queued) == []
    assert store.db.write(partial(take_lent, trace_ids=ids[:2], owner="two")) == []
    assert store.db.write(partial(take_lent, trace_ids=ids[:2], owner="one")) == ids[:2]
    # What a server did not reach is free again; one that cannot be curated is set aside by its holder.
    assert store.db.write(partial(lend_queued, limit=1, owner="one")) == ids[2:3]
    assert store.db.write(partial(lend_queued, limit=1, owner="two")) == ids[3:4]
    assert store.db.write(partial(set_aside, trace_ids=ids[2:4], owner="one")) == (ids[2],)
    assert sorted(store.db.write(partial(take_queued, limit=9, owner="two"))) == ids[3:]


@pytest.mark.parametrize("minutes", [-30, 30])
def test_servers_whose_clocks_differ_hold_and_respect_each_others_leases(store: Store, minutes: int) -> None:
    """The first server's clock is wrong while it takes work, then the second one's while it asks for the same."""
    runs = RunStore(store.db)
    runs.create(Run(id="r1", spec=RunSpec(dataset="live", model="m", metrics=()), created_at=MOMENT), [a_case("c1")])
    store.db.write(lambda connection: put_traces(connection, [a_trace("t1")]))
    store.db.write(lambda connection: put_cases(connection, [a_case("c1")], Author()))
    desk = Review(store, Settings(), ReviewOrder(store, Topics(store)))
    with clock_off_by(minutes):
        assert store.db.write(partial(take_lease, name="work", owner="one")) is None
        assert runs.claim("r1", "one", 20) == 1
        store.db.write(lambda connection: enqueue(connection, ["t1"]))
        assert store.db.write(partial(lend_queued, limit=1, owner="one")) == ["t1"]
        assert desk.claim(QueueQuery(), "ana") is not None
    for off in (0, -minutes):
        with clock_off_by(off):
            held = store.db.write(partial(take_lease, name="work", owner="two"))
            assert held is not None and held.owner == "one"
            assert runs.claim("r1", "two", 20) == 0
            assert store.db.write(partial(lend_queued, limit=1, owner="two")) == []
            assert desk.claim(QueueQuery(), "bo") is None
            with store.db.read() as connection:
                assert backlog_of(connection).lag_seconds < 60
