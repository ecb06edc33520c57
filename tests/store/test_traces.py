"""Whole traces in: the first content of an id is kept, and what became of each is told."""

from evergold.model.operations import IngestReport
from evergold.store import Store
from evergold.store.trace.scores import put_scores, scores_of
from evergold.store.trace.traces import get_trace, put_traces
from tests.builders import a_score, a_trace


def test_the_first_content_of_an_id_is_kept_also_within_a_batch(store: Store) -> None:
    batch = [a_trace("t1", output="Lima."), a_trace("t1", output="Quito."), a_trace("t1", output="Lima.")]
    refused = ["trace t1: id: known with other content; the first is kept"]
    for sent, new in ((batch, ["t1"]), (batch[1:], [])):
        report = IngestReport()
        assert store.write(put_traces, sent, report) == new
        assert (report.traces, report.problems, report.duplicates) == (len(new), refused, 1)
    with store.db.read() as connection:
        assert get_trace(connection, "t1").output == "Lima."


def test_traces_lie_in_the_order_they_came_with_their_scores(store: Store) -> None:
    scored = [a_trace(f"t{n}", scores=(a_score("check", 0.5), a_score("check", 0.5))) for n in (2, 1, 3)]
    report = IngestReport()
    store.write(put_traces, scored[:1])
    assert store.write(put_traces, scored, report) == ["t1", "t3"]
    assert (report.duplicates, report.scores) == (1, 2)
    with store.db.read() as connection:
        rows = connection.exec_driver_sql("SELECT seq, id FROM traces ORDER BY seq").all()
        assert [row[1] for row in rows] == ["t2", "t1", "t3"]
        assert len({row[0] for row in rows}) == 3
        assert len(get_trace(connection, "t3").scores) == 1


def test_what_was_said_last_under_a_key_stands(store: Store) -> None:
    said = [a_score("thumbs", value, "user", key="ana") for value in (1.0, 0.0, 0.0, 0.5)]
    report = IngestReport()
    store.write(put_traces, [a_trace("t1", scores=tuple(said[:1])), a_trace("t2")], report)
    assert report.scores == 1
    both = [("t2", said[0]), *(("t1", score) for score in said), ("t2", a_score("other", 1.0, key="ben"))]
    assert store.db.write(lambda c: put_scores(c, both)) == 4
    with store.db.read() as connection:
        assert [score.value for score in scores_of(connection, "t1")] == [0.5]
        assert [score.name for score in scores_of(connection, "t2")] == ["thumbs", "other"]
    assert store.db.write(lambda c: put_scores(c, [both[0], both[-1]])) == 0
