"""One run, from claimed to ended: generate what is missing, score what is unscored, and always say how it ended.

The run is held by a lease that a heartbeat renews. The same heartbeat learns that somebody wants the run to stop, or
that the lease was lost, in which case this process lets go at once and writes nothing more.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from evergold.bench.generate import generate
from evergold.bench.lease import BEAT_SECONDS, LEASE_SECONDS
from evergold.bench.metric_names import NamedMetric
from evergold.bench.overrun import Limit
from evergold.bench.score import Scoring, score
from evergold.calls.budget import Budget
from evergold.calls.caller import Caller
from evergold.calls.gate import Gate
from evergold.calls.retry import RetryPolicy
from evergold.errors import EvergoldError
from evergold.model.run import Run, RunStatus, Usage
from evergold.seams import Judge, Target
from evergold.store.attempts import AttemptStore
from evergold.store.runs import RunStore


@dataclass(frozen=True)
class Parts:
    """What a run is made of, made from its spec by whoever starts it."""

    target: Target
    metrics: Sequence[NamedMetric]
    judge: Judge | None
    retry: RetryPolicy
    deadline: float
    limit: Limit
    spent: Usage = field(default_factory=Usage)  # by trajectories that an earlier process began and did not finish


class Stop(EvergoldError):
    """The run is to end now, by wish or because it is no longer ours."""


@dataclass
class Runner:
    runs: RunStore
    attempts: AttemptStore
    owner: str
    when_interrupted: RunStatus = RunStatus.QUEUED

    async def execute(self, run: Run, parts: Parts) -> RunStatus:
        """Work on a run this owner has claimed. Ends it in the store, whatever happens; gives how it ended."""
        self.attempts.recount(run.id)
        work = asyncio.ensure_future(self._work(run, parts))
        # The lease covers the longest metric: its loop may be blocked for that long without a beat.
        beat = asyncio.ensure_future(self._beat(run.id, LEASE_SECONDS + parts.limit.seconds))
        try:
            await asyncio.wait([work, beat], return_when=asyncio.FIRST_COMPLETED)
            status, error = _outcome(work, beat)
        except asyncio.CancelledError:
            status, error = self.when_interrupted, None
            raise
        finally:
            # Both tasks are ended before the run is: no write may come after `finish`.
            for task in (work, beat):
                task.cancel()
            await asyncio.gather(work, beat, return_exceptions=True)
            await _close(parts)
            # Counted from the rows: a crash may have lost counters, never attempts.
            self.attempts.recount(run.id)
            # A run in which every call failed has measured nothing, however complete it is.
            if status is RunStatus.COMPLETED and (reason := self.attempts.why_nothing_succeeded(run.id)):
                status, error = RunStatus.FAILED, reason
            self.runs.finish(run.id, self.owner, status, error)
        return status

    async def _work(self, run: Run, parts: Parts) -> None:
        budget = Budget(run.spec.budget_tokens, run.spec.budget_money)
        # What was spent before an interruption counts against the budget as well.
        budget.charge(run.usage)
        budget.charge(run.judge_usage)
        budget.charge(parts.spent)
        caller = Caller(Gate(run.spec.concurrency), budget, parts.retry, parts.deadline)
        await generate(run, parts.target, self.attempts, caller)
        await score(run, self.attempts, Scoring(parts.metrics, parts.judge, budget, parts.deadline, parts.limit))

    async def _beat(self, run_id: str, lease: float) -> None:
        """Renew the lease each second; it is long enough for a metric that holds up this loop until its limit."""
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                beat = await asyncio.to_thread(self.runs.beat, run_id, self.owner, lease)
            except Exception:  # a database that is away for a moment; the lease outlives the moment
                # Half a lease without a beat: another process may take the run soon, so this one lets go.
                if loop.time() - last > LEASE_SECONDS / 2:
                    raise
                continue
            last = loop.time()
            if beat.cancel:
                raise Stop("cancelled")
            if not beat.held:
                raise Stop("lost")


def _outcome(work: "asyncio.Future[None]", beat: "asyncio.Future[None]") -> tuple[RunStatus, str | None]:
    if work.done():
        problem = work.exception()
        if problem is None:
            return RunStatus.COMPLETED, None
        reason = problem.message if isinstance(problem, EvergoldError) else f"{type(problem).__name__}: {problem}"
        return RunStatus.FAILED, reason
    problem = beat.exception()
    if isinstance(problem, Stop) and problem.message == "cancelled":
        return RunStatus.CANCELLED, None
    return RunStatus.FAILED, f"the lease could not be kept: {problem}"


async def _close(parts: Parts) -> None:
    for part in (parts.target, parts.judge):
        close = getattr(part, "close", None)
        if close is not None:
            await close()
