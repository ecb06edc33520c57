"""Figures of the workspace and of the living dataset: what came in, what it became, which checks fail, what is covered.

Times are sortable text, so a bucket of time is a prefix of it: the day of `2026-01-02T03:04:05Z` is its first ten letters.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, case, func, select

from evergold.conversation.wholeness import change_of_exporter
from evergold.model.case import CaseStatus
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
from evergold.model.trace import Gap
from evergold.store.case.cases import dataset_names
from evergold.store.case.content import tier_of
from evergold.store.database.rows import read_value, run_sql
from evergold.store.schema import eval_dataset, eval_dataset_tags, traces
from evergold.store.traffic_marks import traffic_figures, traffic_scores

SHOWN_CHECKS = 12
SHOWN_TAGS = 200
SHOWN_GAPS = 50


def overview_of(connection: Connection, *, since: str, bucket: Bucket, as_of: str | None) -> Overview:
    """Look at the workspace; `since` is the beginning of a bucket, and the traffic was counted at `as_of`."""
    oldest, newest = (connection.execute(select(of(traces.c.started_at))).scalar() for of in (func.min, func.max))
    # Read once and passed on: joining entries with traces is the dearest query of the page.
    entries = _entries_of(connection, since, bucket)
    intake = intake_of(connection, since, bucket, entries)
    counted = select(func.sum(traffic_figures.c.traces))
    tiers = Tiers(**{name: sum(getattr(part, name) for part in intake) for name in Tiers.model_fields})
    return Overview(
        as_of=as_of,
        since=since,
        bucket=bucket,
        # From the days that were counted.
        traces=int(connection.scalar(counted.where(*_counted_since(traffic_figures, "", Bucket.DAY))) or 0),
        in_period=sum(part.traces for part in intake),
        oldest=oldest,
        newest=newest,
        intake=intake,
        tiers=tiers,
        checks=checks_of(connection, since, bucket),
        coverage=coverage_of(connection, since, entries),
        incomplete=incomplete_of(connection, since),
    )


def incomplete_of(connection: Connection, since: str) -> list[IncompleteCount]:
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


def _entries_of(connection: Connection, since: str, bucket: Bucket) -> list[_Entries]:
    """The one look at entries beside their traces; all numbers of the page that need both are sums of it."""
    start = func.substr(traces.c.started_at, 1, bucket.letters).label("start")
    worth = _worth().label("worth")
    query = (
        select(start, worth, eval_dataset.c.dataset, func.count())
        .select_from(eval_dataset.join(traces, traces.c.id == eval_dataset.c.trace_id))
        .where(traces.c.started_at >= since, eval_dataset.c.status == CaseStatus.ACTIVE)
        .group_by(start, worth, eval_dataset.c.dataset)
    )
    return [_Entries(*row) for row in connection.execute(query)]


def intake_of(connection: Connection, since: str, bucket: Bucket, entries: Sequence[_Entries]) -> list[IntakeBucket]:
    """Buckets that hold something, oldest first."""
    table = traffic_figures.c
    counted = select(table.start, func.sum(table.traces)).where(*_counted_since(traffic_figures, since, bucket))
    results = {
        start: IntakeBucket(start=start, traces=int(number))
        for start, number in connection.execute(counted.group_by(table.start))
    }
    worths = Counter[tuple[str, str]]()
    for part in entries:
        worths[part.start, part.worth] += part.number
    # Counting every entry and taking off the repeats is far cheaper than counting distinct traces.
    worths.subtract(_count_repeats(connection, since, bucket))
    for (begin, worth), number in worths.items():
        results[begin] = results[begin].model_copy(update={worth: number})
    return [results[name] for name in sorted(results)]


def _count_repeats(connection: Connection, since: str, bucket: Bucket) -> Counter[tuple[str, str]]:
    """By bucket and worth, the entries beyond the one that a trace counts as: only traces of several entries have any."""
    worth, active = _worth(), eval_dataset.c.status == CaseStatus.ACTIVE
    numbers = {name: func.sum(case((worth == name, 1), else_=0)) for name in Tiers.model_fields}
    several = (
        select(eval_dataset.c.trace_id, *(number.label(name) for name, number in numbers.items()))
        .where(active, eval_dataset.c.trace_id.is_not(None))
        .group_by(eval_dataset.c.trace_id)
        # Nearly all traces have one entry: only the few others are looked at.
        .having(func.count() > 1)
        .subquery()
    )
    # Of a trace with several entries one tier wins; a correction counts beside it.
    has = {name: several.c[name] > 0 for name in numbers}
    counts_as = {
        "failure": has["failure"],
        "confirmed": has["confirmed"] & ~has["failure"],
        "candidate": has["candidate"] & ~has["failure"] & ~has["confirmed"],
        "correction": has["correction"],
    }
    start = func.substr(traces.c.started_at, 1, bucket.letters).label("start")
    beyond = [func.sum(several.c[name] - case((once, 1), else_=0)) for name, once in counts_as.items()]
    query = (
        select(start, *beyond)
        .select_from(several.join(traces, traces.c.id == several.c.trace_id))
        .where(traces.c.started_at >= since)
        .group_by(start)
    )
    result = Counter[tuple[str, str]]()
    for begin, *rest in connection.execute(query):
        for name, number in zip(counts_as, rest, strict=True):
            if number:
                result[begin, name] = int(number)
    return result


def checks_of(connection: Connection, since: str, bucket: Bucket) -> list[CheckCounts]:
    """The checks that failed most often on traces that began since then; those that never failed are left out."""
    table = traffic_scores.c
    failing, scored = func.sum(table.failing), func.sum(table.scored)
    query = (
        select(table.name, table.source, failing, scored)
        .where(*_counted_since(traffic_scores, since, bucket))
        .group_by(table.name, table.source)
        .having(failing > 0)
        .order_by(failing.desc(), table.name)
        .limit(SHOWN_CHECKS)
    )
    return [
        CheckCounts(name=name, source=source, failing=int(failed), scored=int(given))
        for name, source, failed, given in connection.execute(query)
    ]


def _counted_since(table: Table, since: str, bucket: Bucket) -> tuple[ColumnElement[bool], ...]:
    """The rows of one way of grouping, which together count every trace once."""
    one_kind = table.c.kind == Grouping.MODEL
    return table.c.bucket == bucket, one_kind, table.c.start >= since[: bucket.letters]


def coverage_of(connection: Connection, since: str, entries: Sequence[_Entries]) -> list[Coverage]:
    """The traces a dataset has entries of: its entries, less those of a trace that has one in it already."""
    active = eval_dataset.c.status == CaseStatus.ACTIVE
    several = (
        select(eval_dataset.c.dataset, eval_dataset.c.trace_id, (func.count() - 1).label("more"))
        .where(active, eval_dataset.c.trace_id.is_not(None))
        .group_by(eval_dataset.c.trace_id, eval_dataset.c.dataset)
        .having(func.count() > 1)
        .subquery()
    )
    again = connection.execute(
        select(several.c.dataset, func.sum(several.c.more))
        .select_from(several.join(traces, traces.c.id == several.c.trace_id))
        .where(traces.c.started_at >= since)
        .group_by(several.c.dataset)
    )
    covered = Counter({name: -int(more) for name, more in again})
    for part in entries:
        covered[part.dataset] += part.number
    # Cases without a trace (imported ones) count here too, so this cannot come from `entries`.
    sizes = dataset_names(connection).items()
    results = [Coverage(dataset=name, cases=number, traces=covered[name]) for name, number in sizes]
    return sorted(results, key=lambda part: (-part.cases, part.dataset))


def facets_of(connection: Connection) -> Facets:
    number, tag = func.count(), eval_dataset_tags.c.tag
    by_tag = select(tag, number).group_by(tag).order_by(number.desc(), tag).limit(SHOWN_TAGS)
    datasets = dataset_names(connection).items()
    return Facets(
        datasets=[Facet(name=name, cases=cases) for name, cases in sorted(datasets)],
        tags=[Facet(name=name, cases=cases) for name, cases in connection.execute(by_tag)],
    )


def _worth() -> ColumnElement[str]:
    """The name of the tier a case is in, as `Tiers` calls it."""
    golden = eval_dataset.c.entry_type == "golden"
    return case(
        (golden & (eval_dataset.c.confirmed == 1), "confirmed"),
        (golden, "candidate"),
        else_=eval_dataset.c.entry_type,
    )


FAILED_TAG = "failed:"


def dataset_stats(connection: Connection, dataset: str | None, *, days: int = 30, tags: int = 50) -> DatasetStats:
    # Without a dataset: everything that curation can make, of whichever policy.
    scope = "dataset = :dataset" if dataset is not None else "kind = 'chat'"
    params: dict[str, Any] = {"dataset": dataset, "days": days, "tags": tags}
    by_tier, withdrawn = Counter[str](), 0
    query = f"SELECT status, entry_type, confirmed, count(*) FROM eval_dataset WHERE {scope} GROUP BY 1, 2, 3"
    for status, entry_type, confirmed, number in run_sql(connection, query, **params):
        if status == "active":
            by_tier[tier_of(entry_type, confirmed)] += number
        withdrawn += number if status == "withdrawn" else 0
    traces = int(read_value(connection, "SELECT count(*) FROM traces"))
    distinct = f"SELECT count(DISTINCT trace_id) FROM eval_dataset WHERE {scope} AND status = 'active'"
    cited = int(read_value(connection, distinct, **params))
    waiting = int(read_value(connection, "SELECT count(*) FROM curation_queue"))
    return DatasetStats(
        dataset=dataset,
        total=by_tier.total(),
        golden=by_tier["confirmed"] + by_tier["candidate"],
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
    # Three types of entries: so many rows hold at least so many days.
    entries = newest.format(
        "created_at", "entry_type, count(*)", "eval_dataset", f"{scope} AND status = 'active'", "1, 2", ":days * 3"
    )
    for day, kind, count in run_sql(connection, entries, **params):
        made.setdefault(day, {})[kind] = count
    began = newest.format("started_at", "count(*)", "traces", "true", "1", ":days")
    for day, count in run_sql(connection, began, **params):
        made.setdefault(day, {})["traces"] = count
    return [Day(day=day, **counts) for day, counts in sorted(made.items())[-int(params["days"]) :]]
