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
from sqlalchemy import Connection

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
from evergold.store.database.rows import batches, dumps, insert_rows, loads, read_value, run_sql
from evergold.store.schema import attempt_steps, attempts, measurements, response_cache

Key = tuple[str, int]
AttemptOrder = Literal["case", "worst"]

_ATTEMPTS = "SELECT a.case_id, a.trial, a.body FROM attempts a"
_BY_KEY = "ORDER BY a.case_id, a.trial"
_OF_CASES = "run_id = :run AND case_id IN :cases"
# The lowest value stands beside its attempt; false comes before true. `IS NULL` as a sort key, because SQLite and PostgreSQL
# place NULLs at opposite ends.
_WORST_FIRST = f"""{_ATTEMPTS} LEFT JOIN (SELECT case_id, trial, min(value) AS value,
      max(CASE WHEN state = 'error' THEN 1 ELSE 0 END) AS failed FROM measurements WHERE run_id = :run GROUP BY case_id, trial
    ) AS lowest ON lowest.case_id = a.case_id AND lowest.trial = a.trial WHERE a.run_id = :run
    ORDER BY a.error IS NULL, coalesce(lowest.failed, 0) DESC, lowest.value IS NULL, lowest.value, a.case_id, a.trial"""


def _read_measurements(connection: Connection, which: str, **values: Any) -> dict[Key, dict[str, Any]]:
    results: dict[Key, dict[str, Any]] = {}
    query = f"SELECT case_id, trial, metric, state, value, body FROM measurements WHERE {which}"
    for case_id, trial, metric, state, value, body in run_sql(connection, query, **values):
        results.setdefault((case_id, trial), {})[metric] = {**orjson.loads(body), "state": state, "value": value}
    return results


def _attempt(row: Any, measured: dict[Key, dict[str, Any]]) -> Attempt:
    case_id, trial, body = row
    return Attempt.model_validate({**orjson.loads(body), "measurements": measured.get((case_id, trial), {})})


def _unmeasured_failures(connection: Connection, run_id: str) -> "list[Value]":
    """Attempts without an answer that no metric measured: those of runs from before failures counted."""
    failed = f"""{_ATTEMPTS} WHERE a.run_id = :run AND a.error IS NOT NULL AND NOT EXISTS (SELECT 1 FROM measurements m
        WHERE m.run_id = a.run_id AND m.case_id = a.case_id AND m.trial = a.trial)"""
    failures = [_attempt(row, {}) for row in run_sql(connection, failed, run=run_id)]
    query = "SELECT metrics FROM runs WHERE id = :run"
    written = read_value(connection, query, run=run_id) if failures else None
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
_TRAJECTORY = "run_id = :run AND case_id = :case AND trial = :trial"


class StepStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def steps(self, run_id: str, case_id: str, trial: int) -> list[ReplayStep]:
        """The kept steps of a trajectory, in order."""
        query = f"SELECT body FROM attempt_steps WHERE {_TRAJECTORY} ORDER BY number"
        rows = self._db.rows(query, run=run_id, case=case_id, trial=trial)
        return [ReplayStep.model_validate_json(row.body) for row in rows]

    def usage_so_far(self, run_id: str) -> Usage:
        """What the kept steps of a run took: the budget of a resumed run begins there."""
        rows = self._db.rows("SELECT body FROM attempt_steps WHERE run_id = :run", run=run_id)
        steps = (ReplayStep.model_validate_json(row.body) for row in rows)
        return total_usage(usage for step in steps for usage in (step.usage, step.helper_usage))

    async def add(self, run_id: str, rows: Sequence[StepRow]) -> None:
        """Write steps in one transaction."""
        written = [(run_id, *row[:3], row.step.model_dump_json(exclude_defaults=True)) for row in rows]
        await self._db.write_async(partial(insert_rows, table=attempt_steps, columns=_STEP_COLUMNS, rows=written))


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
        last = -1
        bodies = f"""SELECT position, body FROM run_cases WHERE run_id = :run AND position > :last
            ORDER BY position LIMIT {PAGE}"""
        while rows := self._db.rows(bodies, run=run_id, last=last):
            yield from (Case.model_validate_json(row.body) for row in rows)
            last = rows[-1].position

    def case(self, run_id: str, case_id: str) -> Case | None:
        wanted = "SELECT body FROM run_cases WHERE run_id = :run AND case_id = :case"
        return next(
            (Case.model_validate_json(row.body) for row in self._db.rows(wanted, run=run_id, case=case_id)), None
        )

    def finished_keys(self, run_id: str) -> set[Key]:
        """What needs no second call."""
        rows = self._db.rows("SELECT case_id, trial FROM attempts WHERE run_id = :run", run=run_id)
        return {(row.case_id, row.trial) for row in rows}

    async def record(self, run_id: str, batch: Sequence[Attempt], cache: Mapping[Key, str]) -> None:
        """Write attempts (and the replies to remember under their cache keys) and add them to the run's totals."""
        bodies = [one.model_dump_json(exclude_defaults=True, exclude={"measurements"}) for one in batch]
        keys = [(one.case_id, one.trial) for one in batch]
        rows = [(run_id, *key, one.error, body) for key, one, body in zip(keys, batch, bodies, strict=True)]
        failed = sum(attempt.error is not None for attempt in batch)
        # A cached reply was paid for by the run that made the call.
        spent = total_usage(attempt.usage for attempt in batch if not attempt.cached)
        replayed = [key for key, one in zip(keys, batch, strict=True) if "replay" in one.metadata]
        remembered = [(cache[key], body) for key, body in zip(keys, bodies, strict=True) if key in cache]

        def work(connection: Connection) -> None:
            insert_rows(connection, attempts, ("run_id", "case_id", "trial", "error", "body"), rows, new_only=True)
            # The steps of a replay let it go on after a crash; with its attempt stored, they are not needed.
            for case_id, trial in replayed:
                gone = f"DELETE FROM attempt_steps WHERE {_TRAJECTORY}"
                run_sql(connection, gone, run=run_id, case=case_id, trial=trial)
            insert_rows(connection, response_cache, ("key", "body"), remembered, new_only=True)
            _add_totals(connection, run_id, {"done": len(rows), "failed": failed}, "usage", spent)

        await self._db.write_async(work)

    async def record_scores(
        self, run_id: str, batch: Sequence[Scored], attempts_done: int, replies: Mapping[str, str] | None = None
    ) -> None:
        """Write measurements, count the attempts that are now wholly measured, and add what the judge cost.

        `replies` are the judge's, to remember under their cache keys.
        """
        rows = []
        for *key, made in batch:
            body = made.model_dump_json(exclude_defaults=True, exclude={"state", "value"})
            rows.append((run_id, *key, made.state.value, made.value, body))
        spent = total_usage(scored.measurement.usage for scored in batch)
        columns = ("run_id", "case_id", "trial", "metric", "state", "value", "body")

        def work(connection: Connection) -> None:
            insert_rows(connection, measurements, columns, rows, new_only=True)
            insert_rows(connection, response_cache, ("key", "body"), list((replies or {}).items()), new_only=True)
            _add_totals(connection, run_id, {"scored": attempts_done}, "judge_usage", spent)

        await self._db.write_async(work)

    def cached_replies(self, keys: Sequence[str]) -> dict[str, str]:
        """The replies of models and judges remembered under these keys, as JSON."""
        rows = self._db.rows("SELECT key, body FROM response_cache WHERE key IN :keys", keys=tuple(keys))
        return {row.key: row.body for row in rows}

    def attempts(self, run_id: str, *, case_id: str | None = None) -> Iterator[Attempt]:
        """Attempts with their measurements, by case and trial, some hundreds in memory at a time."""
        # By key and not by OFFSET: the primary key is read on from where the last page ended, however far that is.
        part = "run_id = :run AND (case_id, trial) > (:case, :trial)"
        chosen = "AND case_id = :only" if case_id is not None else ""
        page = f"{_ATTEMPTS} WHERE {part} {chosen} {_BY_KEY} LIMIT {PAGE}"
        reached: dict[str, Any] = {"run": run_id, "case": "", "trial": -1, "only": case_id}
        while True:
            with self._db.read() as connection:
                rows = run_sql(connection, page, **reached).all()
                if not rows:
                    return
                last = {"last_case": rows[-1].case_id, "last_trial": rows[-1].trial}
                upto = f"{part} AND (case_id, trial) <= (:last_case, :last_trial)"
                measured = _read_measurements(connection, upto, **reached, **last)
            yield from (_attempt(row, measured) for row in rows)
            reached |= {"case": last["last_case"], "trial": last["last_trial"]}

    def page(self, run_id: str, order: AttemptOrder, limit: int, offset: int) -> list[Attempt]:
        """One page of a run's attempts with their measurements, by case and trial or the worst first.

        Failed calls come before failed measurements, then the lowest value of any metric, and what has no value last.
        """
        query = _WORST_FIRST if order == "worst" else f"{_ATTEMPTS} WHERE a.run_id = :run {_BY_KEY}"
        with self._db.read() as connection:
            paged = f"{query} LIMIT :limit OFFSET :offset"
            rows = run_sql(connection, paged, run=run_id, limit=limit, offset=offset).all()
            measured = _read_measurements(connection, _OF_CASES, run=run_id, cases=tuple(row.case_id for row in rows))
        return [_attempt(row, measured) for row in rows]

    def of_cases(self, run_id: str, case_ids: Sequence[str]) -> list[Attempt]:
        """Every attempt at these cases with its measurements, by case and trial."""
        results: list[Attempt] = []
        with self._db.read() as connection:
            for some in map(tuple, batches(case_ids)):
                measured = _read_measurements(connection, _OF_CASES, run=run_id, cases=some)
                rows = run_sql(connection, f"{_ATTEMPTS} WHERE {_OF_CASES} {_BY_KEY}", run=run_id, cases=some)
                results += [_attempt(row, measured) for row in rows]
        return results

    def cached_count(self, run_id: str) -> int:
        """How many answers came from the response cache."""
        # The body is JSON without blanks, and defaults are left out, so the text is there exactly when it is true.
        hits = "SELECT count(*) FROM attempts WHERE run_id = :run AND body LIKE :marked"
        return int(self._db.rows(hits, run=run_id, marked='%"cached":true%')[0][0])

    def cached_judgements(self, run_id: str) -> int:
        """How many replies of the judge came from the response cache."""
        hits = "SELECT body FROM measurements WHERE run_id = :run AND body LIKE :marked"
        rows = self._db.rows(hits, run=run_id, marked='%"judge_cached":%')
        return sum(orjson.loads(row.body)["details"].get("judge_cached", 0) for row in rows)

    def values(self, run_id: str) -> list[Value]:
        """Every measurement of a run without its details: what comparing thousands of cases needs."""
        with self._db.read() as connection:
            measured = _read_measurements(connection, "run_id = :run", run=run_id)
            results = [
                Value.of(*key, metric, Measurement.model_validate(made))
                for key, by_metric in measured.items()
                for metric, made in by_metric.items()
            ]
            return results + _unmeasured_failures(connection, run_id)

    def reasons(self, run_id: str, metric: str) -> list[str]:
        """The commonest reasons why a metric of a run has no value, with how often."""
        without = "SELECT body FROM measurements WHERE run_id = :run AND metric = :metric AND value IS NULL"
        rows = self._db.rows(without, run=run_id, metric=metric)
        reasons = Counter(orjson.loads(row.body).get("reason") for row in rows)
        return [
            f"{reason or 'no reason given'} ({count} of {reasons.total()})"
            for reason, count in reasons.most_common(MOST_REASONS)
        ]

    def read_costs(self, run_id: str) -> list[AttemptCost]:
        """What each attempt of a run took, without its answer."""
        made = [_attempt(row, {}) for row in self._db.rows(f"{_ATTEMPTS} WHERE a.run_id = :run", run=run_id)]
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
        # A search for the key in the text leaves most bodies unread.
        named = " OR ".join(f"body LIKE :{name}" for name in CLUSTERS)
        wanted = f"SELECT case_id, body FROM run_cases WHERE run_id = :run AND ({named})"
        results: dict[str, tuple[str, str]] = {}
        for row in self._db.rows(wanted, run=run_id, **{name: f'%"{name}":"%' for name in CLUSTERS}):
            origin = orjson.loads(row.body).get("provenance") or {}
            if kind := next((kind for kind in CLUSTERS if origin.get(kind)), None):
                results[row.case_id] = kind, str(origin[kind])
        repositories = {name for kind, name in results.values() if kind == REPOSITORY}
        left_out = REPOSITORY if len(repositories) == 1 else None
        return {case_id: name for case_id, (kind, name) in results.items() if kind != left_out}

    def unmeasured_attempts(self, run_id: str, metrics: Sequence[str]) -> Iterator[tuple[Case, Attempt]]:
        """Attempts that lack one of `metrics`, each with its case."""
        some = f"SELECT body FROM run_cases WHERE run_id = :run AND case_id >= :case ORDER BY case_id LIMIT {PAGE}"
        cases: dict[str, Case] = {}
        for attempt in self.attempts(run_id):
            if not set(metrics) <= set(attempt.measurements):
                # Attempts and cases come in the same order, so one page of cases serves many attempts.
                if attempt.case_id not in cases:
                    rows = self._db.rows(some, run=run_id, case=attempt.case_id)
                    cases = {case.id: case for case in (Case.model_validate_json(row.body) for row in rows)}
                yield cases[attempt.case_id], attempt

    def recount(self, run_id: str) -> None:
        """Make the run's totals what the rows say; after a crash or a takeover they may differ."""
        made = "SELECT count(*) FROM attempts WHERE run_id = :run"
        # An attempt counts once, however many metrics it has.
        measured = "SELECT count(*) FROM (SELECT DISTINCT case_id, trial FROM measurements WHERE run_id = :run) AS m"
        change = f"""UPDATE runs SET done = ({made}), failed = ({made} AND error IS NOT NULL), scored = ({measured})
            WHERE id = :run"""
        self._db.write(partial(run_sql, statement=change, run=run_id))

    def why_nothing_succeeded(self, run_id: str) -> str | None:
        """Say why a run has no successful attempt, with its commonest error; None where one succeeded or none was made."""
        query = (
            "SELECT error, count(*) AS times FROM attempts WHERE run_id = :run GROUP BY error ORDER BY 2 DESC, error"
        )
        times = {row.error: row.times for row in self._db.rows(query, run=run_id)}
        if not times or None in times:
            return None
        reason, most = next(iter(times.items()))
        mend = f"mend that, then `evergold runs retry {run_id}`"
        return f"no attempt succeeded: {reason} ({most} of {sum(times.values())}); {mend}"

    def forget_scores(self, run_id: str, metrics: Sequence[str]) -> None:
        """Make these metrics be measured again; the answers stay."""

        def work(connection: Connection) -> None:
            drop = "DELETE FROM measurements WHERE run_id = :run AND metric IN :metrics"
            run_sql(connection, drop, run=run_id, metrics=tuple(metrics))
            run_sql(connection, "UPDATE runs SET scored = 0 WHERE id = :run", run=run_id)

        self._db.write(work)

    def error_keys(self, run_id: str) -> set[Key]:
        """The attempts that got no reply."""
        query = f"{_ATTEMPTS} WHERE a.run_id = :run AND a.error IS NOT NULL"
        failures = (_attempt(row, {}) for row in self._db.rows(query, run=run_id))
        return {(one.case_id, one.trial) for one in failures if one.outcome is AttemptOutcome.ERROR}

    def forget(self, run_id: str, keys: Sequence[Key]) -> int:
        """Make these calls be sent again, with what was measured of them. Gives how many there were."""

        def work(connection: Connection) -> int:
            gone = 0
            for some in map(tuple, batches(keys)):
                drop = "DELETE FROM {} WHERE run_id = :run AND (case_id, trial) IN :some"
                gone += run_sql(connection, drop.format("attempts"), run=run_id, some=some).rowcount
                run_sql(connection, drop.format("measurements"), run=run_id, some=some)
            # Relative to the column: the worker of the run may be adding to it at the same time.
            left = "UPDATE runs SET done = done - :gone, failed = failed - :gone WHERE id = :run"
            run_sql(connection, left, run=run_id, gone=gone)
            return gone

        return self._db.write(work)


def total_usage(usages: Iterable[Usage]) -> Usage:
    return reduce(Usage.plus, usages, Usage())


def _add_totals(connection: Connection, run_id: str, counts: dict[str, int], column: str, spent: Usage) -> None:
    added = ", ".join(f"{name} = {name} + :{name}" for name in counts)
    run_sql(connection, f"UPDATE runs SET {added} WHERE id = :run", run=run_id, **counts)
    if spent != Usage():
        # Read and written in one transaction of the only writer; the sum of costs has rules that SQL does not know.
        held = read_value(connection, f"SELECT {column} FROM runs WHERE id = :run", run=run_id)
        total = dumps(Usage.model_validate(loads(held)).plus(spent).model_dump(mode="json"))
        run_sql(connection, f"UPDATE runs SET {column} = :total WHERE id = :run", run=run_id, total=total)


METRIC = "trajectory"
TURN_MARK = "#turn-"
MOST_RUNS = 50
PLAYED = '%"replay":{%'  # in a spec or an attempt, as JSON


def replays_in_dataset(db: Database, dataset: str, case_id: str) -> list[CaseReplay]:
    """Read the replays of a case by the newest runs of its dataset, any version of it."""
    # Specs are JSON without blanks; a run that replays nothing has null there.
    newest = f"""SELECT id FROM runs WHERE spec LIKE :played AND (dataset = :dataset OR substr(dataset, 1, :size) = :version)
        ORDER BY created_at DESC, id DESC LIMIT {MOST_RUNS}"""
    version = f"{dataset}@"
    rows = db.rows(newest, played=PLAYED, dataset=dataset, version=version, size=len(version))
    return replays_in_runs(db, [row.id for row in rows], case_id)


def replays_in_runs(db: Database, run_ids: list[str], case_id: str) -> list[CaseReplay]:
    """Read the replays of a case, and of each turn of it, by these runs; newest run first."""
    turn = f"{case_id}{TURN_MARK}"
    query = """SELECT a.run_id, a.case_id, a.trial, r.model, r.created_at, m.value FROM attempts a JOIN runs r ON r.id = a.run_id
        LEFT JOIN measurements m ON m.run_id = a.run_id AND m.case_id = a.case_id AND m.trial = a.trial AND m.metric = :metric
        WHERE a.run_id IN :runs AND (a.case_id = :case OR substr(a.case_id, 1, :size) = :turn) AND a.body LIKE :played
        ORDER BY r.created_at DESC, a.run_id DESC, a.case_id, a.trial"""
    given = {"runs": tuple(run_ids), "case": case_id, "turn": turn, "size": len(turn)}
    rows = db.rows(query, **given, metric=METRIC, played=PLAYED)
    return [CaseReplay.model_validate(dict(row._mapping)) for row in rows]
