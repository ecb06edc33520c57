"""Report what keeps traces out of the golden set, with numbers and what to change."""

from pydantic import BaseModel
from sqlalchemy import Connection

from evergold.model.policy import Policy, Reason
from evergold.store.kept_out import LOOKED_AT, reasons_since, scores_between
from evergold.store.verdict_sql import TIER_OF, Scope

CHANGE = {
    Reason.NO_SCORES: "turn the checks on (checks.builtin = true), then run: evergold check-traces --backfill",
    Reason.NO_SYSTEM: "turn the checks on (checks.builtin = true), or send a system score from the app",
    Reason.SYSTEM_BETWEEN: "look at the scores named here; thresholds.golden_from of the policy, or checks.off",
    Reason.USER_BETWEEN: "a reviewer decides; or thresholds.golden_from of the policy",
    Reason.TRACE_FAILED: "mend the app: these traces ended with an error",
    Reason.NO_OUTPUT: "send the answer: the output of the trace's first span, or gen_ai.output.messages",
    Reason.FALLBACK: "fallback_texts of the policy, curation.fallback_texts of the settings",
    Reason.UNCHECKED: "run: evergold check-traces --backfill; errors of checks are on this page",
    Reason.OVER_LIMIT: "limit.candidates_per_day of the policy",
    Reason.INELIGIBLE: "the table eligible of the policy",
    Reason.NOT_SAMPLED: "the table sample of the policy",
}


class KeptOutReason(BaseModel):
    """One reason: how many traces it keeps out, by which scores where that is known, and what to change."""

    reason: str
    traces: int
    scores: dict[str, int] = {}
    change: str


class KeptOut(BaseModel):
    """The newest traces of a period (`most` at most): golden, failures, waiting, and the rest by reason."""

    policy: str
    traces: int
    most: int
    golden: int
    failure: int
    reasons: list[KeptOutReason]


def kept_out_of(connection: Connection, policy: Policy, scope: Scope, since: str) -> KeptOut:
    """Count the verdicts of a policy; a trace without any score has no verdict, and that is a reason too."""
    traces, counts = reasons_since(connection, policy, scope, since)
    # Traces without a score have no row to count, so they are the difference to all.
    unscored = traces - sum(number for reason, number in counts.items() if reason is not Reason.NO_SCORES)
    counts[Reason.NO_SCORES] = max(0, unscored)
    made = {"golden": 0, "failure": 0}
    reasons = []
    for reason, number in counts.items():
        if reason in TIER_OF:
            made[TIER_OF[reason].entry_type or ""] += number
        elif number:
            scores = scores_between(connection, policy, since) if reason is Reason.SYSTEM_BETWEEN else {}
            shown = KeptOutReason(reason=policy.explain(reason), traces=number, scores=scores, change=CHANGE[reason])
            reasons.append(shown)
    reasons.sort(key=lambda each: -each.traces)
    return KeptOut(policy=policy.label, traces=traces, most=LOOKED_AT, **made, reasons=reasons)
