"""Metrics that ask a judge: faithfulness, answer relevancy, contextual precision and recall, and correctness.

The steps of correctness (G-Eval) are part of its version. They are not invented per case, because a rubric that changes
from case to case measures the rubric.
"""

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.questions import (
    MATERIAL,
    PromptedMetric,
    add_usage,
    fence,
    list_question,
    listed_texts,
    no_answer,
    number_items,
    object_schema,
    read_verdicts,
    share_of,
    show_verdicts,
    verdict_question,
)
from evergold.bench.metrics.text import NO_REFERENCE
from evergold.errors import BadInput, describe_unknown
from evergold.model.case import Case
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Measurement
from evergold.seams import Judge

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

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        contexts = [context.text for context in case.contexts if context.text]
        if not contexts:
            return Measurement.not_applicable("the case has no contexts")
        # Silence makes no claims; a value of 1 would reward it and 0 would call it unfaithful.
        if not attempt.output.strip():
            return Measurement.unscored("the answer is empty: it makes no claims")
        return await _measure_claims(attempt.output, contexts, judge, self.mode, "the answer makes no claims")


async def _measure_claims(text: str, contexts: list[str], judge: Judge, mode: str, none: str) -> Measurement:
    """The share of the claims of a text that the contexts support; unscored, because of `none`, where it makes none."""
    listing = list_question("claims", {"output": text}, fence(CLAIMS_PROMPT, text=text), "claims", {})
    listed = await judge.ask(listing)
    claims = listed_texts(listing, listed, "claims")
    if claims is None:
        return no_answer(listing, listed)
    if not claims:
        return add_usage(Measurement.unscored(none), listed)
    prompt = fence(CLAIM_VERDICTS_PROMPT, contexts=number_items(contexts), claims=number_items(claims))
    inputs = {"claims": claims, "contexts": contexts, "mode": mode}
    possible = ("supported", "contradicted", "not_found")
    question = verdict_question("claim_verdicts", inputs, prompt, len(claims), possible)
    answer = await judge.ask(question)
    verdicts = read_verdicts(question, answer)
    if verdicts is None:
        return no_answer(question, listed, answer)
    # The first three claims that fail are enough of a reason; all verdicts are in the details.
    against = [
        f"{verdict['verdict']}: {claims[number - 1]} ({verdict['reason']})"
        for number, verdict in sorted(verdicts.items())
        if verdict["verdict"] not in MODES[mode]
    ]
    shown = show_verdicts("claim", claims, verdicts, answer)
    reason = "; ".join(against[:3]) or "every claim is supported"
    measured = Measurement.of(share_of(verdicts, MODES[mode]), reason, claims=len(claims), verdicts=shown)
    return add_usage(measured, listed, answer)


@dataclass(frozen=True)
class ContextualRecall(PromptedMetric):
    """The share of the reference's statements that the contexts support: whether what was retrieved is enough."""

    prompts: ClassVar[tuple[str, ...]] = (CLAIMS_PROMPT, CLAIM_VERDICTS_PROMPT)
    version: ClassVar[str] = "1"

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        contexts = [context.text for context in case.contexts if context.text]
        if not contexts:
            return Measurement.not_applicable("the case has no contexts")
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        return await _measure_claims(reference, contexts, judge, "entailment", "the reference makes no statements")


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

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        if not attempt.output.strip():
            # An empty answer is off the question, not unmeasurable: 0 without asking the judge.
            return Measurement.of(0.0, "the answer is empty", statements=0, refusal=False)
        both = {"input": case.input, "output": attempt.output}
        refusal = {"refusal": {"type": "boolean"}}
        listing = list_question(
            "statements",
            both,
            fence(STATEMENTS_PROMPT, question=case.input, answer=attempt.output),
            "statements",
            refusal,
        )
        listed = await judge.ask(listing)
        statements = listed_texts(listing, listed, "statements")
        if statements is None or listed.data is None:
            return no_answer(listing, listed)
        refused = listed.data["refusal"]
        if not statements:
            empty = Measurement.of(0.0, "the answer has no statements", statements=0, refusal=refused)
            return add_usage(empty, listed)
        prompt = fence(STATEMENT_VERDICTS_PROMPT, question=case.input, statements=number_items(statements))
        inputs = {"input": case.input, "statements": statements}
        question = verdict_question("statement_verdicts", inputs, prompt, len(statements), ("relevant", "irrelevant"))
        answer = await judge.ask(question)
        verdicts = read_verdicts(question, answer)
        if verdicts is None:
            return no_answer(question, listed, answer)
        return add_usage(_measure_statements(statements, verdicts, refused, answer), listed, answer)


def _measure_statements(
    statements: list[str], verdicts: dict[int, dict[str, Any]], refused: bool, answer: JudgeAnswer
) -> Measurement:
    aside = [statements[number - 1] for number, verdict in sorted(verdicts.items()) if verdict["verdict"] != "relevant"]
    reason = f"irrelevant: {'; '.join(aside[:3])}" if aside else "every statement is relevant"
    shown = show_verdicts("statement", statements, verdicts, answer)
    return Measurement.of(
        share_of(verdicts, frozenset({"relevant"})),
        # A refusal is named in the reason, because its statements may well be on the subject.
        f"refusal; {reason}" if refused else reason,
        statements=len(statements),
        refusal=refused,
        verdicts=shown,
    )


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

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        contexts = [context.text for context in case.contexts if context.text]
        if not contexts:
            return Measurement.not_applicable("the case has no contexts")
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        prompt = fence(CONTEXTS_PROMPT, input=case.input, expected_output=reference, contexts=number_items(contexts))
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
        return add_usage(measured, answer)


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

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        if not case.assertions:
            return Measurement.not_applicable("the case has no assertions")
        stated = [pair for one in case.assertions for pair in one.items()]
        texts = [text for _, text in stated]
        inputs = {"input": case.input, "output": attempt.output, "sentences": texts}
        prompt = fence(
            ASSERTIONS_PROMPT, question=case.input, answer=attempt.output or "(empty)", sentences=number_items(texts)
        )
        question = verdict_question("assertion_verdicts", inputs, prompt, len(texts), ("true", "false"))
        answer = await judge.ask(question)
        verdicts = read_verdicts(question, answer)
        if verdicts is None:
            return no_answer(question, answer)
        shown = show_verdicts("assertion", [f"{w.replace('_', ' ')}: {text}" for w, text in stated], verdicts, answer)
        for (word, _), verdict in zip(stated, shown, strict=True):
            verdict["holds"] = (verdict["verdict"] == "true") is (word == "must")
        broken = [f"{one['assertion']} ({one['reason']})" for one in shown if not one["holds"]]
        value = 1 - len(broken) / len(shown)
        reason = f"not fulfilled: {'; '.join(broken[:3])}" if broken else "every assertion holds"
        return add_usage(Measurement.of(value, reason, assertions=len(shown), verdicts=shown), answer)


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
    """Where the value of a top-level key starts and ends in a JSON object's text."""
    decoder = json.JSONDecoder()
    at = text.find("{") + 1
    try:
        while at:
            at = _skip(text, at, " \t\r\n,")
            name, at = decoder.raw_decode(text, at)
            start = _skip(text, at, " \t\r\n:")
            _, at = decoder.raw_decode(text, start)
            if name == key:
                return start, at
    except (ValueError, IndexError):
        return None
    return None


def _skip(text: str, at: int, these: str) -> int:
    while text[at] in these:
        at += 1
    return at


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

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        reference = case.reference_text()
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        inputs = {"input": case.input, "expected": reference, "output": attempt.output}
        prompt = fence(CORRECTNESS_PROMPT, input=case.input, expected_output=reference, actual_output=attempt.output)
        question = Question(
            task="correctness", inputs=inputs, prompt=prompt, answer_schema=CORRECTNESS_SCHEMA, wants_logprobs=True
        )
        answer = await judge.ask(question)
        # A panel or a program may grade between whole numbers, so any finite number is accepted.
        if answer.data is None or not _is_number(answer.data.get("score")) or set(answer.data) - {"reason", "score"}:
            return no_answer(question, answer)
        return add_usage(_read_grade(answer.data, answer), answer)


def _read_grade(data: dict[str, Any], answer: JudgeAnswer) -> Measurement:
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
