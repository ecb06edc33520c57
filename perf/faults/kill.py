"""kill: end commands and servers with SIGKILL at random moments, again and again; nothing acknowledged may be lost, doubled or
half-written, and whoever goes on after the kill ends with what an undisturbed run gives.
"""

import random
import shutil
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from perf.faults.killing import Command, Fault, Room, Scene
from perf.faults.scene_intake import Intake
from perf.faults.scenes_files import Backup, Export, Extract, Freeze, Generate, RagBuild, Restore
from perf.faults.scenes_store import Curate, Import, Ingest, Run
from perf.faults.server import Summary

SCENES = ("intake", "ingest", "curate", "build", "extract", "import", "run", "generate", "export", "backup", "restore")


def run(folder: Path, times: int, seed: int, database_url: str = "", only: Sequence[str] = ()) -> Summary:
    room = Room(folder, database_url)
    source, summary = random.Random(seed), Summary()
    Command(room, ("ingest", str(_no_traces(room)))).to_the_end()
    scenes = _scenes(room, only)
    intake = Intake(room) if "intake" in (only or SCENES) else None
    killed: Counter[str] = Counter()
    began = time.perf_counter()
    for number in range(times):
        turn = number % (len(scenes) + (intake is not None))
        if turn == len(scenes) and intake is not None:
            intake.kill(source, summary)
            killed["intake"] += 1
        else:
            killed[scenes[turn].name] += _kill(room, scenes[turn], number, source, summary)
    if intake is not None:
        intake.check(summary)
    counts = ", ".join(f"{name} {count}" for name, count in sorted(killed.items()))
    summary.notes.append(
        f"{times} kills, seed {seed}, {time.perf_counter() - began:.0f} s; in the midst of its work: {counts}"
    )
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


def _kill(room: Room, scene: Scene, number: int, source: random.Random, summary: Summary) -> bool:
    """Kill the command once, look, and go on as a user would; whether the kill came before the command's own end."""
    command = Command(room, scene.begin(number))
    command.start()
    done = command.end_within(source.uniform(0.0, _seconds.get(scene.name, 1.0)))
    _note(scene, scene.look(number, done), summary)
    took = Command(room, scene.again(number)).to_the_end()
    _seconds[scene.name] = 0.7 * _seconds.get(scene.name, took) + 0.3 * took
    _note(scene, scene.after(number), summary)
    summary.acknowledged_count += 1
    shutil.rmtree(room.folder / "compared" / f"{type(scene).__name__.lower()}{number}", ignore_errors=True)
    return not done


def _note(scene: Scene, faults: Iterable[Fault], summary: Summary) -> None:
    for fault in faults:
        summary.problems.append(f"{scene.name}: {fault.kind}: {fault.text}")
        setattr(summary, fault.kind, getattr(summary, fault.kind) + 1)


def _no_traces(room: Room) -> Path:
    path = room.folder / "none.jsonl"
    path.write_text("")
    return path
