"""Questions of a dataset's own that reviewers answer beside the verdict, and their answers."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from evergold.errors import BadInput
from evergold.model.nesting import UtcTime

MOST_QUESTIONS = 50
MOST_MARKS = 500
LONGEST_TEXT = 20_000

OptionText = Annotated[str, Field(min_length=1, max_length=200)]


class QuestionKind(StrEnum):
    """What an answer is: true or false, a whole number, one or several options, free text, or marked passages."""

    YES_NO = "yes_no"
    SCALE = "scale"
    CHOICE = "choice"
    TEXT = "text"
    SPAN = "span"


class ReviewQuestion(BaseModel, frozen=True, extra="forbid"):
    """One question. `options` are those of a choice, or the labels of marked passages in the text named by `on`."""

    name: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,49}$")]
    kind: QuestionKind
    title: Annotated[str, Field(min_length=1, max_length=300)]
    help: Annotated[str, Field(max_length=2_000)] = ""
    required: bool = False
    options: Annotated[tuple[OptionText, ...], Field(max_length=100)] = ()
    several: bool = False
    low: Annotated[int, Field(ge=0, le=100)] = 1
    high: Annotated[int, Field(ge=1, le=100)] = 5
    on: Literal["input", "output", "expected"] = "output"

    @model_validator(mode="after")
    def has_what_its_kind_needs(self) -> Self:
        if self.kind is QuestionKind.CHOICE and len(self.options) < 2:
            raise ValueError(f"question {self.name!r} is a choice: give at least two options")
        if self.kind is QuestionKind.SPAN and not self.options:
            raise ValueError(f"question {self.name!r} marks passages: give at least one label in options")
        if len(set(self.options)) < len(self.options):
            raise ValueError(f"question {self.name!r} names an option twice")
        if self.kind is QuestionKind.SCALE and self.high <= self.low:
            raise ValueError(f"question {self.name!r}: the scale ends at {self.high}, which is not above {self.low}")
        return self

    def check_answer(self, value: Any, text: str | None) -> None:
        """Raise `BadInput` where a value is no answer to this question; `text` is what passages are marked in."""
        problem = CHECKS[self.kind](self, value, text or "")
        if problem:
            raise BadInput(f"answer to {self.name!r}: {problem}")


class Questionnaire(BaseModel, frozen=True, extra="forbid"):
    """The questions of one dataset, in the order in which they are asked."""

    questions: Annotated[tuple[ReviewQuestion, ...], Field(max_length=MOST_QUESTIONS)] = ()

    @model_validator(mode="after")
    def names_are_unique(self) -> Self:
        names = [question.name for question in self.questions]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"two questions are named {twice[0]!r}; answers are stored by name")
        return self


class ReviewAnswer(BaseModel, frozen=True, extra="forbid"):
    """What one reviewer answered to one question. `rev` names the content of the case that was answered on."""

    question: str
    reviewer: str
    value: Any
    rev: str
    at: UtcTime | None = None


class AnswerOn(BaseModel, frozen=True, extra="forbid"):
    """An answer, and the case it was given on."""

    dataset: str
    id: str
    answer: ReviewAnswer


def _yes_no(question: ReviewQuestion, value: Any, text: str) -> str:
    return "" if isinstance(value, bool) else f"{value!r} is not true or false"


def _scale(question: ReviewQuestion, value: Any, text: str) -> str:
    # JSON true would pass as 1.
    fits = isinstance(value, int) and not isinstance(value, bool) and question.low <= value <= question.high
    return "" if fits else f"{value!r} is not a whole number from {question.low} to {question.high}"


def _choice(question: ReviewQuestion, value: Any, text: str) -> str:
    chosen = value if question.several and isinstance(value, list) else [value]
    wrong = [one for one in chosen if one not in question.options]
    if wrong or not chosen:
        return f"{wrong[0] if wrong else value!r} is not one of {', '.join(question.options)}"
    return "an option is named twice" if len(set(chosen)) < len(chosen) else ""


def _text(question: ReviewQuestion, value: Any, text: str) -> str:
    if not isinstance(value, str) or not value.strip():
        return "a text is wanted; send null to take an answer back"
    return "" if len(value) <= LONGEST_TEXT else f"{len(value):,} characters; at most {LONGEST_TEXT:,} are kept"


def _span(question: ReviewQuestion, value: Any, text: str) -> str:
    if not isinstance(value, list) or not value or len(value) > MOST_MARKS:
        return f"a list of 1 to {MOST_MARKS} marks is wanted, each with start, end and label"
    for mark in value:
        if not isinstance(mark, dict) or set(mark) != {"start", "end", "label"}:
            return f"{mark!r} is not a mark with start, end and label"
        start, end = mark["start"], mark["end"]
        # `type` and not `isinstance`: True and False are ints.
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            return f"start {start!r} and end {end!r} lie outside the {len(text):,} characters of the {question.on}"
        if mark["label"] not in question.options:
            return f"label {mark['label']!r} is not one of {', '.join(question.options)}"
    return ""


CHECKS = {
    QuestionKind.YES_NO: _yes_no,
    QuestionKind.SCALE: _scale,
    QuestionKind.CHOICE: _choice,
    QuestionKind.TEXT: _text,
    QuestionKind.SPAN: _span,
}
