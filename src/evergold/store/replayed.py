"""The replays of one case, over all runs that played it."""

from sqlalchemy import and_, or_, select

from evergold.model.run import CaseReplay
from evergold.store.db import Database
from evergold.store.schema import attempts, measurements, runs

METRIC = "trajectory"
TURN_MARK = "#turn-"
MOST_RUNS = 50


def replays_in_dataset(db: Database, dataset: str, case_id: str) -> list[CaseReplay]:
    """Read the replays of a case by the newest runs of its dataset, any version of it."""
    versions = runs.c.dataset.startswith(f"{dataset}@", autoescape=True)
    # Specs are JSON without blanks; a run that replays nothing has null there.
    played = and_(runs.c.spec.contains('"replay":{'), or_(runs.c.dataset == dataset, versions))
    newest = select(runs.c.id).where(played).order_by(runs.c.created_at.desc(), runs.c.id.desc()).limit(MOST_RUNS)
    with db.read() as connection:
        run_ids = list(connection.execute(newest).scalars())
    return replays_in_runs(db, run_ids, case_id)


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
    with db.read() as connection:
        return [CaseReplay.model_validate(dict(row._mapping)) for row in connection.execute(wanted)]
