"""Scores, queues, counters, questions, views and tokens in the tables, on both databases."""

from typing import Any

import pytest
from sqlalchemy import Connection, text

from evergold.errors import NotFound
from evergold.model.access import LOCAL, Holder, Role
from evergold.model.case_actions import ListPage, ListView
from evergold.model.review import AssignmentState, CaseKey, Questionnaire, ReviewAnswer, ReviewQuestion
from evergold.model.trace import Correction, Score
from evergold.store import Store
from evergold.store.case.questions import (
    answers_in,
    answers_on,
    answers_to,
    put_answers,
    put_questionnaire,
    questionnaire_of,
)
from evergold.store.case.reviews import (
    assignments_of,
    assignments_to,
    drop_view,
    hold,
    keep_view,
    kept_views,
    release,
    renew,
)
from evergold.store.case.writes import Author, put_cases
from evergold.store.facts import count, fact, put_fact, read_counters
from evergold.store.tokens import TokenStore
from evergold.store.trace.scores import (
    CHECKS_ON,
    drop_score,
    enqueue_new,
    find_shared_sessions,
    keep_pending,
    put_scores,
    scores_of,
    take_pending,
)
from evergold.store.trace.traces import comments_on, drop_comment, put_comment, put_correction, put_traces, retag
from tests.builders import a_case, a_score, a_trace

KEY = CaseKey(dataset="live", id="c1")


def queued(connection: Connection) -> set[str]:
    return set(connection.execute(text("SELECT trace_id FROM curation_queue")).scalars())


def emptied(connection: Connection) -> None:
    connection.execute(text("DELETE FROM curation_queue"))


def test_scores_are_kept_by_key_or_content_and_queue_their_trace(store: Store) -> None:
    def work(connection: Connection) -> None:
        put_traces(connection, [a_trace("t1")])
        emptied(connection)
        plain, keyed = a_score("ok", 0.5), a_score("thumbs", 1.0, "user", key="k1")
        assert put_scores(connection, [("t1", plain), ("t1", plain), ("t1", keyed)]) == 2
        assert queued(connection) == {"t1"}
        emptied(connection)
        assert put_scores(connection, [("t1", plain), ("t1", keyed)]) == 0 and queued(connection) == set()
        changed = keyed.model_copy(update={"value": 0.0})
        assert put_scores(connection, [("t1", changed), ("t1", keyed), ("t1", changed)]) == 3
        held: dict[str, Score] = {score.name: score for score in scores_of(connection, "t1")}
        assert (held["thumbs"].value, held["thumbs"].key, held["ok"].key) == (0.0, "k1", None)
        emptied(connection)
        assert drop_score(connection, "t1", "k1") and queued(connection) == {"t1"}
        assert not drop_score(connection, "t1", "k1")
        assert put_correction(connection, Correction(trace_id="t1", text="Lima"))
        assert not put_correction(connection, Correction(trace_id="t1", text="Lima", author="jo"))

    store.db.write(work)


def test_queues_hold_what_waits_once_and_in_order(store: Store) -> None:
    def work(connection: Connection) -> None:
        assert take_pending(connection, ["t1"]) == []
        for trace_id, body in (("t1", "b"), ("t1", "a"), ("t2", "c")):
            assert keep_pending(connection, trace_id, body)
        assert not keep_pending(connection, "t1", "b")
        assert take_pending(connection, ["t1", "t9"]) == ["b", "a"]
        assert take_pending(connection, ["t1"]) == [] and take_pending(connection, ["t2"]) == ["c"]
        sessions = {"s1": 2, "s2": 1}
        put_traces(
            connection, [a_trace(f"{name}-{at}", session_id=name) for name, n in sessions.items() for at in range(n)]
        )
        assert find_shared_sessions(connection, ["s1", "s2", "s3"]) == {"s1"}
        emptied(connection)
        enqueue_new(connection, {"s1-0": "s1", "s2-0": "s2"})
        assert queued(connection) == {"s1-0"}
        put_fact(connection, CHECKS_ON, "on")
        enqueue_new(connection, {"s2-0": "s2"})
        assert queued(connection) == {"s1-0", "s2-0"}

    store.db.write(work)


def test_facts_are_replaced_and_counters_add_up(store: Store) -> None:
    def work(connection: Connection) -> None:
        assert fact(connection, "colour") is None
        for value in ("red", "blue"):
            put_fact(connection, "colour", value)
        assert fact(connection, "colour") == "blue"
        count(connection, {"a_b.x": 2, "aXb.x": 1, "zero": 0})
        count(connection, {"a_b.x": 3})
        assert read_counters(connection, "a_b") == {"a_b.x": 5}
        assert read_counters(connection) == {"aXb.x": 1, "a_b.x": 5}

    store.db.write(work)


def answer(value: Any, reviewer: str = "jo", question: str = "ok") -> ReviewAnswer:
    return ReviewAnswer(question=question, reviewer=reviewer, value=value, rev="r1")


def test_questions_and_the_last_answer_of_each_reviewer(store: Store) -> None:
    asked = Questionnaire(questions=(ReviewQuestion(name="ok", kind="yes_no", title="?"),))

    def work(connection: Connection) -> None:
        put_cases(connection, [a_case("c1"), a_case("c2")], Author())
        assert questionnaire_of(connection, "live") == Questionnaire()
        put_questionnaire(connection, "live", asked, "jo")
        assert questionnaire_of(connection, "live") == asked
        put_answers(connection, KEY, [answer(True), answer(False), answer(True, "al")])
        assert [(one.reviewer, one.value) for one in answers_on(connection, KEY)] == [("al", True), ("jo", False)]
        put_answers(connection, KEY, [answer(None)])
        assert [one.reviewer for one in answers_on(connection, KEY)] == ["al"]
        assert len(answers_in(connection, None)) == len(answers_in(connection, "live")) == 1
        assert answers_in(connection, "other") == []
        assert list(answers_to(connection, [("live", "c1"), ("live", "c2")])) == [("live", "c1")]
        put_questionnaire(connection, "live", Questionnaire(), "jo")
        assert questionnaire_of(connection, "live") == Questionnaire()
        with pytest.raises(NotFound, match="no case 'c9'"):
            put_answers(connection, CaseKey(dataset="live", id="c9"), [answer(True)])

    store.db.write(work)


def test_assignments_and_views(store: Store) -> None:
    def work(connection: Connection) -> None:
        put_cases(connection, [a_case("c1")], Author())
        hold(connection, KEY, "jo", AssignmentState.ASSIGNED)
        hold(connection, KEY, "jo", AssignmentState.CLAIMED, 60)
        hold(connection, KEY, "al", AssignmentState.ASSIGNED)
        assert [(one.reviewer, one.state) for one in assignments_of(connection, KEY)] == [
            ("al", AssignmentState.ASSIGNED),
            ("jo", AssignmentState.CLAIMED),
        ]
        assert [one.id for one in assignments_to(connection, "jo")] == ["c1"] and len(
            assignments_to(connection, None)
        ) == 2
        assert renew(connection, KEY, "jo", 120)
        assert not renew(connection, KEY, "al", 120), "an assignment has no lease"
        assert release(connection, KEY, "jo") and not release(connection, KEY, "jo")
        for owner in ("jo", "al"):
            keep_view(connection, ListView(page=ListPage.REVIEW, name="mine", address="", owner=owner), LOCAL)
        assert [view.owner for view in kept_views(connection, ListPage.REVIEW)] == ["jo"], "it stays its author's"
        drop_view(connection, ListPage.REVIEW, "mine", LOCAL)
        with pytest.raises(NotFound, match="no view 'mine' of review"):
            drop_view(connection, ListPage.REVIEW, "mine", LOCAL)
        for address in ("a=1", "a=2"):
            keep_view(connection, ListView(page=ListPage.CASES, name="mine", address=address), LOCAL)
        keep_view(connection, ListView(page=ListPage.TRACES, name="mine", address="b=1"), LOCAL)
        assert [view.address for view in kept_views(connection, ListPage.CASES)] == ["a=2"]
        drop_view(connection, ListPage.CASES, "mine", LOCAL)
        with pytest.raises(NotFound, match="no view 'mine' of cases"):
            drop_view(connection, ListPage.CASES, "mine", LOCAL)

    store.db.write(work)


def test_tags_and_comments_of_people(store: Store) -> None:
    def work(connection: Connection) -> None:
        put_traces(connection, [a_trace("t1")])
        (first, lost) = retag(connection, ["t1", "t9", "t1"], ["a", "b"], ["z"], "jo")
        assert (first.added, first.removed, lost.problem) == (("a", "b"), (), "no trace 't9' in this workspace")
        (again,) = retag(connection, ["t1"], ["b", "c"], ["a"], "al")
        assert (again.added, again.removed) == (("c",), ("a",)), "only what changed"
        comment = put_comment(connection, "t1", "odd\x00", "jo")
        assert [one.text for one in comments_on(connection, "t1")] == ["odd�"]
        drop_comment(connection, comment.id, LOCAL)
        with pytest.raises(NotFound, match="it may have been deleted already"):
            drop_comment(connection, comment.id, LOCAL)
        with pytest.raises(NotFound, match="no trace 't9'"):
            put_comment(connection, "t9", "x", "jo")

    store.db.write(work)


def test_a_revoked_token_opens_nothing_and_keeps_its_first_time(store: Store) -> None:
    tokens = TokenStore(store.db)
    tokens.add("1", "ci", Role.INGEST, "digest-1")
    tokens.add("2", "jo", Role.REVIEWER, "digest-2")
    ci, jo = Holder(name="ci", role=Role.INGEST), Holder(name="jo", role=Role.REVIEWER)
    assert tokens.holders() == {"digest-1": ci, "digest-2": jo}
    first, second = tokens.revoke("1"), tokens.revoke("1")
    assert first is not None and first == second and first.revoked_at is not None
    assert tokens.holders() == {"digest-1": None, "digest-2": jo}
    assert [token.id for token in tokens.list()] == ["1", "2"]
    assert tokens.revoke("9") is None
    assert (tokens.forget_revoked(), tokens.forget_revoked()) == (1, 0)
    assert tokens.holders() == {"digest-2": jo}
