"""What the Overview shows: intake over time, traffic by model or name, and the datasets."""

from datetime import timedelta
from enum import StrEnum

from pydantic import BaseModel

from evergold.model.case_actions import RepeatCounts
from evergold.model.trace import Gap


class Grouping(StrEnum):
    """What the traffic is counted by."""

    MODEL = "model"
    NAME = "name"


class TrafficFigures(BaseModel):
    """Sums over some traces. Percentiles of latency are in milliseconds, at most 5 % too low; None where none is known.

    `cost` is what is known of it, in US dollars, and None where nothing is; `cost_known` is the share of the traces whose cost
    is known, None where there are no traces.
    """

    traces: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float | None = None
    cost_known: float | None = None
    p50: int | None = None
    p95: int | None = None
    p99: int | None = None
    scored: int = 0
    failing: int = 0


class TrafficBucket(TrafficFigures):
    """The figures of one hour or day."""

    start: str


class TrafficGroup(BaseModel):
    """The traces of one model or name. `value` is empty where none was recorded, and None for all other values together."""

    value: str | None
    figures: TrafficFigures
    buckets: list[TrafficBucket]


class CheckBucket(BaseModel):
    """How often a check was made on the traces of one hour or day, and how often it failed."""

    start: str
    scored: int
    failing: int


class CheckCounts(BaseModel):
    """A score by name and source: how often it was given, and how often it was below the failure threshold."""

    name: str
    source: str
    failing: int
    scored: int


class CheckOverTime(CheckCounts):
    """A score over the period."""

    buckets: list[CheckBucket]


class Bucket(StrEnum):
    HOUR = "hour"
    DAY = "day"

    @property
    def letters(self) -> int:
        """How much of a time names its bucket."""
        return 13 if self is Bucket.HOUR else 10


class Tiers(BaseModel):
    """How many traces became what. A trace counts once, however many policies made a case of it: as a failure if any of them
    says so, else as confirmed, else as a candidate; a correction beside that counts by itself."""

    confirmed: int = 0
    unconfirmed: int = 0
    candidate: int = 0
    failure: int = 0
    correction: int = 0


class IntakeBucket(Tiers):
    """One bucket of time: the traces that began in it, and what they became."""

    start: str
    traces: int = 0


class Coverage(BaseModel):
    """A dataset: all its active cases, and how many traces of the period have a case in it."""

    dataset: str
    cases: int
    traces: int


class IncompleteCount(BaseModel):
    """Traces of one exporter that lack the same thing, and what to change there. A trace may lack several."""

    gap: Gap
    exporter: str
    traces: int
    change: str


class Overview(BaseModel):
    """Everything the first page shows, as it was at `as_of`, `age` seconds ago. `traces` is the whole store, `in_period` what
    began since `since`."""

    as_of: str | None
    age: float | None = None
    since: str
    bucket: Bucket
    traces: int
    in_period: int
    oldest: str | None
    newest: str | None
    intake: list[IntakeBucket]
    tiers: Tiers
    checks: list[CheckCounts]
    coverage: list[Coverage]
    incomplete: list[IncompleteCount]


class Facet(BaseModel):
    name: str
    cases: int


class Facets(BaseModel):
    """What cases can be filtered by: every dataset, and the tags used most."""

    datasets: list[Facet]
    tags: list[Facet]


class Day(BaseModel, frozen=True):
    """One day (UTC): traces that began on it, and entries made on it by type."""

    day: str
    traces: int = 0
    golden: int = 0
    candidate: int = 0
    failure: int = 0
    correction: int = 0


class DatasetStats(BaseModel, frozen=True):
    """Counts of active entries. `golden` is confirmed and unconfirmed, without candidates.

    `curated_traces` are those that do not wait, each counted once; `coverage` is the share of all
    traces that an entry cites, null when there are none. `repeats`, where they were asked for, counts repeats of questions."""

    dataset: str | None
    total: int
    golden: int
    failure: int
    correction: int
    confirmed: int
    unconfirmed: int
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


class Traffic(BaseModel):
    """Figures of whole hours or days: of all traces, of each model or name, and of the checks that fail most.

    They are those of `as_of`: some seconds ago at most, longer ago only while another program holds the database, and null
    where it has held it since the start. `age` is how many seconds that was ago.
    """

    as_of: str | None
    age: float | None = None
    since: str
    bucket: Bucket
    by: Grouping
    total: TrafficGroup
    groups: list[TrafficGroup]
    checks: list[CheckOverTime]


class Period(StrEnum):
    DAY = "24h"
    WEEK = "7d"
    MONTH = "30d"
    QUARTER = "90d"
    YEAR = "365d"

    @property
    def length(self) -> timedelta:
        number, unit = int(self.value[:-1]), self.value[-1]
        return timedelta(hours=number) if unit == "h" else timedelta(days=number)
