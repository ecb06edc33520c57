"""Automatic tags of the entries a batch has just changed, made in SQL like the entries themselves."""

from collections.abc import Iterable, Mapping

from sqlalchemy import Connection, text

from evergold.store.schema import eval_dataset_tags
from evergold.store.traces import insert_new
from evergold.store.verdict_sql import POSTGRES, VerdictQuery

PLACED = "FROM curation_verdicts v WHERE v.change <> 'withdrawn'"


def tag_entries(connection: Connection, query: VerdictQuery, params: Mapping[str, object]) -> None:
    """Give changed entries their tags; a check that no longer fails loses its tag."""
    if "failed_check" in query.policy.tags:
        connection.execute(
            text(
                "DELETE FROM eval_dataset_tags WHERE tag LIKE 'failed:%' AND dataset_id IN "
                "(SELECT entry FROM curation_verdicts WHERE change NOT IN ('added', 'withdrawn'))"
            )
        )
    for statement in _statements(query):
        connection.execute(
            text(f"INSERT INTO eval_dataset_tags (dataset_id, tag) {statement} ON CONFLICT DO NOTHING"), params
        )


def _statements(query: VerdictQuery) -> list[str]:
    each = (
        "json_array_elements_text(v.tags::json) AS item(value)"
        if query.dialect is POSTGRES
        else "json_each(v.tags) AS item"
    )
    listed = PLACED.replace(" WHERE", f" CROSS JOIN {each} WHERE")
    own = f"SELECT v.entry, item.value {listed} AND v.tags <> '[]' AND item.value <> ''"
    made = {
        "message_type": f"SELECT v.entry, v.message_type {PLACED} AND v.message_type <> ''",
        "model": f"SELECT v.entry, 'model:' || v.model {PLACED} AND v.model <> ''",
        "tool": f"SELECT v.entry, 'tool:' || s.name {_joined('spans')} AND s.kind = 'tool' AND s.name <> ''",
        "failed_check": f"SELECT v.entry, 'failed:' || s.name {_joined('trace_scores')} "
        f"AND s.{query.system} AND s.value < :low{_ignored(query)}",
    }
    return [own, *(statement for kind, statement in made.items() if kind in query.policy.tags)]


def _joined(table: str) -> str:
    """The changed rows with theirs of another table; `CROSS JOIN` keeps SQLite from scanning that table first."""
    return PLACED.replace(" WHERE", f" CROSS JOIN {table} s WHERE s.trace_id = v.trace_id AND")


def _ignored(query: VerdictQuery) -> str:
    names = [name for name in query.params if name.startswith("ignored_")]
    return f" AND s.name NOT IN ({', '.join(f':{name}' for name in names)})" if names else ""


def changed_entries(connection: Connection) -> list[tuple[int, str]]:
    """The entries (and their traces) that the last curation on this connection gave a place."""
    rows = connection.execute(text(f"SELECT v.entry, v.trace_id {PLACED} AND v.entry IS NOT NULL"))
    return [(row[0], row[1]) for row in rows]


def put_tags(connection: Connection, entry: int, tags: Iterable[str]) -> None:
    rows = [{"dataset_id": entry, "tag": tag} for tag in sorted(set(tags)) if tag]
    insert_new(connection, eval_dataset_tags, rows)
