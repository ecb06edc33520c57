"""The whole workspace in a few numbers: what came in, what it became, which checks fail, how much of it is covered.

Times are sortable text, so a bucket of time is a prefix of it: the day of `2026-01-02T03:04:05Z` is its first ten letters.
"""

from enum import StrEnum
from typing import Any

from pydantic import BaseModel
from sqlalchemy import ColumnElement, Connection, Row, case, distinct, func, select

from evergold.model.case import CaseStatus
from evergold.store.schema import eval_dataset, eval_dataset_tags, trace_scores, traces
from evergold.store.values import now

SHOWN_CHECKS = 12
SHOWN_TAGS = 200


class Bucket(StrEnum):
    HOUR = "hour"
    DAY = "day"

    @property
    def letters(self) -> int:
        """How much of a time names its bucket."""
        return 13 if self is Bucket.HOUR else 10


class Tiers(BaseModel):
    """How many active cases there are of each worth."""

    confirmed: int = 0
    candidate: int = 0
    failure: int = 0
    correction: int = 0


class Intake(Tiers):
    """One bucket of time: the traces that began in it, and the cases that came of them."""

    start: str
    traces: int = 0


class Check(BaseModel):
    """A score by name and source: how often it was given, and how often it was below the failure threshold."""

    name: str
    source: str
    failing: int
    scored: int


class Coverage(BaseModel):
    """A dataset: all its active cases, and how many traces of the period have a case in it."""

    dataset: str
    cases: int
    traces: int


class Overview(BaseModel):
    """Everything the first page shows. `traces` is the whole store, `in_period` what began since `since`."""

    as_of: str
    since: str
    bucket: Bucket
    traces: int
    in_period: int
    oldest: str | None
    newest: str | None
    intake: list[Intake]
    tiers: Tiers
    checks: list[Check]
    coverage: list[Coverage]


class Facet(BaseModel):
    name: str
    cases: int


class Facets(BaseModel):
    """What cases can be filtered by: every dataset, and the tags used most."""

    datasets: list[Facet]
    tags: list[Facet]


def overview_of(connection: Connection, *, since: str, bucket: Bucket, failing_below: float) -> Overview:
    total, oldest, newest = connection.execute(
        select(func.count(), func.min(traces.c.started_at), func.max(traces.c.started_at)).select_from(traces)
    ).one()
    intake = intake_of(connection, since, bucket)
    tiers = Tiers(**{name: sum(getattr(part, name) for part in intake) for name in Tiers.model_fields})
    return Overview(
        as_of=now(),
        since=since,
        bucket=bucket,
        traces=total,
        in_period=sum(part.traces for part in intake),
        oldest=oldest,
        newest=newest,
        intake=intake,
        tiers=tiers,
        checks=checks_of(connection, since, failing_below),
        coverage=coverage_of(connection, since),
    )


def intake_of(connection: Connection, since: str, bucket: Bucket) -> list[Intake]:
    """Buckets that hold something, oldest first."""
    start = func.substr(traces.c.started_at, 1, bucket.letters).label("start")
    recent = traces.c.started_at >= since
    found = {
        row.start: Intake(start=row.start, traces=row.number)
        for row in connection.execute(select(start, func.count().label("number")).where(recent).group_by(start))
    }
    worth = _worth().label("worth")
    query = (
        select(start, worth, func.count().label("number"))
        .select_from(eval_dataset.join(traces, traces.c.id == eval_dataset.c.trace_id))
        .where(recent, eval_dataset.c.status == CaseStatus.ACTIVE)
        .group_by(start, worth)
    )
    for row in connection.execute(query):
        found[row.start] = found[row.start].model_copy(update={row.worth: row.number})
    return [found[name] for name in sorted(found)]


def checks_of(connection: Connection, since: str, failing_below: float) -> list[Check]:
    """The checks that failed most often among the scores given since then; those that never failed are left out."""
    failing = func.sum(case((trace_scores.c.value < failing_below, 1), else_=0)).label("failing")
    query = (
        select(trace_scores.c.name, trace_scores.c.source, failing, func.count().label("scored"))
        .where(trace_scores.c.created_at >= since)
        .group_by(trace_scores.c.name, trace_scores.c.source)
        .having(failing > 0)
        .order_by(failing.desc(), trace_scores.c.name)
        .limit(SHOWN_CHECKS)
    )
    return [Check.model_validate(_plain(row)) for row in connection.execute(query)]


def coverage_of(connection: Connection, since: str) -> list[Coverage]:
    active = eval_dataset.c.status == CaseStatus.ACTIVE
    sizes = connection.execute(
        select(eval_dataset.c.dataset, func.count()).where(active).group_by(eval_dataset.c.dataset)
    )
    covered = connection.execute(
        select(eval_dataset.c.dataset, func.count(distinct(eval_dataset.c.trace_id)).label("traces"))
        .select_from(eval_dataset.join(traces, traces.c.id == eval_dataset.c.trace_id))
        .where(active, traces.c.started_at >= since)
        .group_by(eval_dataset.c.dataset)
    )
    traces_in = {row.dataset: int(row.traces) for row in covered}
    found = [Coverage(dataset=name, cases=number, traces=traces_in.get(name, 0)) for name, number in sizes]
    return sorted(found, key=lambda part: (-part.cases, part.dataset))


def facets_of(connection: Connection) -> Facets:
    active = eval_dataset.c.status == CaseStatus.ACTIVE
    number = func.count().label("cases")
    by_dataset = select(eval_dataset.c.dataset.label("name"), number).where(active).group_by(eval_dataset.c.dataset)
    by_tag = (
        select(eval_dataset_tags.c.tag.label("name"), number)
        .group_by(eval_dataset_tags.c.tag)
        .order_by(number.desc(), eval_dataset_tags.c.tag)
        .limit(SHOWN_TAGS)
    )
    datasets = [Facet.model_validate(_plain(row)) for row in connection.execute(by_dataset)]
    tags = [Facet.model_validate(_plain(row)) for row in connection.execute(by_tag)]
    return Facets(datasets=sorted(datasets, key=lambda facet: facet.name), tags=tags)


def _worth() -> ColumnElement[str]:
    """The name of the tier a case is in, as `Tiers` calls it."""
    golden = eval_dataset.c.entry_type == "golden"
    return case(
        (golden & (eval_dataset.c.confirmed == 1), "confirmed"),
        (golden, "candidate"),
        else_=eval_dataset.c.entry_type,
    )


def _plain(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping)
