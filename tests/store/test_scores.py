"""Scores that two servers store at once, and many that are replaced together."""

from functools import partial

from sqlalchemy import text

from evergold.model.check import Checked, CheckResult
from evergold.store import Store
from evergold.store.trace.scores import COLUMNS, insert_scores, scores_of
from evergold.store.trace.traces import put_traces
from evergold.store.verdict.checks import put_checked
from tests.builders import a_trace


def test_a_score_that_another_server_stored_meanwhile_is_replaced(store: Store) -> None:
    store.db.write(lambda connection: put_traces(connection, [a_trace("t1")]))
    for value in (0.1, 0.9):
        row = ("t1", "thumbs", "thumbs", "user", value, None, None, "2026-01-01T00:00:00Z")
        store.db.write(partial(insert_scores, columns=COLUMNS, rows=[row]))
    with store.db.read() as connection:
        assert [(score.key, score.value) for score in scores_of(connection, "t1")] == [("thumbs", 0.9)]


def test_all_scores_of_a_check_are_replaced_by_a_few_statements(store: Store) -> None:
    ids = [f"t{number}" for number in range(30)]
    store.db.write(lambda connection: put_traces(connection, [a_trace(one) for one in ids]))
    marks = [(one, "", "", "") for one in ids]

    def put(version: str, *names: str) -> int:
        # A check may give a whole number.
        values = dict(zip(ids, [1, 0.5] * 15, strict=True))
        outcomes = [Checked(one, name, version, CheckResult(values[one], "said")) for one in ids for name in names]
        return store.db.write(lambda connection: put_checked(connection, outcomes, marks, "suite"))

    assert put("1", "a", "b") == put("2", "a", "b") == 60
    assert put("2", "a") == 30  # a check that is no longer there leaves no score
    with store.db.read() as connection:
        rows = connection.execute(text("SELECT name, version, count(*) FROM trace_scores GROUP BY 1, 2")).all()
    assert [tuple(row) for row in rows] == [("a", "2", 30)]
