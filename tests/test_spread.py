"""The seam for work in parts: processes here, a real Dask cluster of processes, and every long verb the same through it."""

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold import spread
from evergold.errors import BadInput, Unavailable
from evergold.machine import usable_cores
from evergold.model.run import RunSpec, RunStatus
from evergold.settings import Settings
from evergold.spread import SMALL_BYTES, Workers, in_order, jobs_for, open_cluster, spread_processes
from evergold.store.case.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.long_verbs import VERBS, Inputs, Verb, answered_cases
from tests.repos import GitRepo

if TYPE_CHECKING:
    from distributed import LocalCluster


def test_small_jobs_stay_here_and_large_ones_use_every_core() -> None:
    assert jobs_for(None, 1000) == 1
    assert jobs_for(None, SMALL_BYTES) == usable_cores()
    assert jobs_for(7, 1000) == 7
    with pytest.raises(BadInput, match="--jobs 0"):
        jobs_for(0, 1000)


def test_processes_are_copies_only_where_no_thread_could_be_caught_halfway() -> None:
    code = (
        "from concurrent.futures import ThreadPoolExecutor as Threads; from evergold.spread import start_of; "
        "print(start_of('').get_start_method(), Threads(1).submit(start_of, '').result().get_start_method())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["fork" if sys.platform == "linux" else "forkserver", "forkserver"]


@pytest.mark.slow
def test_workers_are_other_processes() -> None:
    with spread_processes(2) as workers:
        assert list(workers(abs, range(-9, 0))) == list(range(9, 0, -1))
        assert workers.executor.submit(os.getpid).result() != os.getpid()


@pytest.mark.slow
def test_a_worker_that_dies_is_one_clear_line() -> None:
    with spread_processes(1) as workers, pytest.raises(Unavailable, match="--jobs 1"):
        list(workers(os._exit, [1]))


@given(st.lists(st.integers(), max_size=20), st.integers(1, 5))
def test_results_come_in_the_order_of_the_work(items: list[int], window: int) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert list(in_order(executor, lambda item: item * 2, items, window)) == [item * 2 for item in items]


def test_an_error_of_the_work_is_the_error_of_its_turn() -> None:
    def work(item: int) -> int:
        if item == 2:
            raise BadInput("two")
        return item

    results: list[int] = []
    with ThreadPoolExecutor(2) as executor, pytest.raises(BadInput, match="two"):
        results.extend(in_order(executor, work, range(5), 2))
    assert results == [0, 1]


@pytest.mark.slow
def test_a_cluster_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spread, "CONNECT_SECONDS", 1)
    with pytest.raises(Unavailable, match="no Dask scheduler"), open_cluster("tcp://127.0.0.1:9"):
        pytest.fail("never opened")


@pytest.mark.slow
def test_workers_that_come_after_their_scheduler_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None) as started:
        address = started.scheduler_address
        with monkeypatch.context() as patch:
            patch.setattr(spread, "WORKER_SECONDS", 0.2)
            with (
                pytest.raises(Unavailable, match="has no workers; start some with `dask worker"),
                open_cluster(address),
            ):
                pytest.fail("never opened")
        # Asked for at once, there after a second: the interpreter of a worker starts slower than a client connects.
        started.scale(1)
        monkeypatch.setattr(spread, "WORKER_SECONDS", 120)
        with open_cluster(address) as workers:
            assert workers.executor.submit(os.getpid).result() != os.getpid()


class _Answering:
    """A client whose workers answer, or ended while they were asked."""

    def __init__(self, **answers: object) -> None:
        self._answers = answers

    def run(self, function: object, on_error: str) -> dict[str, object]:
        return self._answers


def test_a_worker_that_ended_while_it_was_asked_takes_no_part() -> None:
    ended = ConnectionResetError("by peer")
    spread._require_same_version(_Answering(one=spread._installed_version(), other=ended))
    with pytest.raises(Unavailable, match="no worker of the cluster answers"):
        spread._require_same_version(_Answering(one=ended, other=ended))
    with pytest.raises(Unavailable, match="worker one cannot run evergold"):
        spread._require_same_version(_Answering(one=ImportError("no evergold"), other=ended))


@pytest.fixture(scope="module")
def cluster() -> "Iterator[LocalCluster]":
    """One cluster of two processes for all tests of this file: its start takes seconds."""
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as started:
        yield started


def _dies_once(marker: Path) -> str:
    if not marker.exists():
        marker.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


@pytest.mark.slow
def test_a_cluster_outlives_a_worker_extracts_the_same_and_refuses_another_version(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = cluster.scheduler_address
    with open_cluster(address) as workers:
        assert workers.executor.submit(_dies_once, tmp_path / "marker").result() == "done"
    repo = GitRepo(tmp_path / "repo")
    for number in range(5):
        repo.commit({"a.py": f"first = {number}\nsecond = 2\n"}, f"Change the first value of the module to {number}")
    folders = (tmp_path / "here", tmp_path / "there")
    for folder, cluster_address in zip(folders, (None, address), strict=True):
        given = {"repo": repo.path, "out_dir": folder, "cluster": cluster_address}
        Workspace(Settings(home=tmp_path)).flows.extract("git", given)
    for name in ("dataset_a_file_paths.unvalidated.jsonl", "dataset_b_line_ranges.unvalidated.jsonl"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() != b""
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.version", lambda name: "0.0.7")
        with pytest.raises(Unavailable, match=r"has evergold 0\.1\.0, this is 0\.0\.7"), open_cluster(address):
            pytest.fail("never opened")


@pytest.mark.campaign
def test_every_long_verb_gives_the_same_on_a_cluster_whose_workers_are_killed(
    cluster: "LocalCluster", tmp_path: Path
) -> None:
    """A worker dies while the verbs that report progress are under way; the parts it had are done by the other one."""
    inputs = Inputs.make(tmp_path)
    killed: list[int] = []
    for verb in VERBS:
        here, there = (tmp_path / f"{verb.__name__}-{name}" for name in ("here", "there"))
        for folder in (here, there):
            folder.mkdir()
        waiting = [verb.__name__] if verb.__name__ in ("ingest",) else []

        def kill(waiting: list[str] = waiting) -> None:
            if waiting:
                waiting.clear()
                victim = next(iter(cluster.workers.values())).pid
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        expected = verb(here, inputs, None, lambda: None)
        assert verb(there, inputs, cluster.scheduler_address, kill) == expected
    assert len(killed) == 1


ADDRESS = "tcp://workers"


class Pickling(Executor):
    """Does work in a thread, from and to pickles, as workers elsewhere get and give it."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(2)
        self.done = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        return self._threads.submit(self._done, pickle.dumps((fn, args, kwargs)))

    def _done(self, packed: bytes) -> Any:
        work, args, kwargs = pickle.loads(packed)
        self.done += 1
        return pickle.loads(pickle.dumps(work(*args, **kwargs)))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Inputs:
    return Inputs.make(tmp_path_factory.mktemp("inputs"))


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> Pickling:
    executor = Pickling()

    @contextmanager
    def opened(address: str) -> Iterator[Workers]:
        assert address == ADDRESS
        yield Workers(executor, 2)

    monkeypatch.setattr(spread, "open_cluster", opened)
    return executor


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__)
def test_workers_give_what_this_process_gives(verb: Verb, inputs: Inputs, workers: Pickling, tmp_path: Path) -> None:
    here, there = (tmp_path / name for name in ("here", "there"))
    for folder in (here, there):
        folder.mkdir()
    expected = verb(here, inputs, None, lambda: None)
    assert workers.done == 0
    assert verb(there, inputs, ADDRESS, lambda: None) == expected
    assert workers.done > 0


def test_task_files_and_standard_input_are_refused(workers: Pickling, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.cases.put([a_case(dataset="mine")])
        with pytest.raises(BadInput, match=r"yaml is written by one process.* case-jsonl"):
            workspace.cases.export(CaseFilter(dataset="mine"), "yaml", tmp_path / "x", cluster=ADDRESS)
        with (tmp_path / "evergold.db").open("rb") as stdin, pytest.raises(BadInput, match="standard input"):
            workspace.intake.ingest([stdin], cluster=ADDRESS)


def test_a_file_that_one_part_cannot_hold_is_read_here(
    inputs: Inputs, workers: Pickling, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("evergold.ingest.files.MOST_BYTES", 1)
    with Workspace.open(Settings(home=tmp_path)) as workspace:
        report = workspace.intake.ingest(inputs.traces, cluster=ADDRESS)
    assert (report.traces, report.rejected) == (100, 1)


def test_workers_that_go_away_end_a_run_that_can_be_resumed(workers: Pickling, tmp_path: Path) -> None:
    spec = RunSpec(dataset="mine", model="recorded", metrics=("correctness",))

    class Gone(Pickling):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
            future: Future[Any] = super().submit(fn, *args, **kwargs) if self.done < 3 else Future()
            if self.done >= 3:
                future.cancel()
            return future

    with Workspace.open(Settings(home=tmp_path)) as workspace:
        workspace.cases.put(answered_cases())
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id, Workers(Gone(), 1))
        assert (run.status, run.error) == (
            RunStatus.FAILED,
            "the workers of the cluster went away; what is done stays: start them and go on with --resume",
        )
        assert 0 < run.done < run.total
        again = workspace.bench.work_on(workspace.bench.resume(run.id).id, Workers(workers, 2))
        assert (again.status, again.done) == (RunStatus.COMPLETED, again.total)
