"""Runs and their leases, attempts and measurements, on both databases."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from evergold.errors import Conflict, NotFound
from evergold.model.case import Provenance
from evergold.model.run import Measurement, ReplayStep, Run, RunSpec, RunStatus, Usage
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore, Scored, StepRow, StepStore, total_usage
from evergold.store.run.runs import MOST_CHARACTERS, CalibrationStore, RunStore, read_questions
from tests.builders import a_case, an_attempt
from tests.rows import each_row


def a_run(id: str = "r1", **spec: Any) -> Run:
    wanted = {"dataset": "live", "model": "m", "metrics": ("length",), **spec}
    return Run(id=id, spec=RunSpec(**wanted), created_at=datetime(2026, 1, 1, tzinfo=UTC))


def test_one_worker_holds_a_run_until_its_lease_or_its_work_ends(store: Store) -> None:
    runs = RunStore(store.db)
    assert runs.create(a_run(trials=2), [a_case("c1"), a_case("c2")]).total == 4
    assert runs.claim("r1", "one", 60) == 1 and runs.claim("r1", "two", 60) == 0
    assert runs.claim("r1", "two", 60, taking_from="one") == 2, "taken again without progress"
    assert not runs.beat("r1", "one", 60).held and runs.beat("r1", "two", 60).held
    with pytest.raises(Conflict, match="is running; cancel it first"):
        runs.delete("r1")
    with pytest.raises(Conflict, match="is running or does not exist"):
        runs.requeue("r1")
    assert runs.claim("r1", "two", -1, taking_from="two") == 3, "a lease that is over at once"
    assert runs.claim("r1", "three", 60) == 4
    runs.finish("r1", "two", RunStatus.COMPLETED)
    assert runs.get("r1").status is RunStatus.RUNNING, "only who holds it ends it"
    runs.finish("r1", "three", RunStatus.COMPLETED)
    ended = runs.get("r1")
    assert ended.status is RunStatus.COMPLETED and ended.ended_at is not None and runs.claim("r1", "four", 60) == 0
    assert runs.requeue("r1", a_run(model="n").spec).spec.model == "n" and runs.claim("r1", "four", 60) == 1
    runs.abandon("r1", "four", RunStatus.FAILED, "its process died")
    assert runs.get("r1").error == "its process died"
    runs.delete("r1")
    with pytest.raises(NotFound, match="no run 'r1'"):
        runs.get("r1")
    with pytest.raises(NotFound):
        runs.delete("r1")


def test_a_stop_that_was_asked_for_is_never_forgotten(store: Store) -> None:
    runs = RunStore(store.db)
    for name in ("queued", "held", "put back", "dead"):
        runs.create(a_run(name), [a_case()])
    assert runs.request_cancel("queued").status is RunStatus.CANCELLED
    for name in ("held", "put back", "dead"):
        runs.claim(name, "one", 60)
        assert runs.request_cancel(name).status is RunStatus.RUNNING and runs.beat(name, "one", 60).cancel
    runs.finish("held", "one", RunStatus.CANCELLED)
    runs.finish("put back", "one", RunStatus.QUEUED)
    runs.abandon("dead", "one", RunStatus.QUEUED)
    assert {runs.get(name).status for name in ("held", "put back", "dead")} == {RunStatus.CANCELLED}
    assert runs.claimable() == []
    page, total = runs.page(status="cancelled", limit=2)
    assert total == 4 and len(page) == 2 and runs.page(model="other")[1] == 0


def scored(case_id: str, value: float | None, **more: Any) -> Scored:
    made = Measurement.of(value, **more) if value is not None else Measurement.unscored("no judge")
    return Scored(case_id, 0, "length", made.model_copy(update={"usage": Usage(input_tokens=1, cost=0.5)}))


def test_attempts_are_written_once_and_counted(store: Store) -> None:
    runs, attempts = RunStore(store.db), AttemptStore(store.db)
    origin = Provenance(session_id="s1")
    runs.create(a_run(), [a_case("c1", provenance=origin), a_case("c2", provenance=origin), a_case("c3")])
    good = an_attempt(case_id="c1", usage=Usage(input_tokens=5, cost=1.0))
    bad = an_attempt("", case_id="c2", error="no", error_class="server")
    cached = an_attempt(case_id="c3", cached=True, usage=Usage(input_tokens=9))

    async def write() -> None:
        await attempts.record("r1", [good, bad], {("c1", 0): "key"})
        await attempts.record("r1", [cached], {})
        await attempts.record_scores("r1", [scored("c1", 0.5, self=True), scored("c3", None)], 2)

    asyncio.run(write())
    assert attempts.finished_keys("r1") == {("c1", 0), ("c2", 0), ("c3", 0)} and attempts.cached_count("r1") == 1
    assert [case.id for case in attempts.cases("r1")] == ["c1", "c2", "c3"] and attempts.case("r1", "c9") is None
    assert '"output":"Lima."' in attempts.cached_replies(["key", "other"])["key"]
    run = runs.get("r1")
    assert (run.done, run.failed, run.scored, run.usage.cost) == (3, 1, 2, 1.0), "what came from the cache cost nothing"
    assert run.judge_usage.cost == 1.0
    values = {value.case_id: (value.value, value.own) for value in attempts.values("r1")}
    assert values == {"c1": (0.5, True), "c3": (None, False)}, "the run has no specs, so its failure has no worst value"
    assert attempts.clusters("r1") == {"c1": "s1", "c2": "s1"}
    assert [attempt.case_id for _, attempt in attempts.unmeasured_attempts("r1", ["length", "other"])] == [
        "c1",
        "c2",
        "c3",
    ]
    assert [attempt.case_id for attempt in attempts.page("r1", "worst", 10, 0)] == ["c2", "c1", "c3"]
    assert attempts.why_nothing_succeeded("r1") is None
    assert attempts.error_keys("r1") == {("c2", 0)}
    assert attempts.forget("r1", [("c2", 0)]) == 1 and runs.get("r1").done == 2
    attempts.forget_scores("r1", ["length"])
    attempts.recount("r1")
    assert (runs.get("r1").done, runs.get("r1").scored) == (2, 0)


def test_a_run_in_which_nothing_succeeded_says_why(store: Store) -> None:
    RunStore(store.db).create(a_run(), [a_case(name) for name in "abc"])
    attempts = AttemptStore(store.db)
    assert attempts.why_nothing_succeeded("r1") is None
    failed = [an_attempt("", case_id=name, error=why) for name, why in (("a", "busy"), ("b", "gone"), ("c", "gone"))]
    asyncio.run(attempts.record("r1", failed, {}))
    why = "no attempt succeeded: gone (2 of 3); mend that, then `evergold runs retry r1`"
    assert attempts.why_nothing_succeeded("r1") == why
    shown = read_questions(store.db, "r1", ["a", "a", "z"])
    assert shown["a"].question == "What is the capital of Peru?" and set(shown) == {"a"}


def test_steps_of_a_replay_are_kept_until_its_attempt_is_stored(store: Store) -> None:
    RunStore(store.db).create(a_run(), [a_case("c1", input="x " * MOST_CHARACTERS)])
    steps, step = StepStore(store.db), ReplayStep(messages=({"role": "user"},), usage=Usage(input_tokens=2, cost=0.5))

    async def write() -> None:
        await steps.add("r1", [StepRow("c1", 0, number, step) for number in (1, 0)])

    asyncio.run(write())
    assert len(steps.steps("r1", "c1", 0)) == 2
    assert steps.usage_so_far("r1") == Usage(input_tokens=4, cost=1.0)
    asyncio.run(AttemptStore(store.db).record("r1", [an_attempt(case_id="c1", metadata={"replay": {}})], {}))
    assert steps.steps("r1", "c1", 0) == []
    assert len(read_questions(store.db, "r1", ["c1"])["c1"].question) == MOST_CHARACTERS


def test_the_newest_calibration_counts(store: Store) -> None:
    calibrations = CalibrationStore(store.db)
    for body in ("old", "new"):
        calibrations.add("offline", "faithfulness", None, body)
    calibrations.add("openai/m", "faithfulness", "h", "other")
    assert {row.body for row in calibrations.list_newest()} == {"new", "other"}
    assert [row.body for row in calibrations.of_metric("faithfulness")] == ["other", "new", "old"]
    assert calibrations.of_metric("none") == []


@each_row(
    ("usages", "cost"),
    [
        ([], None),
        ([Usage(cost=1.0), Usage(cost=0.5)], 1.5),
        ([Usage(input_tokens=5), Usage(cost=0.5)], None),
        ([Usage(), Usage(cost=0.5)], 0.5),
    ],
)
def test_a_total_is_what_adding_one_by_one_gives(usages: list[Usage], cost: float | None) -> None:
    total = Usage()
    for usage in usages:
        total = total.plus(usage)
    assert total_usage(usages) == total and total.cost == cost
