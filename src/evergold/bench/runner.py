"""One run, from claimed to ended: generate what is missing, score what is unscored, and always say how it ended.

Every case is put to the target, once per trial, and each answer is stored. What is stored is not asked again, which makes
a new run and a resumed one the same code. Scoring reads the stored answers, so that it can be done again without a call
of the target. An attempt without an answer has the worst value of every metric that applies to its case: a crash never
raises a mean. A metric that breaks gives an error measurement with its reason, never a zero.

One process works on a run at a time: it is held by a lease in the database that a heartbeat renews. The same heartbeat
learns that somebody wants the run to stop, or that the lease was lost, in which case this process lets go at once and
writes nothing more. A holder that dies stops renewing, and the run is free when the lease runs out; on the same machine
nobody has to wait, because the holder's name says which process it is.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from time import monotonic

from evergold.bench.metrics import NamedMetric, measure
from evergold.bench.overrun import MetricCall, MetricLimit, Overrun
from evergold.bench.replay.record import conversation_id
from evergold.calls.budget import Budget, BudgetReached
from evergold.calls.caller import Caller, Gate, Journal, RetryPolicy, close_all, gather_results
from evergold.errors import EvergoldError
from evergold.model.case import Case
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Measurement, Run, RunStatus, Turns, Usage
from evergold.model.values import content_hash
from evergold.redact.default import DefaultRedactor
from evergold.seams import Judge, Target
from evergold.store.run.attempts import AttemptStore, Scored
from evergold.store.run.runs import RunStore

# An attempt, and the key under which its answer is cached: only fresh, successful ones have a key.
_Done = tuple[Attempt, str | None]


async def generate(run: Run, target: Target, store: AttemptStore, caller: Caller) -> None:
    """Attempt what is missing. Raises `TargetUnusable` or `BudgetReached`; single failures are attempts with errors."""
    missing = _missing_attempts(run, store)

    async def write(batch: Sequence[_Done]) -> None:
        keys = {(attempt.case_id, attempt.trial): key for attempt, key in batch if key}
        await store.record(run.id, [attempt for attempt, _ in batch], keys)

    journal: Journal[_Done] = Journal(write)

    async def work() -> None:
        for one_by_one in missing:
            for case, trial in one_by_one:
                await journal.add(await _attempt(run, case, trial, target, store, caller))

    # The workers share one iterator, so each takes the next piece of work when it is free.
    try:
        await gather_results(work() for _ in range(run.spec.concurrency))
    finally:
        # Answers that have come back are written even when the run is cancelled or its budget is spent.
        await journal.close()


def _missing_attempts(run: Run, store: AttemptStore) -> Iterator[list[tuple[Case, int]]]:
    """What is to be asked, in lists that are asked one after the other: the turns of one conversation, else one attempt.

    Each turn of a conversation is sent after the one before it was answered, so that a provider that caches prefixes has
    that one in its cache.
    """
    finished = store.finished_keys(run.id)
    for _, cases in groupby(store.cases(run.id), lambda case: conversation_id(case.id)):
        wanted = [(case, trial) for case in cases for trial in range(run.spec.trials)]
        missing = [(case, trial) for case, trial in wanted if (case.id, trial) not in finished]
        if run.spec.replay is not None and run.spec.replay.turns is Turns.EACH:
            yield missing
        else:
            yield from ([one] for one in missing)


async def _attempt(run: Run, case: Case, trial: int, target: Target, store: AttemptStore, caller: Caller) -> _Done:
    # Trials differ in their seed, or a provider that honours it would give the same answer each time.
    seed = None if run.spec.seed is None else run.spec.seed + trial
    request = getattr(target, "request", None)
    key = None
    if run.spec.cache and request is not None:
        # The whole request, and the trial: a repeated question is asked anew, or trials would measure nothing.
        key = content_hash({"target": target.identity, "request": request(case, seed), "trial": trial})
        known = store.cached_replies([key]).get(key)
        if known is not None:
            # A hit took no call and no time; its tokens stay, because they say what the answer is made of.
            hit = {"case_id": case.id, "trial": trial, "cached": True, "sends": 0, "latency_ms": None}
            return Attempt.model_validate_json(known).model_copy(update=hit), None
    # A replay makes several calls in one attempt, and manages gate, budget and retries for each of them.
    by_steps = getattr(target, "attempt_by_steps", None)
    attempt = await (by_steps(caller, case, trial, seed) if by_steps else caller.call(target, case, trial, seed))
    if attempt.error is None:
        return attempt, key
    return attempt.model_copy(update={"error": redact_error(attempt.error)}), None


def redact_error(text: str) -> str:
    """Take out what looks like a secret or is private; an endpoint may repeat more than the keys that we know."""
    return DefaultRedactor().redact(text)[0]


@dataclass
class RememberedJudge:
    """A judge that is asked nothing twice: what it once answered, to the same words about the same answer, is reused.

    Only answers that could be used are remembered. `take_fresh` hands over those that are not stored yet.
    """

    judge: Judge
    store: AttemptStore
    _fresh: dict[str, JudgeAnswer] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        return self.judge.identity

    async def ask(self, question: Question) -> JudgeAnswer:
        key = content_hash({"judge": self.identity, "question": question.model_dump(mode="json")})
        known = self.store.cached_replies([key]).get(key)
        if known is not None:
            answer = JudgeAnswer.model_validate_json(known)
            # Paid by the run that asked, and no time was spent on it now.
            details = {name: value for name, value in answer.details.items() if name != "latency_ms"}
            return answer.model_copy(update={"usage": Usage(), "details": details | {"cached": True}})
        answer = await self.judge.ask(question)
        if answer.data is not None:
            self._fresh[key] = answer
        return answer

    def take_fresh(self) -> dict[str, str]:
        taken, self._fresh = self._fresh, {}
        return {key: answer.model_dump_json(exclude_defaults=True) for key, answer in taken.items()}


CALLS_OF_A_JUDGE = 4
"""A metric may ask its judge a few times, a repair included: that many deadlines of one call."""
STORE_SECONDS = 0.1
"""Measurements of plain code are stored so often: a crash costs no more work than that, and progress is seen."""


@dataclass(frozen=True)
class Parts:
    """What a run is made of, made from its spec by whoever starts it."""

    target: Target
    metrics: Sequence[NamedMetric]
    judge: Judge | None
    retry: RetryPolicy
    deadline: float
    limit: MetricLimit
    replayed: bool = False
    spent: Usage = field(default_factory=Usage)  # by trajectories that an earlier process began and did not finish


async def score(run: Run, store: AttemptStore, parts: Parts, budget: Budget) -> None:
    """Measure what is not measured yet."""
    waiting = store.unmeasured_attempts(run.id, [metric.name for metric in parts.metrics])
    asked = RememberedJudge(parts.judge, store) if parts.judge is not None and run.spec.cache else None
    if asked is not None:
        parts = replace(parts, judge=asked)

    # An entry of the batch is one attempt: progress counts attempts whose metrics are all there.
    async def write(batch: Sequence[list[Scored]]) -> None:
        fresh = asked.take_fresh() if asked else {}
        await store.record_scores(run.id, [scored for item in batch for scored in item], len(batch), fresh)

    async def measure_all(case: Case, attempt: Attempt) -> list[Scored]:
        todo = [metric for metric in parts.metrics if metric.name not in attempt.measurements]
        return [Scored(case.id, attempt.trial, m.name, await _measure(m, case, attempt, parts, budget)) for m in todo]

    if parts.judge is None:
        # Metrics that ask no judge never wait: they are stored a few times a second, where a cancelled run stops.
        done: list[list[Scored]] = []
        began = monotonic()
        for case, attempt in waiting:
            done.append(await measure_all(case, attempt))
            if monotonic() - began >= STORE_SECONDS:
                await write(done)
                done, began = [], monotonic()
        if done:
            await write(done)
        return
    journal: Journal[list[Scored]] = Journal(write)

    async def work() -> None:
        # The workers share one iterator over what is unmeasured.
        for case, attempt in waiting:
            await journal.add(await measure_all(case, attempt))

    try:
        await gather_results(work() for _ in range(run.spec.concurrency))
    finally:
        await journal.close()


async def _measure(named: NamedMetric, case: Case, attempt: Attempt, parts: Parts, budget: Budget) -> Measurement:
    if not named.applies_to(case):
        return Measurement.not_applicable(f"the case names its own metrics: {', '.join(case.metrics)}")
    if not named.needs_judge or parts.judge is None or attempt.error is not None:
        # Plain code, which the limit interrupts; an attempt without an answer is measured without asking anybody.
        try:
            with parts.limit.interrupt_late(MetricCall(case.id, attempt.trial, named.name)):
                return await measure(named.metric, case, attempt, parts.judge, replayed=parts.replayed)
        except Overrun as problem:
            return Measurement.error(problem.message)
    limit = parts.deadline * CALLS_OF_A_JUDGE
    # Reserved before the call: calls that run at the same time must not all fit into the same rest of the budget.
    await budget.reserve()
    spent = Usage()
    try:
        async with asyncio.timeout(limit):
            measurement = await measure(named.metric, case, attempt, parts.judge)
        spent = measurement.usage
    except TimeoutError:
        return Measurement.error(f"the judge gave no answer within {limit:g} s")
    finally:
        budget.settle(spent)
    if measurement.value is None and measurement.reason:
        return measurement.model_copy(update={"reason": redact_error(measurement.reason)})
    return measurement


# Twenty missed beats: a busy machine or a short outage of the database must not lose a run.
LEASE_SECONDS = 20.0
BEAT_SECONDS = 1.0
MOST_TAKES = 2
"""So often in a row a run is taken up whose server died before anything of it was stored; then it has failed."""


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
            if beat.done() and not work.done():
                status, error = beat.result()
            elif (problem := work.exception()) is None:
                status, error = RunStatus.COMPLETED, None
            else:
                status = RunStatus.FAILED
                error = (
                    problem.message if isinstance(problem, EvergoldError) else f"{type(problem).__name__}: {problem}"
                )
        except asyncio.CancelledError:
            status, error = self.when_interrupted, None
            raise
        finally:
            # Both tasks are ended before the run is: no write may come after `finish`.
            for task in (work, beat):
                task.cancel()
            await asyncio.gather(work, beat, return_exceptions=True)
            await close_all(parts.target, parts.judge)
            # Counted from the rows: a crash may have lost counters, never attempts.
            self.attempts.recount(run.id)
            # A run in which every call failed has measured nothing, however complete it is.
            if status is RunStatus.COMPLETED and (reason := self.attempts.why_nothing_succeeded(run.id)):
                status, error = RunStatus.FAILED, reason
            self.runs.finish(run.id, self.owner, status, error and redact_error(error))
        return status

    async def _work(self, run: Run, parts: Parts) -> None:
        budget = Budget(run.spec.budget_tokens, run.spec.budget_money)
        # What was spent before an interruption counts against the budget as well.
        budget.charge(run.usage)
        budget.charge(run.judge_usage)
        budget.charge(parts.spent)
        caller = Caller(Gate(run.spec.concurrency), budget, parts.retry, parts.deadline)
        try:
            before = self.attempts.error_keys(run.id)
            await generate(run, parts.target, self.attempts, caller)
            # What got no reply is tried once more when the others are through; what fails again counts. A target that
            # never answered is not asked everything twice.
            lost = sorted(self.attempts.error_keys(run.id) - before)
            if lost and not self.attempts.why_nothing_succeeded(run.id):
                self.attempts.forget(run.id, lost)
                await generate(run, parts.target, self.attempts, caller)
        except BudgetReached:
            # What was answered is measured by what costs nothing.
            if parts.judge is not None and not parts.judge.identity.startswith("offline"):
                parts = replace(parts, metrics=[metric for metric in parts.metrics if not metric.needs_judge])
            await score(run, self.attempts, parts, Budget())
            raise
        await score(run, self.attempts, parts, budget)

    async def _beat(self, run_id: str, lease: float) -> tuple[RunStatus, str | None]:
        """Renew the lease each second, until the run is to end; how it then ended.

        The lease is long enough for a metric that holds up this loop until its limit.
        """
        loop = asyncio.get_running_loop()
        last = loop.time()
        while True:
            await asyncio.sleep(BEAT_SECONDS)
            try:
                beat = await asyncio.to_thread(self.runs.beat, run_id, self.owner, lease)
            except Exception as problem:  # a database that is away for a moment; the lease outlives the moment
                # Half a lease without a beat: another process may take the run soon, so this one lets go.
                if loop.time() - last > LEASE_SECONDS / 2:
                    return RunStatus.FAILED, f"the lease could not be kept: {problem}"
                continue
            last = loop.time()
            if beat.cancel:
                return RunStatus.CANCELLED, None
            if not beat.held:
                return RunStatus.FAILED, "the lease could not be kept: lost"
