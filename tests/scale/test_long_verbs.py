"""Every long verb gives the same through the executor seam as here; what goes through it is pickled both ways."""

import pickle
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.model.run import RunSpec, RunStatus
from evergold.scale import executors
from evergold.scale.executors import Workers
from evergold.settings import Settings
from evergold.store.cases import CaseFilter
from evergold.workspace import Workspace
from tests.builders import a_case
from tests.scale.long_verbs import VERBS, Inputs, Verb, answered_cases

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

    monkeypatch.setattr(executors, "open_cluster", opened)
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
    monkeypatch.setattr("evergold.ingest.file_parts.MOST_BYTES", 1)
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
