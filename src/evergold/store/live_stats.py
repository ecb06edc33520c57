"""Figures of the living dataset: totals, tags, days, failing checks, coverage."""

from typing import Any

from pydantic import BaseModel
from sqlalchemy import Connection, text

from evergold.model.case_actions import RepeatCounts

FAILED_TAG = "failed:"


class Day(BaseModel, frozen=True):
    """One day (UTC): traces that began on it, and entries made on it by type."""

    day: str
    traces: int = 0
    golden: int = 0
    failure: int = 0
    correction: int = 0


class DatasetStats(BaseModel, frozen=True):
    """Counts of active entries. `curated_traces` are those that do not wait, each counted once; `coverage` is the share of all
    traces that an entry cites, null when there are none. `repeats`, where they were asked for, counts repeats of questions."""

    dataset: str | None
    total: int
    golden: int
    failure: int
    correction: int
    confirmed: int
    candidate: int
    withdrawn: int
    tags: dict[str, int]
    failing_checks: dict[str, int]
    days: list[Day]
    traces: int
    curated_traces: int
    cited_traces: int
    coverage: float | None
    waiting: int
    repeats: RepeatCounts | None = None


def dataset_stats(connection: Connection, dataset: str | None, *, days: int = 30, tags: int = 50) -> DatasetStats:
    # Without a dataset: everything that curation can make, of whichever policy.
    scope = "dataset = :dataset" if dataset is not None else "kind = 'chat'"
    params: dict[str, Any] = {"dataset": dataset, "days": days, "tags": tags}
    kinds: dict[tuple[str, str, int], int] = {
        (row[0], row[1], row[2]): row[3]
        for row in connection.execute(
            text(f"SELECT status, entry_type, confirmed, count(*) FROM eval_dataset WHERE {scope} GROUP BY 1, 2, 3"),
            params,
        )
    }

    def active(kind: str, confirmed: int | None = None) -> int:
        return sum(
            count
            for (status, entry_type, mark), count in kinds.items()
            if status == "active" and entry_type == kind and confirmed in (None, mark)
        )

    tagged = _tags(connection, scope, params)
    traces = int(connection.execute(text("SELECT count(*) FROM traces")).scalar_one())
    cited = int(
        connection.execute(
            text(f"SELECT count(DISTINCT trace_id) FROM eval_dataset WHERE {scope} AND status = 'active'"), params
        ).scalar_one()
    )
    waiting = int(connection.execute(text("SELECT count(*) FROM curation_queue")).scalar_one())
    return DatasetStats(
        dataset=dataset,
        total=sum(count for (status, _, _), count in kinds.items() if status == "active"),
        golden=active("golden"),
        failure=active("failure"),
        correction=active("correction"),
        confirmed=active("golden", 1),
        candidate=active("golden", 0),
        withdrawn=sum(count for (status, _, _), count in kinds.items() if status == "withdrawn"),
        tags=tagged,
        failing_checks={
            tag.removeprefix(FAILED_TAG): number
            for tag, number in _tags(connection, scope, params, f"g.tag LIKE '{FAILED_TAG}%'").items()
        },
        days=_days(connection, scope, params),
        traces=traces,
        curated_traces=traces - waiting,
        cited_traces=cited,
        coverage=cited / traces if traces else None,
        waiting=waiting,
    )


def _tags(connection: Connection, scope: str, params: dict[str, Any], which: str = "true") -> dict[str, int]:
    """The tags used most, of all or of those that `which` names."""
    query = f"""SELECT g.tag, count(*) FROM eval_dataset_tags g JOIN eval_dataset d ON d.id = g.dataset_id
        WHERE d.{scope} AND d.status = 'active' AND {which} GROUP BY g.tag ORDER BY 2 DESC, 1 LIMIT :tags"""
    return {row[0]: row[1] for row in connection.execute(text(query), params)}


def _days(connection: Connection, scope: str, params: dict[str, Any]) -> list[Day]:
    made: dict[str, dict[str, int]] = {}
    newest = "SELECT substr({0}, 1, 10) AS day, {1} FROM {2} WHERE {3} GROUP BY {4} ORDER BY 1 DESC LIMIT {5}"
    # Three types of entries: so many rows hold at least so many days.
    entries = newest.format(
        "created_at", "entry_type, count(*)", "eval_dataset", f"{scope} AND status = 'active'", "1, 2", ":days * 3"
    )
    for day, kind, count in connection.execute(text(entries), params):
        made.setdefault(day, {})[kind] = count
    began = newest.format("started_at", "count(*)", "traces", "true", "1", ":days")
    for day, count in connection.execute(text(began), params):
        made.setdefault(day, {})["traces"] = count
    return [Day(day=day, **counts) for day, counts in sorted(made.items())[-int(params["days"]) :]]
