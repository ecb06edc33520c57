"""A flow: one coding-agent task in a repository as an ordered list of actions; and the evidence that a reviewer sees of it."""

from typing import Annotated, Any

from pydantic import BaseModel, Field

from evergold.model.limits import UtcTime
from evergold.model.trace import Trace


class Action(BaseModel, frozen=True, extra="forbid"):
    """One step of a flow: a tool call, an approval, a message. `result` is plain text, unwrapped.

    A log of a coding agent also says where a step was taken (`cwd`, `branch`), whether a helper of the agent took it
    (`sidechain`), and what the agent's program noted beside the result (`details`), such as a file before its edit.
    """

    id: str
    type: str
    status: str = "complete"
    params: dict[str, Any] = Field(default_factory=dict)
    result: str | None = None
    error: bool = False
    created: UtcTime
    human: bool = False
    sidechain: bool = False
    cwd: str | None = None
    branch: str | None = None
    details: dict[str, Any] = Field(default_factory=dict)


class Flow(BaseModel, frozen=True, extra="forbid"):
    """One task from its request to its last action. Streamed into cases, never stored.

    `agent` names the coding agent whose session log this is; a flow of an app with approved merges has none.
    """

    id: str
    agent: str | None = None
    workspace_id: str = ""
    task_id: str = ""
    title: str | None = None
    description: str | None = None
    branch: str | None = None
    repo_dir: str | None = None
    actions: tuple[Action, ...] = ()
    metadata: dict[str, Any] = Field(default_factory=dict)


class ToolEvidence(BaseModel, frozen=True, extra="forbid"):
    """One tool call of the agent: what it asked and what it got."""

    id: str
    name: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    result: str | None = None
    failed: bool = False


class CodeChange(BaseModel, frozen=True, extra="forbid"):
    """A change whose base commit is sought or proved, and what is known of where it went.

    `earlier_diff` is set where `diff` is cumulative: it is what had been merged before, and the rest is this change.
    """

    diff: Annotated[str | None, Field(max_length=20_000_000)] = None
    earlier_diff: Annotated[str | None, Field(max_length=20_000_000)] = None
    source_branch: Annotated[str | None, Field(max_length=400)] = None
    target_branch: Annotated[str | None, Field(max_length=400)] = None
    named_commits: Annotated[tuple[Annotated[str, Field(max_length=100)], ...], Field(max_length=1000)] = ()


class Evidence(CodeChange, frozen=True, extra="forbid"):
    """What is known of a case's origin. `missing` says, where nothing is, what would bring it."""

    tool_calls: tuple[ToolEvidence, ...] = ()
    suggested_queries: tuple[str, ...] = ()
    suggested_commits: tuple[str, ...] = ()
    trace: Trace | None = None
    conversation: tuple[Trace, ...] = ()
    missing: str | None = None


class BaseCheck(BaseModel, frozen=True, extra="forbid"):
    """Whether a commit is in the repository and the change proves there (None where there is nothing to prove), and why."""

    commit: str
    exists: bool
    applies: bool | None = None
    message: str
    problems: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()


class BaseCandidate(BaseModel, frozen=True, extra="forbid"):
    """A commit at which a change proves, and what speaks for it."""

    commit: str
    subject: str
    committed_at: UtcTime | None = None
    proved: bool
    evidence: tuple[str, ...] = ()


class ProvedRow(BaseModel, frozen=True, extra="forbid"):
    """Rows of a case with full commit id, blobs and text hashes, and what disproves the base commit."""

    a: dict[str, Any]
    b: dict[str, Any]
    problems: tuple[str, ...] = ()


class FileAtCommit(BaseModel, frozen=True, extra="forbid"):
    """A file as it was at a commit; `text` is None when it is binary or too large to show."""

    commit: str
    path: str
    text: str | None
    message: str = ""
