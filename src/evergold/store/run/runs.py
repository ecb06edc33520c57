"""Runs: what was asked for, how far it is, who works on it, the questions of its cases, and calibrations of judges.

A run that is being worked on is held by a lease: `owner` and `lease_until`, by the database's own clock, so that two
servers on one database never work on the same run and a dead one's run can be taken over. What a run brings forth is in
`attempts.py`.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Row,
    Update,
    and_,
    case,
    delete,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from evergold.errors import Conflict, NotFound
from evergold.model.case import Case
from evergold.model.run import Asked, MetricSpec, Run, RunSpec, RunStatus
from evergold.store.database.db import Database
from evergold.store.database.rows import batches, dumps, insert_rows, loads, stamp
from evergold.store.facts import database_time, now_and_later
from evergold.store.schema import calibrations, run_cases, runs, utc_now

LIVE = (RunStatus.QUEUED.value, RunStatus.RUNNING.value)


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
            connection.execute(update(runs).where(runs.c.id == run.id).values(total=total * run.spec.trials))
            return total

        total = self.db.write(work)
        return run.model_copy(update={"total": total * run.spec.trials})

    def get(self, run_id: str) -> Run:
        rows = self.db.rows(select(runs).where(runs.c.id == run_id))
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
        wanted = {runs.c.dataset: dataset, runs.c.model: model, runs.c.status: status}
        where = and_(True, *(column == value for column, value in wanted.items() if value is not None))
        newest = select(runs).where(where).order_by(runs.c.created_at.desc(), runs.c.id.desc())
        with self.db.read() as connection:
            total = connection.execute(select(func.count()).select_from(runs).where(where)).scalar_one()
            rows = connection.execute(newest.limit(limit).offset(offset)).all()
        return [_run(row) for row in rows], total

    def delete(self, run_id: str) -> None:
        """Remove a run that nobody is working on."""

        def work(connection: Connection) -> None:
            unheld = or_(runs.c.status != "running", _is_expired())
            if connection.execute(delete(runs).where(runs.c.id == run_id, unheld)).rowcount == 0:
                if connection.execute(select(runs.c.id).where(runs.c.id == run_id)).one_or_none():
                    raise Conflict(f"run {run_id!r} is running; cancel it first")
                raise NotFound(f"no run {run_id!r}")

        self.db.write(work)

    def claim(self, run_id: str, owner: str, seconds: float, taking_from: str | None = None) -> int:
        """Take a run that nobody holds, or that `taking_from` (known to be dead) held; 0 when it cannot be had.

        Else how many times in a row it was taken, this time included, since an attempt or score of it was last stored.
        """
        # A worker that dies before it stores anything would be followed by another for ever; `takes` lets callers stop that.
        progress = runs.c.done + runs.c.scored
        # The condition is in the UPDATE itself, so of two workers that claim at once only one changes a row.
        free = or_(runs.c.owner.is_(None), _is_expired(), runs.c.owner == literal(taking_from or ""))
        claim = (
            update(runs)
            .where(runs.c.id == run_id, runs.c.status.in_(LIVE), runs.c.cancel_requested == 0, free)
            .values(
                owner=owner,
                status="running",
                error=None,
                started_at=func.coalesce(runs.c.started_at, utc_now()),
                takes=case((progress == runs.c.done_when_taken, runs.c.takes + 1), else_=1),
                done_when_taken=progress,
            )
        )
        return self._lease(claim, seconds, runs.c.takes) or 0

    def claimable(self) -> Sequence[LiveRun]:
        """Live runs, oldest first; held ones are listed, for their holder may be dead."""
        oldest = select(runs).where(runs.c.status.in_(LIVE)).order_by(runs.c.created_at, runs.c.id)
        with self.db.read() as connection:
            rows = connection.execute(oldest).all()
            now = database_time(connection)
        # By the database's clock, read in the same connection: clocks of workers differ.
        return [
            LiveRun(_run(row), row.owner if row.lease_until and row.lease_until > now else None, row.owner)
            for row in rows
        ]

    def beat(self, run_id: str, owner: str, seconds: float) -> "Beat":
        """Prolong the lease."""
        # A lease that was taken over is not ours any more: no row comes back, and the caller stops.
        held = update(runs).where(runs.c.id == run_id, runs.c.owner == owner, runs.c.status == "running")
        cancel = self._lease(held, seconds, runs.c.cancel_requested)
        return Beat(held=cancel is not None, cancel=bool(cancel))

    def _lease(self, change: Update, seconds: float, wanted: Column[int]) -> int | None:
        """Change a run and let its lease end so much later; returns a column of it, None where no run was changed."""

        def work(connection: Connection) -> int | None:
            lease = change.values(lease_until=now_and_later(connection, seconds)[1])
            return connection.scalar(lease.returning(wanted))

        return self.db.write(work)

    def finish(self, run_id: str, owner: str, status: RunStatus, error: str | None = None) -> None:
        """End a run that `owner` holds, or put it back in the queue, unless somebody wanted it to stop."""
        # A run that ended or was put back on purpose did not fail to make progress.
        values = _release(status, error) | {"takes": 0}
        held = and_(runs.c.id == run_id, runs.c.owner == owner)
        unwanted = and_(runs.c.id == run_id, runs.c.status == "queued", runs.c.cancel_requested == 1)
        # A stop that was asked for while the run was being put back would otherwise be forgotten.
        self._change((held, values), (unwanted, {"status": "cancelled", "ended_at": utc_now()}))

    def request_cancel(self, run_id: str) -> Run:
        """Ask for a stop: at once for a queued run; whoever holds a running one sees it at its next heartbeat."""
        live = and_(runs.c.id == run_id, runs.c.status.in_(LIVE))
        unheld = and_(live, or_(runs.c.status == "queued", _is_expired()))
        stopped = {"status": "cancelled", "ended_at": utc_now(), "owner": None}
        self._change((live, {"cancel_requested": 1}), (unheld, stopped))
        return self.get(run_id)

    def requeue(
        self,
        run_id: str,
        spec: RunSpec | None = None,
        metrics: Sequence[MetricSpec] | None = None,
        provenance: Mapping[str, Any] | None = None,
    ) -> Run:
        """Let an ended (or abandoned) run go on; what is given of spec, metrics and provenance replaces the old."""
        values = _release(RunStatus.QUEUED, None) | {"ended_at": None, "cancel_requested": 0, "takes": 0}
        if spec is not None:
            values["spec"] = spec.model_dump_json()
        if metrics is not None:
            values["metrics"] = _metrics(metrics)
        if provenance is not None:
            values["provenance"] = dumps(provenance)
        unheld = and_(runs.c.id == run_id, or_(runs.c.status != "running", _is_expired()))
        if self._change((unheld, values)) == 0:
            raise Conflict(f"run {run_id!r} is running or does not exist; cancel it first or wait")
        return self.get(run_id)

    def abandon(self, run_id: str, owner: str | None, status: RunStatus, error: str | None = None) -> None:
        """A run whose process died: say what becomes of it instead of "running" for ever."""
        dead = and_(runs.c.id == run_id, runs.c.status == "running", or_(runs.c.owner == (owner or ""), _is_expired()))
        unwanted = and_(dead, runs.c.cancel_requested == 1)
        # First the cancelled ones: they are no longer `running` when the second statement looks.
        self._change((unwanted, _release(RunStatus.CANCELLED, None)), (dead, _release(status, error)))

    def _change(self, *changes: tuple[ColumnElement[bool], Mapping[str, Any]]) -> int:
        """Change runs, each those of a condition, in one transaction; returns how many there were."""
        statements = [update(runs).where(which).values(**values) for which, values in changes]
        return self.db.write(lambda connection: sum(connection.execute(one).rowcount for one in statements))


def _release(status: RunStatus, error: str | None) -> dict[str, Any]:
    """The columns of a run that nobody works on any more."""
    ended = {"ended_at": utc_now()} if status.ended else {}
    return {"status": status.value, "error": error, "owner": None, "lease_until": None, **ended}


def _is_expired() -> Any:
    return or_(runs.c.lease_until.is_(None), runs.c.lease_until < utc_now())


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
    wanted = select(run_cases.c.case_id, run_cases.c.body).where(run_cases.c.run_id == run_id)
    return {
        row.case_id: _question_of(orjson.loads(row.body), row.case_id)
        for batch in batches(dict.fromkeys(case_ids))
        for row in db.rows(wanted.where(run_cases.c.case_id.in_(batch)))
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


_CALIBRATION = [calibrations.c[name] for name in CalibrationRow._fields]


class CalibrationStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, judge: str, metric: str, prompt_hash: str | None, body: str) -> None:
        row = {"judge": judge, "metric": metric, "prompt_hash": prompt_hash, "body": body}
        self._db.write(lambda connection: connection.execute(insert(calibrations), row))

    def list_newest(self) -> list[CalibrationRow]:
        """The newest calibration of each judge and metric."""
        rows = self._db.rows(select(*_CALIBRATION).order_by(calibrations.c.id))
        # In order of id, so the last one of a key is the newest.
        return list({(row.judge, row.metric): CalibrationRow._make(row) for row in rows}.values())

    def of_metric(self, metric: str) -> list[CalibrationRow]:
        """Newest first."""
        wanted = select(*_CALIBRATION).where(calibrations.c.metric == metric).order_by(calibrations.c.id.desc())
        return [CalibrationRow._make(row) for row in self._db.rows(wanted)]
