"""Answer relevancy: how much of the answer is about what was asked?"""

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
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.seams import Judge

STATEMENTS_PROMPT = f"""Split the answer below into its statements, one per sentence or list item, keeping its words. Say \
also whether the answer as a whole refuses the question ("I cannot help with that", "I don't know").

{{question}}

{{answer}}

{MATERIAL}"""
VERDICTS_PROMPT = f"""Decide for each numbered statement of an answer whether it helps to answer the question.
relevant: it answers the question, or supports or qualifies the answer.
irrelevant: the question would be answered just as well without it.

{{question}}

{{statements}}

{MATERIAL} Answer with one verdict per statement id, the reason \
first."""


@dataclass(frozen=True)
class AnswerRelevancy:
    """Relevant statements over all statements; an answer without statements is not about the question: 0."""

    version: ClassVar[str] = "2"

    def prompt_hash(self) -> str:
        return prompt_hash(STATEMENTS_PROMPT, VERDICTS_PROMPT)

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        if not attempt.output.strip():
            # An empty answer is off the question, not unmeasurable: 0 without asking the judge.
            return Measurement.of(0.0, "the answer is empty", statements=0, refusal=False)
        both = {"input": case.input, "output": attempt.output}
        refusal = {"refusal": {"type": "boolean"}}
        listing = list_question(
            "statements",
            both,
            fenced(STATEMENTS_PROMPT, question=case.input, answer=attempt.output),
            "statements",
            refusal,
        )
        listed = await judge.ask(listing)
        # A list in the wrong form is no list; nothing is judged that the judge did not state itself.
        if listed.data is None or problem_with(listing, listed.data) is not None:
            return no_answer(listing, listed)
        statements = [text.strip() for text in listed.data["statements"] if text.strip()]
        refused = listed.data["refusal"]
        if not statements:
            empty = Measurement.of(0.0, "the answer has no statements", statements=0, refusal=refused)
            return billed(empty, listed)
        prompt = fenced(VERDICTS_PROMPT, question=case.input, statements=numbered(statements))
        inputs = {"input": case.input, "statements": statements}
        question = verdict_question("statement_verdicts", inputs, prompt, len(statements), ("relevant", "irrelevant"))
        answer = await judge.ask(question)
        verdicts = read_verdicts(question, answer)
        if verdicts is None:
            return no_answer(question, listed, answer)
        return billed(_measured(statements, verdicts, refused), listed, answer)


def _measured(statements: list[str], verdicts: dict[int, dict[str, Any]], refused: bool) -> Measurement:
    good, weighted = support(verdicts, frozenset({"relevant"}))
    aside = [statements[number - 1] for number, verdict in sorted(verdicts.items()) if verdict["verdict"] != "relevant"]
    reason = f"irrelevant: {'; '.join(aside[:3])}" if aside else "every statement is relevant"
    shown = [{"statement": statements[number - 1], **verdict} for number, verdict in sorted(verdicts.items())]
    return Measurement.of(
        good / len(statements),
        # A refusal is named in the reason, because its statements may well be on the subject.
        f"refusal; {reason}" if refused else reason,
        statements=len(statements),
        refusal=refused,
        verdicts=shown,
        scoring="weighted" if weighted else "raw",
    )
