"""Review: what people said about a case, who has it in hand, and the views they look through."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BaseModel, Field

from evergold.model.case import Case, CaseId, CaseKind, CaseStatus, EntryType, ReviewState
from evergold.model.moment import UtcTime
from evergold.model.questions import ReviewAnswer, ReviewQuestion

ReviewerName = Annotated[str, Field(min_length=1, max_length=100)]


class ReviewVerdict(StrEnum):
    """What a reviewer says of a case. Approve and dismiss are opinions; the others steer the queue."""

    APPROVE = "approve"
    DISMISS = "dismiss"
    SECOND_OPINION = "second_opinion"
    SKIP = "skip"
    REOPEN = "reopen"
    WITHDRAW = "withdraw"


OPINIONS = frozenset({ReviewVerdict.APPROVE, ReviewVerdict.DISMISS})


class CaseKey(BaseModel, frozen=True, extra="forbid"):
    """The name of a case."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    id: CaseId


class VersionedKey(CaseKey, frozen=True):
    """A case as somebody saw it: a change asked for on an older version is a conflict."""

    version: Annotated[int, Field(ge=1)]


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


class QueueItem(BaseModel, frozen=True, extra="forbid"):
    """One line of the queue: enough to choose by, without the body."""

    dataset: str
    id: str
    kind: CaseKind
    entry_type: EntryType
    title: str
    review: ReviewState
    status: CaseStatus
    standing: Standing
    version: int
    confirmed: bool
    held_by: tuple[str, ...] = ()
    opinions: int = 0
    done_by_me: bool = False
    needs_look: str | None = None
    updated_at: UtcTime | None = None


class QueuePage(BaseModel, frozen=True, extra="forbid"):
    """A page of the queue; `counts` are over everything the query matches, not over the page."""

    items: tuple[QueueItem, ...]
    total: int
    counts: dict[str, int]


class SavedView(BaseModel, frozen=True, extra="forbid"):
    name: Annotated[str, Field(min_length=1, max_length=200)]
    owner: str = ""
    query: QueueQuery = QueueQuery()
    created_at: UtcTime | None = None


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
    opinions: tuple[Opinion, ...]
    assignments: tuple[Assignment, ...]
    history: tuple[HistoryEntry, ...]
    needs_look: str | None = None
    questions: tuple[ReviewQuestion, ...] = ()
    answers: tuple[ReviewAnswer, ...] = ()
