"""/topics, /coverage, /problems and /stale: what the set covers and lacks, what keeps failing, what may no longer hold."""

from typing import Annotated

from fastapi import Path, Query

from evergold.api.requests import Caller, Opened, Router, Who
from evergold.api.review import Key
from evergold.model.case import Case
from evergold.model.case_actions import Picked
from evergold.model.upkeep import (
    Basis,
    ProblemCases,
    RecurringProblem,
    ReviewNext,
    StaleDecision,
    StaleReason,
    Topic,
    TopicChange,
    TopicCoverage,
    TopicPosition,
)

router = Router(prefix="/api/v1", tags=["upkeep"])

SECONDS = 5.0  # for what waits to be sorted; the rest is sorted in the background
Number = Annotated[int, Path(ge=1, le=2**31 - 1)]


@router.get("/topics")
def list_topics(workspace: Opened) -> list[Topic]:
    """List topics of traces and cases, the ones with most traces first."""
    return workspace.topics.all(SECONDS)


@router.get("/topics/map")
def map_topics(workspace: Opened) -> list[TopicPosition]:
    """Lay topics out on a plane; those of like questions lie near each other."""
    return workspace.topics.map()


@router.get("/topics/{topic}/members")
def list_members(workspace: Opened, topic: Number, limit: Annotated[int, Query(ge=1, le=1000)] = 20) -> list[str]:
    """List traces of a topic, the newest first."""
    return workspace.topics.members(topic, limit)


@router.patch("/topics/{topic}")
def change_topic(workspace: Opened, topic: Number, change: TopicChange, who: Who) -> list[Topic]:
    """Rename a topic, merge others into it, or split it; no machine changes that. Gives the topics after it."""
    return workspace.topics.change(topic, change, who)


@router.get("/coverage")
def coverage(workspace: Opened) -> TopicCoverage:
    """Measure how much of the traffic golden cases cover, by week, with drift, distance and gaps."""
    return workspace.coverage.measure(SECONDS)


@router.post("/review/fill")
def fill_review(workspace: Opened, who: Who, gaps: Annotated[int, Query(ge=1, le=500)] = 20) -> list[Picked]:
    """Queue cases of topics that lack golden cases, the largest gaps first."""
    return workspace.fill_review(gaps, who)


@router.get("/problems")
def list_problems(workspace: Opened) -> list[RecurringProblem]:
    """List failures of one reason that recur in a topic, open ones first."""
    return workspace.problems.all(SECONDS)


@router.post("/problems/{problem}/fixed")
def fix_problem(workspace: Opened, problem: Number, who: Who) -> RecurringProblem:
    """Mark a problem as fixed; it opens itself again when it comes back."""
    return workspace.problems.fix(problem, who)


@router.post("/problems/{problem}/cases")
def make_problem_cases(workspace: Opened, problem: Number, who: Who) -> ProblemCases:
    """Make regression cases of a problem, in a dataset of its own that is its gate."""
    return workspace.make_problem_cases(problem, who)


@router.get("/review/next")
def list_next(
    workspace: Opened, limit: Annotated[int, Query(ge=1, le=1000)] = 50, dataset: str | None = None
) -> list[ReviewNext]:
    """List the cases whose review is worth most now, each with the reason; each review changes what comes next."""
    return workspace.review_order.list_next(limit, dataset, SECONDS)


@router.get("/stale")
def list_stale(workspace: Opened) -> list[StaleReason]:
    """List references that may no longer hold, with what each rests on as it was and as it is now."""
    return workspace.staleness.all(SECONDS)


@router.get("/stale/case")
def list_stale_of_case(workspace: Opened, key: Key) -> list[StaleReason]:
    """List why the reference of one case may no longer hold; none where nothing speaks against it."""
    return workspace.staleness.reasons(key.dataset, key.id)


@router.get("/stale/basis")
def list_basis(workspace: Opened, key: Key) -> list[Basis]:
    """List what the reference of one case rests on: its answer with model and prompt, documents, results of tools."""
    return workspace.staleness.basis(key.dataset, key.id)


@router.post("/stale/decision")
def settle_stale(workspace: Opened, key: Key, decision: StaleDecision, caller: Caller) -> Case:
    """Keep or replace the reference of a stale case, or retire the case; the history keeps what was."""
    return workspace.settle_stale(key, decision, caller)
