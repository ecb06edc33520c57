"""Replies and the messages after them, and corrections as cases, on both databases."""

from datetime import UTC, datetime

from evergold.model.trace import Correction
from evergold.store import Store
from evergold.store.corrections import exchanges, put_correction_cases
from evergold.store.traces import put_correction, put_traces
from tests.builders import a_trace


def test_a_reply_is_paired_with_the_next_message_of_its_session(store: Store) -> None:
    said = [
        a_trace(
            f"t{number}", session_id="s", input=f"question {number}", started_at=datetime(2026, 1, number, tzinfo=UTC)
        )
        for number in (1, 2, 3)
    ]
    alone = a_trace("alone", session_id=None)
    store.db.write(lambda connection: put_traces(connection, [*said, alone]))
    with store.db.read() as connection:
        found = {(pair.trace_id, pair.message) for pair in exchanges(connection, ["t2", "alone"])}
    assert found == {("t1", "question 2"), ("t2", "question 3")}


def test_only_corrected_traces_become_corrections(store: Store) -> None:
    store.db.write(lambda connection: put_traces(connection, [a_trace("t1"), a_trace("t2")]))
    store.db.write(lambda connection: put_correction(connection, Correction(trace_id="t2", text="It is Lima.")))
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1"], "live")) == 0
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1", "t2"], "live")) == 1
    assert store.db.write(lambda connection: put_correction_cases(connection, ["t1", "t2"], "live")) == 0
