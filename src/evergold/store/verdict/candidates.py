"""The candidates of a day: traces that checks alone would make golden are gathered in a pool, and a bounded part is chosen.

The choice is a function of the day's traces: equal questions count as one, like questions form clusters, each cluster gives its
first question in a seeded order, then its second, rare clusters first, until the policy's limit is reached. While a day goes
on its choice may be exchanged; the share of a cluster that was taken is kept as the entry's inclusion probability.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

from sqlalchemy import Connection

from evergold.model.policy import Policy, Reason
from evergold.store.database.rows import read_column, read_value, run_for_each, run_sql
from evergold.store.facts import fact, fact_to_change, put_fact
from evergold.store.verdict.curation import IN_CHOSEN, IN_RANGE, choose
from evergold.store.verdict.tiers import CODE, Scope, VerdictQuery, dialect_of

# `point` is the seeded random number of a trace; `nth` ranks its question inside its cluster, so that first come all
# first questions, of the smallest clusters before those of the largest.
CHOICE = """
    WITH pool AS (SELECT p.trace_id, k.question, k.cluster, k.point FROM candidate_pool p
        JOIN trace_checks k ON k.trace_id = p.trace_id WHERE p.policy = :policy AND p.day = :day {beside}),
      questions AS ({first_of_each}),
      ranked AS (SELECT trace_id, cluster, point, repeats, row_number() OVER (PARTITION BY cluster ORDER BY point) AS nth,
        count(*) OVER (PARTITION BY cluster) AS size FROM questions),
      placed AS (SELECT trace_id, cluster, repeats, size, row_number() OVER (ORDER BY nth, size, point) AS place FROM ranked)
    SELECT trace_id, (count(*) OVER (PARTITION BY cluster)) * 1.0 / size / repeats, repeats FROM placed WHERE place <= :most"""
# Beside min() SQLite gives the other columns of the row that has the least, which costs a third of the windows.
FIRST_OF_EACH = {
    "sqlite": "SELECT trace_id, cluster, min(point) AS point, count(*) AS repeats FROM pool GROUP BY question",
    "postgresql": """SELECT trace_id, cluster, point, repeats FROM (SELECT trace_id, cluster, point,
        row_number() OVER (PARTITION BY question ORDER BY point) AS nth, count(*) OVER (PARTITION BY question) AS repeats
        FROM pool) AS numbered WHERE nth = 1""",
}
# Chosen rows alone are read and written: a day has few of them, and may have a million candidates.
CHOSEN = "SELECT trace_id, included, repeats FROM candidate_pool WHERE policy = :policy AND day = :day AND chosen = 1"
CHANGE = """UPDATE candidate_pool SET chosen = :chosen, included = :included, repeats = :repeats
    WHERE policy = :policy AND trace_id = :trace"""
DUE = "candidates.due:"
GATHERED = "candidates.gathered:"


class DayChoice(NamedTuple):
    """What would be chosen of a day, and the state of the pool that this follows from."""

    shares: dict[str, tuple[float, int]]  # by trace: its inclusion probability, and how often its question came
    pool_number: str


def gather_traces(
    connection: Connection, policy: Policy, trace_ids: Iterable[str], required: tuple[str, ...]
) -> set[str]:
    """Bring the pool up to date for some traces; the days they belong to."""
    choose(connection, trace_ids)
    return _gather(connection, policy, IN_CHOSEN, {}, required)


def gather_range(connection: Connection, policy: Policy, after: str, upto: str, required: tuple[str, ...]) -> set[str]:
    """The same for a range of trace ids."""
    return _gather(connection, policy, IN_RANGE, {"after": after, "upto": upto}, required)


def _gather(
    connection: Connection, policy: Policy, chosen: str, bounds: dict[str, object], required: tuple[str, ...]
) -> set[str]:
    query = VerdictQuery(policy, dialect_of(connection), chosen, Scope(required))
    candidates = f"SELECT trace_id, seq FROM ({query.sql()}) AS v WHERE reason = {CODE[Reason.CHECKED]}"
    params = query.params | bounds
    gone = f"""DELETE FROM candidate_pool WHERE policy = :policy AND {chosen}
        AND trace_id NOT IN (SELECT trace_id FROM ({candidates}) AS c) RETURNING day"""
    # SQLite needs `WHERE true` here: without it the parser takes ON CONFLICT for the condition of the join.
    fresh = f"""INSERT INTO candidate_pool (policy, trace_id, day)
        SELECT CAST(:policy AS text), t.id, substr(t.started_at, 1, 10) FROM ({candidates}) AS c
        JOIN traces t ON t.seq = c.seq WHERE true ON CONFLICT DO NOTHING RETURNING day"""
    return {day for statement in (gone, fresh) for day in read_column(connection, statement, **params)}


def note_gathered(connection: Connection, policy: Policy) -> None:
    """Count a change of the policy's pool. Others that change it wait from here to the end of the transaction."""
    name = GATHERED + policy.name
    put_fact(connection, name, str(int(fact_to_change(connection, name) or 0) + 1))


def pool_number(connection: Connection, policy: Policy) -> str:
    """Give the number of the last change of the policy's pool."""
    return fact(connection, GATHERED + policy.name) or "0"


def choose_day(connection: Connection, policy: Policy, day: str) -> list[str]:
    """Choose the candidates of a day anew; the traces whose place changed."""
    return keep_choice(connection, policy, day, choice_of(connection, policy, day))


def choice_of(connection: Connection, policy: Policy, day: str, beside: str | None = None) -> DayChoice:
    """Say what is to be chosen of a day, and of a trace `beside` its candidates. This reads all of them, and writes nothing."""
    more = "UNION SELECT trace_id, question, cluster, point FROM trace_checks WHERE trace_id = :beside"
    query = CHOICE.format(first_of_each=FIRST_OF_EACH[connection.dialect.name], beside=more if beside else "")
    given = {"beside": beside} if beside else {}
    rows = run_sql(connection, query, policy=policy.name, day=day, most=policy.limit.candidates_per_day, **given)
    return DayChoice({row[0]: (float(row[1]), row[2]) for row in rows}, pool_number(connection, policy))


def keep_choice(connection: Connection, policy: Policy, day: str, choice: DayChoice) -> list[str]:
    """Write a choice down where it differs from the one before; the traces whose place changed."""
    before = {row[0]: (row[1], row[2]) for row in run_sql(connection, CHOSEN, policy=policy.name, day=day)}
    after = choice.shares
    # Those that leave come first.
    shares = {trace: (None, 1) for trace in before if trace not in after} | after
    changes = [
        {"policy": policy.name, "trace": trace, "chosen": int(trace in after), "included": included, "repeats": repeats}
        for trace, (included, repeats) in shares.items()
        if trace not in after or before.get(trace) != (included, repeats)
    ]
    run_for_each(connection, CHANGE, changes)
    return sorted(before.keys() ^ after.keys())


def is_small(connection: Connection, policy: Policy, day: str, most: int) -> bool:
    """Whether a day has at most so many candidates."""
    first = "SELECT 1 FROM candidate_pool WHERE policy = :policy AND day = :day LIMIT :most"
    query = f"SELECT count(*) FROM ({first}) AS counted"
    return int(read_value(connection, query, policy=policy.name, day=day, most=most + 1)) <= most


def due_days(connection: Connection, policy: Policy, *, to_change: bool = False) -> set[str]:
    """The days whose choice was put off; `to_change`: before `put_due_days` writes others."""
    look_up = fact_to_change if to_change else fact
    return set((look_up(connection, DUE + policy.name) or "").split())


def put_due_days(connection: Connection, policy: Policy, days: Iterable[str]) -> None:
    put_fact(connection, DUE + policy.name, " ".join(sorted(days)))


def put_off_days(connection: Connection, policy: Policy, days: set[str]) -> None:
    """Note days whose candidates changed, to be chosen later. Others wait from here to the end of the transaction."""
    noted = due_days(connection, policy, to_change=True)
    note_gathered(connection, policy)
    if not days <= noted:
        put_due_days(connection, policy, noted | days)


def weigh_day(connection: Connection, policy: Policy, day: str) -> None:
    """Write the share that was taken, and how often each question came, into the entries of a day. This is no revision: the
    figures follow the day until it closes."""
    dialect = dialect_of(connection)
    body = dialect.merged.format(
        column="body",
        patch="""'{"provenance":{"source":"policy","inclusion_probability":' || CAST(p.included AS text) || '}}'""",
    )
    counted = """'{"confirmed": false, "repeats": ' || CAST(p.repeats AS text) || '}'"""
    metadata = dialect.merged.format(column="metadata", patch=counted)
    statement = f"""UPDATE eval_dataset SET body = {body}, metadata = {metadata} FROM candidate_pool p
        WHERE p.policy = :policy AND p.day = :day AND p.chosen = 1 AND eval_dataset.trace_id = p.trace_id
        AND eval_dataset.policy = :policy AND eval_dataset.status = 'active' AND eval_dataset.evidence = 'silence'
        AND eval_dataset.decided = '' AND eval_dataset.review = 'unvalidated'
        AND (coalesce({dialect.included.format("eval_dataset.body")}, -1) <> p.included OR p.repeats > 1)"""
    run_sql(connection, statement, policy=policy.name, day=day)


def pool_days(connection: Connection, policy: Policy) -> list[str]:
    """Every day that has candidates of this policy."""
    query = "SELECT DISTINCT day FROM candidate_pool WHERE policy = :policy ORDER BY day"
    return read_column(connection, query, policy=policy.name)


def next_pool_day(connection: Connection, policy: Policy, after: str) -> str | None:
    """Return the first day after this one that has candidates of the policy."""
    query = "SELECT min(day) FROM candidate_pool WHERE policy = :policy AND day > :after"
    return cast("str | None", read_value(connection, query, policy=policy.name, after=after))


def days_of(connection: Connection, policy: Policy, trace_ids: Iterable[str]) -> list[str]:
    """The days on which some traces are candidates of this policy."""
    choose(connection, trace_ids)
    query = f"SELECT DISTINCT day FROM candidate_pool WHERE policy = :policy AND {IN_CHOSEN} ORDER BY day"
    return read_column(connection, query, policy=policy.name)


def is_chosen(connection: Connection, policy: Policy, trace_id: str) -> bool:
    """Whether a trace is among the candidates chosen for its day, or would be if it were a candidate."""
    query = "SELECT chosen FROM candidate_pool WHERE policy = :policy AND trace_id = :trace"
    chosen = read_value(connection, query, policy=policy.name, trace=trace_id)
    if chosen is not None:
        return bool(chosen)
    day = read_value(connection, "SELECT substr(started_at, 1, 10) FROM traces WHERE id = :trace", trace=trace_id)
    return trace_id in choice_of(connection, policy, day, beside=trace_id).shares
