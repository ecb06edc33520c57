"""/corrections, /reactions, /curation and its rules, and /policies."""

from evergold.api.requests import Opened, Router, Sent, Who, list_records
from evergold.model.operations import BackgroundState, Curated, IngestReport
from evergold.model.policy import CurationRules, Explanation, NewRules, ReviewAgreement, RulesPreview, RulesView
from evergold.model.trace import Correction, Reaction
from evergold.workspace.live import PolicyView

router = Router(prefix="/api/v1", tags=["curation"])


# A request must not run into the timeout of a proxy; what is left goes on waiting in the queue.
CURATE_SECONDS = 8.0  # then a caller is answered


@router.post("/corrections", status_code=201)
def post_corrections(workspace: Opened, corrections: Sent[Correction]) -> IngestReport:
    """Correct a reply. The trace may arrive later."""
    return workspace.intake.accept(list_records(corrections))


@router.post("/reactions", status_code=201)
def post_reactions(workspace: Opened, reactions: Sent[Reaction]) -> IngestReport:
    """React to a reply with an emoji; null removes the reaction."""
    return workspace.intake.accept(list_records(reactions))


@router.get("/traces/{trace_id:path}/explain")
def explain_trace(workspace: Opened, trace_id: str) -> list[Explanation]:
    """Each policy's verdict on a trace, the scores that decided it, and what would change it."""
    return workspace.live.explain(trace_id)


@router.post("/traces/{trace_id:path}/curate")
def curate_trace(workspace: Opened, trace_id: str) -> Curated:
    """Curate one trace now."""
    return workspace.live.curate(trace_id).as_curated()


@router.post("/curation")
def curate_waiting(workspace: Opened) -> Curated:
    """Curate everything in the queue now, for a few seconds at most; `waiting` is the number of traces left."""
    return workspace.live.curate(seconds=CURATE_SECONDS).as_curated(workspace.live.count_waiting())


@router.get("/curation")
def curation_state(workspace: Opened) -> BackgroundState:
    """Report the state of background curation: what waits, what was done, what failed."""
    return workspace.live.background_report()


@router.get("/policies")
def list_policies(workspace: Opened) -> list[PolicyView]:
    """List every policy revision that changed a case, and those in force."""
    return workspace.live.policies()


@router.get("/policies/agreement")
def policy_agreement(workspace: Opened) -> ReviewAgreement:
    """How often reviewers left what policies decided as it was, by rule and by check."""
    return workspace.live.agreement()


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
