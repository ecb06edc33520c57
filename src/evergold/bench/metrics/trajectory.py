"""Metrics of a replay: how the calls of the model follow those of the record."""

from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from evergold.bench.metrics.alignment import Alignment, Messages, align, by_turn
from evergold.bench.metrics.tokens import f_score
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement

NO_REPLAY = "the attempt is no replay; run with --replay"
WHOLE = ("all", "simulated")


@dataclass(frozen=True)
class Trajectory:
    """F1 of the longest common subsequence of recorded and made calls; calls made in parallel match in any order."""

    version: ClassVar[str] = "2"
    reads_trajectory: ClassVar[bool] = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if "replay" not in attempt.metadata:
            return Measurement.not_applicable(NO_REPLAY)
        recorded, made = sides(case, attempt)
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
        return Measurement.of(_value(aligned), aligned.why(), **details)


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
        # Calls that were answered from the record by near arguments count as recorded.
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


def sides(case: Case, attempt: Attempt) -> tuple[Messages, Messages]:
    """The recorded messages that a replay is held against, and those that it made."""
    whole = attempt.metadata["replay"].get("turns") in WHOLE
    return [*case.messages, *case.turn] if whole else case.turn, attempt.metadata["trajectory"]


def _value(aligned: Alignment) -> float:
    return f_score(len(aligned.pairs), len(aligned.made), len(aligned.recorded))


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
            results.append({"turn": number, "value": _value(aligned), **counts, **first})
    return results
