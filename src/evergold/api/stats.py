"""/stats: totals of a dataset, and what the Overview and the filters show."""

from typing import Annotated

from fastapi import Query

from evergold.api.requests import Opened, Router
from evergold.model.overview import DatasetStats, Facets, Grouping, Overview, Period, Traffic
from evergold.model.policy import KeptOut

router = Router(prefix="/api/v1/stats", tags=["stats"])


@router.get("")
def dataset_stats(
    workspace: Opened, dataset: str | None = "live", days: Annotated[int, Query(ge=1, le=3660)] = 30
) -> DatasetStats:
    """Totals per type, confirmed and candidate, per tag and per day; repeats of questions, where a dataset is named."""
    stats = workspace.live.stats(dataset, days=days)
    return stats if dataset is None else stats.model_copy(update={"repeats": workspace.repeats.of(dataset).counts})


@router.get("/overview")
def overview(workspace: Opened, period: Period = Period.MONTH) -> Overview:
    """Intake over time, tier mix, failing checks and coverage of what began within the period."""
    return workspace.overviews.read_period(period)


@router.get("/traffic")
def traffic(workspace: Opened, period: Period = Period.MONTH, by: Grouping = Grouping.MODEL) -> Traffic:
    """Cost, tokens, latency percentiles, failures and checks over time, by model or by name."""
    return workspace.overviews.traffic(period, by)


@router.get("/kept-out")
def kept_out(workspace: Opened, period: Period = Period.MONTH) -> KeptOut:
    """List why the newest traces of the period are not golden, by reason, and what to change."""
    return workspace.overviews.kept_out(period)


@router.get("/facets")
def facets(workspace: Opened) -> Facets:
    """Datasets and tags that cases can be filtered by, with their numbers."""
    return workspace.overviews.facets()
