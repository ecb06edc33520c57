"""How fast the RAG builder is, everything included, beside loops that do less.

    python -m perf build_rag                     # 200 MB
    EVERGOLD_PERF_MB=1100 python -m perf build_rag
    TMPDIR=/dev/shm python -m perf build_rag     # files in memory: the work alone, without the disk
    EVERGOLD_PERF_FILE=F python -m perf build_rag       # records of an earlier run, made if F is not there
    EVERGOLD_PERF_ONLY=build python -m perf build_rag   # the loops and commands whose name holds one of these words

| beside | what it does |
|---|---|
| stdlib | `json`: decode, route, number the contexts, encode; no hashing, no checks, no atomic write |
| orjson | the same with orjson, and without numbering: the floor for anything that decodes and encodes |
| two stdlib loops | that loop twice at the same time: how much faster two processes can be on this machine at all |
| datasets | Hugging Face `datasets`: load, filter, save (in an environment of its own; left out where it cannot be installed) |

Goals: 3 times the stdlib loop per CPU second, two jobs 1.6 times one by the clock (when two cores are free), under 100 MB a
process; `check` at 150 MB/s.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from perf.data.rag_records import write
from perf.peers import python_of

ROOT = Path(__file__).parent.parent
REPEATS = int(os.environ.get("EVERGOLD_PERF_REPEATS", "3"))

STDLIB = """
import json, sys
out = {kind: open(f"{sys.argv[2]}/{kind}.jsonl", "w") for kind in ("qa", "summaries")}
for line in open(sys.argv[1]):
    record = json.loads(line)
    if record["task_type"] in out:
        rag = record["rag"]
        rag["contexts"] = [text if text.startswith("[") else f"[{n}] {text.strip()}" for n, text in enumerate(rag["contexts"], 1)]
        out[record["task_type"]].write(json.dumps(record, ensure_ascii=False) + "\\n")
"""
ORJSON = """
import orjson, sys
out = {kind: open(f"{sys.argv[2]}/{kind}.jsonl", "wb") for kind in ("qa", "summaries")}
for line in open(sys.argv[1], "rb"):
    record = orjson.loads(line)
    if record["task_type"] in out:
        out[record["task_type"]].write(orjson.dumps(record) + b"\\n")
"""
DATASETS = """
import sys
from datasets import load_dataset
data = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2] + "/cache")
for kind in ("qa", "summaries"):
    data.filter(lambda row: row["task_type"] == kind).to_json(f"{sys.argv[2]}/{kind}.jsonl")
"""
TWO_LOOPS = """
import os, subprocess, sys
loop, source, folder = sys.argv[3], sys.argv[1], sys.argv[2]
places = [os.path.join(folder, name) for name in ("first", "second")]
for place in places: os.makedirs(place, exist_ok=True)
loops = [subprocess.Popen([sys.executable, "-c", loop, source, place]) for place in places]
sys.exit(max(one.wait() for one in loops))
"""
BUILD = """
import sys
from evergold.cli import main
folder = sys.argv[2]
main(["build", "--force", "--json", "--jobs", sys.argv[3], "--offline-dataset", sys.argv[1],
      "--manifest-output", folder + "/manifest.json", "--qa-output", folder + "/qa.jsonl",
      "--summary-output", folder + "/summaries.jsonl"])
"""
CHECK = """
import sys
from evergold.cli import main
main(["check", "--json", sys.argv[2] + "/manifest.json"])
"""


@dataclass(frozen=True)
class Sample:
    """One run: CPU seconds of the process and its children, seconds by the clock, and its largest process in MB."""

    cpu: float
    wall: float
    memory: float


def measured(command: Sequence[str]) -> Sample:
    """Runs under a small Python parent that reports what the run used, because only a parent can know.

    Modules are compiled once and found compiled from then on, as in an installed package. Where the run is, no workspace is
    found, in which a build would also be entered. The CPU time of workers that
    a run does not wait for is not in its sample; so several jobs are compared by the clock alone.
    """
    watch = (
        "import json, os, resource, subprocess, sys, time; began = time.perf_counter();"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        "wall = time.perf_counter() - began; used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", watch, *command],
        check=True,
        capture_output=True,
        text=True,
        env=environment,
        cwd=tempfile.gettempdir(),
    )
    cpu, wall, memory = map(float, done.stdout.split())
    return Sample(cpu, wall, memory)


def warm_up(folder: Path) -> None:
    """A small build, so that no measured one compiles modules."""
    small = folder / "small.jsonl"
    write(small, 1)
    out = emptied(folder / "out")
    measured([sys.executable, "-c", BUILD, str(small), str(out), "1"])
    measured([sys.executable, "-c", CHECK, str(small), str(out)])


def emptied(folder: Path) -> Path:
    """No run pays for removing what the one before it wrote or for getting it to the disk, nor finds the cache it left."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    os.sync()
    return folder


def main() -> None:
    size = int(os.environ.get("EVERGOLD_PERF_MB", "200"))
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        source = Path(os.environ.get("EVERGOLD_PERF_FILE", folder / "offline.jsonl"))
        if not source.exists():
            write(source, size)
        megabytes = source.stat().st_size / 1e6
        print(f"  {megabytes:.0f} MB; medians of {REPEATS}, taking turns", flush=True)
        warm_up(folder)
        programs = wanted()
        samples: dict[str, list[Sample]] = {name: [] for name in programs}
        for _ in range(REPEATS):
            for name, (python, *program) in programs.items():
                out = folder / "out" if program[0] == CHECK else emptied(folder / "out")
                code, *more = program
                samples[name].append(measured([python, "-c", code, str(source), str(out), *more]))
    _print(samples, megabytes)


def wanted() -> dict[str, tuple[str, ...]]:
    """What is measured, by name: an interpreter, a program, and its further arguments. A check is one of the build before it."""
    programs: dict[str, tuple[str, ...]] = {
        "stdlib loop": (sys.executable, STDLIB),
        "two stdlib loops": (sys.executable, TWO_LOOPS, STDLIB),
        "orjson loop": (sys.executable, ORJSON),
        "evergold build": (sys.executable, BUILD, "1"),
        "evergold build --jobs 2": (sys.executable, BUILD, "2"),
        "evergold check": (sys.executable, CHECK),
    }
    words = os.environ.get("EVERGOLD_PERF_ONLY", "").split()
    # A peer that is not asked for is not installed.
    if (not words or any(word in "datasets" for word in words)) and (peer := python_of("datasets")):
        programs["datasets"] = (str(peer), DATASETS)
    return {name: program for name, program in programs.items() if not words or any(word in name for word in words)}


def _print(samples: dict[str, list[Sample]], megabytes: float) -> None:
    cpu = {name: megabytes / median(sample.cpu for sample in found) for name, found in samples.items()}
    wall = {name: megabytes / median(sample.wall for sample in found) for name, found in samples.items()}
    if "two stdlib loops" in wall:
        wall["two stdlib loops"] *= 2  # each of the two has read all of it
    for name, found in samples.items():
        memory = max(sample.memory for sample in found)
        by_cpu = "" if "jobs" in name or "two" in name else f"{cpu[name]:6.0f} MB per CPU second"
        print(f"  {name:<26} {by_cpu:<24}  {wall[name]:6.0f} MB/s  {memory:6.0f} MB of memory")
    ours = "evergold build"
    for other in ("stdlib loop", "orjson loop"):
        _print_ratio(f"one job to the {other}, per CPU second", cpu, ours, other)
    _print_ratio("two stdlib loops at once to one, by the clock", wall, "two stdlib loops", "stdlib loop")
    for job in (ours, ours + " --jobs 2"):
        for other in ("stdlib loop", "datasets", ours):
            _print_ratio(f"{job} to {other}, by the clock", wall, job, other)


def _print_ratio(what: str, rates: Mapping[str, float], name: str, base: str) -> None:
    if name in rates and base in rates and name != base:
        print(f"  {what:<60} {rates[name] / rates[base]:6.2f}")


if __name__ == "__main__":
    main()
