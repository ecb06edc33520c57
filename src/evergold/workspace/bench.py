"""Benchmarks: plan, start, follow, cancel, resume and re-score runs.

A run is validated whole before anything is written: an unknown dataset, metric, model or judge leaves no run behind.
Over the network a run is queued for the server's worker; on the command line it is worked on where it was started.
"""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evergold.bench.metrics import make_metrics
from evergold.bench.overrun import Slot
from evergold.bench.runner import LEASE_SECONDS, Runner
from evergold.bench.setup import RunSetup, judged_by, list_metrics
from evergold.bench.supervise import RunWorker, Supervisor
from evergold.calls.targets import refuse_remote
from evergold.errors import Conflict, EvergoldError, NotFound
from evergold.machine import is_alive, is_dead, new_owner
from evergold.model.case import Case
from evergold.model.report import FINE, INCONCLUSIVE, WORSE, RunComparison
from evergold.model.run import Attempt, Run, RunSpec, RunStatus, Turns
from evergold.settings import Settings
from evergold.spread import Workers, spread_over
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore
from evergold.store.run.runs import RunStore
from evergold.workspace.bench_datasets import BenchDatasets

if TYPE_CHECKING:
    from evergold.workspace.bench_results import BenchResults


RUN_PROCESS = "evergold.workspace.run_process"
RETRIES = 2
ABANDONED = "the process that ran it ended; go on with: evergold run --resume {id}"


class Bench:
    metrics = staticmethod(list_metrics)
    workers = staticmethod(spread_over)
    """Open the workers of a cluster for `work_on`, before a run is created; None without an address."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._runs = RunStore(store.db)
        self._attempts = AttemptStore(store.db)
        self.datasets = BenchDatasets(settings, store)
        self._setup = RunSetup(settings, store, self.datasets.freeze)
        self.plan = self._setup.plan
        self._worker: RunWorker | None = None

    @cached_property
    def results(self) -> "BenchResults":
        from evergold.workspace.bench_results import BenchResults

        return BenchResults(self._store)

    def metric_names(self, spec: RunSpec) -> list[str]:
        """Make the metrics of a run, and name them as its means do."""
        return [metric.name for metric in make_metrics(spec.metrics)]

    def start(self, spec: RunSpec) -> Run:
        """Queue a run for the server's worker. What a client sends names a model, never a program or a file."""
        refuse_remote(spec.model)
        run = self._runs.create(*self._setup.new_run(spec, origin="server", local=False))
        self._wake()
        return run

    def run_here(self, spec: RunSpec, *, dataset_type: str | None = None, cases: Sequence[Case] | None = None) -> Run:
        """Create a run that this process will work on: `work_on` does it. `cases` are run in place of the dataset's."""
        where = {"dataset_type": dataset_type, "cases": cases}
        return self._runs.create(*self._setup.new_run(spec, origin="local", local=True, **where))

    def work_on(self, run_id: str, workers: "Workers | None" = None) -> Run:
        """Work on a run in this process until it ends; an interrupt leaves it cancelled, to be resumed.

        With workers of a cluster those call the target and ask the judge; budget, retries and storing stay here.
        """
        owner = new_owner()
        # A lease of a process that is known to be dead is taken at once instead of waiting for its end.
        holder = next((live.holder for live in self._runs.claimable() if live.run.id == run_id), None)
        dead = holder if holder and is_dead(holder) else None
        if not self._runs.claim(run_id, owner, LEASE_SECONDS, taking_from=dead):
            raise Conflict(f"run {run_id!r} is {self.get(run_id).status} and cannot be taken; is it running elsewhere?")
        _run_to_end(self.execute(self.get(run_id), owner, RunStatus.CANCELLED, workers=workers))
        return self.get(run_id)

    def resume(self, run_id: str, *, retry_errors: bool = False, **budgets: float | None) -> Run:
        """Let a run that ended early go on with what is missing, with other budgets of its spec where some are given.

        Finished calls are not repeated.
        """
        run = self.get(run_id)
        # Failed attempts are deleted first, so that they count as missing.
        if retry_errors:
            self._attempts.forget(run_id, sorted(self._attempts.error_keys(run_id)))
        spec = run.spec.model_copy(update={name: value for name, value in budgets.items() if value is not None})
        # A run that is being worked on takes up what is missing by itself.
        resumed = run if run.status is RunStatus.RUNNING else self._runs.requeue(run_id, spec)
        self._wake()
        return resumed

    def decide_cases(self, compared: RunComparison, min_coverage: float) -> tuple[int, str]:
        """Gate by single cases: 1 where one that passed before fails now and in two retries of the candidate's model."""
        thin = [one.metric for one in compared.metrics if (one.coverage or 0) < min_coverage]
        if thin or compared.errors_excluded:
            return INCONCLUSIVE, f"too few attempts have a value: {', '.join(thin)}" if thin else "errors are left out"
        lost = sorted({case for one in compared.metrics for case in one.lost})
        if not lost:
            return FINE, "no case that passed before fails now"
        run = self.get(compared.second)
        # The run's own cases: its dataset may be a file, or another by now. Turns played each are cases of their own.
        replay = run.spec.replay and run.spec.replay.model_copy(update={"turns": Turns.LAST})
        replay = replay if replay and run.spec.replay and run.spec.replay.turns is Turns.EACH else run.spec.replay
        changes = {"cases": tuple(lost), "trials": RETRIES, "cache": False, "limit": None, "replay": replay}
        cases = [case for case in self.cases(run.id) if case.id in lost]
        again = self.work_on(self.run_here(run.spec.model_copy(update=changes), cases=cases).id)
        failing = self.results.cases_that_always_fail(again, [one.metric for one in compared.metrics])
        still = [case for case in lost if case in failing]
        if still:
            return WORSE, f"{len(still)} of {len(lost)} cases fail again in {RETRIES} retries: {', '.join(still[:5])}"
        return FINE, f"{len(lost)} cases failed once and passed in a retry ({again.id})"

    def rescore(self, run_id: str, metrics: Sequence[str] = (), judge: str | None = None, *, cache: bool = True) -> Run:
        """Measure stored answers again, or with further metrics or another judge. The target is not called."""
        run = self.get(run_id)
        names = list(dict.fromkeys(metrics)) or list(run.spec.metrics)
        spec = run.spec.model_copy(
            update={
                "metrics": tuple(dict.fromkeys([*run.spec.metrics, *names])),
                "judge": judge or run.spec.judge,
                "cache": cache and run.spec.cache,
            }
        )
        # Metrics are made before anything is deleted: an unknown name must not cost the old scores.
        made = make_metrics(spec.metrics)
        who = self._setup.judge(spec, made)
        # Specs of metrics that are not measured again keep the judge and version their numbers were made with.
        kept = {metric.name: metric for metric in run.metrics if metric.name not in names}
        listed = [kept.get(metric.name) or metric.spec(who) for metric in made]
        requeued = self._runs.requeue(run_id, spec, listed, {**run.provenance, **judged_by(spec.model, listed)})
        # Requeued first: a crash between the two leaves a run with its old scores, not one without any.
        self._attempts.forget_scores(run_id, names)
        self._wake()
        return requeued

    def cancel(self, run_id: str) -> Run:
        """Stop a run: at once when it waits, within a second when it is being worked on."""
        if self.get(run_id).status.ended:
            raise Conflict(f"run {run_id!r} has ended already")
        return self._runs.request_cancel(run_id)

    def delete(self, run_id: str) -> None:
        self.get(run_id)
        self._runs.delete(run_id)

    def get(self, run_id: str) -> Run:
        self._sweep()
        return self._runs.get(run_id)

    def page(self, **wanted: Any) -> tuple[Sequence[Run], int]:
        """Runs, newest first, and how many there are; by `dataset`, `model` and `status`, from `offset` up to `limit`."""
        self._sweep()
        return self._runs.page(**wanted)

    def attempts(self, run_id: str, case_id: str | None = None) -> Iterator[Attempt]:
        """The attempts of a run with their measurements."""
        self._runs.get(run_id)
        return self._attempts.attempts(run_id, case_id=case_id)

    def cases(self, run_id: str) -> Iterator[Case]:
        """The cases of a run as they were when it began."""
        self._runs.get(run_id)
        return self._attempts.cases(run_id)

    def case(self, run_id: str, case_id: str) -> Case:
        result = self._attempts.case(run_id, case_id)
        if result is None:
            raise NotFound(f"run {run_id!r} has no case {case_id!r}")
        return result

    @contextmanager
    def serve(self) -> Iterator[None]:
        """Work on queued runs in the background, for as long as a server lives."""
        owner = new_owner()
        child = Supervisor(self._runs, self._attempts, owner, RUN_PROCESS, self._settings)
        self._worker = RunWorker(self._runs, owner, child.execute)
        self._worker.start()
        try:
            yield
        finally:
            self._worker.stop()
            self._worker = None

    async def execute(
        self, run: Run, owner: str, interrupted: RunStatus, slot: Slot | None = None, workers: Workers | None = None
    ) -> None:
        """Work in this process on a run that `owner` holds, and end it in the store; as `interrupted` where it is stopped."""
        runner = Runner(self._runs, self._attempts, owner, interrupted)
        try:
            parts = self._setup.parts(run, slot, workers)
        except Exception as problem:  # a plug-in may raise anything; begun again it would raise it again
            defect = f"it could not be begun: {type(problem).__name__}: {problem}"
            why = problem.message if isinstance(problem, EvergoldError) else defect
            self._runs.finish(run.id, owner, RunStatus.FAILED, why)
            return
        if workers is not None and run.spec.concurrency > workers.count:
            # A call that waits for a worker would run out of time.
            run = run.model_copy(update={"spec": run.spec.model_copy(update={"concurrency": workers.count})})
        await runner.execute(run, parts)

    def _wake(self) -> None:
        if self._worker is not None:
            self._worker.notify()

    def _sweep(self) -> None:
        """No run stays "running" when nobody runs it: a local one has failed, a server's goes back to the queue."""
        for run, holder, taken_by in self._runs.claimable():
            if run.status is not RunStatus.RUNNING or (holder is not None and not is_dead(holder)):
                continue
            if run.provenance.get("origin") == "local":
                # A machine that slept, or is very busy, lets a lease run out although the process goes on.
                if taken_by is not None and is_alive(taken_by):
                    continue
                self._runs.abandon(run.id, holder, RunStatus.FAILED, ABANDONED.format(id=run.id))
            else:
                self._runs.abandon(run.id, holder, RunStatus.QUEUED)


def _run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine to its end; in a thread where this one has an event loop already, as in a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1, "evergold-run") as thread:
        thread.submit(asyncio.run, work).result()
