"""Runs: what was asked for, how far it is, who works on it, the questions of its cases, and calibrations of judges.

A run that is being worked on is held by a lease: `owner` and `lease_until`, by the database's own clock, so that two
servers on one database never work on the same run and a dead one's run can be taken over. What a run brings forth is in
`attempts.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, Row, insert

from evergold.errors import Conflict, NotFound
from evergold.model.case import Case
from evergold.model.run import Asked, MetricSpec, Run, RunSpec, RunStatus
from evergold.store.database.db import Database
from evergold.store.database.rows import batches, dumps, insert_rows, loads, read_value, run_sql, stamp
from evergold.store.facts import database_time, now_and_later
from evergold.store.schema import run_cases, runs

LIVE = "status IN ('queued', 'running')"
EXPIRED = "(lease_until IS NULL OR lease_until < :now)"


class Beat(NamedTuple):
    """What a heartbeat learned: whether the lease is still ours, and whether somebody wants the run to stop."""

    held: bool
    cancel: bool


class LiveRun(NamedTuple):
    """A run that has not ended: who holds it by a lease that is not over, and who took it last."""

    run: Run
    holder: str | None
    taken_by: str | None


class RunStore:
    """Create, find, claim, prolong and end runs."""

    def __init__(self, db: Database) -> None:
        self.db = db

    def create(self, run: Run, cases: Iterable[Case]) -> Run:
        """Write a run and the cases as they are now, together or not at all."""

        def work(connection: Connection) -> int:
            build = (run.provenance.get("dataset") or {}).get("build") or {}
            row = {
                "id": run.id,
                "dataset": run.spec.dataset,
                "model": run.spec.model,
                "status": run.status.value,
                "spec": run.spec.model_dump_json(),
                "metrics": _metrics(run.metrics),
                "provenance": dumps(run.provenance),
                "build_hash": build.get("content_hash"),
                "created_at": stamp(run.created_at),
            }
            connection.execute(insert(runs), row)
            total = 0
            for batch in batches(cases):
                rows = [
                    (run.id, case.id, number, case.model_dump_json(exclude_defaults=True))
                    for number, case in enumerate(batch, total)
                ]
                insert_rows(connection, run_cases, ("run_id", "case_id", "position", "body"), rows)
                total += len(rows)
            total *= run.spec.trials
            run_sql(connection, "UPDATE runs SET total = :total WHERE id = :id", total=total, id=run.id)
            return total

        return run.model_copy(update={"total": self.db.write(work)})

    def get(self, run_id: str) -> Run:
        rows = self.db.rows("SELECT * FROM runs WHERE id = :id", id=run_id)
        if not rows:
            raise NotFound(f"no run {run_id!r}; evergold runs list shows them")
        return _run(rows[0])

    def page(
        self,
        *,
        dataset: str | None = None,
        model: str | None = None,
        status: str | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> tuple[Sequence[Run], int]:
        """A page of runs, newest first, and how many there are in all."""
        named = {"dataset": dataset, "model": model, "status": status}
        given = {name: value for name, value in named.items() if value is not None}
        chosen = f"FROM runs WHERE {' AND '.join(['true', *(f'{name} = :{name}' for name in given)])}"
        newest = f"SELECT * {chosen} ORDER BY created_at DESC, id DESC LIMIT :limit OFFSET :offset"
        with self.db.read() as connection:
            total = int(read_value(connection, f"SELECT count(*) {chosen}", **given))
            rows = run_sql(connection, newest, **given, limit=limit, offset=offset).all()
        return [_run(row) for row in rows], total

    def delete(self, run_id: str) -> None:
        """Remove a run that nobody is working on."""

        def work(connection: Connection) -> None:
            unheld = f"DELETE FROM runs WHERE id = :id AND (status <> 'running' OR {EXPIRED})"
            if run_sql(connection, unheld, id=run_id, now=database_time(connection)).rowcount == 0:
                if read_value(connection, "SELECT id FROM runs WHERE id = :id", id=run_id) is not None:
                    raise Conflict(f"run {run_id!r} is running; cancel it first")
                raise NotFound(f"no run {run_id!r}")

        self.db.write(work)

    def claim(self, run_id: str, owner: str, seconds: float, taking_from: str | None = None) -> int:
        """Take a run that nobody holds, or that `taking_from` (known to be dead) held; 0 when it cannot be had.

        Else how many times in a row it was taken, this time included, since an attempt or score of it was last stored.
        """
        # A worker that dies before it stores anything would be followed by another for ever; `takes` lets callers stop that.
        # The condition is in the UPDATE itself, so of two workers that claim at once only one changes a row.
        claim = f"""owner = :owner, status = 'running', error = NULL, started_at = coalesce(started_at, :now),
            lease_until = :until, takes = CASE WHEN done + scored = done_when_taken THEN takes + 1 ELSE 1 END,
            done_when_taken = done + scored WHERE id = :id AND {LIVE} AND cancel_requested = 0
            AND (owner IS NULL OR owner = :dead OR {EXPIRED}) RETURNING takes"""
        return self._change(run_id, claim, seconds=seconds, owner=owner, dead=taking_from or "") or 0

    def claimable(self) -> Sequence[LiveRun]:
        """Live runs, oldest first; held ones are listed, for their holder may be dead."""
        with self.db.read() as connection:
            rows = run_sql(connection, f"SELECT * FROM runs WHERE {LIVE} ORDER BY created_at, id").all()
            now = database_time(connection)
        # By the database's clock, read in the same connection: clocks of workers differ.
        return [
            LiveRun(_run(row), row.owner if row.lease_until and row.lease_until > now else None, row.owner)
            for row in rows
        ]

    def beat(self, run_id: str, owner: str, seconds: float) -> "Beat":
        """Prolong the lease."""
        # A lease that was taken over is not ours any more: no row comes back, and the caller stops.
        held = "id = :id AND owner = :owner AND status = 'running' RETURNING cancel_requested"
        cancel = self._change(run_id, f"lease_until = :until WHERE {held}", seconds=seconds, owner=owner)
        return Beat(held=cancel is not None, cancel=bool(cancel))

    def finish(self, run_id: str, owner: str, status: RunStatus, error: str | None = None) -> None:
        """End a run that `owner` holds, or put it back in the queue, unless somebody wanted it to stop."""
        # A run that ended or was put back on purpose did not fail to make progress.
        held = f"{_release(status)}, takes = 0 WHERE id = :id AND owner = :owner"
        # A stop that was asked for while the run was being put back would otherwise be forgotten.
        unwanted = "status = 'cancelled', ended_at = :now WHERE id = :id AND status = 'queued' AND cancel_requested = 1"
        self._change(run_id, held, unwanted, owner=owner, error=error)

    def request_cancel(self, run_id: str) -> Run:
        """Ask for a stop: at once for a queued run; whoever holds a running one sees it at its next heartbeat."""
        live = f"WHERE id = :id AND {LIVE}"
        stop = f"status = 'cancelled', ended_at = :now, owner = NULL {live} AND (status = 'queued' OR {EXPIRED})"
        self._change(run_id, f"cancel_requested = 1 {live}", stop)
        return self.get(run_id)

    def requeue(
        self,
        run_id: str,
        spec: RunSpec | None = None,
        metrics: Sequence[MetricSpec] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Run:
        """Let an ended (or abandoned) run go on; what is given of spec, metrics and provenance replaces the old."""
        given: dict[str, Any] = {
            "spec": None if spec is None else spec.model_dump_json(),
            "metrics": None if metrics is None else _metrics(metrics),
            "provenance": None if provenance is None else dumps(provenance),
        }
        replaced = ", ".join(f"{name} = coalesce(:{name}, {name})" for name in given)
        change = f"""{_release(RunStatus.QUEUED)}, ended_at = NULL, cancel_requested = 0, takes = 0, {replaced}
            WHERE id = :id AND (status <> 'running' OR {EXPIRED})"""
        if self._change(run_id, change, error=None, **given) == 0:
            raise Conflict(f"run {run_id!r} is running or does not exist; cancel it first or wait")
        return self.get(run_id)

    def abandon(self, run_id: str, owner: str | None, status: RunStatus, error: str | None = None) -> None:
        """A run whose process died: say what becomes of it instead of "running" for ever."""
        dead = f"WHERE id = :id AND status = 'running' AND (owner = :owner OR {EXPIRED})"
        unwanted = f"{_release(RunStatus.CANCELLED, 'NULL')} {dead} AND cancel_requested = 1"
        # First the cancelled ones: they are no longer `running` when the second statement looks.
        self._change(run_id, unwanted, f"{_release(status)} {dead}", owner=owner or "", error=error)

    def _change(self, run_id: str, *changes: str, seconds: float = 0.0, **values: Any) -> int | None:
        """Change a run in one transaction; `:now` and `:until` are times of the database, so many seconds apart.

        Returns what the first change gives back, None where it changed nothing; without RETURNING how many rows it changed.
        """

        def work(connection: Connection) -> int | None:
            now, until = now_and_later(connection, seconds)
            given = values | {"id": run_id, "now": now, "until": until}
            done = [run_sql(connection, f"UPDATE runs SET {change}", **given) for change in changes]
            return done[0].scalar() if done[0].returns_rows else done[0].rowcount

        return self.db.write(work)


def _release(status: RunStatus, error: str = ":error") -> str:
    """What is written of a run that nobody works on any more."""
    ended = ", ended_at = :now" if status.ended else ""
    return f"status = '{status.value}', error = {error}, owner = NULL, lease_until = NULL{ended}"


def _metrics(listed: Sequence[MetricSpec]) -> str:
    return dumps([metric.model_dump(mode="json") for metric in listed])


def _run(row: Row[Any]) -> Run:
    held = {name: row._mapping[name] for name in Run.model_fields}
    held |= {name: loads(held[name]) for name in ("usage", "judge_usage", "provenance")}
    held |= {"spec": RunSpec.model_validate_json(row.spec), "metrics": loads(row.metrics) or ()}
    return Run.model_validate(held)


MOST_CHARACTERS = 300
_LONG = {"messages", "turn", "tools", "contexts", "extra", "citations", "answer_citations"}


def read_questions(db: Database, run_id: str, case_ids: Iterable[str]) -> dict[str, Asked]:
    """Read question and reference of these cases of a run."""
    wanted = "SELECT case_id, body FROM run_cases WHERE run_id = :run AND case_id IN :some"
    return {
        row.case_id: _question_of(orjson.loads(row.body), row.case_id)
        for batch in batches(dict.fromkeys(case_ids))
        for row in db.rows(wanted, run=run_id, some=tuple(batch))
    }


def _question_of(body: dict[str, Any], case_id: str) -> Asked:
    # The conversation, contexts and tools are long and say nothing of either.
    case = Case.model_validate({name: value for name, value in body.items() if name not in _LONG})
    reference = case.reference()
    calls = (reference and reference.tool_calls) or case.expected_tools or ()
    text = (reference and reference.text) or (f"calls {', '.join(call.name for call in calls)}" if calls else "")
    return Asked(question=shorten(case.input or case.name or case_id), reference=shorten(text))


def shorten(text: str) -> str:
    """Give a text as one line that a row can show."""
    line = " ".join(text[: 2 * MOST_CHARACTERS].split())
    return line if len(line) <= MOST_CHARACTERS else f"{line[: MOST_CHARACTERS - 1]}…"


class CalibrationRow(NamedTuple):
    judge: str
    metric: str
    prompt_hash: str | None
    body: str
    created_at: str


_CALIBRATION = f"SELECT {', '.join(CalibrationRow._fields)} FROM calibrations"


class CalibrationStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, judge: str, metric: str, prompt_hash: str | None, body: str) -> None:
        add = "INSERT INTO calibrations (judge, metric, prompt_hash, body) VALUES (:judge, :metric, :prompt, :body)"
        given = {"judge": judge, "metric": metric, "prompt": prompt_hash, "body": body}
        self._db.write(lambda connection: run_sql(connection, add, **given))

    def list_newest(self) -> list[CalibrationRow]:
        """The newest calibration of each judge and metric."""
        rows = self._db.rows(f"{_CALIBRATION} ORDER BY id")
        # In order of id, so the last one of a key is the newest.
        return list({(row.judge, row.metric): CalibrationRow._make(row) for row in rows}.values())

    def of_metric(self, metric: str) -> list[CalibrationRow]:
        """Newest first."""
        rows = self._db.rows(f"{_CALIBRATION} WHERE metric = :metric ORDER BY id DESC", metric=metric)
        return [CalibrationRow._make(row) for row in rows]
