"""Metrics that ask a judge: faithfulness, answer relevancy, contextual precision and recall, and correctness.

The steps of correctness (G-Eval) are part of its version. They are not invented per case, because a rubric that changes
from case to case measures the rubric.
"""

import math
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.questions import (
    MATERIAL,
    Interview,
    PromptedMetric,
    fence,
    number_items,
    object_schema,
)
from evergold.bench.metrics.text import NO_REFERENCE
from evergold.errors import BadInput, describe_unknown
from evergold.model.case import Case
from evergold.model.judge import Question
from evergold.model.run import Attempt, Measurement

NO_CONTEXTS = "the case has no contexts"
MODES = {"entailment": frozenset({"supported"}), "non_contradiction": frozenset({"supported", "not_found"})}
CLAIMS_PROMPT = f"""List the factual claims of the text below. A claim is one statement that can be true or false on its \
own; replace pronouns by what they stand for. Leave out questions, greetings, opinions about the conversation and \
citation markers. A text without factual claims has an empty list.

{{text}}

{MATERIAL}"""
CLAIM_VERDICTS_PROMPT = f"""Decide for each numbered claim what the contexts say about it. Use only the contexts, not what you \
know.
supported: the contexts state it or it follows from them.
contradicted: the contexts say otherwise.
not_found: the contexts say neither.

{{contexts}}

{{claims}}

{MATERIAL} Answer with one verdict per claim id, the reason first."""


@dataclass(frozen=True)
class Faithfulness(PromptedMetric):
    """Supported claims over all claims; `mode: non_contradiction` lets a claim pass that the contexts do not mention."""

    prompts: ClassVar[tuple[str, ...]] = (CLAIMS_PROMPT, CLAIM_VERDICTS_PROMPT)
    version: ClassVar[str] = "3"
    mode: str = "entailment"

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise BadInput(f"metric faithfulness: {describe_unknown('mode', self.mode, tuple(MODES))}")

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        contexts = _texts_of(case)
        if not contexts:
            return Measurement.not_applicable(NO_CONTEXTS)
        # Silence makes no claims; a value of 1 would reward it and 0 would call it unfaithful.
        if not attempt.output.strip():
            return Measurement.unscored("the answer is empty: it makes no claims")
        return await _measure_claims(attempt.output, contexts, asked, self.mode, "the answer makes no claims")


def _texts_of(case: Case) -> list[str]:
    """The contexts of a case whose text was not lost."""
    return [context.text for context in case.contexts if context.text]


async def _measure_claims(text: str, contexts: list[str], asked: Interview, mode: str, none: str) -> Measurement:
    """The share of the claims of a text that the contexts support; unscored, because of `none`, where it makes none."""
    claims = await asked.list_texts("claims", {"output": text}, fence(CLAIMS_PROMPT, text=text))
    if not claims:
        return Measurement.unscored(none)
    prompt = fence(CLAIM_VERDICTS_PROMPT, contexts=number_items(contexts), claims=number_items(claims))
    inputs = {"claims": claims, "contexts": contexts, "mode": mode}
    possible = ("supported", "contradicted", "not_found")
    verdicts = await asked.judge("claim_verdicts", inputs, prompt, len(claims), possible)
    against = [
        f"{verdict['verdict']}: {claim} ({verdict['reason']})"
        for claim, verdict in zip(claims, verdicts, strict=True)
        if verdict["verdict"] not in MODES[mode]
    ]
    # The first three claims that fail are enough of a reason; all verdicts are in the details.
    reason = "; ".join(against[:3]) or "every claim is supported"
    shown = asked.show("claim", claims, verdicts)
    return Measurement.of((len(claims) - len(against)) / len(claims), reason, claims=len(claims), verdicts=shown)


@dataclass(frozen=True)
class ContextualRecall(PromptedMetric):
    """The share of the reference's statements that the contexts support: whether what was retrieved is enough."""

    prompts: ClassVar[tuple[str, ...]] = (CLAIMS_PROMPT, CLAIM_VERDICTS_PROMPT)
    version: ClassVar[str] = "1"

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        contexts, reference = _texts_of(case), case.reference_text()
        if not contexts or reference is None:
            return Measurement.not_applicable(NO_REFERENCE if contexts else NO_CONTEXTS)
        return await _measure_claims(reference, contexts, asked, "entailment", "the reference makes no statements")


STATEMENTS_PROMPT = f"""Split the answer below into its statements, one per sentence or list item, keeping its words. Say \
also whether the answer as a whole refuses the question ("I cannot help with that", "I don't know").

{{question}}

{{answer}}

{MATERIAL}"""
STATEMENT_VERDICTS_PROMPT = f"""Decide for each numbered statement of an answer whether it helps to answer the question.
relevant: it answers the question, or supports or qualifies the answer.
irrelevant: the question would be answered just as well without it.

{{question}}

{{statements}}

{MATERIAL} Answer with one verdict per statement id, the reason \
first."""


@dataclass(frozen=True)
class AnswerRelevancy(PromptedMetric):
    """Relevant statements over all statements; an answer without statements is not about the question: 0."""

    prompts: ClassVar[tuple[str, ...]] = (STATEMENTS_PROMPT, STATEMENT_VERDICTS_PROMPT)
    version: ClassVar[str] = "2"

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        if not attempt.output.strip():
            # An empty answer is off the question, not unmeasurable: 0 without asking the judge.
            return Measurement.of(0.0, "the answer is empty", statements=0, refusal=False)
        both = {"input": case.input, "output": attempt.output}
        prompt = fence(STATEMENTS_PROMPT, question=case.input, answer=attempt.output)
        statements = await asked.list_texts("statements", both, prompt, refusal={"type": "boolean"})
        refused = (asked.last.data or {})["refusal"]
        if not statements:
            return Measurement.of(0.0, "the answer has no statements", statements=0, refusal=refused)
        prompt = fence(STATEMENT_VERDICTS_PROMPT, question=case.input, statements=number_items(statements))
        inputs, count = {"input": case.input, "statements": statements}, len(statements)
        verdicts = await asked.judge("statement_verdicts", inputs, prompt, count, ("relevant", "irrelevant"))
        paired = zip(statements, verdicts, strict=True)
        aside = [statement for statement, verdict in paired if verdict["verdict"] != "relevant"]
        reason = f"irrelevant: {'; '.join(aside[:3])}" if aside else "every statement is relevant"
        # A refusal is named in the reason, because its statements may well be on the subject.
        reason = f"refusal; {reason}" if refused else reason
        shown = asked.show("statement", statements, verdicts)
        return Measurement.of((count - len(aside)) / count, reason, statements=count, refusal=refused, verdicts=shown)


CONTEXTS_PROMPT = f"""Decide for each numbered context whether it is useful for reaching the expected output from the input.
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
class ContextualPrecision(PromptedMetric):
    """Average precision of the contexts in their order. A context whose text was lost has no rank."""

    prompts: ClassVar[tuple[str, ...]] = (CONTEXTS_PROMPT,)
    version: ClassVar[str] = "2"

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        contexts, reference = _texts_of(case), case.reference_text()
        if not contexts or reference is None:
            return Measurement.not_applicable(NO_REFERENCE if contexts else NO_CONTEXTS)
        prompt = fence(CONTEXTS_PROMPT, input=case.input, expected_output=reference, contexts=number_items(contexts))
        inputs = {"input": case.input, "expected": reference, "contexts": contexts}
        verdicts = await asked.judge("context_verdicts", inputs, prompt, len(contexts), ("useful", "not_useful"))
        useful = [verdict["verdict"] == "useful" for verdict in verdicts]
        ranks = [rank for rank, is_useful in enumerate(useful, start=1) if is_useful]
        reason = f"useful at rank {', '.join(map(str, ranks))}" if ranks else "no context is useful"
        return Measurement.of(average_precision(useful), f"{reason} of {len(useful)}", verdicts=verdicts)


ASSERTIONS_PROMPT = f"""Decide for each numbered sentence whether it is true of the answer to the question. Read each \
as "The answer …".
true: the answer does what the sentence says.
false: it does not.

{{question}}

{{answer}}

{{sentences}}

{MATERIAL} Answer with one verdict per sentence id, the reason first."""


@dataclass(frozen=True)
class Assertions(PromptedMetric):
    """The share of a case's assertions that hold: each `must` is true of the answer, no `must_not` is. A trial passes by all."""

    prompts: ClassVar[tuple[str, ...]] = (ASSERTIONS_PROMPT,)
    version: ClassVar[str] = "1"
    passing: ClassVar[float] = 1.0

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        if not case.assertions:
            return Measurement.not_applicable("the case has no assertions")
        stated = [pair for one in case.assertions for pair in one.items()]
        texts = [text for _, text in stated]
        inputs = {"input": case.input, "output": attempt.output, "sentences": texts}
        prompt = fence(
            ASSERTIONS_PROMPT, question=case.input, answer=attempt.output or "(empty)", sentences=number_items(texts)
        )
        verdicts = await asked.judge("assertion_verdicts", inputs, prompt, len(texts), ("true", "false"))
        shown = asked.show("assertion", [f"{word.replace('_', ' ')}: {text}" for word, text in stated], verdicts)
        for (word, _), verdict in zip(stated, shown, strict=True):
            verdict["holds"] = (verdict["verdict"] == "true") is (word == "must")
        broken = [f"{one['assertion']} ({one['reason']})" for one in shown if not one["holds"]]
        reason = f"not fulfilled: {'; '.join(broken[:3])}" if broken else "every assertion holds"
        return Measurement.of(1 - len(broken) / len(shown), reason, assertions=len(shown), verdicts=shown)


# Alternatives below one per cent are noise of the tokenizer and shift a mean more than they mean.
LEAST_PROBABILITY = 0.01
DIGITS = 9  # of a grade; Python refuses to read thousands of them


def weighted_score(text: str, tokens: Sequence[dict[str, Any]], top: int) -> float | None:
    """Σ value·p / Σ p over the whole numbers from 0 to `top` among the alternatives of the grade's token.

    A judge that says 8 with probability 0.55 and 7 with 0.45 means 7.55; taking the sampled token throws that away. The
    token is found by its position in the JSON text, because digits also stand in the reason before it. None where that
    cannot be done: no log-probabilities, or a grade that is not exactly one token.
    """
    position = value_position(text, "score")
    # The tokens must spell the text exactly; else positions in one say nothing about the other.
    if position is None or "".join(token["token"] for token in tokens) != text:
        return None
    start, end = position
    at = 0
    for token in tokens:
        stop = at + len(token["token"])
        if at <= start < stop:
            # A grade of 10 is two tokens for some models: its alternatives cannot be read from one of them.
            whole = token["token"].strip() == text[start:end] and stop >= end
            return _mean_grade(token["top"], top) if whole else None
        at = stop
    return None


def _mean_grade(alternatives: Sequence[Sequence[Any]], top: int) -> float | None:
    mass = total = 0.0
    for word, logprob in alternatives:
        plain, p = word.strip(), math.exp(logprob)
        if (
            plain.isascii()
            and plain.isdigit()
            and len(plain) <= DIGITS
            and int(plain) <= top
            and p >= LEAST_PROBABILITY
        ):
            mass += p
            total += p * int(plain)
    return total / mass if mass else None


def value_position(text: str, key: str) -> tuple[int, int] | None:
    """Where the value of a key starts and ends in a JSON object's text."""
    # Within a text of the object the quotation marks have backslashes, so that only the key itself matches.
    result = re.search(rf'"{key}"\s*:\s*([^\s,}}]+)', text)
    return result.span(1) if result else None


TOP = 10
STEPS = (
    "List the facts, values and conclusions in the expected output that an answer to this input must have.",
    "Check each of them in the actual output: present and right, missing, or contradicted.",
    "Look for statements in the actual output that contradict the expected output; each weighs as much as a missing one.",
    "Ignore wording, order, formatting and length; extra material that is right and relevant costs nothing.",
    "Grade from 0 (nothing right, or contradicts the expected output) to 10 (everything right, nothing contradicted).",
)
CORRECTNESS_PROMPT = f"""You grade an answer against the expected one. Follow the steps in order.

{number_items(STEPS)}

{{input}}

{{expected_output}}

{{actual_output}}

{MATERIAL} Answer with the reason first, in one or two \
sentences, then the score, a whole number from 0 to 10."""
CORRECTNESS_SCHEMA = object_schema({"reason": {"type": "string"}, "score": {"type": "integer"}})


@dataclass(frozen=True)
class Correctness(PromptedMetric):
    """The judge's grade over 10, weighted by the probabilities of its neighbours where the endpoint gives them."""

    prompts: ClassVar[tuple[str, ...]] = (CORRECTNESS_PROMPT,)
    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        inputs = {"input": case.input, "expected": reference, "output": attempt.output}
        prompt = fence(CORRECTNESS_PROMPT, input=case.input, expected_output=reference, actual_output=attempt.output)
        question = Question(
            task="correctness", inputs=inputs, prompt=prompt, answer_schema=CORRECTNESS_SCHEMA, wants_logprobs=True
        )
        data = await asked.ask(question, _is_grade)
        raw, answer = data["score"], asked.last
        if not 0 <= raw <= TOP:
            return Measurement.unscored(f"the judge scored {raw}, outside 0 to {TOP}", raw=raw)
        # Where the endpoint gives log-probabilities, the expected grade is used: it is finer than whole numbers.
        weighted = weighted_score(answer.text, answer.token_logprobs, TOP)
        kind = answer.details.get("scoring", "raw" if weighted is None else "weighted")
        value = float(raw) if weighted is None else weighted
        return Measurement.of(value / TOP, str(data.get("reason", "")), raw=raw, scoring=kind)


def _is_grade(data: dict[str, Any]) -> bool:
    """Whether an answer is a finite number with a reason; a program or a panel may grade between whole numbers."""
    score = data.get("score")
    is_number = isinstance(score, int | float) and not isinstance(score, bool) and abs(score) <= sys.float_info.max
    return is_number and not set(data) - {"reason", "score"}
