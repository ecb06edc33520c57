"""/benchmarks: replayed trajectories beside the recorded ones, and failing replays that become cases."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.model.trajectory import AlignedTrajectory, CaseReplay, TrajectoryDifference

router = Router(prefix="/api/v1", tags=["benchmarks"])


class FailingToReview(BaseModel, extra="forbid"):
    """The dataset that failing replays go into."""

    dataset: Annotated[str, Query(min_length=1, max_length=200)] = "failures"


class FailuresMade(BaseModel):
    """How many failing replays of a run are cases to review now, and where."""

    dataset: str
    cases: int


@router.get("/benchmarks/runs/{run_id}/trajectories/{case_id:path}")
def run_trajectory(
    workspace: Opened, run_id: str, case_id: str, trial: Annotated[int, Query(ge=0, le=1000)] = 0
) -> AlignedTrajectory:
    """A replayed trajectory beside the recorded one, call by call, with the first divergence."""
    return workspace.trajectories.aligned(run_id, case_id, trial)


@router.get("/benchmarks/compare/trajectories")
def differing_trajectories(
    workspace: Opened, first: str, second: str, limit: Annotated[int, Query(ge=1, le=1000)] = 100
) -> list[TrajectoryDifference]:
    """The cases whose trajectory left the record in one of two replays, the largest loss of the second first."""
    return workspace.trajectories.differing(first, second, limit)


@router.get("/benchmarks/replays")
def replays_of_case(workspace: Opened, dataset: str, case_id: str) -> list[CaseReplay]:
    """The replays of a stored case, newest first; of a case made from a replay, that one comes first."""
    return workspace.trajectories.of_case(dataset, case_id)


@router.post("/benchmarks/runs/{run_id}/failing-to-review", status_code=201)
def failing_to_review(workspace: Opened, run_id: str, wanted: FailingToReview) -> FailuresMade:
    """Turn every failing replay of a run into a case to review: it stopped, or a metric lies below 0.5."""
    made = workspace.trajectories.failing_to_review(run_id, dataset=wanted.dataset, who="api")
    return FailuresMade(dataset=wanted.dataset, cases=made)
