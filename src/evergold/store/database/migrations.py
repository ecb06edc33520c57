"""The schema's history: a numbered list of changes, each of which brings a database of the number before it to its own.

The first of them makes today's tables beside those of schema 0018, so what a change does must not fail where it is done.
A new database needs none: its tables are made from `store/schema.py`.
"""

from collections.abc import Callable
from typing import Any

from sqlalchemy import Connection, inspect
from sqlalchemy.schema import CreateColumn

from evergold.model.case_actions import queue_address
from evergold.prices import MODEL_KINDS, add_costs
from evergold.store.database.rows import loads, read_column, run_for_each, run_sql
from evergold.store.schema import metadata, remarks, spans
from evergold.store.text_index import BEFORE_CONVERSATIONS, TRACE_INDEXES

BEFORE_BASELINE = "0018"  # the one earlier schema that is brought over
PARTITIONED = "SELECT relkind FROM pg_class WHERE oid = to_regclass('spans')"
KEYS = "SELECT conname FROM pg_constraint WHERE conrelid = 'spans'::regclass AND contype IN ('p', 'f')"
UNKNOWN_COSTS = """SELECT seq, started_at, metadata FROM traces
    WHERE cost IS NULL AND tokens > 0 AND seq > :after ORDER BY seq LIMIT 500"""
CALLS = f"""SELECT trace_seq, kind, metadata FROM spans WHERE trace_seq IN (%s)
    AND kind IN ({", ".join(f"'{kind}'" for kind in MODEL_KINDS)}) ORDER BY trace_seq"""
SCORES = "EXISTS (SELECT 1 FROM trace_scores s WHERE s.trace_id = eval_dataset.trace_id AND {})"
CHECK = "substr(s.key, 1, 6) = 'check:'"
DETECTED = """EXISTS (SELECT 1 FROM trace_corrections c WHERE c.trace_id = eval_dataset.trace_id
    AND c.text = eval_dataset.expected_output AND c.author = 'detected')"""
# A row that somebody inserted by hand says nothing of where it comes from, and its content is read from its trace.
EVIDENCE = f"""UPDATE eval_dataset SET evidence = CASE
    WHEN entry_type = 'correction' AND own_content = 0 THEN CASE WHEN {DETECTED} THEN 'user' ELSE 'person' END
    WHEN policy IS NULL THEN CASE WHEN own_content = 0 AND body = '{{}}' THEN 'person' ELSE 'source' END
    WHEN entry_type = 'golden' AND confirmed = 1
      THEN CASE WHEN {SCORES.format("s.source = 'human'")} THEN 'person' ELSE 'user' END
    WHEN entry_type = 'golden'
      THEN CASE WHEN {SCORES.format(f"s.source = 'system' AND NOT {CHECK}")} THEN 'outcome' ELSE 'silence' END
    WHEN {SCORES.format("s.source = 'human' AND s.value < 0.3")} THEN 'person'
    WHEN {SCORES.format("s.source = 'user' AND s.value < 0.3")} THEN 'user'
    WHEN {SCORES.format(f"s.source = 'system' AND s.value < 0.3 AND NOT {CHECK}")} THEN 'outcome'
    ELSE 'check' END"""
IN_METADATA = {
    "sqlite": "json_set(metadata, '$.evidence', evidence)",
    "postgresql": "(metadata::jsonb || jsonb_build_object('evidence', evidence))::text",
}


def add_missing(connection: Connection) -> None:
    """Create the tables, columns and indexes of today's schema that the database does not have."""
    held = inspect(connection)
    tables = [table for table in metadata.sorted_tables if held.has_table(table.name)]
    for table in tables:
        names = {column["name"] for column in held.get_columns(table.name)}
        for column in (column for column in table.columns if column.name not in names):
            definition = str(CreateColumn(column).compile(dialect=connection.dialect))
            for key in column.foreign_keys:
                definition += f" REFERENCES {key.column.table.name} ({key.column.name})"
                definition += f" ON DELETE {key.ondelete}" if key.ondelete else ""
            run_sql(connection, f"ALTER TABLE {table.name} ADD COLUMN {definition}")
    metadata.create_all(connection)
    for table in tables:
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def make_baseline(connection: Connection) -> None:
    """Make today's tables, and bring those of schema 0018 to them with all their rows.

    On PostgreSQL schema 0018 kept `spans` in partitions, one for each day on which traces came.
    """
    kind = run_sql(connection, PARTITIONED).scalar() if connection.dialect.name == "postgresql" else None
    if kind == "p":
        _join_partitions(connection)
    elif kind == "r":
        # Left behind by a process that was ended while it made partitions; it refuses traces with higher numbers.
        run_sql(connection, "ALTER TABLE spans DROP CONSTRAINT IF EXISTS spans_bound")
    held = inspect(connection)
    if held.has_table("eval_dataset") and "whole" in {one["name"] for one in held.get_columns("eval_dataset")}:
        run_sql(connection, "ALTER TABLE eval_dataset RENAME COLUMN whole TO own_content")
    add_missing(connection)
    run_sql(connection, "DELETE FROM workspace_facts WHERE name = 'schema.compatible'")


def _join_partitions(connection: Connection) -> None:
    """Put a plain table with the rows of all partitions in the place of the partitioned one."""
    columns = ", ".join(column["name"] for column in inspect(connection).get_columns("spans"))
    # The new table's keys and index take their names.
    for name in run_sql(connection, KEYS).scalars().all():
        run_sql(connection, f"ALTER TABLE spans DROP CONSTRAINT {name}")
    run_sql(connection, "DROP INDEX spans_by_base")
    run_sql(connection, "ALTER TABLE spans RENAME TO spans_in_partitions")
    spans.create(connection)
    run_sql(connection, f"INSERT INTO spans ({columns}) SELECT {columns} FROM spans_in_partitions")
    run_sql(connection, "DROP TABLE spans_in_partitions")


def add_known_costs(connection: Connection) -> None:
    """Price the traces that report no cost, and count the traffic anew with how many costs are known."""
    add_missing(connection)
    if "costed" not in {column["name"] for column in inspect(connection).get_columns("traffic_figures")}:
        run_sql(connection, "ALTER TABLE traffic_figures ADD COLUMN costed INTEGER DEFAULT 0 NOT NULL")
    after = 0
    while rows := run_sql(connection, UNKNOWN_COSTS, after=after).all():
        after = rows[-1].seq
        calls: dict[int, list[tuple[str, Any]]] = {}
        for seq, kind, stated in connection.exec_driver_sql(CALLS % ", ".join(str(int(row.seq)) for row in rows)):
            calls.setdefault(seq, []).append((kind, loads(stated)))
        costs = [(row.seq, add_costs(loads(row.metadata), calls.get(row.seq, ()), row.started_at)) for row in rows]
        priced = ({"seq": seq, "cost": cost.amount} for seq, cost in costs if cost.amount is not None)
        run_for_each(connection, "UPDATE traces SET cost = :cost, priced = 1 WHERE seq = :seq", priced)
    for table in ("traffic_figures", "traffic_scores", "traffic_dirty"):
        run_sql(connection, f"DELETE FROM {table}")
    run_sql(connection, "INSERT INTO traffic_dirty (hour) SELECT DISTINCT substr(started_at, 1, 13) FROM traces")


def add_evidence(connection: Connection) -> None:
    """Note what the tier of each entry rests on, from the scores that are stored; allow a further kind of remark."""
    add_missing(connection)
    run_sql(connection, EVIDENCE)
    stated = IN_METADATA[connection.dialect.name]
    run_sql(connection, f"UPDATE eval_dataset SET metadata = {stated} WHERE policy IS NOT NULL")
    # SQLite changes no constraint in place.
    names = ", ".join(column.name for column in remarks.columns)
    run_sql(connection, f"CREATE TEMPORARY TABLE held_remarks AS SELECT {names} FROM remarks")
    remarks.drop(connection)
    remarks.create(connection)
    run_sql(connection, f"INSERT INTO remarks ({names}) SELECT {names} FROM held_remarks")
    run_sql(connection, "DROP TABLE held_remarks")


def add_answer_facts(connection: Connection) -> None:
    """Note the model and the prompt of answers anew with every case; what people decided on it is kept by its hashes."""
    add_missing(connection)
    run_sql(connection, "UPDATE case_bases SET version = 0 WHERE number = 0")


def index_conversations(connection: Connection) -> None:
    """Put an index of whole conversations in the place of that of beginnings; every trace waits to be indexed."""
    if inspect(connection).has_table("trace_words_due"):
        return  # made beside a table of traces that was missing
    dialect = connection.dialect.name
    for statement in (*BEFORE_CONVERSATIONS[dialect], *TRACE_INDEXES[dialect]):
        connection.exec_driver_sql(statement)
    run_sql(connection, "INSERT INTO trace_words_due (seq) SELECT seq FROM traces")


def join_views(connection: Connection) -> None:
    """Put the saved views of the review queue among those of lists; one whose name is taken there gets a number."""
    add_missing(connection)
    if not inspect(connection).has_table("saved_views"):
        return
    taken = set(read_column(connection, "SELECT name FROM list_views WHERE page = 'review'"))
    for row in run_sql(connection, "SELECT name, owner, body, created_at FROM saved_views ORDER BY name").mappings():
        names = (row["name"], *(f"{row['name']} ({number})" for number in range(2, len(taken) + 3)))
        name = next(one for one in names if one not in taken)
        taken.add(name)
        statement = (
            "INSERT INTO list_views (page, name, owner, body, created_at) VALUES ('review', :name, :owner, :body, :at)"
        )
        address, at = queue_address(loads(row["body"])), row["created_at"]
        run_sql(connection, statement, name=name, owner=row["owner"], body=address, at=at)
    run_sql(connection, "DROP TABLE saved_views")


MIGRATIONS: dict[str, Callable[[Connection], None]] = {
    "0019": make_baseline,
    "0020": add_missing,  # moderations
    "0021": add_known_costs,
    "0022": add_missing,  # what a trace lacks
    "0023": add_evidence,
    "0024": add_missing,  # topics and problems
    "0025": add_missing,  # what references rest on
    "0026": add_answer_facts,
    "0027": index_conversations,
    "0028": add_missing,  # regions of problems
    "0029": join_views,
}
HEAD = max(MIGRATIONS)
