"""The desk on both databases: verdicts, conflicts, claims, leases, counts."""

from dataclasses import replace

import pytest
from sqlalchemy import text

from evergold.errors import BadInput, Conflict, Incomplete, NotFound
from evergold.model.case import Case, CaseStatus, ReviewState
from evergold.model.case_actions import SavedView
from evergold.model.review import CaseKey, Decision, Edit, QueueQuery, ReviewVerdict, Standing, VersionedKey
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.writes import Author, put_cases
from evergold.upkeep.review_order import ReviewOrder
from evergold.upkeep.topics import Topics
from evergold.workspace.review import Review
from tests.builders import a_case


def key(id: str = "c1") -> CaseKey:
    return CaseKey(dataset="live", id=id)


def say(verdict: str, version: int = 1, **more: object) -> Decision:
    return Decision.model_validate({"version": version, "verdict": verdict, **more})


def fill(store: Store, *cases: Case) -> None:
    store.db.write(lambda connection: put_cases(connection, cases, Author()))


@pytest.fixture
def review(store: Store, settings: Settings) -> Review:
    fill(store, a_case("c1"), a_case("c2"), a_case("c3", output=None))
    return Review(store, settings, ReviewOrder(store, Topics(store)))


@pytest.fixture
def pairwise(store: Store, settings: Settings) -> Review:
    fill(store, a_case("c1"), a_case("c2"))
    return Review(store, replace(settings, review_reviewers_per_case=2), ReviewOrder(store, Topics(store)))


def test_a_verdict_records_who_and_when(review: Review) -> None:
    case = review.decide(key(), say("approve", comment="checked"), "ana")
    assert (case.review, case.version) == (ReviewState.VALIDATED, 2)
    told = review.case(key()).history[-1]
    assert (told.who, told.what, told.why) == ("ana", "approve", "checked")


def test_a_stale_verdict_or_edit_is_a_conflict_that_names_the_colleague(review: Review) -> None:
    review.edit(key(), Edit(version=1, changes={"expected": "Lima"}), "ana")
    with pytest.raises(Conflict, match="by ana meanwhile: it is at version 2, you saw 1"):
        review.edit(key(), Edit(version=1, changes={"expected": "Cusco"}), "bo")
    with pytest.raises(Conflict):
        review.decide(key(), say("approve"), "bo")
    assert review.case(key()).case.expected == "Lima"


def test_edits_travel_with_a_verdict(review: Review) -> None:
    changes = {"entry_type": "correction", "expected": "Lima, since 1535."}
    case = review.decide(key(), say("approve", changes=changes), "ana")
    assert (case.entry_type, case.expected, case.review) == ("correction", "Lima, since 1535.", ReviewState.VALIDATED)


def test_an_incomplete_case_is_refused_and_nothing_is_recorded(review: Review) -> None:
    with pytest.raises(Incomplete, match="lacks expected"):
        review.decide(key("c3"), say("approve"), "ana")
    assert review.case(key("c3")).opinions == ()
    assert review.case(key("c3")).missing == ("expected",)


def test_two_must_agree_where_two_are_needed(pairwise: Review) -> None:
    first = pairwise.decide(key(), say("approve"), "ana")
    assert (first.review, first.version) == (ReviewState.UNVALIDATED, 1)
    second = pairwise.decide(key(), say("approve"), "bo")
    assert second.review is ReviewState.VALIDATED


def test_a_dispute_waits_for_an_adjudication(pairwise: Review) -> None:
    pairwise.decide(key(), say("approve"), "ana")
    pairwise.decide(key(), say("dismiss"), "bo")
    page = pairwise.queue(QueueQuery(standing=Standing.DISPUTED))
    assert [item.id for item in page.items] == ["c1"]
    assert page.counts["disputed"] == 1
    ruled = pairwise.decide(key(), say("dismiss", adjudicate=True), "cy")
    assert ruled.status is CaseStatus.DISMISSED


def test_an_edit_after_validation_reopens_the_case(review: Review) -> None:
    review.decide(key(), say("approve"), "ana")
    case = review.edit(key(), Edit(version=2, changes={"expected": "Lima"}), "bo")
    assert case.review is ReviewState.UNVALIDATED
    assert review.case(key()).standing is Standing.OPEN


def test_bulk_says_what_failed_and_withdrawing_undoes_it(review: Review) -> None:
    keys = [VersionedKey(dataset="live", id=name, version=1) for name in ("c1", "c2", "c3", "gone")]
    done = review.decide_many(keys, ReviewVerdict.APPROVE, "ana")
    assert [bool(result.error) for result in done] == [False, False, True, True]
    assert review.queue(QueueQuery()).counts["validated"] == 2
    back = [VersionedKey(dataset="live", id=r.id, version=r.version) for r in done if not r.error]
    review.decide_many(back, ReviewVerdict.WITHDRAW, "ana")
    counts = review.queue(QueueQuery()).counts
    assert (counts["total"], counts["validated"], counts["waiting"]) == (3, 0, 3)
    assert not review.case(key()).case.confirmed


def test_claims_never_hand_one_case_to_two_and_lapse_with_the_lease(review: Review, store: Store) -> None:
    first, second = review.claim(QueueQuery(), "ana"), review.claim(QueueQuery(), "bo")
    assert first is not None and second is not None
    assert (first.case.id, second.case.id) == ("c1", "c2")
    lapsed = Review(store, replace(review._settings, review_lease_minutes=-1), ReviewOrder(store, Topics(store)))
    lapsed.renew(key("c1"), "ana")
    third = review.claim(QueueQuery(), "cy")
    assert third is not None and third.case.id == "c1"


def test_a_skipped_case_does_not_come_back_to_the_same_reviewer(review: Review) -> None:
    review.decide(key("c1"), say("skip"), "ana")
    mine, other = review.claim(QueueQuery(), "ana"), review.claim(QueueQuery(), "bo")
    assert mine is not None and other is not None
    assert (mine.case.id, other.case.id) == ("c2", "c1")


def test_an_assigned_case_comes_first_and_the_queue_shows_whose_it_is(review: Review) -> None:
    review.assign([key("c2")], "ana")
    claimed = review.claim(QueueQuery(), "ana")
    assert claimed is not None and claimed.case.id == "c2"
    assert [item.id for item in review.queue(QueueQuery(reviewer="ana")).items] == ["c2"]
    review.release(key("c2"), "ana")
    with pytest.raises(NotFound):
        review.release(key("c2"), "ana")


def test_nothing_left_is_nothing(review: Review) -> None:
    assert review.claim(QueueQuery(text="no such words"), "ana") is None


def test_a_reviewer_must_be_known_where_reviewers_are_named(store: Store, settings: Settings, review: Review) -> None:
    named = Review(store, replace(settings, review_reviewers=("ana:secret",)), ReviewOrder(store, Topics(store)))
    with pytest.raises(BadInput, match="valid: ana"):
        named.assign([key()], "bo")


def test_the_difference_between_two_versions(review: Review) -> None:
    review.edit(key(), Edit(version=1, changes={"expected": "a", "tags": ["x"]}), "ana")
    review.edit(key(), Edit(version=2, changes={"expected": "b", "tags": []}), "ana")
    assert review.difference(key(), 1, 3) == {"expected": {"old": None, "new": "b"}}
    with pytest.raises(BadInput, match="versions 1 to 3"):
        review.difference(key(), 1, 9)


def test_agreement_and_progress_are_counted_from_what_was_said(pairwise: Review) -> None:
    for name, verdict in (("c1", "approve"), ("c2", "dismiss")):
        for reviewer in ("ana", "bo"):
            pairwise.decide(key(name), say(verdict), reviewer)
    found = pairwise.agreement()
    assert (found["shared"], found["fleiss"]["value"], found["pairs"][0]["cohen"]["value"]) == (2, 1.0, 1.0)
    told = pairwise.progress()
    assert told["datasets"] == [{"dataset": "live", "total": 1, "candidates": 0, "validated": 1, "dismissed": 1}]
    assert [(row["reviewer"], row["approve"], row["dismiss"]) for row in told["reviewers"]] == [
        ("ana", 1, 1),
        ("bo", 1, 1),
    ]


def test_agreement_that_cannot_be_computed_says_why(review: Review) -> None:
    assert review.agreement()["fleiss"] == {
        "value": None,
        "low": None,
        "high": None,
        "n": 0,
        "reason": "no case has two opinions",
    }


def test_views_are_saved_replaced_and_deleted(review: Review) -> None:
    view = SavedView(name="mine", owner="ana", query=QueueQuery(text="Peru", status=None))
    review.save_view(view)
    saved = review.save_view(view.model_copy(update={"query": QueueQuery(text="Lima")}))
    assert review.views() == [saved]
    assert [(saved.name, saved.query.text) for saved in review.views()] == [("mine", "Lima")]
    review.delete_view("mine")
    with pytest.raises(NotFound):
        review.delete_view("mine")


def test_a_saved_view_that_another_deletes_at_once_is_answered(review: Review, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Review, "views", lambda _: [])
    assert review.save_view(SavedView(name="mine")).name == "mine"


def test_agreement_and_progress_are_given_after_a_judged_case_was_erased(review: Review, store: Store) -> None:
    review.decide(key(), say("approve"), "ana")
    store.db.write(
        lambda connection: connection.execute(text("UPDATE case_reviews SET label = '{}'"))
    )  # as erasing does
    assert review.agreement()["shared"] == 0
    assert review.progress()["reviewers"][0]["approve"] == 1
