"""A flow: one coding-agent task in a repository as an ordered list of actions; and the evidence that a reviewer sees of it."""

from typing import Any

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


class Evidence(BaseModel, frozen=True, extra="forbid"):
    """What is known of a case's origin. `missing` says, where nothing is, what would bring it."""

    diff: str | None = None
    tool_calls: tuple[ToolEvidence, ...] = ()
    suggested_queries: tuple[str, ...] = ()
    suggested_commits: tuple[str, ...] = ()
    trace: Trace | None = None
    conversation: tuple[Trace, ...] = ()
    missing: str | None = None


class BaseCheck(BaseModel, frozen=True, extra="forbid"):
    """Whether a commit is in the repository, and whether the golden diff applies to it; None where it was not tried."""

    commit: str
    exists: bool
    applies: bool | None = None
    message: str


class BaseCandidate(BaseModel, frozen=True, extra="forbid"):
    """A commit that may be the base of a change: what speaks for it, and whether the change applies to it."""

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
