"""Classify a trace by its scores, and explain the tier it gets.

This is the readable form of the tier table; `store/verdict/tiers.py` holds it in SQL for whole histories. A test compares
the two on seeded random traces (`tests/store/test_curation.py`).

A failure wins over everything, because finding a problem is worth more than confirming a success. Golden needs every
system score to be good *and* a reply worth keeping: a trace that failed, said nothing, or answered with a fallback
text is never golden, whatever its scores.

What would change a verdict is found by trying: each plausible further score is put to the same table, and those that
give another tier are reported. An explanation can therefore never disagree with what curation does.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from evergold.model.policy import BLANKS, Change, Explanation, JudgeRole, OwnScore, Policy, Reason, Tier
from evergold.model.trace import Score, ScoreSource, Trace, TraceStatus


@dataclass(frozen=True)
class Verdict:
    """The tier, why, and the scores that decided it. `included` is the share of such traces the policy keeps."""

    tier: Tier
    reason: Reason
    deciding: tuple[Score, ...] = ()
    included: float = 1.0


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

    @classmethod
    def of(cls, scores: Iterable[Score], policy: Policy) -> Tally:
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
        )

    def is_praised(self, low: float, high: float) -> bool:
        """Whether people found it good: then no check speaks against it."""
        values = [score.value for score in self.people]
        return bool(values) and min(values) >= low and max(values) >= high

    def system(self, low: float, high: float) -> tuple[Score, ...]:
        """The system scores that count beside what people said, and checks that presume beside what the app said."""
        if not self.is_praised(low, high):
            good = bool(self.app) and min(score.value for score in self.app) >= high
            silent = {score.name for score in self.checks if good and score.presumes and score.value >= low}
            return self.app + tuple(score for score in self.checks if score.name not in silent)
        # Praise outweighs checks that doubt; those that agree still stand as reasons.
        return self.app + tuple(score for score in self.checks if score.value >= high)


BETWEEN = (Reason.SYSTEM_BETWEEN, Reason.USER_BETWEEN)  # a crash says more than a score in the middle


@dataclass(frozen=True)
class Facts:
    """What the store knows of a trace beside its scores: corrected by a person, seen by the checks a policy asks for, chosen
    among the candidates of its day."""

    corrected: bool = False
    checked: bool = True
    chosen: bool = True


def classify(trace: Trace, scores: Sequence[Score], policy: Policy, facts: Facts = Facts()) -> Verdict:  # noqa: B008
    """The whole verdict: the tier table, then what keeps a trace out whatever its scores.

    A reply that a person corrected cannot be golden: where the scores alone would make it so, it is a failure.
    """
    tally = Tally.of(scores, policy)
    verdict = by_scores(tally, policy)
    if trace.incomplete and (tally.app or tally.checks or tally.people) and not _is_stated(verdict, tally, policy):
        if not facts.corrected or not eligible(trace, policy):
            return Verdict(Tier.NONE, Reason.INCOMPLETE)
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if verdict.tier is Tier.NONE:
        crashed = trace.status is TraceStatus.FAILED and verdict.reason in BETWEEN
        return Verdict(Tier.NONE, Reason.TRACE_FAILED) if crashed else verdict
    if not eligible(trace, policy):
        return Verdict(Tier.NONE, Reason.INELIGIBLE)
    if verdict.tier is not Tier.FAILURE and (flaw := unfit(trace, policy)):
        return Verdict(Tier.NONE, flaw)
    if facts.corrected and verdict.tier is not Tier.FAILURE:
        verdict = Verdict(Tier.FAILURE, Reason.CORRECTED)
    if verdict.tier is not Tier.FAILURE and not facts.checked:
        return Verdict(Tier.NONE, Reason.UNCHECKED)
    if not policy.keeps(trace.id, verdict.tier):
        return Verdict(Tier.NONE, Reason.NOT_SAMPLED)
    if verdict.reason is Reason.CHECKED and not facts.chosen:
        return Verdict(Tier.NONE, Reason.OVER_LIMIT)
    return Verdict(verdict.tier, verdict.reason, verdict.deciding, policy.sample.rate(verdict.tier))


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
        return Verdict(Tier.NONE, Reason.USER_BETWEEN, tally.everybody)
    return Verdict(Tier.CANDIDATE, Reason.CANDIDATE if tally.app else Reason.CHECKED, system)


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


def explain(trace: Trace, scores: Sequence[Score], policy: Policy, facts: Facts = Facts()) -> Explanation:  # noqa: B008
    verdict = classify(trace, scores, policy, facts)
    tally = Tally.of(scores, policy)
    taking_part = tally.app + tally.checks + tally.everybody
    return Explanation(
        trace_id=trace.id,
        policy=policy.label,
        tier=verdict.tier,
        reason=policy.explain(verdict.reason),
        deciding=verdict.deciding,
        # Scores that the policy ignores are shown, so that nobody wonders why they changed nothing.
        left_out=tuple(score for score in scores if score not in taking_part),
        changes=tuple(_changes(trace, scores, policy, verdict, facts)),
        own_scores=tuple(_own_scores(trace, scores, policy, verdict, facts)),
    )


def _own_scores(
    trace: Trace, scores: Sequence[Score], policy: Policy, verdict: Verdict, facts: Facts
) -> Iterator[OwnScore]:
    """Try a score that the reader of the explanation could give; those that change nothing are left out."""
    for value in (1.0, 0.0):
        own = Score(name="opinion", value=value, source=ScoreSource.HUMAN)
        tier = classify(trace, [*scores, own], policy, facts).tier
        if tier is not verdict.tier:
            yield OwnScore(value=value, then=tier)


def _changes(trace: Trace, scores: Sequence[Score], policy: Policy, verdict: Verdict, facts: Facts) -> Iterator[Change]:
    tried = [(words, trace, hypothetical) for words, hypothetical in _hypotheses(scores, policy, verdict)]
    tried += [(words, mended, scores) for words, mended in _mend_trace(trace, verdict)]
    for words, of_trace, with_scores in tried:
        tier = classify(of_trace, with_scores, policy, facts).tier
        if tier is not verdict.tier:
            yield Change(when=words, then=tier)


def _hypotheses(scores: Sequence[Score], policy: Policy, verdict: Verdict) -> Iterator[tuple[str, Sequence[Score]]]:
    low, high = policy.thresholds.failure_below, policy.thresholds.golden_from
    user, system = ScoreSource.USER, ScoreSource.SYSTEM
    good, bad = Score(name="a further score", value=1.0), Score(name="a further score", value=0.0)
    middling = Score(name="a further score", value=low)
    additions = (
        (f"a user score of at least {high:g} came", good, user),
        (f"a user score between {low:g} and {high:g} came", middling, user),
        (f"a user score below {low:g} came", bad, user),
        (f"a system score of at least {high:g} came", good, system),
        (f"a system score below {low:g} came", bad, system),
    )
    for words, score, source in additions:
        yield words, [*scores, score.model_copy(update={"source": source})]
    offending = [score for score in verdict.deciding if score.value < high]
    if offending:
        names = ", ".join(f"{score.name} ({score.value:g})" for score in offending)
        # Raised and taken back are tried apart: a missing score is not a good one.
        raised = [score.model_copy(update={"value": 1.0}) if score in offending else score for score in scores]
        yield f"{names} were at least {high:g}", raised
        yield f"{names} were taken back", [score for score in scores if score not in offending]


def _mend_trace(trace: Trace, verdict: Verdict) -> Iterator[tuple[str, Trace]]:
    if verdict.reason is Reason.TRACE_FAILED:
        yield "the trace had completed", trace.model_copy(update={"status": "completed"})
    if verdict.reason in (Reason.NO_OUTPUT, Reason.FALLBACK):
        yield "the trace had a real reply", trace.model_copy(update={"output": "a real reply"})
