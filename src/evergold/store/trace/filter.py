"""The filter of a list of traces, and the traces that pass it, asked so that a million of them are soon looked through.

Conditions that an index answers by itself (words, a score) are asked first: where one of them has few hits, only those are
looked at; where all have many, the list is walked in its order and each trace is held against them, which soon fills a page.
"""

import operator
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from enum import StrEnum
from itertools import chain
from typing import Annotated, Any, NamedTuple

from pydantic import AfterValidator, BaseModel, Field
from sqlalchemy import (
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    TextClause,
    and_,
    any_,
    bindparam,
    exists,
    func,
    literal_column,
    not_,
    or_,
    select,
    text,
    tuple_,
)
from sqlalchemy.dialects.postgresql import ARRAY

from evergold.errors import BadInput, describe_unknown
from evergold.model.trace import Gap, ScoreSource, TraceOutcome, TraceStatus
from evergold.store.conditions import APP, Cutoff, Many, Pairs, json_text
from evergold.store.database.rows import dumps, rows_among
from evergold.store.schema import FAILING, FAILING_BELOW, GIVEN, TIER, eval_dataset, trace_scores, trace_tags, traces
from evergold.store.trace.search import IndexMatch, Search, SearchTerms, is_common, match_of

# The name is matched lazily: `a=b<0.3` is a score called `a=b`.
CONDITION = re.compile(
    r"(?:(?P<source>system|user|human|llm_judge):)?(?P<name>.+?)(?:(?P<sign><=|>=|<|>|=)(?P<value>[0-9.]+))?", re.DOTALL
)
ANY_GAP, NO_GAP = "any", "none"  # of what a trace may lack
ANY_NAME = "*"  # `*<0.3`: any score below that
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


class ScoreCondition(NamedTuple):
    """A score that a trace has: of this source, name and value, where they are given."""

    source: ScoreSource | None
    name: str
    sign: str | None
    value: float


def score_condition(written: str) -> ScoreCondition:
    """Read `grounded<0.3`, `human:opinion=1`, `*<0.3` for any score, or a name alone: any value of it."""
    match = CONDITION.fullmatch(written)
    with suppress(ValueError):
        if match is not None:
            source = ScoreSource(match["source"]) if match["source"] else None
            return ScoreCondition(source, match["name"], match["sign"], float(match["value"] or 0))
    raise BadInput(f"score condition {written!r} cannot be read; write `grounded<0.3` or `human:opinion=1`")


def _conditions(written: tuple[str, ...]) -> tuple[str, ...]:
    for one in written:
        score_condition(one)
    return written


def _gaps(written: tuple[str, ...]) -> tuple[str, ...]:
    for one in written:
        if one not in (ANY_GAP, NO_GAP, *Gap):
            raise BadInput(describe_unknown("reason why a trace is incomplete", one, [ANY_GAP, NO_GAP, *Gap]))
    return written


class TraceFilter(BaseModel, frozen=True, extra="forbid"):
    """Which traces: every part that is given must hold.

    `search`: words of name, question or answer, or an id's beginning. `name` and `model`: one of several; an empty one is
    none recorded. `app`: one of several, `service/name`. `became`: one of several outcomes of curation. `incomplete`: one of
    several things that a trace lacks;
    `any` of them, or `none`. `tag`: every one. `score`: conditions such as `grounded<0.3`, `human:opinion=1` or `*<0.3` (any
    score). `metadata`: `key=value`. Times in milliseconds.
    """

    session_id: str | None = None
    user_id: str | None = None
    status: TraceStatus | None = None
    name: Many = ()
    model: Many = ()
    app: Many = ()
    tag: Many = ()
    became: tuple[TraceOutcome, ...] = ()
    incomplete: Annotated[Many, AfterValidator(_gaps)] = ()
    exporter: str | None = None
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


def plain_conditions(
    wanted: TraceFilter, dialect: str, *, walked: bool = False
) -> Iterator[ColumnElement[bool] | TextClause]:
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
    if wanted.app:
        yield literal_column(APP[dialect].format("traces"), Text).in_(wanted.app)
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
    if wanted.incomplete:
        holds = [table.incomplete.contains(f" {gap} ") for gap in wanted.incomplete if gap in list(Gap)]
        holds += [table.incomplete != ""] * (ANY_GAP in wanted.incomplete)
        holds += [table.incomplete == ""] * (NO_GAP in wanted.incomplete)
        yield or_(*holds)
        if NO_GAP not in wanted.incomplete:
            yield literal_column("traces.incomplete <> ''", Boolean)  # by which the partial index is known to do
    if wanted.exporter is not None:
        yield table.exporter == wanted.exporter
    if wanted.error:
        yield of(table.status) == TraceStatus.FAILED
        error = literal_column(json_text("traces.metadata", "'error'", dialect), Text)
        yield error.icontains(wanted.error, autoescape=True)
    for number, pair in enumerate(wanted.metadata):
        key, _, value = pair.partition("=")
        held = json_text("traces.metadata", f":key_{number}", dialect)
        given = {f"key_{number}": key, f"value_{number}": value}
        yield text(f"{held} = :value_{number}").bindparams(**given)


OF_TIER = {"confirmed": TraceOutcome.GOLDEN, "unconfirmed": TraceOutcome.GOLDEN}


def outcomes_of(connection: Connection, trace_ids: Sequence[str]) -> dict[str, TraceOutcome]:
    """What became of each of these traces that has a case."""
    query = f"SELECT trace_id, {TIER} FROM eval_dataset WHERE status = 'active' AND trace_id"
    order, became = list(TraceOutcome), dict[str, TraceOutcome]()
    for trace_id, tier in rows_among(connection, query, trace_ids):
        outcome = OF_TIER.get(tier) or TraceOutcome(tier)
        became[trace_id] = min(outcome, became.get(trace_id, outcome), key=order.index)
    return became


def _outcome_match(became: Sequence[TraceOutcome]) -> IndexMatch | ColumnElement[bool]:
    """The traces with an active case of one of these tiers; where those without a case are meant too, as a condition alone."""
    cases = eval_dataset.c
    active: list[ColumnElement[bool]] = [cases.status == "active", cases.trace_id == traces.c.id]
    golden = [tier for tier, outcome in OF_TIER.items() if outcome in became]
    tiers = [*golden, *(outcome.value for outcome in became if outcome not in (TraceOutcome.GOLDEN, TraceOutcome.NONE))]
    # The type as a column of its own, so that the index of types answers.
    types = {tier if tier in ("failure", "correction") else "golden" for tier in tiers}
    listed = ", ".join(f"'{tier}'" for tier in tiers) or "''"
    parts = [cases.entry_type.in_(sorted(types)), literal_column(f"({TIER}) IN ({listed})", Boolean)]
    holds = exists().where(*active, *parts)
    if TraceOutcome.NONE in became:
        return or_(not_(exists().where(*active)), holds) if tiers else not_(exists().where(*active))
    hits = select(traces.c.seq).join(eval_dataset, cases.trace_id == traces.c.id).where(active[0], *parts)
    return IndexMatch(hits, holds)


def has_tag(tag: str, dialect: str) -> ColumnElement[bool]:
    """Whether the app or a person put this tag on a trace."""
    # The tag in its quotes is looked for in the JSON text: whole tags only, and no JSON is parsed.
    position = func.instr if dialect == "sqlite" else func.strpos
    by_a_person = exists().where(trace_tags.c.tag == tag, trace_tags.c.trace_id == traces.c.id)
    return or_(position(traces.c.tags, dumps(tag)) > 0, by_a_person)


def score_match(condition: ScoreCondition) -> IndexMatch:
    """The traces that have such a score, with the words by which the database knows that a partial index will do."""
    table = trace_scores.c
    plain: list[ColumnElement[bool]] = [table.name == condition.name] if condition.name != ANY_NAME else []
    plain += [table.source == condition.source.value] if condition.source is not None else []

    def with_value(value: ColumnElement[float]) -> list[ColumnElement[bool]]:
        return plain if condition.sign is None else [*plain, COMPARE[condition.sign](value, condition.value)]

    parts = list(with_value(table.value))
    # Only a range inside that of the partial index lets the database use it.
    below = condition.value <= FAILING_BELOW if condition.sign == "<" else condition.value < FAILING_BELOW
    if condition.sign in ("<", "<=", "=") and below:
        parts.append(literal_column(FAILING, Boolean))
    # Scores of people and judges are few beside those of the system; their own index is small.
    elif condition.source not in (None, ScoreSource.SYSTEM):
        parts.append(literal_column(GIVEN, Boolean))
    # Asked of one trace after the other, an index of all failing scores would be read again each time. SQLite chooses it
    # even by the value of a parameter, but not for a sum.
    holds = exists().where(table.trace_id == traces.c.id, *with_value(table.value + 0.0))
    hits = select(traces.c.seq).join(trace_scores, table.trace_id == traces.c.id).where(*parts)
    return IndexMatch(hits, holds, select(table.trace_id).where(*parts))


FEW = 5_000  # hits of an index that are looked at one by one
OWN_INDEX = ("session_id", "user_id", "status", "name", "model")
NARROWING = (*OWN_INDEX, "since", "until")
BY_TIME = (traces.c.started_at, traces.c.seq)
WINDOW = 20_000  # hits of a common word among which a page of the newest is looked for


Arrivals = tuple[int, int]  # the first and the last of traces that arrived one after the other


class SearchOutcome(NamedTuple):
    """What the index of words gives for a search, asked once for all its queries: the hits, if they are few."""

    match: IndexMatch | None
    few: frozenset[int] | None


def _find(connection: Connection, wanted: TraceFilter) -> SearchOutcome:
    match = match_of(connection, asked_of(connection, wanted))
    return SearchOutcome(match, None if match is None else _find_few(connection, match))


def _find_few(connection: Connection, match: IndexMatch) -> frozenset[int] | None:
    """The hits of an index, None where there are more than are looked at one by one; it is read so far and no further."""
    if is_common(connection, match):
        return None
    # Not all hits of scores are of different traces, and none is missing: it is a bound.
    query = (match.hits if match.probe is None else match.probe).limit(1).offset(FEW)
    if connection.execute(query).first() is not None:
        return None
    return frozenset(connection.execute(match.hits).scalars())


def choose_traces(
    connection: Connection,
    query: Select[Any],
    wanted: TraceFilter,
    among_arrivals: Arrivals | None = None,
    *,
    walked: bool = False,
    outcome: SearchOutcome | None = None,
) -> Select[Any]:
    """Narrow a query of traces to those that pass the filter, and of hits of common words to those arrivals."""
    dialect = connection.dialect.name
    outcome = outcome or _find(connection, wanted)
    query = query.where(*plain_conditions(wanted, dialect, walked=walked))
    if wanted.search and wanted.search.strip() and outcome.match is None:
        query = query.where(*_id_begins(wanted.search.strip()))
    few = outcome.few
    if (match := outcome.match) is not None and few is None:
        query = query.where(match.within(*among_arrivals) if among_arrivals and match.within else match.holds)
    for match in chain(_index_matches(wanted), () if walked else _rare_values(connection, wanted)):
        hits = _find_few(connection, match)
        if hits is None:
            query = query.where(match.holds)
        else:
            few = hits if few is None else few & hits
    for tag in wanted.tag:
        query = query.where(has_tag(tag, dialect))
    if wanted.became and not isinstance(condition := _outcome_match(wanted.became), IndexMatch):
        query = query.where(condition)
    return query if few is None else query.where(is_among(sorted(few), dialect))


def select_newest(
    connection: Connection, query: Select[Any], wanted: TraceFilter, limit: int, before: tuple[Any, int] | None = None
) -> Select[Any]:
    """Narrow a query to the newest traces that pass, from behind `before`.

    SQLite reads all hits of a word before it looks at the first trace. Of a common word only the latest arrivals are asked
    for: that is right if no other trace lies in the stretch of time that the list then covers.
    """
    outcome = _find(connection, wanted)
    arrivals = _latest_hits(connection, outcome, before)
    if arrivals is not None:
        times = choose_traces(connection, select(traces.c.started_at), wanted, arrivals, outcome=outcome)
        oldest = connection.execute(after_reached(times, BY_TIME, True, before).limit(1).offset(limit - 1)).scalar()
        if oldest is None or _others_within(connection, arrivals, oldest, before):
            arrivals = None
    chosen = choose_traces(connection, query, wanted, arrivals, outcome=outcome)
    return after_reached(chosen, BY_TIME, True, before).limit(limit)


def after_reached(
    query: Select[Any], columns: Sequence[Column[Any]], falling: bool, reached: Sequence[Any] | None
) -> Select[Any]:
    """Sort a query by these columns, from behind the values that the last page reached."""
    if reached is not None:
        # A lone column by itself, so that the database reads its index.
        here: Any = tuple_(*columns) if len(columns) > 1 else columns[0]
        there: Any = tuple_(*reached) if len(columns) > 1 else reached[0]
        query = query.where(here < there if falling else here > there)
    return query.order_by(*(column.desc() if falling else column.asc() for column in columns))


def _latest_hits(connection: Connection, outcome: SearchOutcome, before: tuple[Any, int] | None) -> Arrivals | None:
    """The arrivals that hold the next hits of a common word; None where no word is asked for, or none is common."""
    match = outcome.match
    if match is None or match.within is None or outcome.few is not None:
        return None
    last = before[1] + WINDOW if before is not None else 2**62
    hits = match.hits.where(match.hits.selected_columns[0] <= last)
    first = connection.execute(hits.limit(1).offset(WINDOW)).scalar()
    return first or 0, last


def _others_within(connection: Connection, arrivals: Arrivals, since: str, before: tuple[Any, int] | None) -> bool:
    """Whether a trace that began since then, and before the page, is none of those arrivals."""
    moment, seq = traces.c.started_at, traces.c.seq
    others = select(seq).where(moment >= since, or_(seq < arrivals[0], seq > arrivals[1]))
    if before is not None:
        others = others.where(moment <= before[0])
    return connection.execute(others.limit(1)).first() is not None


def narrows_to_few(connection: Connection, wanted: TraceFilter) -> bool:
    """Whether those parts of the filter that an index answers leave so few traces that sorting them is quick."""
    narrowed = {name: getattr(wanted, name) for name in NARROWING if getattr(wanted, name)}
    conditions = list(plain_conditions(TraceFilter(**narrowed), connection.dialect.name))
    if not conditions:
        return False
    return connection.execute(select(traces.c.seq).where(*conditions).limit(1).offset(FEW)).first() is None


def is_among(seqs: Sequence[int], dialect: str) -> ColumnElement[bool]:
    if dialect == "sqlite":
        # One parameter for thousands of numbers; a list of parameters is limited.
        listed = func.json_each(dumps(seqs)).table_valued("value")
        return traces.c.seq.in_(select(listed.c.value))
    return traces.c.seq == any_(bindparam(None, list(seqs), type_=ARRAY(Integer)))


def asked_of(connection: Connection, wanted: TraceFilter) -> SearchTerms:
    """What to look for; nothing for an id, for the beginning of one that is not letters alone, and for no word."""
    search = (wanted.search or "").strip()
    asked = SearchTerms.of(search)
    if any(asked) and " " not in search:
        # Among many hexadecimal ids some begin with any word like "bad" or "face".
        is_id = (traces.c.id == search,) if search.isalpha() else _id_begins(search)
        known = connection.execute(select(traces.c.seq).where(*is_id).limit(1)).first()
        return SearchTerms((), ()) if known is not None else asked
    return asked


def _index_matches(wanted: TraceFilter) -> Iterator[IndexMatch]:
    """The parts of the filter, beside the words, that an index answers by itself."""
    yield from (score_match(score_condition(written)) for written in wanted.score)
    if wanted.became and isinstance(outcome := _outcome_match(wanted.became), IndexMatch):
        yield outcome


def _rare_values(connection: Connection, wanted: TraceFilter) -> Iterator[IndexMatch]:
    """Values of columns with an index, where several are asked for: SQLite does not know which of them is rare."""
    named = {name: getattr(wanted, name) for name in OWN_INDEX if getattr(wanted, name)}
    if connection.dialect.name != "sqlite" or len(named) < 2:
        return
    for name, value in named.items():
        condition = and_(*plain_conditions(TraceFilter(**{name: value}), "sqlite"))
        yield IndexMatch(select(traces.c.seq).where(condition), condition)


def _id_begins(text: str) -> tuple[Any, Any]:
    # A range instead of LIKE: the index of ids answers it in both databases, and % and _ mean nothing.
    return traces.c.id >= text, traces.c.id < text + "\U0010ffff"
