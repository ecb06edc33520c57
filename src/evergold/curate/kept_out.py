"""Report what keeps traces out of the golden set, with numbers and what to change."""

from sqlalchemy import Connection

from evergold.curate.detectors import CORRECTION_SCORE
from evergold.model.policy import KeptOut, KeptOutReason, Policy, Reason, Remedy, Tier
from evergold.store.verdict.tiers import LOOKED_AT, TIER_OF, Scope, reasons_since, scores_between

CHANGE = {
    Reason.INCOMPLETE: (Remedy.INCOMPLETE, "change what the app sends: see what is missing, by exporter"),
    Reason.NO_SCORES: (Remedy.CHECKS, "turn the built-in checks on, or send scores from the app"),
    Reason.NO_SYSTEM: (Remedy.CHECKS, "turn the built-in checks on, or send a system score from the app"),
    Reason.SYSTEM_BETWEEN: (Remedy.THRESHOLDS, "change the score that golden asks for, or turn a check off"),
    Reason.USER_BETWEEN: (Remedy.THRESHOLDS, "change the score that golden asks for, or decide them in review"),
    Reason.OBJECTED: (Remedy.TRACES, "look at the answers that these messages speak of: wrong ones are failures"),
    Reason.TRACE_FAILED: (Remedy.FAILED_TRACES, "mend the app: these traces ended with an error"),
    Reason.NO_OUTPUT: (Remedy.TRACES, "send the answer: the output of the first span, or gen_ai.output.messages"),
    Reason.FALLBACK: (Remedy.FALLBACK_TEXTS, "change the list of fallback texts"),
    Reason.UNCHECKED: (Remedy.CHECKS, "choose the checks that must have given a result"),
    Reason.DOUBTED: (Remedy.TRACES, "look at the answers that the contexts do not support"),
    Reason.REMARK: (Remedy.TRACES, "look at the answers that these messages speak of"),
    Reason.OVER_LIMIT: (Remedy.LIMIT, "change how many candidates a day may have"),
    Reason.INELIGIBLE: (Remedy.ELIGIBLE, "change which traces are eligible"),
    Reason.NOT_SAMPLED: (Remedy.ELIGIBLE, "change which share is kept"),
}
CHECK_NOW = (Remedy.CHECK_NOW, "check the traces that no check has seen")


def kept_out_of(connection: Connection, policy: Policy, scope: Scope, since: str, *, most: int = LOOKED_AT) -> KeptOut:
    """Count the verdicts of a policy; a trace without any score has no verdict, and that is a reason too."""
    traces, counts = reasons_since(connection, policy, scope, since, most)
    # Traces without a score have no row to count, so they are the difference to all.
    unscored = traces - sum(number for reason, number in counts.items() if reason is not Reason.NO_SCORES)
    counts[Reason.NO_SCORES] = max(0, unscored)
    made = {"golden": 0, "candidate": 0, "failure": 0}
    reasons = []
    for reason, number in counts.items():
        if reason in TIER_OF:
            tier = TIER_OF[reason]
            made["candidate" if tier is Tier.CANDIDATE else tier.entry_type or ""] += number
        elif number:
            scores = scores_between(connection, policy, scope, since, most) if reason is Reason.SYSTEM_BETWEEN else {}
            scores = {CORRECTION_SCORE: number} if reason is Reason.OBJECTED else scores
            # Where checks are on, a trace without a score is one that they have not seen yet.
            unseen = scope.limited and reason in (Reason.NO_SCORES, Reason.UNCHECKED)
            remedy, change = CHECK_NOW if unseen else CHANGE[reason]
            shown = policy.explain(reason)
            reasons.append(
                KeptOutReason(
                    reason=shown, code=reason.name.lower(), traces=number, scores=scores, change=change, remedy=remedy
                )
            )
    reasons.sort(key=lambda each: -each.traces)
    return KeptOut(policy=policy.label, traces=traces, most=most, **made, reasons=reasons)
