"""/benchmarks and /replay-users: replayed trajectories beside the recorded ones, and simulated users of cases.

Users are drafted by a program and confirmed by a person.
"""

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, Field

from evergold.api.requests import Opened, Router, Who
from evergold.model.case import Case
from evergold.model.run import AlignedTrajectory, CaseReplay, TrajectoryDifference, UsersDrafted

router = Router(prefix="/api/v1", tags=["benchmarks"])


class FailingToReview(BaseModel, extra="forbid"):
    """The dataset that failing attempts go into, and at which cases; where none is named, every failing replay's."""

    cases: Annotated[tuple[str, ...], Field(max_length=1000)] = ()
    dataset: Annotated[str, Query(min_length=1, max_length=200)] = "failures"


class FailuresMade(BaseModel):
    """How many failing attempts of a run are cases to review now, and where."""

    dataset: str
    cases: int


@router.get("/benchmarks/runs/{run_id}/trajectories/{case_id:path}")
def run_trajectory(
    workspace: Opened, run_id: str, case_id: str, trial: Annotated[int, Query(ge=0, le=1000)] = 0
) -> AlignedTrajectory:
    """A replayed trajectory beside the recorded one, call by call, with the first divergence."""
    return workspace.replays.align(run_id, case_id, trial)


@router.get("/benchmarks/compare/trajectories")
def differing_trajectories(
    workspace: Opened, first: str, second: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[TrajectoryDifference]:
    """The cases whose trajectory left the record in one of two replays, the largest loss of the second first."""
    return workspace.replays.find_differing(first, second, limit)


@router.get("/benchmarks/replays")
def replays_of_case(workspace: Opened, dataset: str, case_id: str) -> list[CaseReplay]:
    """The replays of a stored case, newest first; of a case made from a replay, that one comes first."""
    return workspace.replays.of_case(dataset, case_id)


@router.post("/benchmarks/runs/{run_id}/failing-to-review", status_code=201)
def failing_to_review(workspace: Opened, run_id: str, wanted: FailingToReview) -> FailuresMade:
    """Turn the worst answer to each of these cases into a case to review; without any, those of failing replays.

    A replay fails that stopped, or of which a metric lies below 0.5. An attempt without an answer is left out.
    """
    if wanted.cases:
        made = workspace.bench.results.cases_to_review(run_id, wanted.cases, dataset=wanted.dataset, who="api")
    else:
        made = workspace.replays.failing_to_review(run_id, dataset=wanted.dataset, who="api")
    return FailuresMade(dataset=wanted.dataset, cases=made)


DRAFT_SECONDS = 8.0  # a request is answered then; it says whether cases are left, and the same request goes on


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
    workspace: Opened, user: ConfirmUser, who: Who, dataset: str, case_id: Annotated[str, Query(min_length=1)]
) -> Case:
    """Confirm the simulated user of a case as it is, or as this request states it."""
    given = user.model_dump(exclude={"version"}, exclude_none=True)
    return workspace.replay_users.confirm(dataset, case_id, given, who=who, version=user.version)
