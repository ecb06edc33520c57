"""Figures of the workspace and of the living dataset: what came in, what it became, which checks fail, what is covered.

Times are sortable text, so a bucket of time is a prefix of it: the day of `2026-01-02T03:04:05Z` is its first ten letters.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

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
    # Read once: joining entries with traces is the dearest query of the page. All numbers that need both are sums of it.
    beside = f"""SELECT substr(t.started_at, 1, {bucket.letters}), {TIER}, eval_dataset.dataset, count(*)
        FROM eval_dataset JOIN traces t ON t.id = eval_dataset.trace_id
        WHERE t.started_at >= :since AND eval_dataset.status = 'active' GROUP BY 1, 2, 3"""
    entries = [_Entries(*row) for row in run_sql(connection, beside, since=since)]
    intake = intake_of(connection, since, bucket, entries)
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
        coverage=coverage_of(connection, since, entries),
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


class _Entries(NamedTuple):
    """How many active entries of one worth and dataset rest on traces that began in one bucket."""

    start: str
    worth: str
    dataset: str
    number: int


def intake_of(connection: Connection, since: str, bucket: Bucket, entries: Sequence[_Entries]) -> list[IntakeBucket]:
    """Buckets that hold something, oldest first."""
    counted = f"SELECT start, sum(traces) FROM traffic_figures WHERE {COUNTED} GROUP BY start"
    rows = run_sql(connection, counted, **_counted_since(since, bucket))
    results = {start: IntakeBucket(start=start, traces=int(number)) for start, number in rows}
    worths = Counter[tuple[str, str]]()
    for part in entries:
        worths[part.start, part.worth] += part.number
    # Counting every entry and taking off the repeats is far cheaper than counting distinct traces.
    worths.subtract(_count_repeats(connection, since, bucket))
    for (begin, worth), number in worths.items():
        results[begin] = results[begin].model_copy(update={worth: number})
    return [results[name] for name in sorted(results)]


# Of a trace with several entries one tier wins; a correction counts beside it.
COUNTS_AS = {
    "failure": "failure > 0",
    "confirmed": "confirmed > 0 AND failure = 0",
    "unconfirmed": "unconfirmed > 0 AND confirmed + failure = 0",
    "candidate": "candidate > 0 AND unconfirmed + confirmed + failure = 0",
    "correction": "correction > 0",
}


def _count_repeats(connection: Connection, since: str, bucket: Bucket) -> Counter[tuple[str, str]]:
    """By bucket and worth, the entries beyond the one that a trace counts as: only traces of several entries have any."""
    numbers = ", ".join(f"sum(CASE WHEN {TIER} = '{name}' THEN 1 ELSE 0 END) AS {name}" for name in COUNTS_AS)
    beyond = ", ".join(f"sum({name} - CASE WHEN {once} THEN 1 ELSE 0 END)" for name, once in COUNTS_AS.items())
    # Nearly all traces have one entry: only the few others are looked at.
    query = f"""SELECT substr(t.started_at, 1, {bucket.letters}), {beyond}
        FROM (SELECT trace_id, {numbers} FROM eval_dataset WHERE status = 'active' AND trace_id IS NOT NULL
          GROUP BY trace_id HAVING count(*) > 1) AS several
        JOIN traces t ON t.id = several.trace_id WHERE t.started_at >= :since GROUP BY 1"""
    repeats = Counter[tuple[str, str]]()
    for begin, *rest in run_sql(connection, query, since=since):
        repeats.update({(begin, name): int(more) for name, more in zip(COUNTS_AS, rest, strict=True) if more})
    return repeats


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


def coverage_of(connection: Connection, since: str, entries: Sequence[_Entries]) -> list[Coverage]:
    """The traces a dataset has entries of: its entries, less those of a trace that has one in it already."""
    query = """SELECT several.dataset, sum(several.more) FROM (SELECT dataset, trace_id, count(*) - 1 AS more
          FROM eval_dataset WHERE status = 'active' AND trace_id IS NOT NULL
          GROUP BY trace_id, dataset HAVING count(*) > 1) AS several
        JOIN traces t ON t.id = several.trace_id WHERE t.started_at >= :since GROUP BY several.dataset"""
    covered = Counter({name: -int(more) for name, more in run_sql(connection, query, since=since)})
    for part in entries:
        covered[part.dataset] += part.number
    # Cases without a trace (imported ones) count here too, so this cannot come from `entries`.
    sizes = dataset_names(connection).items()
    results = [Coverage(dataset=name, cases=number, traces=covered[name]) for name, number in sizes]
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
