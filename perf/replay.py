"""What a replay costs: CPU per step with every step on disk, and memory at 10,000 trajectories of 20 steps.

    python -m perf.replay              # 500 and 10,000 trajectories, concurrency 20
    python -m perf.replay 500          # one size
    python -m perf.replay each         # 1,000 conversations of 10 turns: how many requests find their prefix cached

Each size runs in a process of its own, with a model that answers at once. Goal: at most 1.5 ms CPU per step, under 300 MB at
10,000 trajectories.
"""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SIZES, STEPS = (500, 10_000), 20
CONVERSATIONS, TURNS = 1000, 10
GOAL_MS, GOAL_MB = 1.5, 300.0


async def follow(messages: list[dict[str, Any]]) -> Any:
    """The model: makes the recorded calls, then answers."""
    done = sum(message["role"] == "assistant" for message in messages)
    if done == STEPS - 1:
        return "Done."
    return {"output": "", "tool_calls": [{"name": "look", "args": {"page": done}}]}


def cases(count: int) -> Iterator[Any]:
    from evergold.model.case import Case

    for number in range(count):
        turn: list[dict[str, Any]] = []
        for step in range(STEPS - 1):
            arguments = json.dumps({"page": step})
            called = {"id": f"{step}", "type": "function", "function": {"name": "look", "arguments": arguments}}
            turn.append({"role": "assistant", "content": None, "tool_calls": [called]})
            turn.append({"role": "tool", "tool_call_id": f"{step}", "content": f"page {step} of book {number}"})
        turn.append({"role": "assistant", "content": "Done."})
        asked = {"role": "user", "content": f"Read book {number}"}
        yield Case(
            id=f"c{number:05}", dataset="agents", input="Read", output="Done.", messages=(asked,), turn=tuple(turn)
        )


def fill(folder: Path, count: int) -> None:
    """Store the cases, in a process of its own so that its memory is not counted."""
    from evergold.settings import Settings
    from evergold.store.case_writes import Author, put_cases
    from evergold.workspace import Workspace

    with Workspace.open(Settings(home=folder)) as workspace:
        workspace.store.db.write(lambda connection: put_cases(connection, cases(count), Author(who="perf")))


def one_size(folder: Path, count: int) -> dict[str, float]:
    """Replay every case in this process."""
    from evergold.model.replay import Replay
    from evergold.model.run import RunSpec
    from evergold.settings import Settings
    from evergold.workspace import Workspace

    spec = RunSpec(dataset="agents", model="python:perf.replay:follow", metrics=("trajectory",), replay=Replay())
    with Workspace.open(Settings(home=folder)) as workspace:
        workspace.bench.work_on(workspace.bench.run_here(spec.model_copy(update={"limit": 1})).id)
        run = workspace.bench.run_here(spec)
        before, began = _cpu(), time.perf_counter()
        done = workspace.bench.work_on(run.id)
        cpu, wall = _cpu() - before, time.perf_counter() - began
        (mean,) = workspace.bench.results.means(done)
    assert done.done == count and mean.value == 1.0, done
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"ms_per_step": 1000 * cpu / (count * STEPS), "wall_s": wall, "mb": memory}


class PrefixCache:
    """A provider's cache: a request finds the longest earlier request that it begins with, once that was answered."""

    def __init__(self) -> None:
        self.seen: set[int] = set()
        self.requests = self.hits = 0

    async def answer(self, messages: list[dict[str, Any]]) -> str:
        """The model: answers each turn; before the last two messages stands the turn before."""
        self.requests += 1
        texts = [str(message["content"]) for message in messages]
        self.hits += hash(tuple(texts[:-2])) in self.seen
        await asyncio.sleep(0)
        self.seen.add(hash(tuple(texts)))
        return "ok"


cache = PrefixCache()


async def count_prefix(messages: list[dict[str, Any]]) -> str:
    return await cache.answer(messages)


def conversations() -> Iterator[Any]:
    from evergold.model.case import Case

    for number in range(CONVERSATIONS):
        lines = [
            {"role": role, "content": f"{role} {turn} of {number}"}
            for turn in range(TURNS)
            for role in ("user", "assistant")
        ]
        yield Case(
            id=f"c{number:05}", dataset="talks", input="Go", messages=tuple(lines[:-1]), turn=(lines[-1],), output="ok"
        )


def each(folder: Path) -> int:
    """Replay each turn of every conversation and count the requests whose prefix was answered before."""
    from evergold.model.replay import Replay, Turns
    from evergold.model.run import RunSpec
    from evergold.settings import Settings
    from evergold.store.case_writes import Author, put_cases
    from evergold.workspace import Workspace

    replay = Replay(turns=Turns.EACH)
    spec = RunSpec(dataset="talks", model="python:perf.replay:count_prefix", metrics=("steps",), replay=replay)
    with Workspace.open(Settings(home=folder)) as workspace:
        workspace.store.db.write(lambda connection: put_cases(connection, conversations(), Author(who="perf")))
        done = workspace.bench.work_on(workspace.bench.run_here(spec).id)
    from perf.replay import cache as used  # the run imports this file by its name, not as the program

    possible = CONVERSATIONS * (TURNS - 1)
    print(
        f"{done.done} requests of {CONVERSATIONS} conversations: {used.hits} of {possible} find the turn before cached"
    )
    return 0 if used.hits == possible and used.requests == CONVERSATIONS * TURNS else 1


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    good = True
    for count in [int(word) for word in sys.argv[1:]] or SIZES:
        with tempfile.TemporaryDirectory() as folder:
            for part in ("fill", "one"):
                command = [sys.executable, "-m", "perf.replay", part, folder, str(count)]
                output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        measured = json.loads(output)
        good &= measured["ms_per_step"] <= GOAL_MS and measured["mb"] <= GOAL_MB
        print(
            f"{count:>6} trajectories of {STEPS} steps: {measured['ms_per_step']:.3f} ms CPU per step, "
            f"{measured['wall_s']:.1f} s, {measured['mb']:.0f} MB"
        )
    return 0 if good else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["fill"]:
        fill(Path(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1:2] == ["one"]:
        print(json.dumps(one_size(Path(sys.argv[2]), int(sys.argv[3]))))
    elif sys.argv[1:2] == ["each"]:
        with tempfile.TemporaryDirectory() as folder:
            sys.exit(each(Path(folder)))
    else:
        sys.exit(main())
