"""/replay-users: simulated users of cases, drafted by a program and confirmed by a person."""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.case import Case
from evergold.workspace.replay_users import UsersDrafted

DRAFT_SECONDS = 8.0  # a request is answered then; it says whether cases are left, and the same request goes on

router = Router(prefix="/api/v1", tags=["benchmarks"])


class DraftUsers(BaseModel, extra="forbid"):
    """Which cases get a draft, and which model writes it; without a model a rule does."""

    dataset: str
    filters: dict[str, Any] = Field(default_factory=dict)
    model: str | None = None


class ConfirmUser(BaseModel, extra="forbid"):
    """The user as a person wants it; what is left out stays as it was drafted."""

    persona: Annotated[str, Field(max_length=20_000)] | None = None
    goal: Annotated[str, Field(max_length=20_000)] | None = None
    version: int | None = None


@router.post("/replay-users/drafts", status_code=201)
def draft_users(workspace: Opened, wanted: DraftUsers) -> UsersDrafted:
    """Draft persona and goal for the cases that state none. Drafts are marked until a person confirms them.

    `unfinished` says that the time was up before the last case; the same request goes on with the rest.
    """
    return workspace.replay_users.draft(wanted.dataset, wanted.filters, model=wanted.model, seconds=DRAFT_SECONDS)


@router.put("/replay-users")
def confirm_user(
    workspace: Opened,
    user: ConfirmUser,
    who: Who,
    dataset: str,
    case_id: Annotated[str, Query(min_length=1)],
) -> Case:
    """Confirm the simulated user of a case as it is, or as this request states it."""
    given = user.model_dump(exclude={"version"}, exclude_none=True)
    return workspace.replay_users.confirm(dataset, case_id, given, who=who, version=user.version)
