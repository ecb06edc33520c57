"""Workers: processes here, a real Dask cluster of processes elsewhere; the same build from both."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evergold.build import rag
from evergold.errors import BadInput, Unavailable
from evergold.extract.run import HistoryQuery
from evergold.machine import usable_cores
from evergold.scale import executors
from evergold.scale.executors import SMALL_BYTES, jobs_for, open_cluster, open_processes
from evergold.settings import Settings
from evergold.workspace import Workspace
from evergold.workspace.flows import Destination
from evergold.workspace.rag import build_rag
from tests.build.rag_builders import a_spec, an_offline_record
from tests.repos import GitRepo
from tests.scale.long_verbs import VERBS, Inputs

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
        "from concurrent.futures import ThreadPoolExecutor as Threads; from evergold.scale.executors import start_of; "
        "print(start_of('').get_start_method(), Threads(1).submit(start_of, '').result().get_start_method())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["fork" if sys.platform == "linux" else "forkserver", "forkserver"]


@pytest.mark.slow
def test_workers_are_other_processes() -> None:
    with open_processes(2) as workers:
        assert workers.executor.submit(os.getpid).result() != os.getpid()


@pytest.mark.slow
def test_a_cluster_that_is_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executors, "CONNECT_SECONDS", 1)
    with pytest.raises(Unavailable, match="no Dask scheduler"), open_cluster("tcp://127.0.0.1:9"):
        pytest.fail("never opened")


@pytest.mark.slow
def test_workers_that_come_after_their_scheduler_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, threads_per_worker=1, processes=True, dashboard_address=None) as started:
        address = started.scheduler_address
        with monkeypatch.context() as patch:
            patch.setattr(executors, "WORKER_SECONDS", 0.2)
            with (
                pytest.raises(Unavailable, match="has no workers; start some with `dask worker"),
                open_cluster(address),
            ):
                pytest.fail("never opened")
        # Asked for at once, there after a second: the interpreter of a worker starts slower than a client connects.
        started.scale(1)
        monkeypatch.setattr(executors, "WORKER_SECONDS", 120)
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
    executors._require_same_version(_Answering(one=executors._installed(), other=ended))
    with pytest.raises(Unavailable, match="no worker of the cluster answers"):
        executors._require_same_version(_Answering(one=ended, other=ended))
    with pytest.raises(Unavailable, match="worker one cannot run evergold"):
        executors._require_same_version(_Answering(one=ImportError("no evergold"), other=ended))


@pytest.fixture(scope="module")
def cluster() -> "Iterator[LocalCluster]":
    """One cluster of two processes for all tests of this file: its start takes seconds."""
    from distributed import LocalCluster

    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": None}
    with LocalCluster(**options) as started:
        yield started


@pytest.mark.slow
def test_a_real_cluster_of_processes_builds_the_same_bytes(
    cluster: "LocalCluster", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1760000000")
    records = [an_offline_record(f"r{number % 900}", pad="x" * 10_000) for number in range(1000)]
    spec = a_spec(tmp_path, records, force=True)
    rag.build(spec)
    files = [*spec.outputs.values(), spec.rejected, spec.manifest]
    alone = [path.read_bytes() for path in files]
    by_url = replace(spec, url=spec.source.as_uri())
    manifest = build_rag(by_url, cluster=cluster.scheduler_address)
    assert manifest.rejected == {"duplicate task_id": 100}
    assert [path.read_bytes() for path in files[:-1]] == alone[:-1]


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
        Workspace(Settings(home=tmp_path)).flows.history(
            HistoryQuery(repo.path), Destination(folder), cluster=cluster_address
        )
    for name in ("dataset_a_file_paths.unvalidated.jsonl", "dataset_b_line_ranges.unvalidated.jsonl"):
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes() != b""
    with monkeypatch.context() as patch:
        patch.setattr(executors, "version", lambda name: "0.0.7")
        with pytest.raises(Unavailable, match=r"has evergold 0\.1\.0, this is 0\.0\.7"), open_cluster(address):
            pytest.fail("never opened")


@pytest.mark.slow
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
        waiting = [verb.__name__] if verb.__name__ in ("ingest", "check_traces", "generate") else []

        def kill(waiting: list[str] = waiting) -> None:
            if waiting:
                waiting.clear()
                victim = next(iter(cluster.workers.values())).pid
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        expected = verb(here, inputs, None, lambda: None)
        assert verb(there, inputs, cluster.scheduler_address, kill) == expected
    assert len(killed) == 3
