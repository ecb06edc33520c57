"""kill: end commands and servers with SIGKILL at random moments, again and again; nothing acknowledged may be lost, doubled or
half-written, and whoever goes on after the kill ends with what an undisturbed run gives.
"""

import random
import shutil
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path

from tests.faults.killing import Command, Fault, Room, Scene
from tests.faults.scenes_files import Backup, Export, Extract, Freeze, Generate, RagBuild, Restore
from tests.faults.scenes_store import Curate, Import, Ingest, Run
from tests.faults.server import JSON, PATIENCE, Server, Summary, a_request, check_stored

SCENES = ("intake", "ingest", "curate", "build", "extract", "import", "run", "generate", "export", "backup", "restore")
SENDERS = 4


@dataclass(frozen=True)
class Plan:
    """How often to kill what, and for how long at most."""

    times: int
    seed: int = 1
    only: Sequence[str] = ()
    minutes: float = inf


def run(folder: Path, plan: Plan, database_url: str = "") -> Summary:
    room = Room(folder, database_url)
    source, summary = random.Random(plan.seed), Summary()
    Command(room, ("ingest", str(_no_traces(room)))).to_the_end()
    scenes = _scenes(room, plan.only)
    intake = Intake(room) if "intake" in (plan.only or SCENES) else None
    killed: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(plan.times):
        if time.perf_counter() - began > 60 * plan.minutes:
            break
        turn = number % (len(scenes) + (intake is not None))
        if turn == len(scenes) and intake is not None:
            intake.kill(source, summary)
            killed["intake"] += 1
        else:
            _kill(room, scenes[turn], number, source, summary)
            killed[scenes[turn].name] += 1
    if intake is not None:
        intake.check(summary)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(killed.items()))
    took = time.perf_counter() - began
    summary.notes += [
        f"{killed.total()} of {plan.times} kills, seed {plan.seed}, {took:.0f} s",
        f"by what was killed: {counts}",
    ]
    return summary


def _scenes(room: Room, only: Sequence[str]) -> list[Scene]:
    """The commands to kill, on a workspace that holds the dataset `bench`."""
    first = Import(room)
    Command(room, ("import", "cases.jsonl", "--format", "case-jsonl", "--dataset", "bench")).to_the_end()
    made: list[Scene] = [first]
    kinds = (Ingest, Curate, Freeze, RagBuild, Extract, Run, Generate, Export, Backup, Restore)
    made += [kind(room) for kind in kinds if not only or kind.name.split()[0] in only]
    return made if not only or "import" in only else made[1:]


_seconds: dict[str, float] = {}


def _kill(room: Room, scene: Scene, number: int, source: random.Random, summary: Summary) -> None:
    """Kill the command once, look, and go on as a user would."""
    command = Command(room, scene.begin(number))
    command.start()
    done = command.end_within(source.uniform(0.0, _seconds.get(scene.name, 1.0)))
    _note(scene, scene.look(number, done), summary)
    try:
        took = Command(room, scene.again(number)).to_the_end()
    except RuntimeError as problem:
        summary.problems.append(f"{scene.name}: does not work after a kill: {problem}")
        return
    _seconds[scene.name] = 0.7 * _seconds.get(scene.name, took) + 0.3 * took
    _note(scene, scene.after(number), summary)
    summary.acknowledged_count += 1
    shutil.rmtree(room.folder / "compared" / f"{type(scene).__name__.lower()}{number}", ignore_errors=True)
    summary.statuses["ended before its kill" if done else "killed in its work"] += 1


def _note(scene: Scene, faults: Iterable[Fault], summary: Summary) -> None:
    for fault in faults:
        summary.problems.append(f"{scene.name}: {fault.kind}: {fault.text}")
        setattr(summary, fault.kind, getattr(summary, fault.kind) + 1)


def _no_traces(room: Room) -> Path:
    path = room.folder / "none.jsonl"
    path.write_text("")
    return path


class Intake:
    def __init__(self, room: Room) -> None:
        self._room = room
        self._server = Server(room.home, room.database_url)

    def kill(self, source: random.Random, summary: Summary) -> None:
        """Start the server, send until it is killed, and note what was acknowledged."""
        self._server.start()
        summary.memory_mb.append(self._server.memory_mb())
        answered, dead = threading.Event(), threading.Event()
        counts = [Summary() for _ in range(SENDERS)]
        seeds = [source.random() for _ in range(SENDERS)]
        threads = [
            threading.Thread(target=self._send, args=(random.Random(seed), own, answered, dead))
            for seed, own in zip(seeds, counts, strict=True)
        ]
        for thread in threads:
            thread.start()
        answered.wait(PATIENCE)  # the port is open before the server answers; a kill before that proves nothing
        dead.wait(source.uniform(0.0, 0.5))
        self._server.end(signal.SIGKILL)
        dead.set()
        for thread, own in zip(threads, counts, strict=True):
            thread.join()
            summary.add(own)

    def _send(self, own: random.Random, counted: Summary, answered: threading.Event, dead: threading.Event) -> None:
        while not dead.is_set():
            ids = [f"{own.getrandbits(128) | 1:032x}" for _ in range(own.randint(1, 20))]
            body = a_request(ids, "word " * own.randint(1, 500))
            if self._server.post("/v1/traces", body, JSON, counted) == "200":
                answered.set()
                counted.acknowledged.update(ids)

    def check(self, summary: Summary) -> None:
        check_stored(self._room.home, self._room.database_url, summary, alone=False)
