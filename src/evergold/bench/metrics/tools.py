"""Tool correctness: did the model call the tools it should have, with the arguments it should have?

Expected and actual calls are matched one to one so that the sum of argument similarities is greatest. Every call the
model makes counts, so calls nobody asked for cost precision, and a tool expected twice must be called twice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from evergold.bench.metrics.questions import MATERIAL, Interview, PromptedMetric, fence
from evergold.bench.metrics.text import f_score
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.model.tool_calls import ExpectedTool, ToolCall, call_likeness, differing_arguments
from evergold.model.values import canonical_json

INFINITY = float("inf")


def best_pairs(weights: Sequence[Sequence[float]]) -> list[tuple[int, int]]:
    """(row, column) pairs that maximise the sum; every row or every column is used, whichever are fewer."""
    if not weights or not weights[0]:
        return []
    # The algorithm needs at least as many columns as rows.
    if len(weights) > len(weights[0]):
        turned = [list(column) for column in zip(*weights, strict=True)]
        return sorted((row, column) for column, row in best_pairs(turned))
    owner = _hungarian([[-weight for weight in row] for row in weights])
    return sorted((row, column) for column, row in owner.items())


def _hungarian(costs: list[list[float]]) -> dict[int, int]:
    """Shortest augmenting paths with potentials (Kuhn–Munkres), O(rows² · columns); column → row."""
    rows, columns = len(costs), len(costs[0])
    # Row and column 0 stand for "nobody": they spare the special case of an unmatched start.
    row_price, column_price = [0.0] * (rows + 1), [0.0] * (columns + 1)
    owner = [0] * (columns + 1)
    for row in range(1, rows + 1):
        owner[0] = row
        slack, came_from, seen = [INFINITY] * (columns + 1), [0] * (columns + 1), [False] * (columns + 1)
        at = 0
        while owner[at]:
            seen[at] = True
            current, step, next_column = owner[at], INFINITY, 0
            for column in range(1, columns + 1):
                if seen[column]:
                    continue
                reduced = costs[current - 1][column - 1] - row_price[current] - column_price[column]
                if reduced < slack[column]:
                    slack[column], came_from[column] = reduced, at
                if slack[column] < step:
                    step, next_column = slack[column], column
            for column in range(columns + 1):
                if seen[column]:
                    row_price[owner[column]] += step
                    column_price[column] -= step
                else:
                    slack[column] -= step
            at = next_column
        while at:
            owner[at] = owner[came_from[at]]
            at = came_from[at]
    return {column - 1: owner[column] - 1 for column in range(1, columns + 1) if owner[column]}


Weights = list[list[float]]
NO_CALLS_KNOWN = "the case does not say which calls are expected"


def call_weights(expected: Sequence[ExpectedTool], actual: Sequence[ToolCall]) -> Weights:
    """How well each actual call fits each expected one: 0 for another tool, else the likeness of the arguments."""
    return [[call_likeness(want, got) for got in actual] for want in expected]


@dataclass(frozen=True)
class ToolCorrectness:
    """F1 of the longest common subsequence of calls; F1 of matched calls where their order does not count.

    The order counts unless the metric or the case says `ordered: false`.
    """

    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True
    reads_trajectory: ClassVar[bool] = True
    ordered: bool = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        expected, actual = case.expected_calls(), attempt.tool_calls
        if expected is None:
            return Measurement.not_applicable(NO_CALLS_KNOWN)
        return self.score(case, expected, actual, call_weights(expected, actual))

    def score(
        self, case: Case, expected: Sequence[ExpectedTool], actual: Sequence[ToolCall], weights: Weights
    ) -> Measurement:
        if not expected and not actual:
            return Measurement.of(1.0, "no calls expected, none made", precision=1.0, recall=1.0, f1=1.0, order=1.0)
        # The assignment also pairs calls of different tools at weight 0; those are no matches.
        pairs = [(i, j) for i, j in best_pairs(weights) if expected[i].name == actual[j].name]
        matched = sum(weights[i][j] for i, j in pairs)
        f1 = f_score(matched, len(actual), len(expected))
        # Order and assignment are two questions: both are reported, whichever is the value.
        order = f_score(_common_subsequence(weights), len(actual), len(expected))
        ordered = self.ordered and case.ordered
        paired, used = {i for i, _ in pairs}, {j for _, j in pairs}
        notes = {
            "missing": [call.name for i, call in enumerate(expected) if i not in paired],
            "extra": [call.name for j, call in enumerate(actual) if j not in used],
            "other arguments": [expected[i].name for i, j in pairs if weights[i][j] < 1],
        }
        if ordered and len(_longest_rise([j for _, j in pairs])) < len(pairs):
            notes["wrong order"] = [actual[j].name for j in sorted(used)]
        return Measurement.of(
            order if ordered else f1,
            "; ".join(f"{what}: {', '.join(names)}" for what, names in notes.items() if names) or None,
            precision=matched / len(actual) if actual else None,
            recall=matched / len(expected) if expected else None,
            f1=f1,
            order=order,
        )


class AlignedCalls(NamedTuple):
    """An expected call beside the one that was made, and what is wrong with it; nothing is where they agree."""

    expected: ExpectedTool | None
    made: ToolCall | None
    wrong: tuple[str, ...] = ()


def align_calls(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolCall], *, ordered: bool = True
) -> list[AlignedCalls]:
    """Lay the made calls beside the expected ones, in the expected order, as the metric pairs them.

    Wrong is what is missing, extra, out of order (the fewest calls that would have to move) or has other arguments.
    """
    weights = call_weights(expected, actual)
    made_of = dict(_same_tool_pairs(expected, actual, weights))
    kept = _longest_rise([*made_of.values()]) if ordered else {*made_of.values()}
    extra = [k for k in range(len(actual)) if k not in made_of.values()]
    rows: list[AlignedCalls] = []
    for i, want in enumerate(expected):
        if i not in made_of:
            rows.append(AlignedCalls(want, None, ("missing",)))
            continue
        j = made_of[i]
        # Calls that nobody expected stand where they were made.
        while j in kept and extra and extra[0] < j:
            rows.append(AlignedCalls(None, actual[extra.pop(0)], ("extra",)))
        other = f"arguments: {', '.join(differing_arguments(want, actual[j]))}" if weights[i][j] < 1 else ""
        moved = f"order: made as call {j + 1}" if j not in kept else ""
        rows.append(AlignedCalls(want, actual[j], tuple(what for what in (other, moved) if what)))
    return rows + [AlignedCalls(None, actual[k], ("extra",)) for k in extra]


def _longest_rise(numbers: Sequence[int]) -> set[int]:
    """The most of these numbers that rise from the first to the last."""
    best: list[list[int]] = [[]]
    longest: list[int] = []
    for number in numbers:
        before: list[int] = max((some for some in best if not some or some[-1] < number), key=len)
        best.append([*before, number])
        longest = max(longest, best[-1], key=len)
    return set(longest)


ARGUMENTS_PROMPT = f"""A model called tools. For each numbered pair of calls of the same tool, decide whether the actual \
arguments mean the same as the expected ones for the task at hand. Different wording, units, order or formatting of the \
same thing is "same"; another value, or an argument missing that matters, is "different".

{{task}}

{{pairs}}

{MATERIAL} Answer with one verdict per pair id, the reason first."""


@dataclass(frozen=True)
class SemanticToolCorrectness(PromptedMetric):
    """The same, with a judge who says which unequal arguments mean the same."""

    prompts: ClassVar[tuple[str, ...]] = (ARGUMENTS_PROMPT,)
    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True
    ordered: bool = True

    async def interview(self, case: Case, attempt: Attempt, asked: Interview) -> Measurement:
        plain = ToolCorrectness(ordered=self.ordered)
        expected, actual = case.expected_calls(), attempt.tool_calls
        if expected is None:
            return Measurement.not_applicable(NO_CALLS_KNOWN)
        weights = call_weights(expected, actual)
        # Only pairs whose arguments differ are asked about: equal ones need no judge.
        doubtful = [(i, j) for i, j in _same_tool_pairs(expected, actual, weights) if weights[i][j] < 1]
        if not doubtful:
            return plain.score(case, expected, actual, weights)
        pairs = [
            {"id": number, "name": expected[i].name, "expected": expected[i].args, "actual": actual[j].args}
            for number, (i, j) in enumerate(doubtful, start=1)
        ]
        shown = "\n".join(
            f"{number}. {expected[i].name}: expected {canonical_json(expected[i].args).decode()}, "
            f"actual {canonical_json(actual[j].args).decode()}"
            for number, (i, j) in enumerate(doubtful, start=1)
        )
        prompt = fence(ARGUMENTS_PROMPT, task=case.input, pairs=shown)
        verdicts = await asked.judge("argument_verdicts", {"pairs": pairs}, prompt, len(pairs), ("same", "different"))
        for (i, j), verdict in zip(doubtful, verdicts, strict=True):
            if verdict["verdict"] == "same":
                weights[i][j] = 1.0
        return plain.score(case, expected, actual, weights)


def tool_correctness(ordered: bool = True, semantic: bool = False) -> ToolCorrectness | SemanticToolCorrectness:
    """The factory behind the name: `semantic` asks a judge about arguments that are not equal."""
    return SemanticToolCorrectness(ordered) if semantic else ToolCorrectness(ordered)


def _same_tool_pairs(
    expected: Sequence[ExpectedTool], actual: Sequence[ToolCall], weights: Weights
) -> list[tuple[int, int]]:
    """The matched pairs of one tool; a pair of one tool is preferred to none, however unlike."""
    nudged = [
        # A tiny bonus for the same tool: without it a pair that shares no argument ties with no pair at all.
        [weights[i][j] + 1e-6 * (want.name == got.name) for j, got in enumerate(actual)]
        for i, want in enumerate(expected)
    ]
    return [(i, j) for i, j in best_pairs(nudged) if expected[i].name == actual[j].name]


def _common_subsequence(weights: Weights) -> float:
    """The greatest sum of weights along pairs that keep the order on both sides."""
    columns = len(weights[0]) if weights else 0
    above = [0.0] * (columns + 1)
    for row in weights:
        here = [0.0]
        for j, weight in enumerate(row):
            here.append(max(here[j], above[j + 1], above[j] + weight))
        above = here
    return above[-1]
