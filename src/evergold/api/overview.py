"""/stats: overview, traffic, what keeps traces out, and facets, as the first page and the filters of the browser app show."""

from evergold.api.requests import Opened, Router
from evergold.model.operations import Grouping
from evergold.store.trace.overview import Facets, Overview
from evergold.workspace.kept_out import KeptOut
from evergold.workspace.overview import Period
from evergold.workspace.traffic import Traffic

router = Router(prefix="/api/v1/stats", tags=["stats"])


@router.get("/overview")
def overview(workspace: Opened, period: Period = Period.MONTH) -> Overview:
    """Intake over time, tier mix, failing checks and coverage of what began within the period."""
    return workspace.overviews.over(period)


@router.get("/traffic")
def traffic(workspace: Opened, period: Period = Period.MONTH, by: Grouping = Grouping.MODEL) -> Traffic:
    """Cost, tokens, latency percentiles, failures and checks over time, by model or by name."""
    return workspace.overviews.traffic(period, by)


@router.get("/kept-out")
def kept_out(workspace: Opened, period: Period = Period.MONTH) -> KeptOut:
    """What keeps the newest traces of the period out of the golden set, by reason, and what to change."""
    return workspace.overviews.kept_out(period)


@router.get("/facets")
def facets(workspace: Opened) -> Facets:
    """Datasets and tags that cases can be filtered by, with their numbers."""
    return workspace.overviews.facets()
