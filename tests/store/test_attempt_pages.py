"""The attempts of a run, all of them in turn or a page in an order."""

import asyncio
from datetime import UTC, datetime

from evergold.model.run import Attempt, Measurement, Run, RunSpec
from evergold.store import Store
from evergold.store.run.attempts import AttemptStore, Scored
from evergold.store.run.runs import RunStore
from tests.builders import a_case

MEASURED = {
    "perfect": [Measurement.of(1.0), Measurement.of(1.0)],
    "one low value": [Measurement.of(1.0), Measurement.of(0.1)],
    "half": [Measurement.of(0.5)],
    "beyond judging": [Measurement.unscored("no reference"), Measurement.error("no reply")],
    "out of scope": [Measurement.not_applicable("no reference"), Measurement.unscored("no contexts")],
    "also half": [Measurement.of(0.5), Measurement.unscored("no reference")],
}


def a_measured_run(store: Store) -> AttemptStore:
    spec = RunSpec(dataset="d", model="recorded", metrics=("first", "second"))
    names = [*MEASURED, "broken"]
    RunStore(store.db).create(Run(id="r", spec=spec, created_at=datetime.now(UTC)), [a_case(id=name) for name in names])
    attempts = AttemptStore(store.db)
    made = [Attempt(case_id=name, error="timed out" if name == "broken" else None) for name in names]
    scored = [
        Scored(name, 0, metric, measurement)
        for name, found in MEASURED.items()
        for metric, measurement in zip(spec.metrics, found, strict=False)
    ]

    async def record() -> None:
        await attempts.record("r", made, {})
        await attempts.record_scores("r", scored, len(MEASURED))

    asyncio.run(record())
    return attempts


def test_the_worst_of_all_come_first_whatever_the_size_of_a_page(store: Store) -> None:
    attempts = a_measured_run(store)
    worst = ["broken", "beyond judging", "one low value", "also half", "half", "perfect", "out of scope"]
    assert [attempt.case_id for attempt in attempts.page("r", "worst", 10, 0)] == worst
    pages = [attempts.page("r", "worst", 2, offset) for offset in (0, 2, 4, 6)]
    assert [[attempt.case_id for attempt in page] for page in pages] == [worst[:2], worst[2:4], worst[4:6], worst[6:]]


def test_a_page_holds_what_all_attempts_hold(store: Store) -> None:
    attempts = a_measured_run(store)
    every = list(attempts.attempts("r"))
    assert [attempt.case_id for attempt in every] == sorted([*MEASURED, "broken"])
    assert attempts.page("r", "case", 3, 2) == every[2:5]
    assert sorted(attempts.page("r", "worst", 10, 0), key=lambda attempt: attempt.case_id) == every
    assert list(attempts.attempts("r", case_id="half")) == [attempt for attempt in every if attempt.case_id == "half"]
