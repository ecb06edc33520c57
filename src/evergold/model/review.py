"""Review: verdicts, questions and their answers, assignments, the queue, progress and agreement of reviewers."""

from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from typing_extensions import TypedDict

from evergold.errors import BadInput
from evergold.model.case import Case, CaseId, CaseKind, CaseStatus, EntryType, ReviewState, TierEvidence
from evergold.model.limits import UtcTime

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
        problem = self._find_problem(value, text or "")
        if problem:
            raise BadInput(f"answer to {self.name!r}: {problem}")

    def _find_problem(self, value: Any, text: str) -> str:
        match self.kind:
            case QuestionKind.YES_NO:
                return "" if isinstance(value, bool) else f"{value!r} is not true or false"
            case QuestionKind.SCALE:
                # JSON true would pass as 1.
                fits = isinstance(value, int) and not isinstance(value, bool) and self.low <= value <= self.high
                return "" if fits else f"{value!r} is not a whole number from {self.low} to {self.high}"
            case QuestionKind.CHOICE:
                chosen = value if self.several and isinstance(value, list) else [value]
                wrong = [one for one in chosen if one not in self.options]
                if wrong or not chosen:
                    return f"{wrong[0] if wrong else value!r} is not one of {', '.join(self.options)}"
                return "an option is named twice" if len(set(chosen)) < len(chosen) else ""
            case QuestionKind.TEXT:
                if not isinstance(value, str) or not value.strip():
                    return "a text is wanted; send null to take an answer back"
                return (
                    ""
                    if len(value) <= LONGEST_TEXT
                    else f"{len(value):,} characters; at most {LONGEST_TEXT:,} are kept"
                )
            case QuestionKind.SPAN:
                if not isinstance(value, list) or not value or len(value) > MOST_MARKS:
                    return f"a list of 1 to {MOST_MARKS} marks is wanted, each with start, end and label"
                return next(filter(None, (self._find_problem_of_mark(mark, text) for mark in value)), "")

    def _find_problem_of_mark(self, mark: Any, text: str) -> str:
        if not isinstance(mark, dict) or set(mark) != {"start", "end", "label"}:
            return f"{mark!r} is not a mark with start, end and label"
        start, end = mark["start"], mark["end"]
        # `type` and not `isinstance`: True and False are ints.
        if type(start) is not int or type(end) is not int or not 0 <= start < end <= len(text):
            return f"start {start!r} and end {end!r} lie outside the {len(text):,} characters of the {self.on}"
        return (
            "" if mark["label"] in self.options else f"label {mark['label']!r} is not one of {', '.join(self.options)}"
        )


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


ReviewerName = Annotated[str, Field(min_length=1, max_length=100)]


class ReviewVerdict(StrEnum):
    """What a reviewer says of a case. Approve and dismiss are opinions; the others steer the queue."""

    APPROVE = "approve"
    DISMISS = "dismiss"
    SECOND_OPINION = "second_opinion"
    SKIP = "skip"
    REOPEN = "reopen"
    WITHDRAW = "withdraw"


OPINIONS = (ReviewVerdict.APPROVE, ReviewVerdict.DISMISS)


class CaseKey(BaseModel, frozen=True, extra="forbid"):
    """The name of a case."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    id: CaseId


class VersionedKey(CaseKey, frozen=True):
    """A case as somebody saw it: a change asked for on an older version is a conflict."""

    version: Annotated[int, Field(ge=1)]


class BulkResult(CaseKey, frozen=True):
    """What became of one case: its version now, or why nothing was done."""

    version: int
    error: str | None


class Decision(BaseModel, frozen=True, extra="forbid"):
    """A verdict on the version the reviewer saw, with the edits made on the way and the reason given.

    `override_base` approves a case whose base commit the repository disproves; that is kept with the case.
    """

    version: Annotated[int, Field(ge=1)]
    verdict: ReviewVerdict
    comment: Annotated[str, Field(max_length=10_000)] = ""
    changes: dict[str, Any] = Field(default_factory=dict)
    adjudicate: bool = False
    override_base: bool = False


class RowsTaken(BaseModel):
    """What became of rows; `kept` names cases left as others made them, `versions` says where the rest stand."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: list[str] = Field(default_factory=list)
    problems: list[str] = Field(default_factory=list)
    versions: dict[str, int] = Field(default_factory=dict)


class Edit(BaseModel, frozen=True, extra="forbid"):
    """Changed fields of a case, on the version the reviewer saw."""

    version: Annotated[int, Field(ge=1)]
    changes: dict[str, Any]
    why: Annotated[str, Field(max_length=10_000)] = ""


class Opinion(BaseModel, frozen=True, extra="forbid"):
    """One recorded verdict. `rev` names the content it was given on: on other content it counts no more."""

    dataset: str
    id: str
    version: int
    rev: str
    reviewer: str
    verdict: ReviewVerdict
    comment: str = ""
    adjudicate: bool = False
    created_at: UtcTime | None = None


class AssignmentState(StrEnum):
    ASSIGNED = "assigned"
    CLAIMED = "claimed"
    SKIPPED = "skipped"
    DONE = "done"


class Assignment(BaseModel, frozen=True, extra="forbid"):
    """A case in somebody's hands; a claim lapses with its lease, an assignment stays until it is done or taken back."""

    dataset: str
    id: str
    reviewer: str
    state: AssignmentState
    lease_until: UtcTime | None = None


class Standing(StrEnum):
    """Where the opinions on a case's present content leave it."""

    OPEN = "open"
    AGREED = "agreed"
    DISPUTED = "disputed"
    SECOND_OPINION = "second_opinion"


class QueuePart(StrEnum):
    """A part of the queue as one reviewer sees it: in their hands, in those of others, in nobody's, or judged by them."""

    MINE = "mine"
    OTHERS = "others"
    NOBODYS = "nobodys"
    DONE = "done"


class QueueOrder(StrEnum):
    """Which cases come first: the oldest, or those whose review is worth most now, each with the reason."""

    OLDEST = "oldest"
    VALUE = "value"


class QueueQuery(BaseModel, frozen=True, extra="forbid"):
    """Which cases, in the words of a reviewer; every given field narrows.

    `part` is seen from whoever asks; `check` names a check that failed on the case's trace.
    """

    dataset: str | None = None
    kind: CaseKind | None = None
    entry_type: EntryType | None = None
    review: ReviewState | None = None
    status: CaseStatus | None = CaseStatus.ACTIVE
    standing: Standing | None = None
    reviewer: str | None = None
    part: QueuePart | None = None
    tag: str | None = None
    source: str | None = None
    check: str | None = None
    needs_look: bool | None = None
    text: Annotated[str, Field(max_length=500)] = ""
    order: QueueOrder = QueueOrder.OLDEST


class QueueItem(BaseModel, frozen=True, extra="forbid"):
    """One line of the queue: enough to choose by, without the body. `why` says what its review is worth, by value alone."""

    dataset: str
    id: str
    kind: CaseKind
    entry_type: EntryType
    title: str
    review: ReviewState
    status: CaseStatus
    standing: Standing
    version: int
    tier: str
    evidence: TierEvidence
    held_by: tuple[str, ...] = ()
    opinions: int = 0
    done_by_me: bool = False
    needs_look: str | None = None
    why: str | None = None
    updated_at: UtcTime | None = None


class QueuePage(BaseModel, frozen=True, extra="forbid"):
    """A page of the queue; `counts` are over everything the query matches, not over the page."""

    items: tuple[QueueItem, ...]
    total: int
    counts: dict[str, int]


class HistoryEntry(BaseModel, frozen=True, extra="forbid"):
    """One thing that happened to a case: a revision of it, or an opinion on it."""

    at: UtcTime
    who: str
    what: str
    why: str = ""
    version: int
    changes: dict[str, Any] = Field(default_factory=dict)


class CaseFile(BaseModel, frozen=True, extra="forbid"):
    """Everything a reviewer needs of one case in one answer."""

    case: Case
    rev: str
    missing: tuple[str, ...]
    standing: Standing
    decided_by: tuple[str, ...]
    opinions: tuple[Opinion, ...]
    assignments: tuple[Assignment, ...]
    history: tuple[HistoryEntry, ...]
    needs_look: str | None = None
    questions: tuple[ReviewQuestion, ...] = ()
    answers: tuple[ReviewAnswer, ...] = ()


class AgreementFigure(TypedDict):
    """A value with its interval, or the reason why there is none."""

    value: float | None
    low: float | None
    high: float | None
    n: int
    reason: str | None


class PairAgreement(TypedDict):
    """Cohen's kappa of two reviewers."""

    reviewers: list[str]
    cohen: AgreementFigure


class QuestionAgreement(TypedDict):
    """How far reviewers agree on one question of a dataset; `measure` names what takes chance away."""

    dataset: str
    question: str
    title: str
    kind: str
    answers: int
    shared: int
    agreement: AgreementFigure
    measure: str
    beyond_chance: AgreementFigure


class Agreement(TypedDict):
    """How far all reviewers agree, each pair of them, and on each question of their datasets."""

    cases: int
    shared: int
    disputed: int
    agreement: AgreementFigure
    fleiss: AgreementFigure
    pairs: list[PairAgreement]
    questions: list[QuestionAgreement]


class DatasetProgress(TypedDict):
    """How much of a dataset is reviewed. `candidates` are those of `total` that rest on silence alone."""

    dataset: str
    total: int
    candidates: int
    validated: int
    dismissed: int


class ReviewerPace(TypedDict):
    """A reviewer's day, speed and agreement.

    `today` counts cases decided since the day began, `seconds_per_case` is the median time from one verdict to the next
    in a sitting, `agreement` the share of a colleague's first verdicts on the same content that are equal.
    """

    today: int
    seconds_per_case: float | None
    agreement: AgreementFigure


class ReviewerProgress(ReviewerPace):
    """How many verdicts of which kind a reviewer gave, when the last one was, and how they get on."""

    reviewer: str
    approve: int
    dismiss: int
    second_opinion: int
    skip: int
    last_at: str | None


class ReviewProgress(TypedDict):
    """Progress per dataset and per reviewer; `daily_goal` is how many cases a reviewer is to decide a day, 0 for none."""

    daily_goal: int
    datasets: list[DatasetProgress]
    reviewers: list[ReviewerProgress]
