"""Why is this trace (not) golden, and what would change that?

The second question is answered by trying: each plausible further score is put to the same table, and those that give
another verdict are reported. An explanation can therefore never disagree with what curation does.
"""

from collections.abc import Iterator, Sequence

from pydantic import BaseModel

from evergold.curate.classify import Facts, Tally, Verdict, classify
from evergold.model.policy import Policy, Reason, Tier
from evergold.model.remark import ShownRemark
from evergold.model.trace import Score, ScoreSource, Trace

UNCHANGEABLE = {Reason.TRACE_FAILED, Reason.NO_OUTPUT, Reason.FALLBACK, Reason.INELIGIBLE, Reason.NOT_SAMPLED}


class Change(BaseModel, frozen=True, extra="forbid"):
    """One thing that would give the trace another verdict."""

    when: str
    then: Tier


class OwnScore(BaseModel, frozen=True, extra="forbid"):
    """What the trace would be if somebody of the team scored it good (1) or bad (0)."""

    value: float
    then: Tier


class Explanation(BaseModel, frozen=True, extra="forbid"):
    """One policy's verdict on one trace, with its grounds."""

    trace_id: str
    policy: str
    tier: Tier
    reason: str
    deciding: tuple[Score, ...]
    left_out: tuple[Score, ...]
    changes: tuple[Change, ...]
    own_scores: tuple[OwnScore, ...] = ()
    remarks: tuple[ShownRemark, ...] = ()


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
    for words, hypothetical in _hypotheses(scores, policy, verdict):
        tier = classify(trace, hypothetical, policy, facts).tier
        if tier is not verdict.tier:
            yield Change(when=words, then=tier)
    if verdict.reason in UNCHANGEABLE:
        for words, mended in _mended(trace, verdict):
            tier = classify(mended, scores, policy, facts).tier
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


def _mended(trace: Trace, verdict: Verdict) -> Iterator[tuple[str, Trace]]:
    if verdict.reason is Reason.TRACE_FAILED:
        yield "the trace had completed", trace.model_copy(update={"status": "completed"})
    if verdict.reason in (Reason.NO_OUTPUT, Reason.FALLBACK):
        yield "the trace had a real reply", trace.model_copy(update={"output": "a real reply"})
