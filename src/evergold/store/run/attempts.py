"""Attempts and measurements of runs: written in batches as they arrive, read in pages; steps of unfinished replays.

A batch and the run's running totals are one transaction, so that what a progress bar shows is what a crash would leave.
Each is written once: whoever comes second for the same key changes nothing. The steps of a trajectory are written before the
next step begins, and are gone once its attempt is stored.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from typing import Any, Literal, NamedTuple, Self

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Update,
    and_,
    case,
    delete,
    exists,
    func,
    or_,
    select,
    tuple_,
    update,
)

from evergold.model.case import Case
from evergold.model.run import (
    Attempt,
    AttemptOutcome,
    CaseReplay,
    Measurement,
    MeasurementState,
    MetricSpec,
    ReplayStep,
    Usage,
)
from evergold.store.database.db import Database
from evergold.store.database.rows import batches, dumps, insert_new, insert_rows, loads
from evergold.store.schema import attempt_steps, attempts, measurements, response_cache, run_cases, runs

Key = tuple[str, int]
AttemptOrder = Literal["case", "worst"]

_COLUMNS = (attempts.c.case_id, attempts.c.trial, attempts.c.body)
_KEY = (attempts.c.case_id, attempts.c.trial)
_measured_key = tuple_(measurements.c.case_id, measurements.c.trial)


def _worst_first(run_id: str) -> Select[Any]:
    """The lowest value stands beside its attempt; in SQL false comes before true."""
    of_attempt = (measurements.c.case_id, measurements.c.trial)
    failed = case((measurements.c.state == "error", 1), else_=0)
    lowest = (
        select(*of_attempt, func.min(measurements.c.value).label("value"), func.max(failed).label("failed"))
        .where(measurements.c.run_id == run_id)
        .group_by(*of_attempt)
        .subquery()
    )
    same = (lowest.c.case_id == attempts.c.case_id) & (lowest.c.trial == attempts.c.trial)
    # `IS NULL` as a sort key, because SQLite and PostgreSQL place NULLs at opposite ends.
    order = (
        attempts.c.error.is_(None),
        func.coalesce(lowest.c.failed, 0).desc(),
        lowest.c.value.is_(None),
        lowest.c.value,
        *_KEY,
    )
    return select(*_COLUMNS).outerjoin(lowest, same).order_by(*order)


def _read_measurements(connection: Connection, run_id: str, *which: ColumnElement[bool]) -> dict[Key, dict[str, Any]]:
    results: dict[Key, dict[str, Any]] = {}
    columns = [measurements.c[name] for name in ("case_id", "trial", "metric", "state", "value", "body")]
    rows = connection.execute(select(*columns).where(measurements.c.run_id == run_id, *which)).all()
    for case_id, trial, metric, state, value, body in rows:
        results.setdefault((case_id, trial), {})[metric] = {**orjson.loads(body), "state": state, "value": value}
    return results


def _attempt(row: Any, measured: dict[Key, dict[str, Any]]) -> Attempt:
    case_id, trial, body = row
    return Attempt.model_validate({**orjson.loads(body), "measurements": measured.get((case_id, trial), {})})


def _unmeasured_failures(connection: Connection, run_id: str) -> "list[Value]":
    """Attempts without an answer that no metric measured: those of runs from before failures counted."""
    same = and_(
        measurements.c.run_id == run_id,
        measurements.c.case_id == attempts.c.case_id,
        measurements.c.trial == attempts.c.trial,
    )
    failed = and_(attempts.c.run_id == run_id, attempts.c.error.is_not(None), ~exists().where(same))
    failures = [_attempt(row, {}) for row in connection.execute(select(*_COLUMNS).where(failed))]
    written = connection.scalar(select(runs.c.metrics).where(runs.c.id == run_id)) if failures else None
    specs = [MetricSpec.model_validate(spec) for spec in orjson.loads(written or "[]")]
    return [
        Value.of(attempt.case_id, attempt.trial, spec.name, spec.measure_failure(attempt))
        for attempt in failures
        for spec in specs
    ]


class StepRow(NamedTuple):
    """One step with the trajectory it belongs to; `number` counts from 0."""

    case_id: str
    trial: int
    number: int
    step: ReplayStep


_STEP_COLUMNS = ("run_id", "case_id", "trial", "number", "body")


class StepStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def steps(self, run_id: str, case_id: str, trial: int) -> list[ReplayStep]:
        """The kept steps of a trajectory, in order."""
        query = select(attempt_steps.c.body).where(_of_trajectory(run_id, case_id, trial))
        rows = self._db.rows(query.order_by(attempt_steps.c.number))
        return [ReplayStep.model_validate_json(row.body) for row in rows]

    def usage_so_far(self, run_id: str) -> Usage:
        """What the kept steps of a run took: the budget of a resumed run begins there."""
        rows = self._db.rows(select(attempt_steps.c.body).where(attempt_steps.c.run_id == run_id))
        steps = (ReplayStep.model_validate_json(row.body) for row in rows)
        return total_usage(usage for step in steps for usage in (step.usage, step.helper_usage))

    async def add(self, run_id: str, rows: Sequence[StepRow]) -> None:
        """Write steps in one transaction."""
        written = [(run_id, *row[:3], row.step.model_dump_json(exclude_defaults=True)) for row in rows]
        await self._db.write_async(partial(insert_rows, table=attempt_steps, columns=_STEP_COLUMNS, rows=written))


def _of_trajectory(run_id: str, case_id: str, trial: int) -> ColumnElement[bool]:
    table = attempt_steps.c
    return and_(table.run_id == run_id, table.case_id == case_id, table.trial == trial)


PAGE = 500
MOST_REASONS = 3
REPOSITORY = "repository"
CLUSTERS = ("session_id", "document", REPOSITORY)


class Scored(NamedTuple):
    """A measurement with the attempt it belongs to."""

    case_id: str
    trial: int
    metric: str
    measurement: Measurement


class Value(NamedTuple):
    """One measurement's value; None where it could not be made. `own`: the answer is its own reference."""

    case_id: str
    trial: int
    metric: str
    value: float | None
    applies: bool = True
    own: bool = False
    outcome: AttemptOutcome = AttemptOutcome.ANSWERED
    truncated: bool = False
    uncited: bool = False
    outside: bool = False

    @classmethod
    def of(cls, case_id: str, trial: int, metric: str, made: Measurement) -> Self:
        marks, applies = made.details, made.state is not MeasurementState.NOT_APPLICABLE
        outcome = AttemptOutcome(marks.get("attempt", AttemptOutcome.ANSWERED))
        own, *more = (bool(marks.get(name)) for name in ("self", "truncated", "uncited", "outside"))
        return cls(case_id, trial, metric, made.value, applies, own, outcome, *more)


class AttemptCost(NamedTuple):
    """What an attempt took and how it ended. What was not sent has no latency."""

    case_id: str
    outcome: AttemptOutcome
    truncated: bool
    cost: float | None
    latency_ms: float | None


class AttemptStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def cases(self, run_id: str) -> Iterator[Case]:
        """The cases of a run as they were when it began, in order, a page at a time."""
        last, position = -1, run_cases.c.position
        bodies = select(position, run_cases.c.body).where(run_cases.c.run_id == run_id).order_by(position).limit(PAGE)
        while rows := self._db.rows(bodies.where(position > last)):
            yield from (Case.model_validate_json(row.body) for row in rows)
            last = rows[-1].position

    def case(self, run_id: str, case_id: str) -> Case | None:
        wanted = select(run_cases.c.body).where(run_cases.c.run_id == run_id, run_cases.c.case_id == case_id)
        return next((Case.model_validate_json(row.body) for row in self._db.rows(wanted)), None)

    def finished_keys(self, run_id: str) -> set[Key]:
        """What needs no second call."""
        return {(row.case_id, row.trial) for row in self._db.rows(select(*_KEY).where(attempts.c.run_id == run_id))}

    async def record(self, run_id: str, batch: Sequence[Attempt], cache: Mapping[Key, str]) -> None:
        """Write attempts (and the replies to remember under their cache keys) and add them to the run's totals."""
        rows = [
            {
                "run_id": run_id,
                "case_id": attempt.case_id,
                "trial": attempt.trial,
                "error": attempt.error,
                "body": attempt.model_dump_json(exclude_defaults=True, exclude={"measurements"}),
            }
            for attempt in batch
        ]
        failed = sum(attempt.error is not None for attempt in batch)
        # A cached reply was paid for by the run that made the call.
        spent = total_usage(attempt.usage for attempt in batch if not attempt.cached)
        replayed = [(attempt.case_id, attempt.trial) for attempt in batch if "replay" in attempt.metadata]
        remembered = [
            {"key": cache[key], "body": row["body"]}
            for row, attempt in zip(rows, batch, strict=True)
            if (key := (attempt.case_id, attempt.trial)) in cache
        ]

        def work(connection: Connection) -> None:
            insert_new(connection, attempts, rows)
            # The steps of a replay let it go on after a crash; with its attempt stored, they are not needed.
            for key in replayed:
                connection.execute(delete(attempt_steps).where(_of_trajectory(run_id, *key)))
            insert_new(connection, response_cache, remembered)
            _add_totals(connection, run_id, {"done": len(rows), "failed": failed}, "usage", spent)

        await self._db.write_async(work)

    async def record_scores(
        self, run_id: str, batch: Sequence[Scored], attempts_done: int, replies: Mapping[str, str] | None = None
    ) -> None:
        """Write measurements, count the attempts that are now wholly measured, and add what the judge cost.

        `replies` are the judge's, to remember under their cache keys.
        """
        rows = [
            {
                "run_id": run_id,
                "case_id": scored.case_id,
                "trial": scored.trial,
                "metric": scored.metric,
                "state": scored.measurement.state.value,
                "value": scored.measurement.value,
                "body": scored.measurement.model_dump_json(exclude_defaults=True, exclude={"state", "value"}),
            }
            for scored in batch
        ]
        spent = total_usage(scored.measurement.usage for scored in batch)
        remembered = [{"key": key, "body": body} for key, body in (replies or {}).items()]

        def work(connection: Connection) -> None:
            insert_new(connection, measurements, rows)
            insert_new(connection, response_cache, remembered)
            _add_totals(connection, run_id, {"scored": attempts_done}, "judge_usage", spent)

        await self._db.write_async(work)

    def cached_replies(self, keys: Sequence[str]) -> dict[str, str]:
        """The replies of models and judges remembered under these keys, as JSON."""
        wanted = select(response_cache.c.key, response_cache.c.body).where(response_cache.c.key.in_(keys))
        return {row.key: row.body for row in self._db.rows(wanted)}

    def attempts(self, run_id: str, *, case_id: str | None = None) -> Iterator[Attempt]:
        """Attempts with their measurements, by case and trial, some hundreds in memory at a time."""
        last: Key = ("", -1)
        chosen = [attempts.c.run_id == run_id] + ([attempts.c.case_id == case_id] if case_id is not None else [])
        while True:
            # By key and not by OFFSET: the primary key is read on from where the last page ended, however far that is.
            page = select(*_COLUMNS).where(*chosen, tuple_(*_KEY) > last).order_by(*_KEY).limit(PAGE)
            with self._db.read() as connection:
                rows = connection.execute(page).all()
                if not rows:
                    return
                end = (rows[-1].case_id, rows[-1].trial)
                measured = _read_measurements(connection, run_id, _measured_key > last, _measured_key <= end)
            yield from (_attempt(row, measured) for row in rows)
            last = end

    def page(self, run_id: str, order: AttemptOrder, limit: int, offset: int) -> list[Attempt]:
        """One page of a run's attempts with their measurements, by case and trial or the worst first.

        Failed calls come before failed measurements, then the lowest value of any metric, and what has no value last.
        """
        query = _worst_first(run_id) if order == "worst" else select(*_COLUMNS).order_by(*_KEY)
        with self._db.read() as connection:
            rows = connection.execute(query.where(attempts.c.run_id == run_id).limit(limit).offset(offset)).all()
            keys = [(row.case_id, row.trial) for row in rows]
            measured = _read_measurements(connection, run_id, _measured_key.in_(keys))
        return [_attempt(row, measured) for row in rows]

    def of_cases(self, run_id: str, case_ids: Sequence[str]) -> list[Attempt]:
        """Every attempt at these cases with its measurements, by case and trial."""
        results: list[Attempt] = []
        with self._db.read() as connection:
            for some in batches(case_ids):
                chosen = and_(attempts.c.run_id == run_id, attempts.c.case_id.in_(some))
                measured = _read_measurements(connection, run_id, measurements.c.case_id.in_(some))
                rows = connection.execute(select(*_COLUMNS).where(chosen).order_by(*_KEY))
                results += [_attempt(row, measured) for row in rows]
        return results

    def cached_count(self, run_id: str) -> int:
        """How many answers came from the response cache."""
        # The body is JSON without blanks, and defaults are left out, so the text is there exactly when it is true.
        hits = and_(attempts.c.run_id == run_id, attempts.c.body.contains('"cached":true'))
        return int(self._db.rows(select(func.count()).select_from(attempts).where(hits))[0][0])

    def cached_judgements(self, run_id: str) -> int:
        """How many replies of the judge came from the response cache."""
        hits = and_(measurements.c.run_id == run_id, measurements.c.body.contains('"judge_cached":'))
        rows = self._db.rows(select(measurements.c.body).where(hits))
        return sum(orjson.loads(row.body)["details"].get("judge_cached", 0) for row in rows)

    def values(self, run_id: str) -> list[Value]:
        """Every measurement of a run without its details: what comparing thousands of cases needs."""
        with self._db.read() as connection:
            measured = _read_measurements(connection, run_id)
            results = [
                Value.of(*key, metric, Measurement.model_validate(made))
                for key, by_metric in measured.items()
                for metric, made in by_metric.items()
            ]
            return results + _unmeasured_failures(connection, run_id)

    def reasons(self, run_id: str, metric: str) -> list[str]:
        """The commonest reasons why a metric of a run has no value, with how often."""
        without = and_(measurements.c.metric == metric, measurements.c.value.is_(None))
        wanted = select(measurements.c.body).where(measurements.c.run_id == run_id, without)
        reasons = Counter(orjson.loads(row.body).get("reason") for row in self._db.rows(wanted))
        return [
            f"{reason or 'no reason given'} ({count} of {reasons.total()})"
            for reason, count in reasons.most_common(MOST_REASONS)
        ]

    def read_costs(self, run_id: str) -> list[AttemptCost]:
        """What each attempt of a run took, without its answer."""
        made = [_attempt(row, {}) for row in self._db.rows(select(*_COLUMNS).where(attempts.c.run_id == run_id))]
        # A recorded answer was not asked for: how long reading it took says nothing.
        took = [one.latency_ms if one.sends else None for one in made]
        return [
            AttemptCost(one.case_id, one.outcome, one.is_truncated, one.usage.cost, latency)
            for one, latency in zip(made, took, strict=True)
        ]

    def clusters(self, run_id: str) -> dict[str, str]:
        """Case → the session, document or repository it shares with others, where it has one.

        A run on one repository alone is about that repository: its cases are then the sample, not one cluster.
        """
        named = or_(*(run_cases.c.body.contains(f'"{name}":"') for name in CLUSTERS))
        # A search for the key in the text leaves most bodies unread.
        wanted = select(run_cases.c.case_id, run_cases.c.body).where(run_cases.c.run_id == run_id, named)
        results: dict[str, tuple[str, str]] = {}
        for row in self._db.rows(wanted):
            origin = orjson.loads(row.body).get("provenance") or {}
            if kind := next((kind for kind in CLUSTERS if origin.get(kind)), None):
                results[row.case_id] = kind, str(origin[kind])
        repositories = {name for kind, name in results.values() if kind == REPOSITORY}
        left_out = REPOSITORY if len(repositories) == 1 else None
        return {case_id: name for case_id, (kind, name) in results.items() if kind != left_out}

    def unmeasured_attempts(self, run_id: str, metrics: Sequence[str]) -> Iterator[tuple[Case, Attempt]]:
        """Attempts that lack one of `metrics`, each with its case."""
        some = select(run_cases.c.body).where(run_cases.c.run_id == run_id).order_by(run_cases.c.case_id).limit(PAGE)
        cases: dict[str, Case] = {}
        for attempt in self.attempts(run_id):
            if not set(metrics) <= set(attempt.measurements):
                # Attempts and cases come in the same order, so one page of cases serves many attempts.
                if attempt.case_id not in cases:
                    rows = self._db.rows(some.where(run_cases.c.case_id >= attempt.case_id))
                    cases = {case.id: case for case in (Case.model_validate_json(row.body) for row in rows)}
                yield cases[attempt.case_id], attempt

    def recount(self, run_id: str) -> None:
        """Make the run's totals what the rows say; after a crash or a takeover they may differ."""
        made = select(func.count()).select_from(attempts).where(attempts.c.run_id == run_id)
        measured = select(measurements.c.case_id, measurements.c.trial).where(measurements.c.run_id == run_id)
        counts = {
            "done": made,
            "failed": made.where(attempts.c.error.is_not(None)),
            # An attempt counts once, however many metrics it has.
            "scored": select(func.count()).select_from(measured.distinct().subquery()),
        }
        values = {name: query.scalar_subquery() for name, query in counts.items()}
        self._db.write(lambda connection: connection.execute(_of_run(run_id).values(**values)))

    def why_nothing_succeeded(self, run_id: str) -> str | None:
        """Say why a run has no successful attempt, with its commonest error; None where one succeeded or none was made."""
        error, number = attempts.c.error, func.count().label("times")
        query = select(error, number).where(attempts.c.run_id == run_id).group_by(error)
        times = {row.error: row.times for row in self._db.rows(query.order_by(number.desc(), error))}
        if not times or None in times:
            return None
        reason, most = next(iter(times.items()))
        mend = f"mend that, then `evergold runs retry {run_id}`"
        return f"no attempt succeeded: {reason} ({most} of {sum(times.values())}); {mend}"

    def forget_scores(self, run_id: str, metrics: Sequence[str]) -> None:
        """Make these metrics be measured again; the answers stay."""

        def work(connection: Connection) -> None:
            dropped = and_(measurements.c.run_id == run_id, measurements.c.metric.in_(metrics))
            connection.execute(delete(measurements).where(dropped))
            connection.execute(_of_run(run_id).values(scored=0))

        self._db.write(work)

    def error_keys(self, run_id: str) -> set[Key]:
        """The attempts that got no reply."""
        query = select(*_COLUMNS).where(attempts.c.run_id == run_id, attempts.c.error.is_not(None))
        failures = (_attempt(row, {}) for row in self._db.rows(query))
        return {(one.case_id, one.trial) for one in failures if one.outcome is AttemptOutcome.ERROR}

    def forget(self, run_id: str, keys: Sequence[Key]) -> int:
        """Make these calls be sent again, with what was measured of them. Gives how many there were."""

        def work(connection: Connection) -> int:
            gone = 0
            for some in batches(keys):
                for table in (attempts, measurements):
                    of_some = and_(table.c.run_id == run_id, tuple_(table.c.case_id, table.c.trial).in_(some))
                    removed = connection.execute(delete(table).where(of_some)).rowcount
                    gone += removed if table is attempts else 0
            # Relative to the column: the worker of the run may be adding to it at the same time.
            left = {"done": runs.c.done - gone, "failed": runs.c.failed - gone}
            connection.execute(_of_run(run_id).values(**left))
            return gone

        return self._db.write(work)


def total_usage(usages: Iterable[Usage]) -> Usage:
    """Add usages up."""
    return reduce(Usage.plus, usages, Usage())


def _add_totals(connection: Connection, run_id: str, counts: dict[str, int], column: str, spent: Usage) -> None:
    added = {name: runs.c[name] + more for name, more in counts.items()}
    connection.execute(_of_run(run_id).values(added))
    if spent != Usage():
        # Read and written in one transaction of the only writer; the sum of costs has rules that SQL does not know.
        held = connection.execute(select(runs.c[column]).where(runs.c.id == run_id)).scalar_one()
        total = Usage.model_validate(loads(held)).plus(spent)
        connection.execute(_of_run(run_id).values({column: dumps(total.model_dump(mode="json"))}))


def _of_run(run_id: str) -> Update:
    return update(runs).where(runs.c.id == run_id)


METRIC = "trajectory"
TURN_MARK = "#turn-"
MOST_RUNS = 50


def replays_in_dataset(db: Database, dataset: str, case_id: str) -> list[CaseReplay]:
    """Read the replays of a case by the newest runs of its dataset, any version of it."""
    versions = runs.c.dataset.startswith(f"{dataset}@", autoescape=True)
    # Specs are JSON without blanks; a run that replays nothing has null there.
    played = and_(runs.c.spec.contains('"replay":{'), or_(runs.c.dataset == dataset, versions))
    newest = select(runs.c.id).where(played).order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(MOST_RUNS)
    return replays_in_runs(db, [row.id for row in db.rows(newest)], case_id)


def replays_in_runs(db: Database, run_ids: list[str], case_id: str) -> list[CaseReplay]:
    """Read the replays of a case, and of each turn of it, by these runs; newest run first."""
    key = attempts.c.case_id
    of_case = or_(key == case_id, key.startswith(case_id + TURN_MARK, autoescape=True))
    same = and_(
        measurements.c.run_id == attempts.c.run_id,
        measurements.c.case_id == key,
        measurements.c.trial == attempts.c.trial,
        measurements.c.metric == METRIC,
    )
    wanted = (
        select(attempts.c.run_id, key, attempts.c.trial, runs.c.model, runs.c.created_at, measurements.c.value)
        .join(runs, runs.c.id == attempts.c.run_id)
        .outerjoin(measurements, same)
        .where(attempts.c.run_id.in_(run_ids), of_case, attempts.c.body.contains('"replay":{'))
        .order_by(runs.c.created_at.desc(), attempts.c.run_id.desc(), key, attempts.c.trial)
    )
    return [CaseReplay.model_validate(dict(row._mapping)) for row in db.rows(wanted)]
