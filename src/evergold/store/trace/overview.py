"""Figures of the workspace and of the living dataset: what came in, what it became, which checks fail, what is covered.

Times are sortable text, so a bucket of time is a prefix of it: the day of `2026-01-02T03:04:05Z` is its first ten letters.
"""

from collections import Counter
from typing import Any

from sqlalchemy import Connection

from evergold.conversation.wholeness import change_of_exporter
from evergold.model.overview import (
    Bucket,
    CheckCounts,
    Coverage,
    DatasetStats,
    Day,
    Facet,
    Facets,
    Grouping,
    IncompleteCount,
    IntakeBucket,
    Overview,
    Tiers,
)
from evergold.model.policy import Policy
from evergold.model.trace import Gap
from evergold.store.case.cases import dataset_names
from evergold.store.database.rows import read_value, run_sql
from evergold.store.schema import TIER

SHOWN_CHECKS = 12
SHOWN_TAGS = 200
SHOWN_GAPS = 50
MOST_TAGS = 50  # in the statistics of a dataset


def overview_of(connection: Connection, *, since: str, bucket: Bucket, as_of: str | None) -> Overview:
    """Look at the workspace; `since` is the beginning of a bucket, and the traffic was counted at `as_of`."""
    oldest, newest = (read_value(connection, f"SELECT {end}(started_at) FROM traces") for end in ("min", "max"))
    intake = intake_of(connection, since, bucket)
    counted = f"SELECT sum(traces) FROM traffic_figures WHERE {COUNTED}"
    tiers = Tiers(**{name: sum(getattr(part, name) for part in intake) for name in Tiers.model_fields})
    return Overview(
        as_of=as_of,
        since=since,
        bucket=bucket,
        # From the days that were counted.
        traces=int(read_value(connection, counted, **_counted_since("", Bucket.DAY)) or 0),
        in_period=sum(part.traces for part in intake),
        oldest=oldest,
        newest=newest,
        intake=intake,
        tiers=tiers,
        checks=checks_of(connection, since, bucket),
        coverage=coverage_of(connection, since),
        incomplete=incomplete_of(connection, since),
    )


def incomplete_of(connection: Connection, since: str = "") -> list[IncompleteCount]:
    """Count the traces since then that lack something, by what they lack and what sent them; the most frequent first."""
    query = """SELECT incomplete, exporter, count(*) FROM traces WHERE incomplete <> '' AND started_at >= :since
        GROUP BY incomplete, exporter"""
    counts = Counter[tuple[str, str]]()
    for gaps, exporter, number in run_sql(connection, query, since=since):
        counts.update(dict.fromkeys(((gap, exporter) for gap in gaps.split()), int(number)))
    return [
        IncompleteCount(gap=gap, exporter=exporter, traces=number, change=change_of_exporter(Gap(gap), exporter))
        for (gap, exporter), number in counts.most_common(SHOWN_GAPS)
    ]


# Of a trace with several entries one tier wins; a correction counts beside it.
COUNTS_AS = {
    "failure": "failure",
    "confirmed": "confirmed * (1 - failure)",
    "unconfirmed": "unconfirmed * (1 - confirmed) * (1 - failure)",
    "candidate": "candidate * (1 - unconfirmed) * (1 - confirmed) * (1 - failure)",
    "correction": "correction",
}


def intake_of(connection: Connection, since: str, bucket: Bucket) -> list[IntakeBucket]:
    """Count the traces of each bucket that holds any, and what became of them; the oldest first."""
    counted = f"SELECT start, sum(traces) FROM traffic_figures WHERE {COUNTED} GROUP BY start"
    rows = run_sql(connection, counted, **_counted_since(since, bucket))
    results = {start: IntakeBucket(start=start, traces=int(number)) for start, number in rows}
    has_tier = ", ".join(f"max(CASE WHEN {TIER} = '{name}' THEN 1 ELSE 0 END) AS {name}" for name in COUNTS_AS)
    # Entries are grouped by trace first, in the order of an index; joining each with its trace would be dearer.
    query = f"""SELECT substr(t.started_at, 1, {bucket.letters}), {", ".join(f"sum({one})" for one in COUNTS_AS.values())}
        FROM (SELECT trace_id, {has_tier} FROM eval_dataset WHERE status = 'active' AND trace_id IS NOT NULL
          GROUP BY trace_id) AS entered
        JOIN traces t ON t.id = entered.trace_id WHERE t.started_at >= :since GROUP BY 1"""
    for start, *numbers in run_sql(connection, query, since=since):
        counts = dict(zip(COUNTS_AS, map(int, numbers), strict=True))
        results[start] = results[start].model_copy(update=counts)
    return [results[name] for name in sorted(results)]


def checks_of(connection: Connection, since: str, bucket: Bucket) -> list[CheckCounts]:
    """The checks that failed most often on traces that began since then; those that never failed are left out."""
    query = f"""SELECT name, source, sum(failing), sum(scored) FROM traffic_scores WHERE {COUNTED}
        GROUP BY name, source HAVING sum(failing) > 0 ORDER BY 3 DESC, 1 LIMIT {SHOWN_CHECKS}"""
    return [
        CheckCounts(name=name, source=source, failing=int(failed), scored=int(given))
        for name, source, failed, given in run_sql(connection, query, **_counted_since(since, bucket))
    ]


# The rows of one way of grouping, which together count every trace once.
COUNTED = f"bucket = :bucket AND kind = '{Grouping.MODEL.value}' AND start >= :start"


def _counted_since(since: str, bucket: Bucket) -> dict[str, str]:
    return {"bucket": bucket.value, "start": since[: bucket.letters]}


def coverage_of(connection: Connection, since: str) -> list[Coverage]:
    """Count the cases of each dataset, and the traces since then that it has cases of; the largest first."""
    query = """SELECT e.dataset, count(DISTINCT e.trace_id) FROM eval_dataset e JOIN traces t ON t.id = e.trace_id
        WHERE e.status = 'active' AND t.started_at >= :since GROUP BY e.dataset"""
    covered = dict(tuple(row) for row in run_sql(connection, query, since=since))
    results = [
        Coverage(dataset=name, cases=number, traces=covered.get(name, 0))
        for name, number in dataset_names(connection).items()
    ]
    return sorted(results, key=lambda part: (-part.cases, part.dataset))


def facets_of(connection: Connection) -> Facets:
    by_tag = f"SELECT tag, count(*) FROM eval_dataset_tags GROUP BY tag ORDER BY 2 DESC, 1 LIMIT {SHOWN_TAGS}"
    datasets = dataset_names(connection).items()
    return Facets(
        datasets=[Facet(name=name, cases=cases) for name, cases in sorted(datasets)],
        tags=[Facet(name=name, cases=cases) for name, cases in run_sql(connection, by_tag)],
    )


FAILED_TAG = "failed:"


def dataset_stats(connection: Connection, dataset: str | None = Policy().dataset, *, days: int = 30) -> DatasetStats:
    """Totals of a dataset by tier, tag and day; of everything that curation can make where none is named."""
    scope = "dataset = :dataset" if dataset is not None else "kind = 'chat'"
    params: dict[str, Any] = {"dataset": dataset, "days": days, "tags": MOST_TAGS}
    by_tier, withdrawn = Counter[str](), 0
    query = f"SELECT status, {TIER} AS tier, count(*) FROM eval_dataset WHERE {scope} GROUP BY 1, 2"
    for status, tier, number in run_sql(connection, query, **params):
        if status == "active":
            by_tier[tier] += number
        withdrawn += number if status == "withdrawn" else 0
    traces = int(read_value(connection, "SELECT count(*) FROM traces"))
    distinct = f"SELECT count(DISTINCT trace_id) FROM eval_dataset WHERE {scope} AND status = 'active'"
    cited = int(read_value(connection, distinct, **params))
    waiting = int(read_value(connection, "SELECT count(*) FROM curation_queue"))
    return DatasetStats(
        dataset=dataset,
        total=by_tier.total(),
        golden=by_tier["confirmed"] + by_tier["unconfirmed"],
        **{name: by_tier[name] for name in Tiers.model_fields},
        withdrawn=withdrawn,
        tags=_tags(connection, scope, params),
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
    return {row[0]: row[1] for row in run_sql(connection, query, **params)}


def _days(connection: Connection, scope: str, params: dict[str, Any]) -> list[Day]:
    made: dict[str, dict[str, int]] = {}
    newest = "SELECT substr({0}, 1, 10) AS day, {1} FROM {2} WHERE {3} GROUP BY {4} ORDER BY 1 DESC LIMIT {5}"
    # Four kinds of entries: so many rows hold at least so many days.
    kind = f"CASE WHEN {TIER} = 'candidate' THEN 'candidate' ELSE entry_type END, count(*)"
    entries = newest.format("created_at", kind, "eval_dataset", f"{scope} AND status = 'active'", "1, 2", ":days * 4")
    for day, kind, count in run_sql(connection, entries, **params):
        made.setdefault(day, {})[kind] = count
    began = newest.format("started_at", "count(*)", "traces", "true", "1", ":days")
    for day, count in run_sql(connection, began, **params):
        made.setdefault(day, {})["traces"] = count
    return [Day(day=day, **counts) for day, counts in sorted(made.items())[-int(params["days"]) :]]
