"""Traces with their spans many at once, and what came before one in its session."""

from evergold.store import Store
from evergold.store.trace.traces import Sessions, get_trace, put_traces, traces_with_spans
from tests.builders import a_trace


def test_traces_come_with_their_spans_and_sessions_in_order(store: Store) -> None:
    session = [
        a_trace(
            f"t{n}",
            session_id="s",
            started_at=f"2026-01-01T00:0{n}:00Z",
            spans=[{"id": "a", "kind": "tool", "output": f"found {n}"}, {"id": "b", "kind": "llm", "input": "?"}],
        )
        for n in (2, 0, 1)
    ]
    store.db.write(lambda c: put_traces(c, [*session, a_trace("alone")]))
    with store.db.read() as connection:
        found = traces_with_spans(connection, ["t1", "alone", "none"])
        assert found == {"t1": get_trace(connection, "t1"), "alone": get_trace(connection, "alone")}
        sessions = Sessions(connection)
        before = sessions.list_before(get_trace(connection, "t2"))
        assert [(trace.id, [span.output for span in trace.spans]) for trace in before] == [
            ("t0", ["found 0"]),
            ("t1", ["found 1"]),
        ]
        called = sessions.called_before(get_trace(connection, "t2"))
        assert [(trace.id, [span.kind for span in trace.spans]) for trace in called] == [
            ("t0", ["llm"]),
            ("t1", ["llm"]),
        ]
        assert sessions.list_before(found["alone"]) == ()
