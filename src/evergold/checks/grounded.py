"""Is the answer supported by what was retrieved? The offline judge says so; a policy decides whether it counts."""

from functools import cached_property

from evergold.judge.offline import OfflineJudge
from evergold.model.checking import CheckResult, Turn
from evergold.model.trace import ScoreSource
from evergold.text.words import sentences

LOOKED_AT = 20_000


class Grounded:
    """The share of the answer's sentences that the contexts support; no result without contexts."""

    name = "grounded"
    slow = True  # the model takes a tenth of a second for an answer
    source = ScoreSource.LLM_JUDGE

    @cached_property
    def _judge(self) -> OfflineJudge:
        return OfflineJudge()

    @property
    def version(self) -> str:
        return self._judge.identity

    def check(self, turn: Turn) -> CheckResult | None:
        if not turn.contexts or not turn.output:
            return None
        evidence = self._judge.evidence([context[:LOOKED_AT] for context in turn.contexts])
        # A question in the answer claims nothing.
        claims = [claim for claim in sentences(turn.output[:LOOKED_AT]) if not claim.endswith("?")]
        if not claims:
            return None
        unsupported = [
            claim
            for claim, support in zip(claims, self._judge.supports(claims, evidence), strict=True)
            if support.verdict != "supported"
        ]
        value = 1.0 - len(unsupported) / len(claims)
        reason = f"{len(claims) - len(unsupported)} of {len(claims)} sentences are supported"
        return CheckResult(value, reason, "; ".join(unsupported)[:160])
