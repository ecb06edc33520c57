"""scheduler: the scheduler of a Dask cluster is killed in the middle of a verb with `--cluster`; the same command follows.

Real processes: a scheduler, two workers, and the command. After each kill the command must have ended with one line and without
a half-written file, and the same command on a new scheduler must end with what an undisturbed one gives.
"""

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.data.web_workspace import many_cases
from perf.faults.server import EVERGOLD, PATIENCE, Summary

FILES = 12
TRACES = 200  # of each file
CASES = 20_000
WORKERS = 2
COMMAND_SECONDS = 5 * PATIENCE  # on a busy machine
LOST = ("went away", "no Dask scheduler")  # in the middle, or before the command reached it


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


def run(folder: Path, times: int, seed: int) -> Summary:
    """Kill the scheduler so often, each time in the middle of one of the verbs."""
    summary, source = Summary(), random.Random(seed)
    inputs = trace_files(folder / "traces")
    with running_cluster(folder) as cluster:
        expected = {verb: _undisturbed(folder, verb, inputs, cluster) for verb in VERBS}
        for number in range(times):
            verb = VERBS[number % len(VERBS)]
            home = folder / f"{verb}-{number}"
            seconds, wanted = expected[verb]
            _prepare(home, verb)
            process = _begin(home, verb, inputs, cluster.address)
            time.sleep(source.uniform(0.3, 0.8) * seconds)
            cluster.kill_scheduler()
            _judge(process, home, summary, f"{verb} {number}")
            cluster.end()
            cluster.start()
            again = _begin(home, verb, inputs, cluster.address)
            _, problem = again.communicate(timeout=COMMAND_SECONDS)
            if again.returncode or _outcome(home, verb) != wanted:
                summary.problems.append(f"{verb} {number}: the same command again: {again.returncode} {problem!r}")
    return summary


def _judge(process: "subprocess.Popen[str]", home: Path, summary: Summary, name: str) -> None:
    """Note how the command ended whose scheduler was killed."""
    began = time.perf_counter()
    try:
        _, problem = process.communicate(timeout=COMMAND_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        summary.hangs += 1
        return
    summary.seconds.append(time.perf_counter() - began)
    lines = problem.strip().splitlines()
    if process.returncode == 0:
        summary.statuses["done before the kill"] += 1
    elif process.returncode == 2 and len(lines) == 1 and any(words in lines[0] for words in LOST):
        summary.statuses["one line"] += 1
    else:
        summary.problems.append(f"{name}: exit {process.returncode}: {lines[-3:]}")
    summary.half += sum(path.stat().st_size == 0 for path in home.glob("*.jsonl"))


VERBS = ("ingest", "export")
DATASET = "exported"


def _command(home: Path, verb: str, inputs: Sequence[Path]) -> list[str]:
    if verb == "ingest":
        return ["ingest", *map(str, inputs)]
    return ["export", DATASET, "--format", "live-jsonl", "--out", str(home / "cases.jsonl")]


def _prepare(home: Path, verb: str) -> None:
    home.mkdir()
    if verb == "export":
        with Workspace.open(Settings(home=home)) as workspace:
            workspace.cases.put(case.model_copy(update={"dataset": DATASET}) for case in many_cases(CASES))


def _undisturbed(folder: Path, verb: str, inputs: Sequence[Path], cluster: DaskCluster) -> tuple[float, object]:
    home = folder / f"{verb}-undisturbed"
    _prepare(home, verb)
    began = time.perf_counter()
    process = _begin(home, verb, inputs, cluster.address)
    _, problem = process.communicate(timeout=COMMAND_SECONDS)
    assert process.returncode == 0, problem
    return time.perf_counter() - began, _outcome(home, verb)


def _begin(home: Path, verb: str, inputs: Sequence[Path], cluster: str) -> "subprocess.Popen[str]":
    command = [EVERGOLD, *_command(home, verb, inputs), "--cluster", cluster]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=_environment(home), stdout=pipe, stderr=pipe, text=True)


def _outcome(home: Path, verb: str) -> object:
    """How many rows of each kind there are, or the cases of the file."""
    if verb == "export":
        return sorted(json.loads(line)["id"] for line in (home / "cases.jsonl").read_text().splitlines())
    shown = subprocess.run(
        [EVERGOLD, "db", "status", "--json"], env=_environment(home), check=True, capture_output=True
    )
    status = json.loads(shown.stdout)
    return status["traces"], {table["name"]: table["rows"] for table in status["tables"] if "rows" in table}


def _environment(home: Path) -> dict[str, str]:
    return {**os.environ, "EVERGOLD_HOME": str(home), "EVERGOLD_CHECKS_BUILTIN": "false"}


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
