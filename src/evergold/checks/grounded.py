"""Is the answer supported by what was retrieved? The offline judge says so; a policy decides whether it counts."""

import re
from functools import cached_property
from typing import TYPE_CHECKING

from evergold.model.checking import CheckResult, Turn
from evergold.model.trace import ScoreSource
from evergold.text.words import sentences

if TYPE_CHECKING:
    from evergold.judge.offline import OfflineJudge

LOOKED_AT = 20_000
# A file name, an address or an id: it names a document whose text was not recorded, so nothing can be held against it.
NAME = re.compile(r"[\w.:/\\?&=#%~@+$,;!*'()\[\]-]*", re.ASCII)


class Grounded:
    """The share of the answer's sentences that the contexts support; no result without the text of a context."""

    name = "grounded"
    slow = True  # the model takes a tenth of a second for an answer
    source = ScoreSource.LLM_JUDGE

    @cached_property
    def _judge(self) -> "OfflineJudge":
        from evergold.judge.offline import OfflineJudge

        return OfflineJudge()

    @property
    def version(self) -> str:
        return f"2 {self._judge.identity}"

    def check(self, turn: Turn) -> CheckResult | None:
        texts = [context[:LOOKED_AT] for context in turn.contexts if not NAME.fullmatch(context.strip()[:LOOKED_AT])]
        if not texts or not turn.output:
            return None
        evidence = self._judge.evidence(texts)
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
