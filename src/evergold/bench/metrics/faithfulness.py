"""Faithfulness: is every claim of the answer supported by the contexts it was given?"""

from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.questions import (
    MATERIAL,
    billed,
    fenced,
    list_question,
    no_answer,
    numbered,
    problem_with,
    prompt_hash,
    read_verdicts,
    support,
    verdict_question,
)
from evergold.errors import BadInput, unknown
from evergold.model.case import Case
from evergold.model.judging import Question
from evergold.model.run import Attempt, Measurement
from evergold.seams import Judge

MODES = {"entailment": frozenset({"supported"}), "non_contradiction": frozenset({"supported", "not_found"})}
CLAIMS_PROMPT = f"""List the factual claims of the text below. A claim is one statement that can be true or false on its \
own; replace pronouns by what they stand for. Leave out questions, greetings, opinions about the conversation and \
citation markers. A text without factual claims has an empty list.

{{text}}

{MATERIAL}"""
VERDICTS_PROMPT = f"""Decide for each numbered claim what the contexts say about it. Use only the contexts, not what you \
know.
supported: the contexts state it or it follows from them.
contradicted: the contexts say otherwise.
not_found: the contexts say neither.

{{contexts}}

{{claims}}

{MATERIAL} Answer with one verdict per claim id, the reason first."""


@dataclass(frozen=True)
class Faithfulness:
    """Supported claims over all claims; `mode: non_contradiction` lets a claim pass that the contexts do not mention."""

    version: ClassVar[str] = "2"
    mode: str = "entailment"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput(f"metric faithfulness: {unknown('mode', self.mode, tuple(MODES))}")

    def prompt_hash(self) -> str:
        return prompt_hash(CLAIMS_PROMPT, VERDICTS_PROMPT)

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        contexts = [context.text for context in case.contexts if context.text]
        if not contexts:
            return Measurement.unscored("the case has no contexts")
        # Silence makes no claims; a value of 1 would reward it and 0 would call it unfaithful.
        if not attempt.output.strip():
            return Measurement.unscored("the answer is empty: it makes no claims")
        listing = list_question(
            "claims", {"output": attempt.output}, fenced(CLAIMS_PROMPT, text=attempt.output), "claims", {}
        )
        listed = await judge.ask(listing)
        # Claims in the wrong form are no claims; guessing them would decide the verdicts.
        if listed.data is None or problem_with(listing, listed.data) is not None:
            return no_answer(listing, listed)
        claims = [claim.strip() for claim in listed.data["claims"] if claim.strip()]
        if not claims:
            return billed(Measurement.unscored("the answer makes no claims"), listed)
        question = self._question(claims, contexts)
        answer = await judge.ask(question)
        verdicts = read_verdicts(question, answer)
        if verdicts is None:
            return no_answer(question, listed, answer)
        return billed(self._measured(claims, verdicts), listed, answer)

    def _question(self, claims: list[str], contexts: list[str]) -> Question:
        prompt = fenced(VERDICTS_PROMPT, contexts=numbered(contexts), claims=numbered(claims))
        inputs = {"claims": claims, "contexts": contexts, "mode": self.mode}
        return verdict_question(
            "claim_verdicts", inputs, prompt, len(claims), ("supported", "contradicted", "not_found")
        )

    def _measured(self, claims: list[str], verdicts: dict[int, dict[str, Any]]) -> Measurement:
        good, weighted = support(verdicts, MODES[self.mode])
        # The first three claims that fail are enough of a reason; all verdicts are in the details.
        against = [
            f"{verdict['verdict']}: {claims[number - 1]} ({verdict['reason']})"
            for number, verdict in sorted(verdicts.items())
            if verdict["verdict"] not in MODES[self.mode]
        ]
        shown = [{"claim": claims[number - 1], **verdict} for number, verdict in sorted(verdicts.items())]
        reason = "; ".join(against[:3]) or "every claim is supported"
        scoring = "weighted" if weighted else "raw"
        return Measurement.of(good / len(claims), reason, claims=len(claims), verdicts=shown, scoring=scoring)
