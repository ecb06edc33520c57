"""How fast the RAG builder is, everything included, beside loops that do less.

    python -m perf build_rag                     # 200 MB
    EVERGOLD_PERF_MB=1100 python -m perf build_rag

| beside | what it does |
|---|---|
| stdlib | `json`: decode, route, number the contexts, encode; no hashing, no checks, no atomic write |
| orjson | the same with orjson, and without numbering: the floor for anything that decodes and encodes |
| datasets | Hugging Face `datasets`: load, filter, save (if `perf/.peers/datasets` is an environment that has it) |

Goals: 4 times the stdlib loop and 70 % of the bare orjson loop per CPU second, 8 times `datasets` by the clock, two jobs
1.6 times one (when two cores are free), under 100 MB a process; `check` at 150 MB/s.
"""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from perf.data.rag_records import write

ROOT = Path(__file__).parent.parent
PEER = ROOT / "perf" / ".peers" / "datasets" / "bin" / "python"
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
    """Runs under a small Python parent that reports what the run used, because only a parent can know."""
    watch = (
        "import json, os, resource, subprocess, sys, time; began = time.perf_counter();"
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL);"
        "wall = time.perf_counter() - began; used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024)"
    )
    done = subprocess.run([sys.executable, "-c", watch, *command], check=True, capture_output=True, text=True)
    cpu, wall, memory = map(float, done.stdout.split())
    return Sample(cpu, wall, memory)


def main() -> None:
    size = int(os.environ.get("EVERGOLD_PERF_MB", "200"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "offline.jsonl"
        count = write(source, size)
        megabytes = source.stat().st_size / 1e6
        print(f"  {megabytes:.0f} MB, {count} records; medians of {REPEATS}, taking turns")
        commands = {
            "stdlib loop": [sys.executable, "-c", STDLIB, str(source), folder],
            "orjson loop": [sys.executable, "-c", ORJSON, str(source), folder],
            "evergold build": [sys.executable, "-c", BUILD, str(source), folder, "1"],
            "evergold build --jobs 2": [sys.executable, "-c", BUILD, str(source), folder, "2"],
            "evergold check": [sys.executable, "-c", CHECK, str(source), folder],
        }
        if PEER.exists():
            commands["datasets"] = [str(PEER), "-c", DATASETS, str(source), folder]
        samples: dict[str, list[Sample]] = {name: [] for name in commands}
        for _ in range(REPEATS):
            for name, command in commands.items():
                samples[name].append(measured(command))
    _print(samples, megabytes)


def _print(samples: dict[str, list[Sample]], megabytes: float) -> None:
    cpu = {name: megabytes / median(sample.cpu for sample in found) for name, found in samples.items()}
    wall = {name: megabytes / median(sample.wall for sample in found) for name, found in samples.items()}
    for name, found in samples.items():
        memory = max(sample.memory for sample in found)
        print(f"  {name:<26} {cpu[name]:6.0f} MB per CPU second  {wall[name]:6.0f} MB/s  {memory:6.0f} MB of memory")
    ours = "evergold build"
    print(
        f"  per CPU second: {cpu[ours] / cpu['stdlib loop']:.2f}x stdlib, {cpu[ours] / cpu['orjson loop']:.2f}x orjson"
    )
    two_jobs = wall[ours + " --jobs 2"] / wall[ours]
    print(f"  by the clock: {wall[ours] / wall['stdlib loop']:.2f}x stdlib, two jobs {two_jobs:.2f}x one")
    if "datasets" in wall:
        print(f"  by the clock: {wall[ours] / wall['datasets']:.1f}x datasets")


if __name__ == "__main__":
    main()
