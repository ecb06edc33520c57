"""Every long verb on a Dask cluster of processes that is disturbed: does it end as an undisturbed one does?

    python -m perf.cluster_verbs FOLDER --repo REPO [--verb VERB …]

Each verb is given as a command with `--cluster`, to a scheduler and two workers: undisturbed, with a worker killed halfway,
interrupted halfway (Ctrl-C), and with the scheduler killed halfway. A dead worker must change nothing. An interrupt and a
scheduler that goes away must end the command with one line, and the same command must then end as the undisturbed one.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.data.web_workspace import many_cases
from perf.faults.server import EVERGOLD, PATIENCE
from perf.score_retrieval import write as write_ranges

RECORDS = 60_000  # of the RAG build
CASES = 6_000
FILES = 12
TRACES = 200  # of each file
WORKERS = 2
MOST_SECONDS = 240
DISTURBANCES = ("nothing", "worker", "interrupt", "scheduler")


class DaskCluster:
    """A scheduler and its workers in processes of their own, on a port that stays the same after a restart.

    With `pinned`, each worker and every process it starts keep to one core of their own, as on a machine with one core.
    """

    def __init__(self, folder: Path, workers: int = WORKERS, pinned: bool = False) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._port = free.getsockname()[1]
        self._folder = folder
        self._workers = workers
        self._pinned = pinned
        self._processes: list[subprocess.Popen[bytes]] = []

    @property
    def address(self) -> str:
        return f"tcp://127.0.0.1:{self._port}"

    def start(self) -> None:
        self._run("scheduler", "--host", "127.0.0.1", "--port", str(self._port), "--no-dashboard")
        cores = sorted(os.sched_getaffinity(0))
        for core in (cores[number % len(cores)] for number in range(self._workers)):
            kept = ("taskset", "--cpu-list", str(core)) if self._pinned else ()
            self._run("worker", self.address, "--nthreads", "1", "--no-dashboard", "--no-nanny", kept=kept)
        self._wait_for_workers()

    def kill_worker(self) -> None:
        self._processes[-1].kill()

    def kill_scheduler(self) -> None:
        self._processes[0].kill()

    def end(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
        self._processes.clear()

    def _run(self, kind: str, *arguments: str, kept: Sequence[str] = ()) -> None:
        command = [*kept, sys.executable, "-m", f"distributed.cli.dask_{kind}", *arguments]
        quiet = subprocess.DEVNULL
        self._processes.append(subprocess.Popen(command, cwd=self._folder, stdout=quiet, stderr=quiet))

    def _wait_for_workers(self) -> None:
        from distributed import Client

        with Client(self.address, timeout=PATIENCE) as client:
            client.wait_for_workers(self._workers, timeout=PATIENCE)


class Inputs(NamedTuple):
    folder: Path
    repo: Path


class Verb(NamedTuple):
    """The words of the command, what it needs first, and the files or the rows that it leaves."""

    command: Callable[[Inputs, Path], Sequence[str]]
    prepare: Callable[[Inputs, Path], None] = lambda inputs, home: None
    rows: bool = False


def stored_cases(inputs: Inputs, home: Path) -> None:
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.cases.put(case.model_copy(update={"dataset": "mine"}) for case in many_cases(CASES))


def build(inputs: Inputs, home: Path) -> list[str]:
    source = str(inputs.folder / "offline.jsonl")
    outputs = ["--qa-output", str(home / "qa.jsonl"), "--summary-output", str(home / "summaries.jsonl")]
    return ["build", "--offline-dataset", source, "--manifest-output", str(home / "manifest.json"), *outputs, "--force"]


VERBS: Mapping[str, Verb] = {
    "ingest": Verb(lambda given, home: ["ingest", *map(str, sorted((given.folder / "traces").glob("*")))], rows=True),
    "extract": Verb(
        lambda given, home: [
            *("extract", "git", "--repo", str(given.repo), "--since", "HEAD~2000", "--first-parent"),
            *("--out-dir", str(home)),
        ]
    ),
    "export": Verb(
        lambda given, home: ["export", "mine", "--format", "parquet", "--out", str(home / "x.parquet")], stored_cases
    ),
    "score-retrieval": Verb(
        lambda given, home: ["score-retrieval", str(given.folder / "golden.jsonl"), str(given.folder / "found.jsonl")]
    ),
    "run": Verb(
        lambda given, home: ["run", "mine", "--model", "recorded", "--metric", "rouge_l,token_f1", "--limit", "600"],
        stored_cases,
        rows=True,
    ),
    "build": Verb(build),
}


def make_inputs(folder: Path, repo: Path) -> Inputs:
    inputs = Inputs(folder, repo.absolute())
    if (folder / "made").exists():
        return inputs
    folder.mkdir(parents=True, exist_ok=True)
    trace_files(folder / "traces")
    write_ranges(folder / "golden.jsonl", 10_000, 30, "lineRanges", sources=["golden_diff"])
    write_ranges(folder / "found.jsonl", 10_000, 30, "ranges")
    with (folder / "offline.jsonl").open("w") as out:
        out.writelines(json.dumps(_record(number)) + "\n" for number in range(RECORDS))
    (folder / "made").touch()
    return inputs


def _record(number: int) -> dict[str, object]:
    rag: dict[str, object] = {
        "prompt": "Answer.",
        "contexts": [f"The sea {number} is flat. " * 40],
        "sources": [f"{number}.txt#page=1"],
    }
    rag |= {"sources": [f"{number}.txt#page=1"], "retrieved": [{"score": 0.5}], "citations": [{"marker": 1}]}
    kept = {
        "task_id": f"r{number}",
        "task_type": "qa",
        "instruction": f"What of {number}?",
        "metadata": {"document": "a"},
    }
    return {**kept, "expected_response": "That it is flat [1].", "rag": rag}


def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EVERGOLD_HOME": str(home)}


def begin(words: Sequence[str], home: Path, cluster: DaskCluster) -> "subprocess.Popen[str]":
    command = [EVERGOLD, *words, "--cluster", cluster.address]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment(home), cwd=home, stdout=pipe, stderr=pipe, text=True)


def outcome(home: Path, verb: Verb, printed: str) -> object:
    """The rows that the verb has stored, else its files and what it printed."""
    if verb.rows:
        with Workspace.open(Settings(home=home)) as workspace:
            status = workspace.operations.status()
        return {
            table.name: table.rows for table in status.tables if table.name not in ("work_leases", "benchmark_runs")
        }
    files = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(home.glob("*.*")) if path.is_file()
    }
    kept = {name: hashed for name, hashed in files.items() if not name.startswith((".", "evergold.db", "manifest"))}
    return kept or printed


def disturbed(
    verb: Verb, inputs: Inputs, home: Path, cluster: DaskCluster, kind: str, after: float
) -> tuple[str, object]:
    """Give the command, disturb it, and give it again where it could not end; returns what it said and its outcome."""
    words = verb.command(inputs, home)
    process = begin(words, home, cluster)
    time.sleep(after)
    if kind == "worker":
        cluster.kill_worker()
    elif kind == "scheduler":
        cluster.kill_scheduler()
    elif kind == "interrupt":
        process.send_signal(signal.SIGINT)
    began = time.perf_counter()
    printed, problem = process.communicate(timeout=MOST_SECONDS)
    lines = problem.strip().splitlines()
    said = (
        f"exit {process.returncode} after {time.perf_counter() - began:.1f} s {lines if len(lines) < 2 else lines[:30]}"
    )
    if process.returncode:
        cluster.end()
        cluster.start()
        again = begin(_resumed(words, home), home, cluster)
        printed, problem = again.communicate(timeout=MOST_SECONDS)
        said += f"; again: exit {again.returncode} {problem.strip().splitlines()[-1:] if again.returncode else ''}"
    return said, outcome(home, verb, printed)


def _resumed(words: Sequence[str], home: Path) -> Sequence[str]:
    """A run that has begun goes on where it ended; the other commands are given as they were."""
    if words[0] != "run":
        return words
    shown = subprocess.run([EVERGOLD, "runs", "list", "--json"], env=environment(home), check=True, capture_output=True)
    begun = [run["id"] for run in json.loads(shown.stdout)["runs"]]
    return ["run", "--resume", begun[0]] if begun else words


def trace_files(folder: Path) -> list[Path]:
    folder.mkdir()
    paths = [folder / f"{number}.jsonl" for number in range(FILES)]
    for number, path in enumerate(paths):
        ids = [f"{number}-{trace}" for trace in range(TRACES)]
        scored = {"name": "user", "value": 1.0, "source": "user"}
        records = [
            {"type": "trace", "id": one, "input": f"Question {one}?", "output": "Answer.", "scores": [scored]}
            for one in ids
        ]
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return paths


@contextmanager
def running_cluster(folder: Path, workers: int = WORKERS, pinned: bool = False) -> Iterator[DaskCluster]:
    """Start a cluster for the length of a block."""
    with ExitStack() as stack:
        cluster = DaskCluster(folder, workers, pinned)
        stack.callback(cluster.end)
        cluster.start()
        yield cluster


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--repo", type=Path, required=True)
    parser.add_argument("--verb", action="append", choices=VERBS)
    given = parser.parse_args(arguments)
    # A shell that starts this in the background has interrupts ignored, and the commands would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    inputs = make_inputs(given.folder.absolute(), given.repo)
    for name in given.verb or VERBS:
        verb, expected, took = VERBS[name], None, 0.0
        # Prepared once: cases hold the moment in which they were stored.
        prepared = inputs.folder / f"{name}-{time.time_ns()}"
        prepared.mkdir()
        verb.prepare(inputs, prepared)
        for kind in DISTURBANCES:
            home = prepared.with_name(f"{prepared.name}-{kind}")
            shutil.copytree(prepared, home)
            cluster = DaskCluster(inputs.folder)
            cluster.start()
            try:
                began = time.perf_counter()
                said, result = disturbed(verb, inputs, home, cluster, kind, 0.5 * took)
                took = took or time.perf_counter() - began
            finally:
                cluster.end()
            expected = expected or result
            print(
                f"  {name:15} {kind:10} {'same' if result == expected else f'DIFFERS {result} {expected}'}; {said}",
                flush=True,
            )


if __name__ == "__main__":
    main(sys.argv[1:])
