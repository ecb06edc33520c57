"""Classify a trace by its scores, and explain the tier it gets.

This is the readable form of the tier table; `store/verdict/tiers.py` holds it in SQL for whole histories. A test compares
the two on seeded random traces (`tests/store/test_curation.py`).

A failure wins over everything, because finding a problem is worth more than confirming a success. Golden needs every
system score to be good *and* a reply worth keeping: a trace that failed, said nothing, or answered with a fallback
text is never golden, whatever its scores.

What would change a verdict is found by trying: each score that somebody could give or take back is put to the same table, and
those that give another tier are reported. An explanation can therefore never disagree with what curation does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evergold.model.case import TierEvidence
from evergold.model.policy import (
    BETWEEN,
    BLANKS,
    SUPPORTED_FROM,
    Counterfactual,
    Explanation,
    JudgeRole,
    Policy,
    Reason,
    ScoreChange,
    Tier,
)
from evergold.model.trace import Score, ScoreSource, Trace, TraceStatus
from evergold.model.values import app_of


@dataclass(frozen=True)
class Verdict:
    """The tier, why, what it rests on, and the scores that decided it. `included`: the share of such traces the policy keeps."""

    tier: Tier
    reason: Reason
    deciding: tuple[Score, ...] = ()
    included: float = 1.0
    evidence: TierEvidence | None = None


@dataclass(frozen=True)
class Tally:
    """The scores that take part, by whose word they are. `people` are those of the highest rank that has any: human scores,
    else users', else remarks that were detected. A lower rank never contradicts a higher one."""

    app: tuple[Score, ...]
    checks: tuple[Score, ...]
    people: tuple[Score, ...]
    everybody: tuple[Score, ...] = ()
    human: bool = False
    scored: bool = False  # whether `people` are scores that somebody gave, and no remarks that were detected
    outcome: tuple[Score, ...] = ()  # those of the app that say how it went
    judged: bool = False  # whether a judge's score takes part
    doubts: tuple[Score, ...] = ()  # checks by a judge that found too little supported

    @classmethod
    def of(cls, scores: Sequence[Score], policy: Policy) -> Tally:
        part = [score for score in scores if score.name not in policy.ignore]
        judged = policy.llm_judge is JudgeRole.SYSTEM
        system = [
            score
            for score in part
            if score.source is ScoreSource.SYSTEM or (judged and score.source is ScoreSource.LLM_JUDGE)
        ]
        human = [score for score in part if score.source is ScoreSource.HUMAN]
        user = [score for score in part if score.source is ScoreSource.USER and not score.by_detector]
        detected = [score for score in part if score.source is ScoreSource.USER and score.by_detector]
        return cls(
            app=tuple(score for score in system if not score.by_check),
            checks=tuple(score for score in system if score.by_check),
            # The highest rank with any score speaks alone: a person's word is not averaged with a guess.
            people=tuple(human or user or detected),
            everybody=tuple(score for score in part if score.source in (ScoreSource.USER, ScoreSource.HUMAN)),
            human=bool(human),
            scored=bool(human or user),
            outcome=tuple(
                score
                for score in system
                if not score.by_check
                and score.source is ScoreSource.SYSTEM
                and (not policy.outcome or score.name in policy.outcome)
            ),
            judged=any(score.source is ScoreSource.LLM_JUDGE for score in system),
            doubts=tuple(
                score
                for score in part
                if score.by_check and score.source is ScoreSource.LLM_JUDGE and score.value < SUPPORTED_FROM
            ),
        )

    def is_praised(self, low: float, high: float) -> bool:
        """Whether people found it good: then no check speaks against it. Of remarks that were detected, all have to."""
        values = [score.value for score in self.people]
        return bool(values) and min(values) >= low and (max if self.scored else min)(values) >= high

    def system(self, low: float, high: float) -> tuple[Score, ...]:
        """The system scores that count beside what people said, and checks that presume beside an outcome."""
        if not self.is_praised(low, high):
            good = bool(self.outcome) and min(score.value for score in self.app) >= high
            silent = {score.name for score in self.checks if good and score.presumes and score.value >= low}
            return self.app + tuple(score for score in self.checks if score.name not in silent)
        # Praise outweighs checks that doubt; those that agree still stand as reasons.
        return self.app + tuple(score for score in self.checks if score.value >= high)


@dataclass(frozen=True)
class Facts:
    """What the store knows of a trace beside its scores: corrected by a person, seen by the checks a policy asks for, chosen
    among the candidates of its day, and whether its message is a remark on an earlier answer."""

    corrected: bool = False
    checked: bool = True
    chosen: bool = True
    remarks: bool = False


def classify(trace: Trace, scores: Sequence[Score], policy: Policy, facts: Facts = Facts()) -> Verdict:  # noqa: B008
    """The whole verdict: the tier table, then what keeps a trace out whatever its scores.

    A reply that a person corrected cannot be golden: where the scores alone would make it so, it is a failure.
    """
    tally = Tally.of(scores, policy)
    verdict = by_scores(tally, policy)
    if trace.incomplete and (tally.app or tally.checks or tally.people) and not _is_stated(verdict, tally, policy):
        if not facts.corrected or not is_eligible(trace, policy):
            return Verdict(Tier.NONE, Reason.INCOMPLETE)
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if verdict.tier is Tier.NONE:
        # A crash says more than a score in the middle.
        crashed = trace.status is TraceStatus.FAILED and verdict.reason in BETWEEN
        outranked = verdict.reason is Reason.OBJECTED and facts.corrected and is_eligible(trace, policy)
        if crashed or not outranked:
            return Verdict(Tier.NONE, Reason.TRACE_FAILED) if crashed else verdict
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if not is_eligible(trace, policy):
        return Verdict(Tier.NONE, Reason.INELIGIBLE)
    if verdict.tier is not Tier.FAILURE and (flaw := unfit(trace, policy)):
        return Verdict(Tier.NONE, flaw)
    if facts.corrected and verdict.tier is not Tier.FAILURE:
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if verdict.tier is not Tier.FAILURE and not facts.checked:
        return Verdict(Tier.NONE, Reason.UNCHECKED)
    if tally.doubts and verdict.reason in (Reason.CONTENT, Reason.CHECKED):
        return Verdict(Tier.NONE, Reason.DOUBTED, tally.doubts)
    if facts.remarks and verdict.reason in (Reason.CONTENT, Reason.CHECKED):
        return Verdict(Tier.NONE, Reason.REMARK)
    if not policy.keeps(trace.id, verdict.tier):
        return Verdict(Tier.NONE, Reason.NOT_SAMPLED)
    if verdict.reason is Reason.CHECKED and not facts.chosen:
        return Verdict(Tier.NONE, Reason.OVER_LIMIT)
    evidence = evidence_of(verdict, tally, policy)
    return Verdict(verdict.tier, verdict.reason, verdict.deciding, policy.sample.rate(verdict.tier), evidence)


def evidence_of(verdict: Verdict, tally: Tally, policy: Policy) -> TierEvidence:
    """Name the strongest thing that the tier rests on."""
    low = policy.thresholds.failure_below
    person = TierEvidence.PERSON if tally.human else TierEvidence.USER
    if verdict.reason is Reason.CORRECTED:
        return TierEvidence.PERSON
    if verdict.tier is Tier.FAILURE:
        if any(score.value < low for score in tally.people):
            return person
        return TierEvidence.OUTCOME if any(score.value < low for score in tally.outcome) else TierEvidence.CHECK
    if verdict.tier is Tier.CONFIRMED:
        return person
    return {Reason.OUTCOME: TierEvidence.OUTCOME, Reason.CONTENT: TierEvidence.CONTENT}.get(
        verdict.reason, TierEvidence.SILENCE
    )


def _is_stated(verdict: Verdict, tally: Tally, policy: Policy) -> bool:
    """Whether a failure is what the app, a user or a person said, and not what checks and detectors alone conclude."""
    low = policy.thresholds.failure_below
    stated = tally.app + (tally.people if tally.scored else ())
    return verdict.tier is Tier.FAILURE and any(score.value < low for score in stated)


def by_scores(tally: Tally, policy: Policy) -> Verdict:
    """The tier table alone."""
    low, high = policy.thresholds.failure_below, policy.thresholds.golden_from
    bad = tuple(score for score in tally.app + tally.checks + tally.everybody if score.value < low)
    # The app's own scores are facts about the trace; they win over what anybody says.
    if any(score.value < low for score in tally.app):
        return Verdict(Tier.FAILURE, Reason.FAILED_CHECK, bad)
    if any(score.value < low for score in tally.people):
        return Verdict(Tier.FAILURE, Reason.USER_NEGATIVE, bad)
    system, praised = tally.system(low, high), tally.is_praised(low, high)
    if not system:
        return Verdict(Tier.NONE, Reason.NO_SYSTEM if tally.people else Reason.NO_SCORES, tally.everybody)
    if any(score.value < low for score in system):
        # A person praised it only in part: neither golden nor a failure.
        if tally.human:
            return Verdict(Tier.NONE, Reason.USER_BETWEEN, tally.everybody)
        return Verdict(Tier.FAILURE, Reason.FAILED_CHECK, bad)
    if between := tuple(score for score in system if score.value < high):
        return Verdict(Tier.NONE, Reason.SYSTEM_BETWEEN, between)
    if praised:
        return Verdict(Tier.CONFIRMED, Reason.CONFIRMED, system + tuple(s for s in tally.everybody if s.value >= high))
    if tally.people:
        return Verdict(Tier.NONE, Reason.USER_BETWEEN if tally.scored else Reason.OBJECTED, tally.everybody)
    if tally.outcome:
        return Verdict(Tier.UNCONFIRMED, Reason.OUTCOME, system)
    if tally.judged:
        return Verdict(Tier.UNCONFIRMED, Reason.CONTENT, system)
    return Verdict(Tier.CANDIDATE, Reason.CHECKED, system)


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


def is_eligible(trace: Trace, policy: Policy) -> bool:
    """Whether every condition the policy gives holds for the trace."""
    rules = policy.eligible
    return (
        (not rules.names or trace.name in rules.names)
        and (not rules.apps or app_of(trace.name, trace.metadata) in rules.apps)
        and (not rules.users or trace.user_id in rules.users)
        and (trace.user_id is None or trace.user_id not in rules.exclude_users)
        and len(trace.input) >= rules.min_input_chars
        and all(trace.metadata.get(key) in allowed for key, allowed in rules.metadata.items())
    )


def explain(trace: Trace, scores: Sequence[Score], policy: Policy, facts: Facts = Facts()) -> Explanation:  # noqa: B008
    verdict = classify(trace, scores, policy, facts)
    tally = Tally.of(scores, policy)
    taking_part = tally.app + tally.checks + tally.everybody + verdict.deciding
    return Explanation(
        trace_id=trace.id,
        policy=policy.label,
        tier=verdict.tier,
        evidence=verdict.evidence,
        reason=policy.explain(verdict.reason),
        deciding=verdict.deciding,
        # Scores that the policy ignores are shown, so that nobody wonders why they changed nothing.
        left_out=tuple(score for score in scores if score not in taking_part),
        counterfactuals=tuple(_counterfactuals(trace, scores, policy, verdict, facts)),
    )


def _counterfactuals(
    trace: Trace, scores: Sequence[Score], policy: Policy, verdict: Verdict, facts: Facts
) -> Iterator[Counterfactual]:
    """Try each change that somebody could make by the same table; those that change nothing are left out."""
    for change, changed in _possible_changes(scores, policy):
        tier = classify(trace, changed, policy, facts).tier
        if tier is not verdict.tier:
            yield Counterfactual(change=change, result=tier)


def _possible_changes(scores: Sequence[Score], policy: Policy) -> Iterator[tuple[ScoreChange, Sequence[Score]]]:
    low = policy.thresholds.failure_below
    known = {score.name for score in scores} | set(policy.ignore)
    outcome = next((name for name in (*policy.outcome, "outcome", "result") if name not in known), "a further outcome")
    added = {ScoreSource.HUMAN: ("opinion", (1.0, 0.0)), ScoreSource.USER: ("feedback", (1.0, low, 0.0))}
    added[ScoreSource.SYSTEM] = (outcome, (1.0, 0.0))
    for source, (name, values) in added.items():
        name = name if name not in known else f"a further {name}"
        for value in values:
            own = Score(name=name, value=value, source=source)
            yield ScoreChange(action="add", name=name, value=value, source=source), [*scores, own]
    for score in scores:
        if score.id is not None:
            left = [one for one in scores if one is not score]
            taken = {"score_id": score.id, "name": score.name, "value": score.value, "source": score.source}
            yield ScoreChange(action="withdraw", **taken), left
