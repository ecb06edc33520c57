"""Contextual precision: do the useful contexts stand before the useless ones?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.questions import (
    MATERIAL,
    billed,
    fenced,
    no_answer,
    numbered,
    prompt_hash,
    read_verdicts,
    verdict_question,
)
from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.seams import Judge

PROMPT = f"""Decide for each numbered context whether it is useful for reaching the expected output from the input.
useful: it holds something the expected output says or rests on.
not_useful: the expected output could be written just as well without it.

{{input}}

{{expected_output}}

{{contexts}}

{MATERIAL} Answer with one verdict per context id, the reason first."""


def average_precision(relevant: Sequence[bool]) -> float:
    """The mean, over relevant ranks, of the share of relevant contexts up to that rank; 0 when none is."""
    total, result = 0.0, 0
    for rank, useful in enumerate(relevant, start=1):
        if useful:
            result += 1
            total += result / rank
    return total / result if result else 0.0


@dataclass(frozen=True)
class ContextualPrecision:
    """Average precision of the contexts in their order. A context whose text was lost has no rank."""

    version: ClassVar[str] = "2"

    def prompt_hash(self) -> str:
        return prompt_hash(PROMPT)

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        contexts = [context.text for context in case.contexts if context.text]
        if not contexts:
            return Measurement.unscored("the case has no contexts")
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        prompt = fenced(PROMPT, input=case.input, expected_output=reference, contexts=numbered(contexts))
        inputs = {"input": case.input, "expected": reference, "contexts": contexts}
        question = verdict_question("context_verdicts", inputs, prompt, len(contexts), ("useful", "not_useful"))
        answer = await judge.ask(question)
        verdicts = read_verdicts(question, answer)
        if verdicts is None:
            return no_answer(question, answer)
        useful = [verdicts[number]["verdict"] == "useful" for number in sorted(verdicts)]
        ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
        reason = f"useful at rank {', '.join(map(str, ranks))}" if ranks else "no context is useful"
        shown = [verdicts[number] for number in sorted(verdicts)]
        measured = Measurement.of(average_precision(useful), f"{reason} of {len(useful)}", verdicts=shown)
        return billed(measured, answer)
