"""Figures of the traffic over time: how much, how dear, how slow, how faulty; by model or by name."""

from enum import StrEnum

from pydantic import BaseModel


class Grouping(StrEnum):
    """What the traffic is counted by."""

    MODEL = "model"
    NAME = "name"


class TrafficFigures(BaseModel):
    """Sums over some traces. Percentiles of latency are in milliseconds, at most 5 % too low; None where none is known."""

    traces: int = 0
    failed: int = 0
    tokens: int = 0
    cost: float = 0.0
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


class CheckOverTime(BaseModel):
    """A score by name and source over the period."""

    name: str
    source: str
    scored: int
    failing: int
    buckets: list[CheckBucket]
