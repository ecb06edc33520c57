"""The second stage of a run: stored answers → measurements. No target is called.

An attempt that failed has no answer and is never measured: it stays an error in the coverage of every metric. A metric
that breaks gives an error measurement with its reason, never a zero.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from evergold.bench.budget import Budget
from evergold.bench.journal import Journal
from evergold.bench.metric_names import NamedMetric
from evergold.bench.workers import together
from evergold.errors import EvergoldError
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement, Run, Usage
from evergold.seams import Judge
from evergold.store.attempts import AttemptStore, Scored


@dataclass(frozen=True)
class Scoring:
    """What measures: the metrics, the judge where one is needed, and what may be spent on it."""

    metrics: Sequence[NamedMetric]
    judge: Judge | None
    budget: Budget
    deadline: float


async def score(run: Run, store: AttemptStore, scoring: Scoring) -> None:
    """Measure what is not measured yet."""
    names = [metric.name for metric in scoring.metrics]
    waiting = store.unmeasured(run.id, names)

    async def write(batch: Sequence[list[Scored]]) -> None:
        await store.record_scores(run.id, [scored for item in batch for scored in item], len(batch))

    journal: Journal[list[Scored]] = Journal(write)

    async def work() -> None:
        for case, attempt in waiting:
            todo = [metric for metric in scoring.metrics if metric.name not in attempt.measurements]
            found = [Scored(case.id, attempt.trial, m.name, await _measure(m, case, attempt, scoring)) for m in todo]
            await journal.add(found)

    try:
        await together(work() for _ in range(run.spec.concurrency))
    finally:
        await journal.close()


async def _measure(named: NamedMetric, case: Case, attempt: Attempt, scoring: Scoring) -> Measurement:
    limit = scoring.deadline * 4
    try:
        if not named.judged:
            measured: Measurement = named.metric.measure(case, attempt)
            return measured
        if scoring.judge is None:
            return Measurement.unscored(f"{named.name} needs a judge")
        async with asyncio.timeout(limit):
            return await _judged(named, case, attempt, scoring.judge, scoring.budget)
    except EvergoldError:
        raise
    except TimeoutError:
        return Measurement.error(f"the judge gave no answer within {limit:g} s")
    except Exception as problem:
        return Measurement.error(f"{named.name} broke: {type(problem).__name__}: {problem}")


async def _judged(named: NamedMetric, case: Case, attempt: Attempt, judge: Judge, budget: Budget) -> Measurement:
    await budget.reserve()
    spent = Usage()
    try:
        measurement: Measurement = await named.metric.measure_with(case, attempt, judge)
        spent = measurement.usage
    finally:
        budget.settle(spent)
    return measurement
