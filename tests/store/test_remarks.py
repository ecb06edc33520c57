"""Messages with the turns before them, on both databases."""

from datetime import UTC, datetime

from evergold.store import Store
from evergold.store.trace.traces import put_traces
from evergold.store.verdict.corrections import messages_after
from tests.builders import a_trace


def test_a_message_comes_with_the_turns_before_it_latest_first(store: Store) -> None:
    turns = [
        a_trace(f"t{n}", session_id="s", input=f"question {n}", started_at=datetime(2026, 1, 1, n, tzinfo=UTC))
        for n in (1, 2, 3)
    ]
    alone = a_trace("alone", session_id=None)
    store.db.write(lambda connection: put_traces(connection, [*turns, alone]))
    with store.db.read() as connection:
        messages = messages_after(connection, ["t2", "alone"])
    assert {message.id: [turn.id for turn in message.earlier] for message in messages} == {
        "t2": ["t1"],
        "t3": ["t2", "t1"],
    }
    assert {message.text for message in messages} == {"question 2", "question 3"}
