"""Questions of a dataset's own on both databases: asked, answered, agreed on, exported, erased."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput, Incomplete, NotFound
from evergold.model.review import (
    CaseKey,
    Decision,
    QuestionKind,
    Questionnaire,
    QueuePart,
    QueueQuery,
    ReviewQuestion,
    ReviewVerdict,
)
from evergold.review.agreement import overlap
from evergold.review.questions import read_questionnaire
from evergold.settings import Settings
from evergold.stats.agreement import interval_alpha
from evergold.store import Store
from evergold.store.case.cases import CaseFilter
from evergold.store.case.writes import Author, put_cases
from evergold.upkeep.review_order import ReviewOrder
from evergold.upkeep.topics import Topics
from evergold.workspace.cases import Cases
from evergold.workspace.review import Review
from tests.builders import a_case

TOML = """
[[questions]]
name = "polite"
kind = "yes_no"
title = "Is the answer polite?"
required = true

[[questions]]
name = "quality"
kind = "scale"
title = "How good is it?"
high = 7

[[questions]]
name = "topic"
kind = "choice"
title = "What is it about?"
options = ["capital", "river"]
several = true

[[questions]]
name = "note"
kind = "text"
title = "Anything else?"

[[questions]]
name = "wrong"
kind = "span"
title = "Mark what is wrong"
options = ["invented", "rude"]
"""
KEY = CaseKey(dataset="live", id="c1")


@pytest.fixture
def review(store: Store, settings: Settings, tmp_path: Path) -> Review:
    store.db.write(lambda connection: put_cases(connection, [a_case("c1"), a_case("c2")], Author()))
    file = tmp_path / "questions.toml"
    file.write_text(TOML)
    result = Review(store, settings, ReviewOrder(store, Topics(store)))
    result.set_questions("live", file, "ana")
    return result


def approve(review: Review, who: str, id: str = "c1") -> None:
    key = CaseKey(dataset="live", id=id)
    version = review.case(key).case.version
    review.decide(key, Decision(version=version, verdict=ReviewVerdict.APPROVE), who)


def test_questions_are_the_same_from_toml_and_yaml(tmp_path: Path, review: Review) -> None:
    file = tmp_path / "questions.yaml"
    file.write_text(json.dumps(review.questions("live").model_dump(mode="json")))  # JSON is YAML
    assert read_questionnaire(file) == review.questions("live")
    assert review.questions("other") == Questionnaire()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("questions = 3", "questions: must be a list"),
        ('[[questions]]\nname = "Bad Name"\nkind = "text"\ntitle = "T"', "questions.0.name"),
        ('[[questions]]\nname = "a"\nkind = "choice"\ntitle = "T"\noptions = ["one"]', "at least two options"),
        ('[[questions]]\nname = "a"\nkind = "span"\ntitle = "T"', "at least one label"),
        ('[[questions]]\nname = "a"\nkind = "scale"\ntitle = "T"\nlow = 5\nhigh = 5', "not above 5"),
        ('[[questions]]\nname = "a"\nkind = "text"\ntitle = "T"\n' * 2, "two questions are named 'a'"),
        ("[[", "cannot be read"),
    ],
)
def test_a_file_with_a_mistake_is_refused_with_what_and_where(tmp_path: Path, text: str, problem: str) -> None:
    file = tmp_path / "questions.toml"
    file.write_text(text)
    with pytest.raises(BadInput, match=problem):
        read_questionnaire(file)
    with pytest.raises(NotFound):
        read_questionnaire(tmp_path / "none.toml")


def test_answers_are_kept_per_reviewer_and_taken_back(review: Review) -> None:
    review.answer(KEY, {"polite": True, "quality": 6}, "ana")
    review.answer(KEY, {"polite": False}, "bo")
    review.answer(KEY, {"quality": None, "note": "short"}, "ana")
    held = review.case(KEY)
    assert [question.name for question in held.questions] == ["polite", "quality", "topic", "note", "wrong"]
    assert {(one.reviewer, one.question): one.value for one in held.answers} == {
        ("ana", "polite"): True,
        ("ana", "note"): "short",
        ("bo", "polite"): False,
    }


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("polite", "yes", "not true or false"),
        ("polite", 1, "not true or false"),
        ("quality", 8, "from 1 to 7"),
        ("quality", True, "from 1 to 7"),
        ("topic", ["lake"], "'lake' is not one of capital, river"),
        ("topic", [], "not one of"),
        ("topic", ["river", "river"], "twice"),
        ("note", "  ", "a text is wanted"),
        ("wrong", [{"start": 0, "end": 99_999, "label": "rude"}], "outside the"),
        ("wrong", [{"start": 2, "end": 2, "label": "rude"}], "outside the"),
        ("wrong", [{"start": 0, "end": 2, "label": "vague"}], "'vague' is not one of"),
        ("wrong", [{"start": 0}], "is not a mark"),
        ("smell", True, "unknown question 'smell'"),
    ],
)
def test_what_is_no_answer_is_refused(review: Review, name: str, value: object, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        review.answer(KEY, {name: value}, "ana")
    assert review.case(KEY).answers == ()


def test_a_required_question_is_answered_before_a_case_is_approved(review: Review) -> None:
    with pytest.raises(Incomplete, match="Is the answer polite"):
        approve(review, "ana")
    review.answer(KEY, {"polite": True}, "bo")
    with pytest.raises(Incomplete):
        approve(review, "ana")
    review.answer(KEY, {"polite": True}, "ana")
    approve(review, "ana")
    assert review.case(KEY).case.review == "validated"


def test_agreement_is_given_for_each_question_by_its_kind(review: Review) -> None:
    marks = [{"start": 0, "end": 4, "label": "rude"}]
    for who, polite, quality in (("ana", True, 6), ("bo", True, 5)):
        review.answer(KEY, {"polite": polite, "quality": quality, "topic": ["capital"], "note": who}, who)
        review.answer(KEY, {"wrong": marks}, who)
    other = CaseKey(dataset="live", id="c2")
    review.answer(other, {"polite": False, "quality": 1}, "ana")
    review.answer(other, {"polite": False, "quality": 2}, "bo")
    rows = {row["question"]: row for row in review.agreement("live")["questions"]}
    assert rows["polite"]["beyond_chance"]["value"] == 1.0
    assert (rows["quality"]["agreement"]["value"], rows["quality"]["measure"]) == (0.0, "Krippendorff's alpha")
    assert (rows["quality"]["beyond_chance"]["value"] or 0) > 0.9  # 6 beside 5 and 1 beside 2 lie near each other
    assert rows["topic"]["shared"] == 1
    assert rows["topic"]["beyond_chance"]["reason"] == "every answer is the same, so chance explains all agreement"
    assert rows["note"]["agreement"]["reason"] == "free texts are read, not counted"
    assert rows["wrong"]["agreement"]["value"] == 1.0
    assert review.agreement("other")["questions"] == []


def test_answers_travel_with_an_exported_case_and_are_no_part_of_an_imported_one(
    review: Review, store: Store, tmp_path: Path
) -> None:
    review.answer(KEY, {"polite": True, "quality": 6}, "ana")
    cases, file = Cases(store), tmp_path / "cases.jsonl"
    cases.export(CaseFilter(dataset="live"), "case-jsonl", file)
    rows = {row["id"]: row for row in map(json.loads, file.read_text().splitlines()) if "id" in row}
    assert rows["c1"]["metadata"]["review_answers"] == {"polite": {"ana": True}, "quality": {"ana": 6}}
    assert "review_answers" not in rows["c2"]["metadata"]
    result, rejected = cases.import_file(file)
    assert (result.changed, result.unchanged, rejected) == (0, 2, [])


def test_the_queue_has_parts_as_a_reviewer_sees_it(review: Review) -> None:
    review.answer(KEY, {"polite": True}, "ana")
    approve(review, "ana")
    review.assign([CaseKey(dataset="live", id="c2")], "bo")

    def part(part: QueuePart, who: str) -> list[str]:
        return [item.id for item in review.queue(QueueQuery(part=part), who).items]

    assert part(QueuePart.DONE, "ana") == ["c1"]
    assert part(QueuePart.DONE, "bo") == []
    assert part(QueuePart.MINE, "bo") == part(QueuePart.OTHERS, "ana") == ["c2"]
    assert part(QueuePart.NOBODYS, "ana") == ["c1"]
    assert {item.id: item.done_by_me for item in review.queue(QueueQuery(), "ana").items} == {"c1": True, "c2": False}
    version = review.case(KEY).case.version
    review.decide(KEY, Decision(version=version, verdict=ReviewVerdict.WITHDRAW), "ana")
    assert part(QueuePart.DONE, "ana") == []


def test_progress_gives_day_speed_and_agreement_of_each_reviewer(review: Review) -> None:
    for who in ("ana", "bo"):
        review.answer(KEY, {"polite": True}, who)
        approve(review, who)
    rows = {row["reviewer"]: row for row in review.progress()["reviewers"]}
    assert (rows["ana"]["today"], rows["ana"]["seconds_per_case"]) == (1, None)
    assert rows["ana"]["agreement"]["value"] == 1.0
    tomorrow = datetime(9998, 1, 1, tzinfo=UTC)
    assert review.progress(tomorrow)["reviewers"][0]["today"] == 0


@given(st.lists(st.lists(st.integers(1, 5), min_size=2, max_size=4), min_size=1, max_size=8))
def test_alpha_is_one_for_equal_ratings_and_never_above(ratings: list[list[int]]) -> None:
    result = interval_alpha(ratings)
    assert result is None or result.value <= 1
    equal = interval_alpha([[case[0]] * 2 for case in ratings])
    assert equal is None or equal.value == pytest.approx(1)


@given(st.integers(0, 9), st.integers(1, 9), st.integers(0, 9), st.integers(1, 9))
def test_overlap_is_symmetric_and_one_only_for_the_same_marks(a: int, b: int, c: int, d: int) -> None:
    one, other = ([{"start": start, "end": start + size, "label": "x"}] for start, size in ((a, b), (c, d)))
    assert overlap(one, other) == overlap(other, one)
    assert (overlap(one, other) == 1) == (one == other)


def test_a_question_keeps_what_its_kind_does_not_use(review: Review) -> None:
    question = ReviewQuestion(name="a", kind=QuestionKind.TEXT, title="T", options=("x",))
    assert question.options == ("x",)
