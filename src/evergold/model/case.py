"""A case: one unit of evaluation data, of any of the five kinds. Rules about a case live on the case."""

from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import BaseModel, Field, model_validator

from evergold.errors import Incomplete
from evergold.model.ident import content_hash
from evergold.model.moment import UtcTime
from evergold.model.nesting import Values

CaseId = Annotated[str, Field(min_length=1, max_length=1024)]
"""Longer than a trace's id may be, because a curated case is named after its policy and its trace."""


class CaseKind(StrEnum):
    CHAT = "chat"
    CONTEXT = "context"
    QA = "qa"
    SUMMARY = "summary"
    TASK = "task"


class EntryType(StrEnum):
    GOLDEN = "golden"
    FAILURE = "failure"
    CORRECTION = "correction"


class CaseStatus(StrEnum):
    """Whether a case takes part: withdrawn by its policy, dismissed by a person, erased on request."""

    ACTIVE = "active"
    WITHDRAWN = "withdrawn"
    DISMISSED = "dismissed"
    ERASED = "erased"


class ReviewState(StrEnum):
    UNVALIDATED = "unvalidated"
    VALIDATED = "validated"


class Difficulty(StrEnum):
    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"


class Context(BaseModel, frozen=True, extra="forbid"):
    """One retrieved passage with where it came from; a passage that was lost keeps its place as None."""

    text: str | None
    source: str | None = None
    retrieved: Values | None = None


class ToolCall(BaseModel, frozen=True, extra="forbid"):
    name: str
    args: Values = Field(default_factory=dict)


class RankedPath(BaseModel, frozen=True, extra="forbid"):
    """A file that the work needed; the order of paths in a case is their rank."""

    path: str
    sources: tuple[str, ...] = ()
    extra: Values = Field(default_factory=dict)


class LineRange(BaseModel, frozen=True, extra="forbid"):
    """Lines of a file at the base commit, first and last included, counted from 1.

    `blob` and `text_hash` prove the range: they name the file's content at base and the text of these lines.
    """

    path: str
    start: Annotated[int, Field(ge=1)]
    end: Annotated[int, Field(ge=1)]
    sources: tuple[str, ...] = ()
    blob: str | None = None
    text_hash: str | None = None
    extra: Values = Field(default_factory=dict)

    @model_validator(mode="after")
    def ends_after_start(self) -> Self:
        if self.end < self.start:
            raise ValueError(f"{self.path}: endLine {self.end} is before startLine {self.start}")
        return self


class Provenance(BaseModel, frozen=True, extra="forbid"):
    """Where a case comes from: enough to find its trace, flow or document again, and to redo its curation."""

    source: str = "manual"
    trace_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    policy: str | None = None
    policy_rev: str | None = None
    inclusion_probability: float | None = None
    document: str | None = None
    repository: str | None = None
    workspace_id: str | None = None
    task_id: str | None = None
    flow_id: str | None = None
    case_index: int | None = None


REQUIRED: dict[CaseKind, tuple[str, ...]] = {
    CaseKind.CHAT: ("input",),
    CaseKind.CONTEXT: ("input", "base_commit", "paths"),
    CaseKind.QA: ("input", "expected"),
    CaseKind.SUMMARY: ("input", "expected"),
    CaseKind.TASK: ("name", "input", "expected"),
}

BOOKKEEPING = frozenset({"review", "status", "version", "created_at", "updated_at"})


class Case(BaseModel, frozen=True, extra="forbid"):
    """`(dataset, id)` names a case for ever; `rev()` names what it says now; `version` counts its revisions.

    `metadata` belongs to users and sources, `extra` keeps unknown keys of an imported row so that they survive a
    round trip, and everything else means the same for every kind that uses it.
    """

    id: CaseId
    dataset: Annotated[str, Field(min_length=1, max_length=200)] = "live"
    kind: CaseKind = CaseKind.CHAT
    entry_type: EntryType = EntryType.GOLDEN
    name: str | None = None
    input: str
    output: str | None = None
    expected: str | None = None
    prompt: str | None = None
    difficulty: Difficulty | None = None
    contexts: tuple[Context, ...] = ()
    messages: tuple[Values, ...] = ()
    tools: tuple[Values, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    expected_tools: tuple[ToolCall, ...] = ()
    paths: tuple[RankedPath, ...] = ()
    ranges: tuple[LineRange, ...] = ()
    base_commit: str | None = None
    citations: tuple[Values, ...] = ()
    answer_citations: tuple[Values, ...] | None = None
    tags: tuple[str, ...] = ()
    metadata: Values = Field(default_factory=dict)
    extra: Values = Field(default_factory=dict)
    provenance: Provenance = Provenance()
    review: ReviewState = ReviewState.UNVALIDATED
    status: CaseStatus = CaseStatus.ACTIVE
    version: int = 1
    created_at: UtcTime | None = None
    updated_at: UtcTime | None = None

    @property
    def confirmed(self) -> bool:
        """A golden case that a person stood behind; a candidate has only the system's word."""
        return bool(self.metadata.get("confirmed"))

    def content(self) -> dict[str, Any]:
        """What the case says, without who reviewed it and when it changed."""
        return self.model_dump(mode="json", exclude=set(BOOKKEEPING))

    def rev(self) -> str:
        """Identity of the content; review state is left out, so a verdict makes no new identity."""
        return content_hash(self.content())

    def missing(self) -> tuple[str, ...]:
        """The fields this kind of case still needs before anybody can call it true."""
        lacking = [name for name in REQUIRED[self.kind] if is_blank(getattr(self, name))]
        if self.kind is CaseKind.CHAT and is_blank(self.expected) and is_blank(self.output):
            lacking.append("expected")
        return tuple(lacking)

    def validated(self) -> Self:
        lacking = self.missing()
        if lacking:
            raise Incomplete(f"case {self.id!r} lacks {', '.join(lacking)}; fill them before validating")
        return self.model_copy(update={"review": ReviewState.VALIDATED})


def is_blank(value: object) -> bool:
    return not value.strip() if isinstance(value, str) else not value
