"""Metrics of a replay: how the calls of the model follow those of the record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from evergold.bench.metrics.tokens import f_score
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in
from evergold.model.tool_match import matches

NO_REPLAY = "the attempt is no replay; run with --replay"
Groups = list[list[ToolCall]]


@dataclass(frozen=True)
class Trajectory:
    """F1 of the longest common subsequence of recorded and made calls; calls made in parallel match in any order."""

    version: ClassVar[str] = "1"
    reads_trajectory: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if "replay" not in attempt.metadata:
            return Measurement.not_applicable(NO_REPLAY)
        everything = attempt.metadata["replay"].get("turns") == "all"
        recorded = _groups([*case.messages, *case.turn] if everything else case.turn)
        made = _groups(attempt.metadata["trajectory"])
        expected, actual = _in_one_order(recorded, made)
        if not expected and not actual:
            return Measurement.not_applicable("no call was recorded and none was made")
        pairs = _common(expected, actual)
        found, used = {i for i, _ in pairs}, {j for _, j in pairs}
        first = next((i for i in range(len(expected)) if (i, i) not in pairs), None)
        return Measurement.of(
            f_score(len(pairs), len(actual), len(expected)),
            None if first is None else _why(first, expected, actual),
            matched=len(pairs),
            missing=[expected[i].name for i in range(len(expected)) if i not in found],
            extra=[actual[j].name for j in range(len(actual)) if j not in used],
            first_divergence=first,
        )


@dataclass(frozen=True)
class UnrecordedRate:
    """The share of calls that the record could not answer; not applicable where the model called nothing."""

    version: ClassVar[str] = "1"
    reads_trajectory: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if "replay" not in attempt.metadata:
            return Measurement.not_applicable(NO_REPLAY)
        if not attempt.tool_calls:
            return Measurement.not_applicable("the model called no tool")
        unknown = int(attempt.metadata["replay"]["unrecorded"])
        return Measurement.of(unknown / len(attempt.tool_calls), unrecorded=unknown, calls=len(attempt.tool_calls))


@dataclass(frozen=True)
class Steps:
    """How many times the model was asked before it had answered."""

    version: ClassVar[str] = "1"
    reads_trajectory: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if "replay" not in attempt.metadata:
            return Measurement.not_applicable(NO_REPLAY)
        return Measurement.of(float(attempt.metadata["replay"]["steps"]))


def _groups(messages: Sequence[Mapping[str, Any]]) -> Groups:
    """Calls by the message that made them: those of one message were made in parallel."""
    return [calls for message in messages if (calls := list(calls_in([message])))]


def _in_one_order(recorded: Groups, made: Groups) -> tuple[list[ToolCall], list[ToolCall]]:
    """Flatten both sides: parallel calls stand in the order in which the other side has them.

    The made calls are ordered first and the recorded ones by the result, so that the two never swap past each other.
    """
    actual = [_ordered_like(group, recorded) for group in made]
    expected = [_ordered_like(group, actual) for group in recorded]
    return [call for group in expected for call in group], [call for group in actual for call in group]


def _ordered_like(group: list[ToolCall], others: Groups) -> list[ToolCall]:
    if len(group) == 1:
        return group
    flat = [call for other in others for call in other]
    free = set(range(len(flat)))
    positions: list[tuple[int, int]] = []
    for number, call in enumerate(group):
        at = next((i for i in sorted(free) if _same(flat[i], call)), None)
        if at is not None:
            free.discard(at)
        positions.append((len(flat) if at is None else at, number))
    return [group[number] for _, number in sorted(positions)]


def _same(one: ToolCall, other: ToolCall) -> bool:
    return bool(one.name) and matches(ExpectedTool(name=one.name, args=one.args), other)


def _common(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> set[tuple[int, int]]:
    """The pairs of a longest common subsequence, the earliest ones where several are as long."""
    rows, columns = len(expected), len(actual)
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    equal = [[_same(want, got) for got in actual] for want in expected]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            after = best[i + 1][j + 1] + 1 if equal[i][j] else 0
            best[i][j] = max(after, best[i + 1][j], best[i][j + 1])
    pairs: set[tuple[int, int]] = set()
    i = j = 0
    while i < rows and j < columns:
        if equal[i][j] and best[i][j] == best[i + 1][j + 1] + 1:
            pairs.add((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _why(step: int, expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> str:
    want = expected[step]
    if step >= len(actual):
        return f"step {step}: {want.name} was not called"
    got = actual[step]
    if got.name != want.name:
        return f"step {step}: {got.name} was called instead of {want.name}"
    return f"step {step}: {want.name} was called with {got.args} instead of {want.args}"
