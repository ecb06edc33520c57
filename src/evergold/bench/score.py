"""The second stage of a run: stored answers → measurements. No target is called.

An attempt that failed has no answer and is never measured: it stays an error in the coverage of every metric. A metric
that breaks gives an error measurement with its reason, never a zero.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from time import monotonic

from evergold.bench.metric_names import NamedMetric
from evergold.bench.metrics import measure
from evergold.bench.overrun import Limit, Overrun, Task
from evergold.calls.budget import Budget
from evergold.calls.journal import Journal
from evergold.calls.workers import together
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement, Run, Usage
from evergold.seams import Judge
from evergold.store.attempts import AttemptStore, Scored

CALLS_OF_A_JUDGE = 4
"""A metric may ask its judge a few times, a repair included: that many deadlines of one call."""
STORE_SECONDS = 0.1
"""Measurements of plain code are stored so often: a crash costs no more work than that, and progress is seen."""


@dataclass(frozen=True)
class Scoring:
    """What measures: the metrics, the judge where one is needed, and what may be spent on it."""

    metrics: Sequence[NamedMetric]
    judge: Judge | None
    budget: Budget
    deadline: float
    limit: Limit


async def score(run: Run, store: AttemptStore, scoring: Scoring) -> None:
    """Measure what is not measured yet."""
    waiting = store.unmeasured(run.id, [metric.name for metric in scoring.metrics])

    # An entry of the batch is one attempt: progress counts attempts whose metrics are all there.
    async def write(batch: Sequence[list[Scored]]) -> None:
        await store.record_scores(run.id, [scored for item in batch for scored in item], len(batch))

    if scoring.judge is None:
        await _score_in_turn(waiting, scoring, write)
        return
    journal: Journal[list[Scored]] = Journal(write)

    async def work() -> None:
        # The workers share one iterator over what is unmeasured.
        for case, attempt in waiting:
            await journal.add(await _measure_attempt(case, attempt, scoring))

    try:
        await together(work() for _ in range(run.spec.concurrency))
    finally:
        await journal.close()


async def _score_in_turn(
    waiting: Iterable[tuple[Case, Attempt]],
    scoring: Scoring,
    write: Callable[[Sequence[list[Scored]]], Awaitable[None]],
) -> None:
    """Measure by metrics that ask no judge and so never wait; store a few times a second, where a cancelled run stops."""
    batch: list[list[Scored]] = []
    began = monotonic()
    for case, attempt in waiting:
        batch.append(await _measure_attempt(case, attempt, scoring))
        if monotonic() - began >= STORE_SECONDS:
            await write(batch)
            batch, began = [], monotonic()
    if batch:
        await write(batch)


async def _measure_attempt(case: Case, attempt: Attempt, scoring: Scoring) -> list[Scored]:
    todo = [metric for metric in scoring.metrics if metric.name not in attempt.measurements]
    return [Scored(case.id, attempt.trial, m.name, await _measure(m, case, attempt, scoring)) for m in todo]


async def _measure(named: NamedMetric, case: Case, attempt: Attempt, scoring: Scoring) -> Measurement:
    if not named.judged or scoring.judge is None:
        return await _measure_here(named, case, attempt, scoring)
    limit = scoring.deadline * CALLS_OF_A_JUDGE
    # Reserved before the call: calls that run at the same time must not all fit into the same rest of the budget.
    await scoring.budget.reserve()
    spent = Usage()
    try:
        async with asyncio.timeout(limit):
            measurement = await measure(named.metric, case, attempt, scoring.judge)
        spent = measurement.usage
    except TimeoutError:
        return Measurement.error(f"the judge gave no answer within {limit:g} s")
    finally:
        scoring.budget.settle(spent)
    return measurement


async def _measure_here(named: NamedMetric, case: Case, attempt: Attempt, scoring: Scoring) -> Measurement:
    """Call a metric that needs no judge: plain code, which the limit interrupts."""
    try:
        with scoring.limit.around(Task(case.id, attempt.trial, named.name)):
            return await measure(named.metric, case, attempt, scoring.judge)
    except Overrun as problem:
        return Measurement.error(problem.message)
