"""The builds that froze a case and the runs that tried it, each with the revision it had there."""

from collections.abc import Iterator

from pydantic import BaseModel
from sqlalchemy import Connection, func, or_, select

from evergold.model.case import Case
from evergold.model.nesting import UtcTime
from evergold.store.schema import attempts, build_cases, builds, run_cases, runs

NEWEST_RUNS = 50


class BuildStep(BaseModel, frozen=True):
    """A build that holds the case."""

    version: str
    split: str
    rev: str
    created_at: UtcTime


class RunStep(BaseModel, frozen=True):
    """A run that has the case; `rev` is what the case said when the run began, `build` the version it was taken from."""

    id: str
    model: str
    status: str
    created_at: UtcTime
    rev: str
    attempts: int
    build: str | None = None


def builds_with(connection: Connection, dataset: str, case_id: str) -> list[BuildStep]:
    """Oldest first."""
    query = (
        select(builds.c.version, build_cases.c.split, build_cases.c.rev, builds.c.created_at)
        .join(build_cases, build_cases.c.build_id == builds.c.id)
        .where(builds.c.dataset == dataset, build_cases.c.case_id == case_id)
        .order_by(builds.c.id)
    )
    return [BuildStep.model_validate(dict(row)) for row in connection.execute(query).mappings()]


def runs_with(connection: Connection, dataset: str, case_id: str) -> Iterator[RunStep]:
    """The newest runs that have the case: of the dataset as it was, or of one of its builds, under whatever name."""
    tries = (
        select(func.count())
        .where(attempts.c.run_id == runs.c.id, attempts.c.case_id == case_id)
        .scalar_subquery()
        .label("attempts")
    )
    built = select(builds.c.version).where(builds.c.dataset == dataset, builds.c.content_hash == runs.c.build_hash)
    version = built.order_by(builds.c.id).limit(1).scalar_subquery().label("build")
    of_dataset = or_(runs.c.dataset == dataset, built.exists())
    query = (
        select(runs.c.id, runs.c.model, runs.c.status, runs.c.created_at, run_cases.c.body, tries, version)
        .join(run_cases, run_cases.c.run_id == runs.c.id)
        .where(of_dataset, run_cases.c.case_id == case_id)
        .order_by(runs.c.created_at.desc(), runs.c.id.desc())
        .limit(NEWEST_RUNS)
    )
    for row in connection.execute(query).mappings():
        values = dict(row)
        values["rev"] = Case.model_validate_json(values.pop("body")).rev()
        yield RunStep.model_validate(values)
