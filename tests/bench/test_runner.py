"""A run from claimed to ended: what is sent, what is stored, what a failure leaves behind."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from evergold.bench.metrics import NamedMetric
from evergold.bench.overrun import MetricLimit
from evergold.bench.runner import Parts, Runner
from evergold.calls.caller import RetryPolicy, failed_attempt
from evergold.machine import new_owner
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement, MeasurementState, Run, RunSpec, RunStatus, Usage
from evergold.model.tool_calls import ToolCall
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore
from evergold.store.run.runs import RunStore
from tests.builders import a_case
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Equals:
    """1 when the answer is the expected one."""

    version: ClassVar[str] = "1"

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if attempt.output == "break":
            raise ZeroDivisionError("division by zero")
        return Measurement.of(float(attempt.output == case.expected))


Answer = Callable[[Case, int], Awaitable[Attempt]]


@dataclass
class Scripted:
    """A target that answers by a function and remembers what it was sent."""

    answer: Answer
    sent: list[tuple[str, int, int | None]] = field(default_factory=list)
    under_way: int = 0
    most_under_way: int = 0
    identity: str = "scripted"

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        self.sent.append((case.id, trial, seed))
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        try:
            return await self.answer(case, trial)
        finally:
            self.under_way -= 1


async def right(case: Case, trial: int) -> Attempt:
    return Attempt(
        case_id=case.id, trial=trial, output=case.expected or "", usage=Usage(input_tokens=8, output_tokens=2)
    )


class Bench:
    """A store with one run in it, and the runner to work on it."""

    def __init__(self, store: Store) -> None:
        self.runs, self.attempts = RunStore(store.db), AttemptStore(store.db)

    def create(self, cases: Sequence[Case], **spec: Any) -> Run:
        run = Run(
            id="r1",
            spec=RunSpec(dataset="d", model="scripted", metrics=("equals",), **spec),
            created_at=datetime.now(UTC),
            provenance={"origin": "server"},
        )
        return self.runs.create(run, cases)

    def work(self, target: Scripted, judge: Any = None, metric: Any = None, **parts: Any) -> Run:
        owner = new_owner()
        assert self.runs.claim("r1", owner, 60)
        made = Parts(
            target=target,
            metrics=[NamedMetric("equals", metric or Equals())],
            judge=judge,
            retry=RetryPolicy(tries=4, first_wait=0.001),
            deadline=parts.get("deadline", PATIENCE),
            limit=MetricLimit(parts.get("limit", PATIENCE)),
        )
        asyncio.run(Runner(self.runs, self.attempts, owner).execute(self.runs.get("r1"), made))
        return self.runs.get("r1")

    def all(self) -> list[Attempt]:
        return list(self.attempts.attempts("r1"))


@pytest.fixture
def bench(store: Store) -> Bench:
    return Bench(store)


def cases(count: int) -> list[Case]:
    return [a_case(id=f"c{i:05}", expected=f"answer {i}") for i in range(count)]


def test_every_case_is_sent_once_per_trial_stored_and_scored(bench: Bench) -> None:
    bench.create(cases(700), trials=2, seed=10)
    target = Scripted(right)
    run = bench.work(target)
    assert (run.status, run.total, run.done, run.failed, run.scored) == (RunStatus.COMPLETED, 1400, 1400, 0, 1400)
    assert Counter(target.sent) == Counter((f"c{i:05}", trial, 10 + trial) for i in range(700) for trial in range(2))
    assert run.usage == Usage(input_tokens=1400 * 8, output_tokens=1400 * 2)
    stored = bench.all()
    assert len(stored) == 1400
    assert {attempt.measurements["equals"].value for attempt in stored} == {1.0}
    assert all(attempt.latency_ms is not None for attempt in stored)


def test_never_more_calls_at_once_than_asked_for(bench: Bench) -> None:
    async def crowding(case: Case, trial: int) -> Attempt:
        if target.under_way == 13:
            crowded.set()
        if len(target.sent) > 40:
            await crowded.wait()
        return await right(case, trial)

    crowded = asyncio.Event()
    bench.create(cases(100), concurrency=13)
    target = Scripted(crowding)
    assert bench.work(target).failed == 0
    assert target.most_under_way == 13


def test_a_failed_call_is_tried_once_more_and_then_counts_as_the_worst_value(bench: Bench) -> None:
    asked = []

    async def half(case: Case, trial: int) -> Attempt:
        asked.append(case.id)
        return await right(case, trial) if int(case.id[1:]) % 2 else failed_attempt(case, trial, "bad_request", "no")

    bench.create(cases(10))
    run = bench.work(Scripted(half))
    assert (run.status, run.done, run.failed, run.scored) == (RunStatus.COMPLETED, 10, 5, 10)
    assert len(asked) == 15
    for attempt in bench.all():
        assert {m.value for m in attempt.measurements.values()} == {1.0 if attempt.error is None else 0.0}


def test_a_target_that_raises_fails_its_case_and_one_that_hangs_meets_the_deadline(bench: Bench) -> None:
    async def odd(case: Case, trial: int) -> Attempt:
        if case.id == "c00000":
            raise RuntimeError("plug-in broke")
        if case.id == "c00001":
            await asyncio.Event().wait()
        return await right(case, trial)

    bench.create(cases(3))
    run = bench.work(Scripted(odd), deadline=0.02)
    errors = {attempt.case_id: attempt.error_class for attempt in bench.all()}
    assert errors == {"c00000": "target", "c00001": "timeout", "c00002": None}
    assert run.status is RunStatus.COMPLETED


def test_a_metric_that_breaks_is_an_error_with_its_reason(bench: Bench) -> None:
    async def breaking(case: Case, trial: int) -> Attempt:
        return Attempt(case_id=case.id, trial=trial, output="break")

    bench.create(cases(1))
    assert bench.work(Scripted(breaking)).status is RunStatus.COMPLETED
    measurement = bench.all()[0].measurements["equals"]
    assert (measurement.state, measurement.value) == (MeasurementState.ERROR, None)
    assert measurement.reason == "Equals broke: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("error_class", "sends"),
    [("server", 4), ("connection", 4), ("rate_limit", 4), ("malformed", 2), ("bad_request", 1)],
)
def test_the_class_of_an_error_decides_how_often_it_is_tried(bench: Bench, error_class: str, sends: int) -> None:
    async def broken(case: Case, trial: int) -> Attempt:
        return failed_attempt(case, trial, error_class, "no")

    bench.create(cases(1))
    target = Scripted(broken)
    bench.work(target)
    assert len(target.sent) == sends
    assert bench.all()[0].sends == sends


def test_what_succeeds_later_is_an_answer_and_its_sends_are_counted(bench: Bench) -> None:
    replies = iter(["server", "rate_limit", None])

    async def third_time(case: Case, trial: int) -> Attempt:
        kind = next(replies)
        return failed_attempt(case, trial, kind, "no", retry_after=0.001) if kind else await right(case, trial)

    bench.create(cases(1))
    bench.work(Scripted(third_time))
    attempt = bench.all()[0]
    assert (attempt.error, attempt.sends, attempt.retry_after) == (None, 3, None)


@pytest.mark.parametrize("kind", ["auth", "quota", "unknown_model"])
def test_when_no_call_can_succeed_the_run_stops_and_can_go_on_later(bench: Bench, kind: str) -> None:
    async def refused(case: Case, trial: int) -> Attempt:
        return failed_attempt(case, trial, kind, "wrong key")

    bench.create(cases(500))
    target = Scripted(refused)
    run = bench.work(target)
    assert run.status is RunStatus.FAILED
    assert run.error == f"scripted cannot be used ({kind}): wrong key"
    assert len(target.sent) <= 20 and run.done == 0
    bench.runs.requeue("r1")
    assert bench.work(Scripted(right)).done == 500


def test_the_budget_is_never_exceeded_and_a_larger_one_goes_on(bench: Bench) -> None:
    run = bench.create(cases(100), budget_tokens=205)
    target = Scripted(right)
    stopped = bench.work(target)
    assert stopped.status is RunStatus.FAILED
    assert "200 of 205 tokens spent" in (stopped.error or "")
    assert stopped.done == 20 and stopped.usage.input_tokens + stopped.usage.output_tokens == 200
    bench.runs.requeue("r1", run.spec.model_copy(update={"budget_tokens": 2000}))
    again = Scripted(right)
    assert bench.work(again).status is RunStatus.COMPLETED
    assert len(again.sent) == 80


def test_a_resumed_run_repeats_no_finished_call(bench: Bench) -> None:
    async def until_fifty(case: Case, trial: int) -> Attempt:
        if len(first.sent) > 50:
            return failed_attempt(case, trial, "auth", "key revoked")
        return await right(case, trial)

    bench.create(cases(200))
    first, second = Scripted(until_fifty), Scripted(right)
    done = bench.work(first).done
    bench.runs.requeue("r1")
    assert bench.work(second).done == 200
    assert len(second.sent) == 200 - done
    assert len({case_id for case_id, _, _ in second.sent}) == 200 - done


def test_cancel_really_stops(bench: Bench) -> None:
    async def cancelling(case: Case, trial: int) -> Attempt:
        if len(target.sent) == 5:
            bench.runs.request_cancel("r1")
        if len(target.sent) >= 5:
            await asyncio.Event().wait()
        return await right(case, trial)

    bench.create(cases(1000), concurrency=3)
    target = Scripted(cancelling)
    run = bench.work(target)
    assert run.status is RunStatus.CANCELLED and run.ended_at is not None
    assert len(target.sent) <= 8 and target.under_way == 0


def test_a_queued_run_is_cancelled_at_once_and_cannot_be_claimed(bench: Bench) -> None:
    bench.create(cases(1))
    assert bench.runs.request_cancel("r1").status is RunStatus.CANCELLED
    assert not bench.runs.claim("r1", new_owner(), 60)


def test_answers_are_cached_by_their_whole_request(bench: Bench) -> None:
    class Cacheable(Scripted):
        def request(self, case: Case, seed: int | None) -> dict[str, Any]:
            return {"prompt": case.input, "tools": case.tools, "seed": seed}

    same = [a_case(id="a", expected="x"), a_case(id="b", expected="x", tools=({"name": "t"},))]
    bench.create(same, trials=2)
    first = Cacheable(right)
    bench.work(first)
    assert len(first.sent) == 4, "other tools and another trial are other requests"
    bench.runs.delete("r1")
    bench.create(same, trials=2)
    second = Cacheable(right)
    run = bench.work(second)
    assert second.sent == [] and run.usage == Usage()
    assert all(attempt.cached and attempt.usage.input_tokens == 8 for attempt in bench.all())
    bench.runs.delete("r1")
    bench.create(same, trials=2, cache=False)
    third = Cacheable(right)
    bench.work(third)
    assert len(third.sent) == 4


def test_scores_can_be_made_again_without_a_call(bench: Bench) -> None:
    async def shouting(case: Case, trial: int) -> Attempt:
        return Attempt(case_id=case.id, trial=trial, output=(case.expected or "").upper())

    @dataclass(frozen=True)
    class Folded(Equals):
        def measure(self, case: Case, attempt: Attempt) -> Measurement:
            return Measurement.of(float(attempt.output.casefold() == (case.expected or "").casefold()))

    bench.create(cases(5))
    target = Scripted(shouting)
    bench.work(target)
    assert {a.measurements["equals"].value for a in bench.all()} == {0.0}
    bench.attempts.forget_scores("r1", ["equals"])
    bench.runs.requeue("r1")
    run = bench.work(target, metric=Folded())
    assert {a.measurements["equals"].value for a in bench.all()} == {1.0}
    assert len(target.sent) == 5 and run.scored == 5


def test_tool_calls_and_odd_characters_survive_storage(bench: Bench) -> None:
    call = ToolCall(name="f", args={"nested": {"list": [1, None, "\u0000é"]}})

    async def odd(case: Case, trial: int) -> Attempt:
        return Attempt(case_id=case.id, trial=trial, output="nul \u0000 and 🦊", tool_calls=(call,))

    bench.create(cases(1))
    bench.work(Scripted(odd))
    assert bench.all()[0].output == "nul \u0000 and 🦊" and bench.all()[0].tool_calls == (call,)


def test_two_owners_never_hold_one_run(bench: Bench) -> None:
    bench.create(cases(1))
    first, second = new_owner(), new_owner()
    assert bench.runs.claim("r1", first, 60)
    assert not bench.runs.claim("r1", second, 60)
    assert bench.runs.beat("r1", first, 60).held
    assert not bench.runs.beat("r1", second, 60).held
    assert bench.runs.claim("r1", second, 60, taking_from=first)
    assert not bench.runs.beat("r1", first, 60).held


def test_a_run_whose_server_died_waits_again_and_one_that_was_to_stop_is_cancelled(bench: Bench) -> None:
    bench.create(cases(1))
    dead = new_owner()
    assert bench.runs.claim("r1", dead, 60)
    bench.runs.abandon("r1", "somebody else", RunStatus.QUEUED)
    assert bench.runs.get("r1").status is RunStatus.RUNNING
    bench.runs.abandon("r1", dead, RunStatus.QUEUED)
    assert bench.runs.get("r1").status is RunStatus.QUEUED
    assert bench.runs.claim("r1", dead, 60)
    assert bench.runs.request_cancel("r1").status is RunStatus.RUNNING
    bench.runs.abandon("r1", dead, RunStatus.QUEUED)
    assert bench.runs.get("r1").status is RunStatus.CANCELLED


def test_a_run_put_back_while_it_was_to_stop_is_cancelled(bench: Bench) -> None:
    bench.create(cases(1))
    owner = new_owner()
    assert bench.runs.claim("r1", owner, 60)
    bench.runs.request_cancel("r1")
    bench.runs.finish("r1", owner, RunStatus.QUEUED)
    assert bench.runs.get("r1").status is RunStatus.CANCELLED


def test_an_expired_lease_is_free(bench: Bench) -> None:
    bench.create(cases(1))
    assert bench.runs.claim("r1", new_owner(), -1)
    assert bench.runs.claim("r1", new_owner(), 60)
