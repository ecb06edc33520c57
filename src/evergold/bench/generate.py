"""The first stage of a run: every case of the run is put to the target, once per trial, and each answer is stored.

What is already stored is not asked again, which makes a new run and a resumed one the same code. Nothing is scored
here: scoring reads the stored answers, so that it can be done again without a single call of the target.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from evergold.bench.replay.turns import conversation_id
from evergold.calls.caller import Caller
from evergold.calls.journal import Journal
from evergold.calls.workers import together
from evergold.model.case import Case
from evergold.model.ident import content_hash
from evergold.model.replay import Turns
from evergold.model.run import Attempt, Run
from evergold.seams import Target
from evergold.store.attempts import AttemptStore


@dataclass(frozen=True)
class _Done:
    attempt: Attempt
    cache_key: str | None


async def generate(run: Run, target: Target, store: AttemptStore, caller: Caller) -> None:
    """Attempt what is missing. Raises `TargetUnusable` or `BudgetReached`; single failures are attempts with errors."""
    missing = _missing(run, store)

    async def write(batch: Sequence[_Done]) -> None:
        # Only fresh, successful answers have a key; hits are in the cache already.
        keys = {(done.attempt.case_id, done.attempt.trial): done.cache_key for done in batch if done.cache_key}
        await store.record(run.id, [done.attempt for done in batch], keys)

    journal: Journal[_Done] = Journal(write)

    async def work() -> None:
        for one_by_one in missing:
            for case, trial in one_by_one:
                await journal.add(await _attempt(run, case, trial, target, store, caller))

    # The workers share one iterator, so each takes the next piece of work when it is free.
    try:
        await together(work() for _ in range(run.spec.concurrency))
    finally:
        # Answers that have come back are written even when the run is cancelled or its budget is spent.
        await journal.close()


def _missing(run: Run, store: AttemptStore) -> Iterator[list[tuple[Case, int]]]:
    """What is to be asked, in lists that are asked one after the other: the turns of one conversation, else one attempt.

    Each turn of a conversation is sent after the one before it was answered, so that a provider that caches prefixes has
    that one in its cache.
    """
    finished = store.finished(run.id)
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
    key = _cache_key(run, case, trial, seed, target)
    if key is not None:
        known = store.cached([key]).get(key)
        if known is not None:
            # A hit took no call and no time; its tokens stay, because they say what the answer is made of.
            hit = {"case_id": case.id, "trial": trial, "cached": True, "sends": 0, "latency_ms": None}
            return _Done(known.model_copy(update=hit), None)
    # A replay makes several calls in one attempt, and manages gate, budget and retries for each of them.
    by_steps = getattr(target, "attempt_by_steps", None)
    attempt = await (by_steps(caller, case, trial, seed) if by_steps else caller.call(target, case, trial, seed))
    return _Done(attempt, key if attempt.error is None else None)


def _cache_key(run: Run, case: Case, trial: int, seed: int | None, target: Target) -> str | None:
    """The whole request, and the trial: a repeated question is asked anew, or trials would measure nothing."""
    request = getattr(target, "request", None)
    if not run.spec.cache or request is None:
        return None
    return content_hash({"target": target.identity, "request": request(case, seed), "trial": trial})
