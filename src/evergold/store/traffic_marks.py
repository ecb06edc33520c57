"""Tables of counted traffic, and the marks of hours that have to be counted again, whoever changed a trace or a score.

The tables are derived from traces and scores, so no backup holds them. In SQLite new traces and scores cost nothing: they are
those behind the last that was looked at (`traffic_upto`), which one writer makes certain. Changes and deletions are marked by
triggers. In PostgreSQL numbers are not given in the order of commits, so triggers mark all changes, once for each statement.
"""

from sqlalchemy import Column, Connection, Float, Index, Integer, MetaData, Table, Text, text

traffic_tables = MetaData()


def _key(*names: str) -> list[Column[str]]:
    return [Column(name, Text, primary_key=True) for name in names]


traffic_figures = Table(
    "traffic_figures",
    traffic_tables,
    *_key("bucket", "kind", "start", "value"),
    Column("traces", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False, comment="Of the traces whose cost is known; `costed` counts them."),
    Column("costed", Integer, nullable=False, server_default=text("0")),
    Column("latencies", Text, nullable=False, comment="JSON: [[least latency of a bin, traces in it], …]"),
    sqlite_with_rowid=False,
    comment="Traces of an hour or a day (`bucket`, `start`) that have one model or one name (`kind`, `value`).",
)

traffic_scores = Table(
    "traffic_scores",
    traffic_tables,
    *_key("bucket", "kind", "start", "value", "name", "source"),
    Column("scored", Integer, nullable=False),
    Column("failing", Integer, nullable=False),
    sqlite_with_rowid=False,
    comment="Scores of one name and source on those traces.",
)

traffic_dirty = Table(
    "traffic_dirty",
    traffic_tables,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("hour", Text, nullable=False),
    Column("taken", Integer, nullable=False, server_default=text("0")),
    Index("traffic_dirty_by_hour", "hour", "taken"),
    comment="Hours that changed since they were counted. A change that comes while an hour is counted makes a row of its own.",
    sqlite_autoincrement=True,
)

AT_ONCE = 20_000  # new traces or scores that one transaction looks at: whoever writes meanwhile waits for it
COUNTED = ("started_at", "status", "name", "model", "duration_ms", "tokens", "cost")


def _is_unmarked(hour: str) -> str:
    """Whether an hour is not marked, or somebody has begun to count it."""
    return f"NOT EXISTS (SELECT 1 FROM traffic_dirty d WHERE d.hour = {hour} AND d.taken = 0)"


def _mark(hours: str) -> str:
    """Mark the hours that a query gives, unless they are marked and nobody has begun to count them."""
    return f"INSERT INTO traffic_dirty (hour) SELECT h.hour FROM ({hours}) h WHERE {_is_unmarked('h.hour')}"


def _of_row(row: str) -> str:
    return _mark(f"SELECT substr({row}.started_at, 1, 13) AS hour") + ";"


def _of_score(row: str) -> str:
    return _mark(f"SELECT substr(t.started_at, 1, 13) AS hour FROM traces t WHERE t.id = {row}.trace_id") + ";"


_CHANGED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in COUNTED)
_SCORE = ("trace_id", "name", "source", "value")
_RESCORED = " OR ".join(f"old.{column} IS NOT new.{column}" for column in _SCORE)
# The number of a deleted score may be given again, unlike that of a trace: the mark goes back with the highest.
_LAST_SCORE = "(SELECT coalesce(max(id), 0) FROM trace_scores)"
_BACK = f"UPDATE traffic_upto SET scores = {_LAST_SCORE} WHERE scores > {_LAST_SCORE};"
# Triggers of rows that go ask first whether there is anything to do: a statement that inserts nothing still costs as much
# as the deletion of a row, and traces are deleted by the million.
_NEW_HOUR = (
    f"EXISTS (SELECT 1 FROM traces t WHERE t.id = old.trace_id AND {_is_unmarked('substr(t.started_at, 1, 13)')})"
)
_SQLITE = (
    "CREATE TABLE IF NOT EXISTS traffic_upto (traces INTEGER NOT NULL, scores INTEGER NOT NULL)",
    "INSERT INTO traffic_upto SELECT 0, 0 WHERE NOT EXISTS (SELECT 1 FROM traffic_upto)",
    f"CREATE TRIGGER IF NOT EXISTS traffic_gone AFTER DELETE ON traces "
    f"WHEN {_is_unmarked('substr(old.started_at, 1, 13)')} BEGIN {_of_row('old')} END",
    f"CREATE TRIGGER IF NOT EXISTS traffic_changed AFTER UPDATE OF {', '.join(COUNTED)} ON traces "
    f"WHEN {_CHANGED} BEGIN {_of_row('old')} {_of_row('new')} END",
    f"CREATE TRIGGER IF NOT EXISTS traffic_unscored AFTER DELETE ON trace_scores "
    f"WHEN old.id > {_LAST_SCORE} OR {_NEW_HOUR} BEGIN {_of_score('old')} {_BACK} END",
    f"CREATE TRIGGER IF NOT EXISTS traffic_rescored AFTER UPDATE OF {', '.join(_SCORE)} ON trace_scores "
    f"WHEN {_RESCORED} BEGIN {_of_score('old')} {_of_score('new')} END",
)


def _function(name: str, body: str) -> str:
    head = f"CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS"
    return f"{head} $$ BEGIN {body}; RETURN NULL; END $$"


def _triggers(table: str, function: str) -> list[str]:
    """A trigger for each way in which rows come, go, and are what they were before and after an update."""
    ways = (("new", "INSERT", "NEW"), ("gone", "DELETE", "OLD"), ("was", "UPDATE", "OLD"), ("is", "UPDATE", "NEW"))
    return [
        f"CREATE OR REPLACE TRIGGER traffic_{name} AFTER {way} ON {table} REFERENCING {rows} TABLE AS changed "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {function}()"
        for name, way, rows in ways
    ]


_HOURS = "SELECT DISTINCT substr({}, 1, 13) FROM {}"
_POSTGRES = (
    _function("evergold_traffic_traces", f"INSERT INTO traffic_dirty (hour) {_HOURS.format('started_at', 'changed')}"),
    _function(
        "evergold_traffic_scores",
        f"INSERT INTO traffic_dirty (hour) {_HOURS.format('t.started_at', 'traces t')} "
        "WHERE t.id IN (SELECT trace_id FROM changed)",
    ),
    _function(
        "evergold_traffic_emptied", "DELETE FROM traffic_figures; DELETE FROM traffic_scores; DELETE FROM traffic_dirty"
    ),
    *_triggers("traces", "evergold_traffic_traces"),
    *_triggers("trace_scores", "evergold_traffic_scores"),
    "CREATE OR REPLACE TRIGGER traffic_emptied AFTER TRUNCATE ON traces "
    "FOR EACH STATEMENT EXECUTE FUNCTION evergold_traffic_emptied()",
)
TRAFFIC_MARKS = {"sqlite": _SQLITE, "postgresql": _POSTGRES}


def anything_new(connection: Connection) -> bool:
    """Whether an hour has to be counted again."""
    if connection.exec_driver_sql("SELECT 1 FROM traffic_dirty LIMIT 1").first() is not None:
        return True
    if connection.dialect.name != "sqlite":
        return False
    last = "(SELECT max(seq) FROM traces) > u.traces OR (SELECT max(id) FROM trace_scores) > u.scores"
    return connection.exec_driver_sql(f"SELECT 1 FROM traffic_upto u WHERE {last}").first() is not None


def one_at_a_time(connection: Connection) -> None:
    """Let other servers on PostgreSQL wait until this transaction ends, so that two of them never lock each other out."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(8322)")


def take_hours(connection: Connection, most: int) -> tuple[dict[str, list[int]], bool]:
    """Take hours to count, the newest first, each with its marks; and whether there may be more."""
    one_at_a_time(connection)
    more = _mark_new(connection) if connection.dialect.name == "sqlite" else False
    newest = f"SELECT DISTINCT hour FROM traffic_dirty ORDER BY hour DESC LIMIT {most}"
    chosen = f"hour IN (SELECT hour FROM ({newest}) AS n)"
    connection.exec_driver_sql(f"UPDATE traffic_dirty SET taken = 1 WHERE taken = 0 AND {chosen}")
    taken: dict[str, list[int]] = {}
    for mark, hour in connection.exec_driver_sql(f"SELECT id, hour FROM traffic_dirty WHERE taken = 1 AND {chosen}"):
        taken.setdefault(hour, []).append(mark)
    return taken, more or len(taken) == most


def _mark_new(connection: Connection) -> bool:
    """Mark the hours of some traces and scores that are new; whether there are more of them."""
    query = "SELECT traces, scores, (SELECT max(seq) FROM traces), (SELECT max(id) FROM trace_scores) FROM traffic_upto"
    traces, scores, last_trace, last_score = connection.exec_driver_sql(query).one()
    upto = min(max(last_trace or 0, traces), traces + AT_ONCE)
    scores_upto = min(max(last_score or 0, scores), scores + AT_ONCE)
    new = "SELECT DISTINCT substr(started_at, 1, 13) AS hour FROM traces WHERE seq > ? AND seq <= ?"
    scored = (
        "SELECT DISTINCT substr(t.started_at, 1, 13) AS hour FROM trace_scores s CROSS JOIN traces t "
        "WHERE s.id > ? AND s.id <= ? AND t.id = s.trace_id"
    )
    connection.exec_driver_sql(_mark(new), (traces, upto))
    connection.exec_driver_sql(_mark(scored), (scores, scores_upto))
    connection.exec_driver_sql("UPDATE traffic_upto SET traces = ?, scores = ?", (upto, scores_upto))
    return bool(upto < (last_trace or 0) or scores_upto < (last_score or 0))
