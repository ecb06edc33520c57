"""tau-bench's airline conversations replayed: the recorded model, and models that differ in one call.

    python -m perf.replay_tau historical_trajectories/gpt-4o-airline.json

The file is part of the public repository sierra-research/tau-bench and is not shipped here. Each conversation becomes a case and
is played with `--turns all`. Expected: the recorded model gives the recorded calls in every case without an unrecorded call;
a model that leaves out one call, changes one argument or swaps two is found at exactly that step.
"""

import asyncio
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

from evergold.bench.metrics.alignment import same_call
from evergold.bench.metrics.trajectory import Trajectory
from evergold.bench.replay import ReplayTarget
from evergold.bench.targets.recorded import RecordedTarget
from evergold.conversation import conversation_of
from evergold.model.case import Case
from evergold.model.replay import OnUnrecorded, Replay, Turns
from evergold.model.run import Attempt
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.model.trace import Trace
from evergold.sources.agents.trajectories import AgentLogs

Changed = tuple[list[ToolCall], int]


def cases_of(path: Path) -> Iterator[Case]:
    """One case per conversation of a log."""
    with path.open("rb") as lines:
        for item in AgentLogs().read(lines, path.name):
            if isinstance(item, Trace):
                read = conversation_of(item)
                yield Case(
                    id=item.id, input=item.input or "", output=item.output, messages=read.messages, turn=read.turn
                )


def left_out(calls: list[ToolCall], at: int) -> list[ToolCall]:
    return calls[:at] + calls[at + 1 :]


def other_argument(calls: list[ToolCall], at: int) -> list[ToolCall]:
    args = {**calls[at].args, "changed": "by the test"}
    return [*calls[:at], calls[at].model_copy(update={"args": args}), *calls[at + 1 :]]


def swapped(calls: list[ToolCall], at: int) -> list[ToolCall]:
    return calls[:at] + calls[at : at + 2][::-1] + calls[at + 2 :]


CHANGES: dict[str, Callable[[list[ToolCall], int], list[ToolCall]]] = {
    "leaves out one call": left_out,
    "changes one argument": other_argument,
    "swaps two calls": swapped,
}


class Listed:
    """A model that makes these calls one by one, whatever it hears, then answers."""

    identity = "listed"

    def __init__(self, calls: list[ToolCall]) -> None:
        self._calls = calls

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        made = sum(len(message.get("tool_calls") or ()) for message in case.messages[_first_user(case) :])
        if made < len(self._calls):
            return Attempt(case_id=case.id, trial=trial, tool_calls=(self._calls[made],))
        return Attempt(case_id=case.id, trial=trial, output="Done.")


def _first_user(case: Case) -> int:
    return next(n for n, message in enumerate(case.messages) if message.get("role") == "user")


def first_difference(recorded: list[ToolCall], made: list[ToolCall]) -> int | None:
    """The first step at which two lists of calls differ, found by comparing them one by one."""
    pairs = zip(recorded, [*made, *[None] * len(recorded)], strict=False)
    return next((n for n, (want, got) in enumerate(pairs) if got is None or not same_call(want, got)), None)


async def check(cases: list[Case]) -> dict[str, tuple[int, int]]:
    """How many cases came out as expected, of how many, per model."""
    dice, counts = Random(0), {}
    rules = Replay(turns=Turns.ALL, on_unrecorded=OnUnrecorded.ERROR, max_steps=1000)
    same = 0
    for case in cases:
        attempt = await ReplayTarget(RecordedTarget(), rules).attempt(case, 0, None)
        recorded = calls_in([*case.messages, *case.turn])
        equal = [(call.name, call.args, call.result) for call in attempt.tool_calls] == [
            (call.name, call.args, call.result) for call in recorded
        ]
        same += equal and attempt.metadata["replay"]["unrecorded"] == 0
    counts["the recorded model"] = (same, len(cases))
    for name, change in CHANGES.items():
        right = tried = 0
        for case in cases:
            recorded_calls = list(calls_in([*case.messages, *case.turn]))
            last = len(recorded_calls) - (1 if name.startswith("swaps") else 0)
            if last < 1:
                continue
            made = change(recorded_calls, dice.randrange(last))
            step = first_difference(recorded_calls, made)
            if step is None:  # two equal calls were swapped: nothing changed
                continue
            attempt = await ReplayTarget(Listed(made), rules).attempt(case, 0, None)
            measured: Any = Trajectory().measure(case, attempt)
            tried += 1
            right += measured.details["first_divergence"] == step
        counts[name] = (right, tried)
    return counts


def main() -> int:
    if len(sys.argv) != 2:
        print("give the path of historical_trajectories/gpt-4o-airline.json of sierra-research/tau-bench")
        return 2
    counts = asyncio.run(check(list(cases_of(Path(sys.argv[1])))))
    for name, (right, tried) in counts.items():
        print(f"{name:<24} {right} of {tried} as expected")
    return int(any(right < tried for right, tried in counts.values()))


if __name__ == "__main__":
    sys.exit(main())
