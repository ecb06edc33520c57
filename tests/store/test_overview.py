"""The numbers of the first page, on both databases."""

from datetime import UTC, datetime

from evergold.model.case import Provenance
from evergold.model.overview import Bucket, Coverage, Facet, IntakeBucket, Overview, Tiers
from evergold.store import Store
from evergold.store.case.writes import Author, put_cases
from evergold.store.database.rows import stamp
from evergold.store.trace.overview import facets_of, overview_of
from evergold.store.trace.traces import put_traces
from evergold.upkeep.traffic import TrafficWatch
from tests.builders import a_case, a_score, a_trace

MONDAY = datetime(2026, 1, 5, 9, 30, tzinfo=UTC)
TUESDAY = datetime(2026, 1, 6, 23, 59, tzinfo=UTC)
LONG_AGO = datetime(2025, 1, 1, tzinfo=UTC)


def look(store: Store, since: str = "2026-01-01T00:00:00.000Z", bucket: Bucket = Bucket.DAY) -> Overview:
    as_of = stamp(TrafficWatch(store).refresh())
    with store.db.read() as connection:
        return overview_of(connection, since=since, bucket=bucket, as_of=as_of)


def fill(store: Store) -> None:
    traces = [
        a_trace("a", started_at=MONDAY, scores=(a_score("grounded", 0.1, created_at=MONDAY),)),
        a_trace("b", started_at=MONDAY, scores=(a_score("grounded", 0.3, created_at=MONDAY),)),
        a_trace("c", started_at=TUESDAY, scores=(a_score("no_pii", 1.0, created_at=TUESDAY),)),
        a_trace("old", started_at=LONG_AGO, scores=(a_score("grounded", 0.0, created_at=LONG_AGO),)),
    ]
    cases = [
        a_case("ca", entry_type="failure", tags=("shop",), provenance=Provenance(trace_id="a")),
        a_case("cb", metadata={"confirmed": True}, tags=("shop", "de"), provenance=Provenance(trace_id="b")),
        a_case("cc", metadata={"confirmed": False}, provenance=Provenance(trace_id="c")),
        a_case("gone", status="withdrawn", provenance=Provenance(trace_id="c")),
        a_case("cold", dataset="kept", provenance=Provenance(trace_id="old")),
    ]
    store.db.write(lambda connection: put_traces(connection, traces))
    store.db.write(lambda connection: put_cases(connection, cases, Author()))


def test_an_empty_store_has_an_overview(store: Store) -> None:
    seen = look(store)
    assert (seen.traces, seen.in_period, seen.newest, seen.intake, seen.checks, seen.coverage) == (
        0,
        0,
        None,
        [],
        [],
        [],
    )
    assert seen.tiers == Tiers()


def test_intake_counts_traces_and_what_they_became_by_the_day_they_began(store: Store) -> None:
    fill(store)
    seen = look(store)
    assert seen.intake == [
        IntakeBucket(start="2026-01-05", traces=2, confirmed=1, failure=1),
        IntakeBucket(start="2026-01-06", traces=1, unconfirmed=1),
    ]
    assert seen.tiers == Tiers(confirmed=1, unconfirmed=1, failure=1)
    assert (seen.traces, seen.in_period) == (4, 3)
    assert look(store, bucket=Bucket.HOUR).intake[0].start == "2026-01-05T09"


def test_a_trace_that_several_policies_keep_counts_once(store: Store) -> None:
    fill(store)
    again = [
        a_case("a2", dataset="two", metadata={"confirmed": True}, provenance=Provenance(trace_id="a")),
        a_case("a3", dataset="two", entry_type="correction", provenance=Provenance(trace_id="a")),
        a_case("a4", dataset="two", entry_type="correction", provenance=Provenance(trace_id="a")),
        a_case("b2", dataset="two", metadata={"confirmed": False}, provenance=Provenance(trace_id="b")),
        a_case("c2", dataset="two", metadata={"confirmed": False}, provenance=Provenance(trace_id="c")),
    ]
    store.db.write(lambda connection: put_cases(connection, again, Author()))
    seen = look(store)
    assert seen.intake == [
        IntakeBucket(start="2026-01-05", traces=2, confirmed=1, failure=1, correction=1),
        IntakeBucket(start="2026-01-06", traces=1, unconfirmed=1),
    ]


def test_a_check_is_failing_below_the_threshold_and_not_at_it(store: Store) -> None:
    fill(store)
    checks = look(store).checks
    assert [(check.name, check.source, check.failing, check.scored) for check in checks] == [
        ("grounded", "system", 1, 2)
    ]


def test_a_trace_with_several_entries_is_covered_once_in_each_dataset(store: Store) -> None:
    fill(store)
    more = [
        a_case("correction", entry_type="correction", provenance=Provenance(trace_id="a")),
        a_case("elsewhere", dataset="kept", provenance=Provenance(trace_id="a")),
        a_case("twice", dataset="kept", provenance=Provenance(trace_id="old")),
    ]
    store.db.write(lambda connection: put_cases(connection, more, Author()))
    assert look(store).coverage == [
        Coverage(dataset="live", cases=4, traces=3),
        Coverage(dataset="kept", cases=3, traces=1),
    ]


def test_coverage_counts_active_cases_and_traces_of_the_period(store: Store) -> None:
    fill(store)
    assert look(store).coverage == [
        Coverage(dataset="live", cases=3, traces=3),
        Coverage(dataset="kept", cases=1, traces=0),
    ]


def test_facets_are_the_datasets_and_tags_in_use(store: Store) -> None:
    fill(store)
    with store.db.read() as connection:
        seen = facets_of(connection)
    assert seen.datasets == [Facet(name="kept", cases=1), Facet(name="live", cases=3)]
    assert seen.tags == [Facet(name="shop", cases=2), Facet(name="de", cases=1)]
