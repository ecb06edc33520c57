"""Actions on cases and lists: write or change cases, make them from traces, upload files, keep views; repeats of questions."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any, Literal, Self
from urllib.parse import parse_qsl, urlencode

from pydantic import AfterValidator, BaseModel, Field, ValidationError, model_validator

from evergold.model.case import Answer, Assertion, CaseKind, CaseStatus, EntryType, ReviewState, TierEvidence
from evergold.model.faults import faults_of
from evergold.model.limits import UtcTime
from evergold.model.review import CaseKey, QueuePart, QueueQuery
from evergold.model.trace import Ident

# Cases in one request: they change in one transaction, which must not hold up other writers for long.
MOST = 1000
TagText = Annotated[str, Field(min_length=1, max_length=200)]


class NewCase(BaseModel, frozen=True, extra="forbid"):
    """A case that somebody writes by hand."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    input: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    expected: Annotated[str, Field(min_length=1, max_length=1_000_000)]
    kind: CaseKind = CaseKind.CHAT
    name: str | None = None
    tags: tuple[TagText, ...] = ()
    assertions: Annotated[tuple[Assertion, ...], Field(max_length=50)] = ()


class ReplacedAnswer(BaseModel, frozen=True, extra="forbid"):
    """What an answer replaced in a case; it is put back only while the case is at the version that has the answer."""

    version: int
    entry_type: EntryType
    evidence: TierEvidence
    review: ReviewState
    approved: Answer | None = None


class CaseChange(BaseModel, frozen=True, extra="forbid"):
    """One change to many cases. `dataset` moves them: each is written there, and withdrawn where it was.

    `repeats_of` merges them into one: the others are dismissed, and that one gets their tags. `answered` takes an answer
    back.
    """

    cases: Annotated[tuple[CaseKey, ...], Field(min_length=1, max_length=MOST)]
    add_tags: tuple[TagText, ...] = ()
    remove_tags: tuple[TagText, ...] = ()
    dataset: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    status: CaseStatus | None = None
    repeats_of: CaseKey | None = None
    answered: ReplacedAnswer | None = None


class CaseChanged(BaseModel, frozen=True, extra="forbid"):
    """The cases that changed, where they are now, and the changes that take it all back, in order."""

    cases: tuple[CaseKey, ...]
    problems: tuple[str, ...] = ()
    undo: tuple[CaseChange, ...] = ()


class Picking(BaseModel, frozen=True, extra="forbid"):
    """Which traces become cases of which dataset.

    With `answer` the cases are validated and this is their reference; without it they wait for review. A case that the dataset
    has of the trace already gets the answer; without one it stays as it is.
    """

    trace_ids: Annotated[tuple[Ident, ...], Field(min_length=1, max_length=500)]
    dataset: Annotated[str, Field(min_length=1, max_length=200)] = "picked"
    answer: Annotated[str | None, Field(max_length=1_000_000)] = None
    tags: Annotated[tuple[str, ...], Field(max_length=50)] = ()
    note: Annotated[str, Field(max_length=10_000)] = ""
    tier: Literal["golden", "candidate", "failure"] = "golden"
    """What they are as long as nobody answers."""


class Picked(BaseModel, frozen=True, extra="forbid"):
    """What became of one trace: the key of its case, whether that was there before, or why there is none.

    `undo` takes the answer back that a case got which was there before.
    """

    trace_id: str
    dataset: str | None = None
    id: str | None = None
    updated: bool = False
    undo: CaseChange | None = None
    problem: str | None = None


class RepeatCounts(BaseModel, frozen=True):
    """How many questions are asked by more than one case (`questions`), and by how many cases (`repeating`).

    Counted over the newest `looked_at` of `cases` active cases; a build looks at all of them.
    """

    cases: int
    looked_at: int
    questions: int
    repeating: int


class RepeatedQuestion(BaseModel, frozen=True):
    """The cases that ask one question: how many, and the ids of the first ones by id."""

    cases: int
    examples: tuple[str, ...]


class Repeats(BaseModel, frozen=True):
    """The counts of a dataset, and for each case asked for that is a repeat the question it shares with others."""

    counts: RepeatCounts
    of: dict[str, RepeatedQuestion]


class UploadOf(StrEnum):
    """What a file holds."""

    TRACES = "traces"
    CASES = "cases"


class Upload(BaseModel, frozen=True, extra="forbid"):
    """The text of a file. `dataset`: where its cases go, unless the file says so."""

    name: Annotated[str, Field(min_length=1, max_length=300)]
    of: UploadOf
    text: Annotated[str, Field(min_length=1)]
    dataset: Annotated[str, Field(max_length=200)] = ""


class Uploaded(BaseModel, frozen=True, extra="forbid"):
    """How many records of a file were stored, how many not, and why."""

    of: UploadOf
    stored: int
    rejected: int
    problems: list[str]


class ListPage(StrEnum):
    """The lists that views are kept of."""

    TRACES = "traces"
    CASES = "cases"
    REVIEW = "review"


_PAIR = r"[\w.~%+\[\]-]+(?:=[^&#\s<>\"`\\]*)?"
QUERY = re.compile(rf"(?:{_PAIR}(?:&(?:{_PAIR})?)*)?")


def require_query(address: str) -> str:
    """The address, unless it is more than names and values: another page's would be opened in the name of this one."""
    if QUERY.fullmatch(address) is None:
        raise ValueError("must be what stands after the question mark of a page, as in status=failed&tag=a")
    return address


class ListView(BaseModel, frozen=True, extra="forbid"):
    """A view of a list. `address` is what stands after the question mark in the page's address."""

    page: ListPage
    name: Annotated[str, Field(min_length=1, max_length=200)]
    address: Annotated[str, Field(max_length=10_000), AfterValidator(require_query)]
    owner: str = ""
    created_at: UtcTime | None = None


IN_ADDRESS = {
    "text": "q",
    "dataset": "set",
    "entry_type": "type",
}  # what the address of the review page calls otherwise


def queue_address(query: Mapping[str, Any]) -> str:
    """Write a query of the review queue as the page has it in its address; a blank status stands for every status."""
    stated = {name: value for name, value in query.items() if value not in (None, "") or name == "status"}
    return urlencode({IN_ADDRESS.get(name, name): "" if value is None else value for name, value in stated.items()})


class SavedView(BaseModel, frozen=True, extra="forbid"):
    """A view of the review queue: a `ListView` of that page, with its address read as a query."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    owner: str = ""
    query: QueueQuery = QueueQuery()
    created_at: UtcTime | None = None

    @classmethod
    def of(cls, view: ListView) -> Self:
        """Read a view of the page; what its address has besides a query is left out, as the page does."""
        stated = dict(parse_qsl(view.address, keep_blank_values=True))
        given = {name: value for name in QueueQuery.model_fields if (value := stated.get(IN_ADDRESS.get(name, name)))}
        if stated.get("status") == "" or (given.get("part") == QueuePart.DONE and "status" not in stated):
            given["status"] = None  # type: ignore[assignment]
        try:
            query = QueueQuery.model_validate(given)
        except ValidationError as problem:
            unknown = {fault.field for fault in faults_of(problem.errors())}
            query = QueueQuery.model_validate({name: given[name] for name in given.keys() - unknown})
        return cls(query=query, **view.model_dump(include={"name", "owner", "created_at"}))

    @model_validator(mode="after")
    def require_address(self) -> Self:
        """Refuse a query that is too long for an address."""
        self.as_list_view()
        return self

    def as_list_view(self) -> ListView:
        given = self.model_dump(include={"name", "owner", "created_at"})
        address = queue_address(self.query.model_dump(mode="json"))
        return ListView(page=ListPage.REVIEW, address=address, **given)
