"""One call under all limits, results that become durable together, and workers that end together."""

import asyncio
from collections.abc import Coroutine, Sequence
from typing import Any

import pytest

from evergold.calls.budget import Budget, BudgetReached
from evergold.calls.caller import Caller, Gate, Journal, RetryPolicy, TargetUnusable, failed_attempt, gather_results
from evergold.model.case import Case
from evergold.model.run import Attempt, Usage
from tests.builders import a_case, an_attempt
from tests.rows import each_row


class Scripted:
    """A target that answers from a list; an exception in it is raised."""

    identity = "scripted"

    def __init__(self, *answers: Attempt | Exception | None) -> None:
        self.answers = list(answers)
        self.calls = 0

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        answer = self.answers[min(self.calls, len(self.answers) - 1)]
        self.calls += 1
        if isinstance(answer, Exception):
            raise answer
        if answer is None:
            await asyncio.Event().wait()
        assert answer is not None
        return answer


def caller(tries: int = 3, deadline: float = 30.0, **budget: Any) -> Caller:
    return Caller(Gate(4), Budget(**budget), RetryPolicy(tries=tries, first_wait=0.0), deadline)


def called(limits: Caller, target: Scripted) -> Attempt:
    return asyncio.run(limits.call(target, a_case()))


def error(error_class: str, retry_after: float | None = None) -> Attempt:
    return failed_attempt(a_case(), 0, error_class, "no", retry_after)


def test_a_good_answer_comes_back_with_its_latency() -> None:
    attempt = called(caller(), Scripted(an_attempt("Lima.")))
    assert (attempt.output, attempt.sends) == ("Lima.", 1) and attempt.latency_ms is not None


def test_a_bad_moment_is_tried_again_and_counted() -> None:
    target = Scripted(error("server"), error("connection"), an_attempt())
    assert called(caller(), target).sends == target.calls == 3


def test_the_last_error_is_the_answer_when_no_try_is_left() -> None:
    attempt = called(caller(tries=2), Scripted(error("server", 0.0)))
    assert (attempt.error_class, attempt.sends, attempt.retry_after) == ("server", 2, None)


def test_an_answer_from_the_cache_was_never_sent() -> None:
    assert called(caller(), Scripted(an_attempt(sends=0, cached=True))).sends == 0


@each_row("error_class", ["auth", "quota", "unknown_model"])
def test_an_error_that_every_call_would_meet_stops_the_caller(error_class: str) -> None:
    target = Scripted(error(error_class))
    with pytest.raises(TargetUnusable, match=rf"scripted cannot be used \({error_class}\): no"):
        called(caller(), target)
    assert target.calls == 1


def test_a_target_that_raises_fails_its_case_alone() -> None:
    attempt = called(caller(), Scripted(KeyError("answer")))
    assert (attempt.error_class, attempt.error) == ("target", "KeyError: 'answer'")


def test_a_target_that_never_answers_is_given_up_after_the_deadline() -> None:
    attempt = called(caller(tries=1, deadline=0.01), Scripted(None))
    assert (attempt.error_class, attempt.error) == ("timeout", "no answer within 0.01 s")


def test_a_rate_limit_shrinks_the_gate() -> None:
    limits = caller()
    called(limits, Scripted(error("rate_limit", 0.0), an_attempt()))
    assert limits.gate.limit == 2.5, "halved once, then grown by a success"


def test_what_every_send_costs_counts_against_the_budget() -> None:
    limits = caller(tokens=25)
    spent = an_attempt(usage=Usage(input_tokens=10))
    called(limits, Scripted(spent))
    called(limits, Scripted(spent))
    with pytest.raises(BudgetReached, match="20 of 25 tokens"):
        called(limits, Scripted(spent))


def test_a_cancelled_call_gives_its_reservation_back() -> None:
    async def cancelled() -> Budget:
        limits = caller(tokens=100)
        call = asyncio.ensure_future(limits.call(Scripted(None), a_case()))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait([call])
        await limits.budget.reserve()
        return limits.budget

    assert asyncio.run(cancelled()).spent_tokens == 0


def test_results_that_end_during_a_commit_share_the_next_one() -> None:
    async def written() -> list[list[int]]:
        commits: list[list[int]] = []
        free = asyncio.Event()

        async def write(items: Sequence[int]) -> None:
            commits.append(list(items))
            await free.wait()

        journal = Journal(write)
        first = asyncio.ensure_future(journal.add(1))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        others = [asyncio.ensure_future(journal.add(number)) for number in (2, 3, 4)]
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(first, *others)
        await journal.close()
        return commits

    assert asyncio.run(written()) == [[1], [2, 3, 4]]


def test_a_commit_that_fails_is_raised_to_those_who_wait_for_it_and_to_no_other() -> None:
    async def written() -> tuple[list[Any], list[int]]:
        kept: list[int] = []

        async def write(items: Sequence[int]) -> None:
            if 1 in items:
                raise OSError("disk full")
            kept.extend(items)

        journal = Journal(write)
        results = await asyncio.gather(journal.add(1), journal.add(1), return_exceptions=True)
        await journal.add(2)
        return [str(one) for one in results], kept

    assert asyncio.run(written()) == (["disk full", "disk full"], [2])


def test_a_journal_that_wrote_nothing_closes() -> None:
    async def closed() -> None:
        async def write(items: Sequence[int]) -> None:
            raise AssertionError

        await Journal(write).close()

    asyncio.run(closed())


def test_workers_give_their_results_in_order() -> None:
    async def late(value: int, rounds: int) -> int:
        for _ in range(rounds):
            await asyncio.sleep(0)
        return value

    assert asyncio.run(gather_results([late(1, 5), late(2, 1), late(3, 0)])) == [1, 2, 3]


def test_the_first_failure_stops_the_others_before_it_is_raised() -> None:
    ended: list[str] = []

    async def waiting() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("waiting")

    async def failing() -> None:
        await asyncio.sleep(0)
        raise LookupError("first")

    workers: list[Coroutine[Any, Any, None]] = [waiting(), failing()]
    with pytest.raises(LookupError, match="first"):
        asyncio.run(gather_results(workers))
    assert ended == ["waiting"]
