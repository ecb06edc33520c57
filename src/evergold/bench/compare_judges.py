"""Two judges on the same labels: which one agrees with people more often, and is the difference more than chance?"""

from pydantic import BaseModel

from evergold.bench.calibrate import Calibration
from evergold.stats.paired import PairedVerdict, judge, paired_effect

# Shares of agreement closer than this are called a tie.
MARGIN = 0.02


class JudgeComparison(BaseModel, frozen=True):
    """The second judge against the first, on the labels that both could judge."""

    first: Calibration
    second: Calibration
    n: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    verdict: str
    advice: str


def compare_judges(first: Calibration, second: Calibration) -> JudgeComparison:
    """Compare how often two judges agree with people, label by label."""
    # Only labels that both could judge: else the judge that answers the easy ones only would win.
    pairs = [
        (float(one), float(other))
        for one, other in zip(first.agreed, second.agreed, strict=True)
        if one is not None and other is not None
    ]
    if not pairs:
        return JudgeComparison(
            first=first, second=second, n=0, difference=None, low=None, high=None, p=None,
            verdict=PairedVerdict.INCONCLUSIVE, advice="no label could be judged by both",
        )  # fmt: skip
    effect = paired_effect([other - one for one, other in pairs])
    verdict = judge(effect, effect.p, margin=MARGIN)
    return JudgeComparison(
        first=first,
        second=second,
        n=len(pairs),
        difference=effect.mean,
        low=effect.low,
        high=effect.high,
        p=effect.p,
        verdict=verdict,
        advice=_advice(first, second, verdict),
    )


def _advice(first: Calibration, second: Calibration, verdict: PairedVerdict) -> str:
    if verdict is PairedVerdict.BETTER:
        return f"use {second.judge}: it agrees with people more often"
    if verdict is PairedVerdict.WORSE:
        return f"use {first.judge}: it agrees with people more often"
    if verdict is PairedVerdict.TIED:
        return "either: they agree with people about as often; take the cheaper one"
    return "these labels cannot tell; label more answers"
