"""The filter of a list of traces, and each part of it as a condition in SQL."""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, Field
from sqlalchemy import Boolean, Column, ColumnElement, exists, func, literal_column, or_

from evergold.errors import BadInput
from evergold.model.trace import ScoreSource, TraceStatus
from evergold.store.conditions import Many, Pairs, json_text
from evergold.store.cutoffs import Cutoff
from evergold.store.schema import trace_scores, trace_tags, traces
from evergold.store.schema.traces import FAILING, FAILING_BELOW, GIVEN
from evergold.store.search import Search
from evergold.store.values import dumps

# The name is matched lazily: `a=b<0.3` is a score called `a=b`.
CONDITION = re.compile(
    r"(?:(?P<source>system|user|human|llm_judge):)?(?P<name>.+?)(?:(?P<sign><=|>=|<|>|=)(?P<value>[0-9.]+))?", re.DOTALL
)
ANY_NAME = "*"  # `*<0.3`: any score below that


class ScoreCondition(NamedTuple):
    """A score that a trace has: of this source, name and value, where they are given."""

    source: ScoreSource | None
    name: str
    sign: str | None
    value: float


def score_condition(written: str) -> ScoreCondition:
    """Read `grounded<0.3`, `human:opinion=1`, `*<0.3` for any score, or a name alone: any value of it."""
    match = CONDITION.fullmatch(written)
    try:
        if match is None:
            raise ValueError
        value = float(match["value"] or 0)
    except ValueError:
        raise BadInput(
            f"score condition {written!r} cannot be read; write `grounded<0.3` or `human:opinion=1`"
        ) from None
    return ScoreCondition(
        ScoreSource(match["source"]) if match["source"] else None, match["name"], match["sign"], value
    )


def _conditions(written: tuple[str, ...]) -> tuple[str, ...]:
    for one in written:
        score_condition(one)
    return written


class TraceFilter(BaseModel, frozen=True, extra="forbid"):
    """Which traces: every part that is given must hold.

    `search`: words of name, question or answer, or an id's beginning. `name` and `model`: one of several; an empty one is
    none recorded. `tag`: every one. `score`: conditions such as `grounded<0.3`, `human:opinion=1` or `*<0.3` (any score).
    `metadata`: `key=value`. Times in milliseconds.
    """

    session_id: str | None = None
    user_id: str | None = None
    status: TraceStatus | None = None
    name: Many = ()
    model: Many = ()
    tag: Many = ()
    score: Annotated[Many, AfterValidator(_conditions)] = ()
    metadata: Pairs = ()
    error: str | None = None
    since: Cutoff | None = None
    until: Cutoff | None = None
    took_min: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    took_max: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    tokens_min: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    tokens_max: Annotated[int | None, Field(ge=0, lt=2**53)] = None
    cost_min: Annotated[float | None, Field(ge=0, lt=2**53, allow_inf_nan=False)] = None
    cost_max: Annotated[float | None, Field(ge=0, lt=2**53, allow_inf_nan=False)] = None
    search: Search | None = None


class TraceOrder(StrEnum):
    """How a list of traces is sorted; `match`: the hits of a search, the best first."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SLOWEST = "slowest"
    QUICKEST = "quickest"
    MOST_TOKENS = "most_tokens"
    FEWEST_TOKENS = "fewest_tokens"
    DEAREST = "dearest"
    CHEAPEST = "cheapest"
    MATCH = "match"


def plain_conditions(wanted: TraceFilter, dialect: str, *, walked: bool = False) -> Iterator[ColumnElement[bool]]:
    """The conditions that a trace's own row decides.

    A list that is `walked` in the order of a figure must not be read by the index of one of these and sorted afterwards. A
    plus before a column keeps SQLite from that; PostgreSQL knows by its statistics.
    """
    table = traces.c

    def of(column: Column[Any]) -> ColumnElement[Any]:
        plus = walked and dialect == "sqlite"
        return literal_column(f"+traces.{column.name}", column.type) if plus else column

    for name in ("session_id", "user_id", "status"):
        value = getattr(wanted, name)
        if value is not None:
            yield of(table[name]) == value
    for column, values in ((of(table.name), wanted.name), (of(table.model), wanted.model)):
        if values:
            # One value as an equation, so that the index also gives the order of the list.
            named = column == values[0] if len(values) == 1 else column.in_(values)
            yield or_(named, column.is_(None)) if "" in values else named
    if wanted.since is not None:
        yield of(table.started_at) >= wanted.since
    if wanted.until is not None:
        yield of(table.started_at) < wanted.until
    for column, name in ((table.duration_ms, "took"), (table.tokens, "tokens"), (table.cost, "cost")):
        low, high = getattr(wanted, f"{name}_min"), getattr(wanted, f"{name}_max")
        if low is not None:
            yield column >= low
        if high is not None:
            yield column <= high
    if wanted.error:
        yield of(table.status) == TraceStatus.FAILED
        yield json_text(table.metadata, ("error",), dialect).icontains(wanted.error, autoescape=True)
    for pair in wanted.metadata:
        key, _, value = pair.partition("=")
        yield json_text(table.metadata, (key,), dialect) == value


def tagged(tag: str, dialect: str) -> ColumnElement[bool]:
    """Whether the app or a person put this tag on a trace."""
    # The tag in its quotes is looked for in the JSON text: whole tags only, and no JSON is parsed.
    position = func.instr if dialect == "sqlite" else func.strpos
    by_a_person = exists().where(trace_tags.c.tag == tag, trace_tags.c.trace_id == traces.c.id)
    return or_(position(traces.c.tags, dumps(tag)) > 0, by_a_person)


def scored(condition: ScoreCondition) -> ColumnElement[bool]:
    """Whether a trace has such a score.

    Asked of one trace after the other, an index of all failing scores would be read again each time. SQLite chooses it
    even by the value of a parameter, but not for a sum.
    """
    value = trace_scores.c.value + 0.0
    return exists().where(trace_scores.c.trace_id == traces.c.id, *_compared(condition, value))


def score_parts(condition: ScoreCondition) -> list[ColumnElement[bool]]:
    """The parts of a condition, with the words by which the database knows that a partial index will do."""
    parts = _compared(condition, trace_scores.c.value)
    # Only a range inside that of the partial index lets the database use it.
    below = condition.value <= FAILING_BELOW if condition.sign == "<" else condition.value < FAILING_BELOW
    if condition.sign in ("<", "<=", "=") and below:
        parts.append(literal_column(FAILING, Boolean))
    # Scores of people and judges are few beside those of the system; their own index is small.
    elif condition.source not in (None, ScoreSource.SYSTEM):
        parts.append(literal_column(GIVEN, Boolean))
    return parts


def _compared(condition: ScoreCondition, value: ColumnElement[float]) -> list[ColumnElement[bool]]:
    table = trace_scores.c
    parts: list[ColumnElement[bool]] = [table.name == condition.name] if condition.name != ANY_NAME else []
    if condition.source is not None:
        parts.append(table.source == condition.source.value)
    if condition.sign is not None:
        compared = {
            "<": value < condition.value,
            "<=": value <= condition.value,
            ">": value > condition.value,
            ">=": value >= condition.value,
            "=": value == condition.value,
        }
        parts.append(compared[condition.sign])
    return parts
