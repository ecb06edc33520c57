"""Questions of reviewers: what a question needs, and what is an answer to it."""

from typing import Any

import pytest
from pydantic import ValidationError

from evergold.errors import BadInput
from evergold.model.review import LONGEST_TEXT, MOST_MARKS, Questionnaire, ReviewQuestion
from tests.rows import each_row


def question(kind: str, **more: Any) -> ReviewQuestion:
    return ReviewQuestion(name="q", kind=kind, title="?", **more)


YES_NO, SCALE, TEXT = question("yes_no"), question("scale", low=1, high=5), question("text")
CHOICE = question("choice", options=("good", "bad"))
SEVERAL = question("choice", options=("good", "bad"), several=True)
SPAN = question("span", options=("wrong",))


def mark(start: Any = 0, end: Any = 4, label: Any = "wrong") -> dict[str, Any]:
    return {"start": start, "end": end, "label": label}


@each_row(
    ("asked", "value"),
    [
        (YES_NO, True),
        (YES_NO, False),
        (SCALE, 1),
        (SCALE, 5),
        (CHOICE, "good"),
        (SEVERAL, "good"),
        (SEVERAL, ["bad", "good"]),
        (TEXT, "x" * LONGEST_TEXT),
        (SPAN, [mark(), mark(3, 5)]),
    ],
)
def test_an_answer_is_taken(asked: ReviewQuestion, value: Any) -> None:
    asked.check_answer(value, "Lima.")


@each_row(
    ("asked", "value", "problem"),
    [
        (YES_NO, 1, "1 is not true or false"),
        (YES_NO, "yes", "'yes' is not true or false"),
        (SCALE, 0, "0 is not a whole number from 1 to 5"),
        (SCALE, 6, "6 is not a whole number"),
        (SCALE, True, "True is not a whole number"),
        (SCALE, 2.0, "2.0 is not a whole number"),
        (CHOICE, "fine", "'fine' is not one of good, bad"),
        (CHOICE, ["good"], r"\['good'\] is not one of good, bad"),
        (SEVERAL, [], r"\[\] is not one of good, bad"),
        (SEVERAL, ["good", "good"], "an option is named twice"),
        (SEVERAL, ["good", {}], "{} is not one of"),
        (TEXT, "  ", "a text is wanted; send null to take an answer back"),
        (TEXT, 5, "a text is wanted"),
        (TEXT, "x" * (LONGEST_TEXT + 1), "20,001 characters; at most 20,000 are kept"),
        (SPAN, [], "a list of 1 to 500 marks is wanted"),
        (SPAN, mark(), "a list of 1 to 500 marks is wanted"),
        (SPAN, [mark()] * (MOST_MARKS + 1), "a list of 1 to 500 marks is wanted"),
        (SPAN, [{"start": 0}], r"\{'start': 0\} is not a mark with start, end and label"),
        (SPAN, ["x"], "'x' is not a mark"),
        (SPAN, [mark(0, 6)], "start 0 and end 6 lie outside the 5 characters of the output"),
        (SPAN, [mark(2, 2)], "start 2 and end 2 lie outside"),
        (SPAN, [mark(-1, 2)], "start -1 and end 2 lie outside"),
        (SPAN, [mark(True, 2)], "start True and end 2 lie outside"),
        (SPAN, [mark(label="odd")], "label 'odd' is not one of wrong"),
    ],
)
def test_what_is_no_answer_is_refused_with_the_reason(asked: ReviewQuestion, value: Any, problem: str) -> None:
    with pytest.raises(BadInput, match=f"answer to 'q': {problem}"):
        asked.check_answer(value, "Lima.")


def test_nothing_can_be_marked_where_there_is_no_text() -> None:
    with pytest.raises(BadInput, match="outside the 0 characters"):
        SPAN.check_answer([mark(0, 1)], None)


@each_row(
    ("kind", "fields", "problem"),
    [
        ("choice", {"options": ("only",)}, "give at least two options"),
        ("span", {}, "give at least one label"),
        ("choice", {"options": ("a", "a")}, "names an option twice"),
        ("scale", {"low": 5, "high": 5}, "the scale ends at 5, which is not above 5"),
        ("text", {"options": ("",)}, "at least 1 character"),
    ],
)
def test_a_question_without_what_its_kind_needs_is_refused(kind: str, fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        question(kind, **fields)


@each_row("name", ["Q", "1q", "", "a-b", "q" * 51])
def test_a_name_that_cannot_be_a_column_is_refused(name: str) -> None:
    with pytest.raises(ValidationError):
        ReviewQuestion(name=name, kind="text", title="?")


def test_two_questions_of_one_name_are_refused() -> None:
    with pytest.raises(ValidationError, match="two questions are named 'q'; answers are stored by name"):
        Questionnaire(questions=(TEXT, YES_NO))
