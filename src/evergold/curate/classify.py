"""The tier table: scores in, one verdict out. This is the readable form; `store/verdict_sql.py` says the same in SQL for
whole histories, and a property test holds the two together.

A failure wins over everything, because finding a problem is worth more than confirming a success. Golden needs every
system score to be good *and* a reply worth keeping: a trace that failed, said nothing, or answered with a fallback
text is never golden, whatever its scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evergold.model.policy import BLANKS, JudgeRole, Policy, Reason, Tier
from evergold.model.trace import Score, ScoreSource, Trace, TraceStatus

USER_SOURCES = frozenset({ScoreSource.USER, ScoreSource.HUMAN})


@dataclass(frozen=True)
class Verdict:
    """The tier, why, and the scores that decided it. `included` is the share of such traces the policy keeps."""

    tier: Tier
    reason: Reason
    deciding: tuple[Score, ...] = ()
    included: float = 1.0


@dataclass(frozen=True)
class Tally:
    """The scores that take part, by the side they speak for."""

    system: tuple[Score, ...]
    user: tuple[Score, ...]

    @classmethod
    def of(cls, scores: Iterable[Score], policy: Policy) -> Tally:
        part = [score for score in scores if score.name not in policy.ignore]
        system = {ScoreSource.SYSTEM}
        if policy.llm_judge is JudgeRole.SYSTEM:
            system.add(ScoreSource.LLM_JUDGE)
        return cls(
            system=tuple(score for score in part if score.source in system),
            user=tuple(score for score in part if score.source in USER_SOURCES),
        )


def classify(trace: Trace, scores: Sequence[Score], policy: Policy, *, corrected: bool = False) -> Verdict:
    """The whole verdict: the tier table, then what keeps a trace out whatever its scores.

    A reply that a person corrected cannot be golden: where the scores alone would make it so, it is a failure.
    """
    tally = Tally.of(scores, policy)
    verdict = by_scores(tally, policy)
    if verdict.tier is Tier.NONE:
        return verdict
    if not eligible(trace, policy):
        return Verdict(Tier.NONE, Reason.INELIGIBLE)
    if verdict.tier is not Tier.FAILURE and (flaw := unfit(trace, policy)):
        return Verdict(Tier.NONE, flaw)
    if corrected and verdict.tier is not Tier.FAILURE:
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if not policy.keeps(trace.id, verdict.tier):
        return Verdict(Tier.NONE, Reason.NOT_SAMPLED)
    return Verdict(verdict.tier, verdict.reason, verdict.deciding, policy.sample.rate(verdict.tier))


def by_scores(tally: Tally, policy: Policy) -> Verdict:
    """The tier table alone."""
    low, high = policy.thresholds.failure_below, policy.thresholds.golden_from
    bad = tuple(score for score in tally.system + tally.user if score.value < low)
    if bad:
        checked = any(score in tally.system for score in bad)
        return Verdict(Tier.FAILURE, Reason.FAILED_CHECK if checked else Reason.USER_NEGATIVE, bad)
    if not tally.system:
        return Verdict(Tier.NONE, Reason.NO_SYSTEM if tally.user else Reason.NO_SCORES, tally.user)
    between = tuple(score for score in tally.system if score.value < high)
    if between:
        return Verdict(Tier.NONE, Reason.SYSTEM_BETWEEN, between)
    positive = tuple(score for score in tally.user if score.value >= high)
    if positive:
        return Verdict(Tier.CONFIRMED, Reason.CONFIRMED, tally.system + positive)
    if tally.user:
        return Verdict(Tier.NONE, Reason.USER_BETWEEN, tally.user)
    return Verdict(Tier.CANDIDATE, Reason.CANDIDATE, tally.system)


def unfit(trace: Trace, policy: Policy) -> Reason | None:
    """Why this trace can never be golden, or None."""
    if trace.status is TraceStatus.FAILED:
        return Reason.TRACE_FAILED
    reply = (trace.output or "").strip(BLANKS)
    if not reply:
        return Reason.NO_OUTPUT
    return Reason.FALLBACK if any(is_fallback(reply, text) for text in policy.fallback_texts) else None


def is_fallback(reply: str, text: str) -> bool:
    """Whether a reply is the fallback text; a text that ends in `*` stands for every reply that begins so."""
    return reply.startswith(text[:-1]) if text.endswith("*") else reply == text


def eligible(trace: Trace, policy: Policy) -> bool:
    """Whether every condition the policy gives holds for the trace."""
    rules = policy.eligible
    return (
        (not rules.names or trace.name in rules.names)
        and (not rules.users or trace.user_id in rules.users)
        and (trace.user_id is None or trace.user_id not in rules.exclude_users)
        and len(trace.input) >= rules.min_input_chars
        and all(trace.metadata.get(key) in allowed for key, allowed in rules.metadata.items())
    )
