"""Metrics of a replay: how the calls of the model follow those of the record, and what it reached.

Both sides are aligned by their longest common subsequence. Calls of one message were made in parallel and match in any
order among themselves. A step is the index of a recorded call.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from evergold.bench.metrics.judged import Correctness
from evergold.bench.metrics.text import f_score
from evergold.model.case import Case
from evergold.model.run import AlignedCall, Attempt, CallState, Measurement, Scale
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, matches
from evergold.model.values import likeness
from evergold.seams import Judge

Messages = Sequence[Mapping[str, Any]]
Groups = list[list[ToolCall]]
MOST_CHARACTERS = 200


@dataclass(frozen=True)
class Alignment:
    """Both sides in one order, and the pairs (recorded, made) that match."""

    recorded: list[ToolCall]
    made: list[ToolCall]
    pairs: list[tuple[int, int]]

    def f1(self) -> float:
        return f_score(len(self.pairs), len(self.made), len(self.recorded))

    def first_divergence(self) -> int | None:
        """The first recorded call that was not matched in its place; None where all were."""
        matched = set(self.pairs)
        return next((step for step in range(len(self.recorded)) if (step, step) not in matched), None)

    def describe_divergence(self) -> str | None:
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
        if any(made == step for _, made in self.pairs):
            return f"step {step}: {want.name} was left out; {got.name} was called"
        if got.name == want.name:
            return f"step {step}: {want.name} was called with {_short(got.args)} instead of {_short(want.args)}"
        return f"step {step}: {got.name} was called instead of {want.name}"

    def rows(self) -> list[AlignedCall]:
        """Every call of both sides once, in order; an unmatched pair of one tool is one row with changed arguments."""
        rows: list[AlignedCall] = []
        i = j = 0
        for end_i, end_j in [*self.pairs, (len(self.recorded), len(self.made))]:
            rows += self._align_between(range(i, end_i), range(j, end_j))
            if end_i < len(self.recorded) and end_j < len(self.made):
                both = {"step": end_i, "recorded": self.recorded[end_i], "made": self.made[end_j]}
                rows.append(AlignedCall(state=CallState.SAME, **both))
            i, j = end_i + 1, end_j + 1
        return rows

    def _align_between(self, recorded: range, made: range) -> list[AlignedCall]:
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
    """Align the calls of two conversations; results are tied to their calls.

    Parallel calls stand in the order in which the other side has them.
    """
    # The made calls are ordered first and the recorded ones by the result, so that the two never swap past each other.
    before, after = _groups(recorded), _groups(made)
    actual_groups = [_ordered_like(group, before) for group in after]
    expected = [call for group in before for call in _ordered_like(group, actual_groups)]
    actual = [call for group in actual_groups for call in group]
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


NO_REPLAY = "the attempt is no replay; run with --replay"
WHOLE = ("all", "simulated")


@dataclass(frozen=True)
class _ReplayMetric:
    """Measures a replay; not applicable to any other attempt."""

    version: ClassVar[str] = "1"
    reads_trajectory: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if "replay" not in attempt.metadata:
            return Measurement.not_applicable(NO_REPLAY)
        return self.measure_replay(case, attempt)

    def measure_replay(self, case: Case, attempt: Attempt) -> Measurement:
        raise NotImplementedError


@dataclass(frozen=True)
class Trajectory(_ReplayMetric):
    """F1 of the longest common subsequence of recorded and made calls; calls made in parallel match in any order."""

    version: ClassVar[str] = "2"

    def measure_replay(self, case: Case, attempt: Attempt) -> Measurement:
        recorded, made = recorded_side(case, attempt), attempt.metadata["trajectory"]
        aligned = align(recorded, made)
        if not aligned.recorded and not aligned.made:
            return Measurement.not_applicable("no call was recorded and none was made")
        matched, used = {i for i, _ in aligned.pairs}, {j for _, j in aligned.pairs}
        details: dict[str, Any] = {
            "matched": len(aligned.pairs),
            "missing": [call.name for i, call in enumerate(aligned.recorded) if i not in matched],
            "extra": [call.name for j, call in enumerate(aligned.made) if j not in used],
            "first_divergence": aligned.first_divergence(),
        }
        # Only a replay of several turns has figures by turn.
        if attempt.metadata["replay"].get("turns") in WHOLE:
            details["turns"] = _per_turn(recorded, made)
        return Measurement.of(aligned.f1(), aligned.describe_divergence(), **details)


@dataclass(frozen=True)
class UnrecordedRate(_ReplayMetric):
    """The share of calls that the record could not answer; not applicable where the model called nothing."""

    scale: ClassVar[Scale | None] = Scale(lower_is_better=True)

    def measure_replay(self, case: Case, attempt: Attempt) -> Measurement:
        if not attempt.tool_calls:
            return Measurement.not_applicable("the model called no tool")
        # Calls that were answered from the record by near arguments count as recorded.
        unknown = int(attempt.metadata["replay"]["unrecorded"])
        return Measurement.of(unknown / len(attempt.tool_calls), unrecorded=unknown, calls=len(attempt.tool_calls))


@dataclass(frozen=True)
class Steps(_ReplayMetric):
    """How many times the model was asked before it had answered."""

    scale: ClassVar[Scale | None] = None

    def measure_replay(self, case: Case, attempt: Attempt) -> Measurement:
        return Measurement.of(float(attempt.metadata["replay"]["steps"]))


def recorded_side(case: Case, attempt: Attempt) -> Messages:
    """The recorded messages that a replay is held against: all of them, or those of the last turn alone."""
    whole = attempt.metadata.get("replay", {}).get("turns") in WHOLE
    return [*case.messages, *case.turn] if whole else case.turn


def _per_turn(recorded: Messages, made: Messages) -> list[dict[str, Any]]:
    """The value of each turn of the user that has calls on either side; turns count from 1.

    The record begins before the first message of the user, the trajectory after it.
    """
    results = []
    # The system prompt and what else stands before the first user message has no counterpart in the trajectory.
    for number, (want, got) in enumerate(zip_longest(by_turn(recorded)[1:], by_turn(made)), 1):
        aligned = align(want or (), got or ())
        if aligned.recorded or aligned.made:
            counts = {"recorded": len(aligned.recorded), "made": len(aligned.made), "matched": len(aligned.pairs)}
            first = {"first_divergence": aligned.first_divergence()}
            results.append({"turn": number, "value": aligned.f1(), **counts, **first})
    return results


@dataclass(frozen=True)
class ReplayOutcome:
    """The end state against the one of the case (1 or 0), else the answer against the reference, as `correctness`.

    `metadata.end_state` of a case is compared with the `state` that an app reports in the metadata of its reply.
    `metadata.changing_tools` names tools that change the world: the same calls of them, in any order, are the same end.
    """

    version: ClassVar[str] = "2"
    compares: ClassVar[bool] = True

    def prompt_hash(self) -> str:
        return Correctness().prompt_hash()

    async def measure_with(self, case: Case, attempt: Attempt, judge: Judge) -> Measurement:
        if (wanted := case.metadata.get("end_state")) is not None:
            if "state" not in attempt.metadata:
                return Measurement.unscored('the target reports no state; reply with metadata {"state": …}')
            share = likeness(wanted, attempt.metadata["state"])
            reason = None if share == 1.0 else f"the end state differs; {share:.0%} of it is as expected"
            return Measurement.of(float(share == 1.0), reason, by="end_state", share=share)
        tools = case.metadata.get("changing_tools")
        if isinstance(tools, list) and tools:
            left = [call for call in attempt.tool_calls if call.name in tools]
            missing: list[str] = []
            for call in calls_in(recorded_side(case, attempt)):
                if call.name in tools:
                    made = next((one for one in left if same_call(call, one)), None)
                    if made is None:
                        missing.append(call.name)
                    else:
                        left.remove(made)
            reason = "the changes differ from the recorded ones" if missing or left else None
            extra = [call.name for call in left]
            return Measurement.of(float(reason is None), reason, by="changes", missing=missing, extra=extra)
        return await Correctness().measure_with(case, attempt, judge)
