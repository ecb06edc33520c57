"""/corrections, /reactions, /curation and its rules, /policies, and /stats: what the Overview and the filters show."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel

from evergold.api.requests import Opened, Router, Sent, Who, list_records
from evergold.api.traces import Accepted
from evergold.model.operations import CuratorState
from evergold.model.overview import DatasetStats, Facets, Grouping, Overview, Period, Traffic
from evergold.model.policy import (
    CurationRules,
    Explanation,
    KeptOut,
    NewRules,
    ReviewAgreement,
    RulesPreview,
    RulesView,
)
from evergold.model.trace import Correction, Reaction
from evergold.workspace.live import PolicyView

router = Router(prefix="/api/v1", tags=["curation"])
stats_router = Router(prefix="/api/v1/stats", tags=["stats"])


# A request must not run into the timeout of a proxy; what is left goes on waiting in the queue.
CURATE_SECONDS = 8.0  # then a caller is answered


class Curated(BaseModel):
    """How many traces were looked at, the changes by kind, and how many traces wait now."""

    traces: int
    changes: dict[str, int]
    waiting: int = 0


class BackgroundState(BaseModel):
    """Whether curation runs in the background, what it has done, and what it could not do."""

    enabled: bool
    waiting: int
    failed_ever: int
    state: CuratorState | None


@router.post("/corrections", status_code=201)
def post_corrections(workspace: Opened, corrections: Sent[Correction]) -> Accepted:
    """Correct a reply. The trace may arrive later."""
    return Accepted(**vars(workspace.intake.accept(list_records(corrections))))


@router.post("/reactions", status_code=201)
def post_reactions(workspace: Opened, reactions: Sent[Reaction]) -> Accepted:
    """React to a reply with an emoji; null removes the reaction."""
    return Accepted(**vars(workspace.intake.accept(list_records(reactions))))


@router.get("/traces/{trace_id:path}/explain")
def explain_trace(workspace: Opened, trace_id: str) -> list[Explanation]:
    """Each policy's verdict on a trace, the scores that decided it, and what would change it."""
    return workspace.live.explain(trace_id)


@router.post("/traces/{trace_id:path}/curate")
def curate_trace(workspace: Opened, trace_id: str) -> Curated:
    """Curate one trace now."""
    changes = workspace.live.curate(trace_id)
    return Curated(traces=changes.traces, changes=changes.by_kind)


@router.post("/curation")
def curate_waiting(workspace: Opened) -> Curated:
    """Curate everything in the queue now, for a few seconds at most; `waiting` is the number of traces left."""
    changes = workspace.live.curate(seconds=CURATE_SECONDS)
    return Curated(traces=changes.traces, changes=changes.by_kind, waiting=workspace.live.count_waiting())


@router.get("/curation")
def curation_state(workspace: Opened) -> BackgroundState:
    """Report the state of background curation: what waits, what was done, what failed."""
    return BackgroundState.model_validate(workspace.live.background_report())


@router.get("/policies")
def list_policies(workspace: Opened) -> list[PolicyView]:
    """List every policy revision that changed a case, and those in force."""
    return workspace.live.policies()


@router.get("/policies/agreement")
def policy_agreement(workspace: Opened) -> ReviewAgreement:
    """How often reviewers left what policies decided as it was, by rule and by check."""
    return workspace.live.agreement()


@router.get("/stats")
def dataset_stats(
    workspace: Opened, dataset: str | None = "live", days: Annotated[int, Query(ge=1, le=3660)] = 30
) -> DatasetStats:
    """Totals per type, confirmed and candidate, per tag and per day; repeats of questions, where a dataset is named."""
    stats = workspace.live.stats(dataset, days=days)
    return stats if dataset is None else stats.model_copy(update={"repeats": workspace.repeats.of(dataset).counts})


@router.get("/curation/rules")
def show_rules(workspace: Opened) -> RulesView:
    """The rules in force, what the settings hold of them, the built-in checks, and every change so far."""
    return workspace.rules.view()


@router.post("/curation/rules/preview")
def preview_rules(workspace: Opened, rules: CurationRules) -> RulesPreview:
    """What these rules would make of the newest traces; nothing is changed."""
    return workspace.rules.preview(rules)


@router.put("/curation/rules")
def save_rules(workspace: Opened, chosen: NewRules, who: Who) -> RulesView:
    """Set the rules and curate every trace again; send earlier rules to revert."""
    return workspace.rules.save(chosen, who)


@stats_router.get("/overview")
def overview(workspace: Opened, period: Period = Period.MONTH) -> Overview:
    """Intake over time, tier mix, failing checks and coverage of what began within the period."""
    return workspace.overviews.over(period)


@stats_router.get("/traffic")
def traffic(workspace: Opened, period: Period = Period.MONTH, by: Grouping = Grouping.MODEL) -> Traffic:
    """Cost, tokens, latency percentiles, failures and checks over time, by model or by name."""
    return workspace.overviews.traffic(period, by)


@stats_router.get("/kept-out")
def kept_out(workspace: Opened, period: Period = Period.MONTH) -> KeptOut:
    """List why the newest traces of the period are not golden, by reason, and what to change."""
    return workspace.overviews.kept_out(period)


@stats_router.get("/facets")
def facets(workspace: Opened) -> Facets:
    """Datasets and tags that cases can be filtered by, with their numbers."""
    return workspace.overviews.facets()


router.routes += stats_router.routes
