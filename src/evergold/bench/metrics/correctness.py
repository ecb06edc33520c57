"""Correctness: a judge grades the answer against the expected one, in fixed steps (G-Eval).

The steps are part of the metric's version. They are not invented per case, because a rubric that changes from case to
case measures the rubric.
"""

import sys
from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.logprobs import weighted_score
from evergold.bench.metrics.questions import MATERIAL, billed, fenced, no_answer, numbered, object_schema, prompt_hash
from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.model.case import Case
from evergold.model.judging import Answer, Question
from evergold.model.run import Attempt, Measurement
from evergold.seams import Judge

TOP = 10
STEPS = (
    "List the facts, values and conclusions in the expected output that an answer to this input must have.",
    "Check each of them in the actual output: present and right, missing, or contradicted.",
    "Look for statements in the actual output that contradict the expected output; each weighs as much as a missing one.",
    "Ignore wording, order, formatting and length; extra material that is right and relevant costs nothing.",
    "Grade from 0 (nothing right, or contradicts the expected output) to 10 (everything right, nothing contradicted).",
)
PROMPT = f"""You grade an answer against the expected one. Follow the steps in order.

{numbered(STEPS)}

{{input}}

{{expected_output}}

{{actual_output}}

{MATERIAL} Answer with the reason first, in one or two \
sentences, then the score, a whole number from 0 to 10."""
SCHEMA = object_schema({"reason": {"type": "string"}, "score": {"type": "integer"}})


@dataclass(frozen=True)
class Correctness:
    """The judge's grade over 10, weighted by the probabilities of its neighbours where the endpoint gives them."""

    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True

    def prompt_hash(self) -> str:
        return prompt_hash(PROMPT)

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        question = self._question(case, reference, attempt)
        answer = await judge.ask(question)
        # A panel or a program may grade between whole numbers, so any finite number is accepted.
        if answer.data is None or not _is_number(answer.data.get("score")):
            return no_answer(question, answer)
        return billed(_graded(answer.data, answer), answer)

    def _question(self, case: Case, reference: str, attempt: Attempt) -> Question:
        inputs = {"input": case.input, "expected": reference, "output": attempt.output}
        prompt = fenced(PROMPT, input=case.input, expected_output=reference, actual_output=attempt.output)
        return Question(task="correctness", inputs=inputs, prompt=prompt, answer_schema=SCHEMA, wants_logprobs=True)


def _graded(data: dict[str, Any], answer: Answer) -> Measurement:
    score = float(data["score"])
    if not 0 <= score <= TOP:
        return Measurement.unscored(f"the judge scored {data['score']}, outside 0 to {TOP}", raw=data["score"])
    # Where the endpoint gives log-probabilities, the expected grade is used: it is finer than whole numbers.
    weighted = weighted_score(answer.text, answer.token_logprobs, TOP)
    value = score if weighted is None else weighted
    kind = answer.details.get("scoring", "raw" if weighted is None else "weighted")
    return Measurement.of(value / TOP, str(data.get("reason", "")), raw=data["score"], scoring=kind)


def _is_number(value: object) -> bool:
    """A judge that is a program (offline, a panel) may grade between whole numbers."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
