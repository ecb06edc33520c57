"""A flow: one coding-agent task in a repository, as the ordered actions that were taken."""

from typing import Any

from pydantic import BaseModel, Field

from evergold.model.moment import UtcTime


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
