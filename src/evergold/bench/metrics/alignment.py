"""Recorded and made calls beside each other: the longest common subsequence, and what lies between its pairs.

Calls of one message were made in parallel and match in any order among themselves. A step is the index of a recorded call.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evergold.model.run import AlignedCall, CallState
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, matches

Messages = Sequence[Mapping[str, Any]]
Groups = list[list[ToolCall]]
MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Alignment:
    """Both sides in one order, and the pairs (recorded, made) that match."""

    recorded: list[ToolCall]
    made: list[ToolCall]
    pairs: list[tuple[int, int]]

    def first_divergence(self) -> int | None:
        """The first recorded call that was not matched in its place; None where all were."""
        matched = set(self.pairs)
        return next((step for step in range(len(self.recorded)) if (step, step) not in matched), None)

    def why(self) -> str | None:
        """The first divergence in words; None where both sides are the same."""
        step = self.first_divergence()
        if step is None:
            more = self.made[len(self.recorded) :]
            return f"after the last recorded call {more[0].name} was called" if more else None
        want = self.recorded[step]
        at = next((made for recorded, made in self.pairs if recorded == step), None)
        if at is not None:
            return f"step {step}: {self.made[step].name} was called before {want.name}"
        if step >= len(self.made):
            return f"step {step}: {want.name} was not called"
        got = self.made[step]
        if got.name == want.name and not any(made == step for _, made in self.pairs):
            return f"step {step}: {want.name} was called with {_short(got.args)} instead of {_short(want.args)}"
        if any(made == step for _, made in self.pairs):
            return f"step {step}: {want.name} was left out; {got.name} was called"
        return f"step {step}: {got.name} was called instead of {want.name}"

    def rows(self) -> list[AlignedCall]:
        """Every call of both sides once, in order; an unmatched pair of one tool is one row with changed arguments."""
        rows: list[AlignedCall] = []
        i = j = 0
        for end_i, end_j in [*self.pairs, (len(self.recorded), len(self.made))]:
            rows += self._between(range(i, end_i), range(j, end_j))
            if end_i < len(self.recorded) and end_j < len(self.made):
                both = {"step": end_i, "recorded": self.recorded[end_i], "made": self.made[end_j]}
                rows.append(AlignedCall(state=CallState.SAME, **both))
            i, j = end_i + 1, end_j + 1
        return rows

    def _between(self, recorded: range, made: range) -> list[AlignedCall]:
        rows, left = [], list(made)
        for i in recorded:
            # Inside a gap, the next call of the same tool is taken for the recorded one with other arguments.
            want = self.recorded[i]
            j = next((j for j in left if self.made[j].name == want.name), None)
            if j is None:
                rows.append(AlignedCall(state=CallState.MISSING, step=i, recorded=want))
                continue
            # Calls before it were made in addition.
            rows += [AlignedCall(state=CallState.EXTRA, made=self.made[k]) for k in left if k < j]
            rows.append(AlignedCall(state=CallState.CHANGED, step=i, recorded=want, made=self.made[j]))
            left = [k for k in left if k > j]
        return rows + [AlignedCall(state=CallState.EXTRA, made=self.made[k]) for k in left]


def _short(args: Mapping[str, Any]) -> str:
    """Arguments as JSON, cut to what a sentence can hold."""
    text = json.dumps(args, ensure_ascii=False, default=str)
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"


def align(recorded: Messages, made: Messages) -> Alignment:
    """Align the calls of two conversations; results are tied to their calls."""
    expected, actual = _in_one_order(_groups(recorded), _groups(made))
    return Alignment(expected, actual, _common(expected, actual))


def by_turn(messages: Messages) -> list[list[Mapping[str, Any]]]:
    """Messages after each message of the user; what stands before the first one is the first turn."""
    turns: list[list[Mapping[str, Any]]] = [[]]
    for message in messages:
        if message.get("role") == "user":
            turns.append([])
        else:
            turns[-1].append(message)
    return turns


def _groups(messages: Messages) -> Groups:
    """Calls with their results by the message that made them: those of one message were made in parallel."""
    flat = iter(calls_in(messages))
    counts = [len(calls_in([message])) for message in messages]
    return [[next(flat) for _ in range(count)] for count in counts if count]


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
        # Each call of the other side is used once, or two equal calls would take the same position.
        at = next((i for i in sorted(free) if same_call(flat[i], call)), None)
        if at is not None:
            free.discard(at)
        positions.append((len(flat) if at is None else at, number))
    return [group[number] for _, number in sorted(positions)]


def same_call(one: ToolCall, other: ToolCall) -> bool:
    """Whether a call meets a recorded one, by the rules of expected calls."""
    if not one.name or one.name != other.name:
        return False
    return one.args == other.args or matches(ExpectedTool.model_construct(name=one.name, args=one.args), other)


def _common(expected: Sequence[ToolCall], actual: Sequence[ToolCall]) -> list[tuple[int, int]]:
    """The pairs of a longest common subsequence, the earliest ones where several are as long."""
    rows, columns = len(expected), len(actual)
    # Filled from the end, so that walking from the start finds the earliest of equally long solutions.
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    equal = [[same_call(want, got) for got in actual] for want in expected]
    for i in range(rows - 1, -1, -1):
        for j in range(columns - 1, -1, -1):
            after = best[i + 1][j + 1] + 1 if equal[i][j] else 0
            best[i][j] = max(after, best[i + 1][j], best[i][j + 1])
    pairs: list[tuple[int, int]] = []
    i = j = 0
    while i < rows and j < columns:
        if equal[i][j] and best[i][j] == best[i + 1][j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif best[i + 1][j] >= best[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs
