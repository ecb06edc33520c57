"""A file of native trace lines into the store with `evergold ingest`: traces a second, and memory that does not grow.

    python -m perf.ingest_file --traces 50000

Each trace has a session, a question and an answer (1.2 KB), one span and one score, and is redacted, indexed and queued for
curation as always. Start of the program and end of the commit are inside the measured time. Goal: 5,000 traces a second.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from perf.otlp_load import words

EVERGOLD = Path(sys.executable).parent / "evergold"


def write_lines(path: Path, traces: int) -> None:
    source = random.Random(7)
    with path.open("w", encoding="utf-8") as file:
        for number in range(traces):
            hours, rest = divmod(number % 86_400, 3600)
            moment = f"2026-01-{1 + number // 86_400:02}T{hours:02}:{rest // 60:02}:{rest % 60:02}Z"
            span = {"id": source.randbytes(8).hex(), "kind": "llm", "name": "chat", "input": words(source, 200)}
            trace = {
                "id": source.randbytes(16).hex(),
                "session_id": f"session-{source.randrange(10**6)}",
                "name": "chat",
                "input": words(source, 400),
                "output": words(source, 800),
                "started_at": moment,
                "metadata": {"model": "small-1"},
                "spans": [span],
                "scores": [{"name": "check", "value": 0.9}],
            }
            file.write(json.dumps(trace) + "\n")


def ingest(path: Path, home: Path) -> tuple[float, float, float]:
    """Seconds, seconds of CPU, and the most memory in MB."""
    began = time.perf_counter()
    command = [str(EVERGOLD), "ingest", "--json", str(path)]
    process = subprocess.Popen(command, env={**os.environ, "EVERGOLD_HOME": str(home)}, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"evergold ingest ended with {process.returncode}")
    return time.perf_counter() - began, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=50_000)
    traces = parser.parse_args(arguments).traces
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in (traces // 5, traces):
            path = folder / f"{count}.jsonl"
            write_lines(path, count)
            seconds, cpu, memory = ingest(path, folder / f"home-{count}")
            print(
                f"  {count:7} traces  {count / seconds:7.0f} a second  {count / cpu:7.0f} a CPU second  {memory:4.0f} MB"
            )


if __name__ == "__main__":
    main(sys.argv[1:])
