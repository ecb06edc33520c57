"""Tags that a plug-in gives to the entries a batch has just changed; SQL makes the built-in ones with the entries."""

from collections.abc import Iterable

from sqlalchemy import Connection, text

from evergold.store.curation_sql import KEPT_VERDICTS
from evergold.store.schema import eval_dataset_tags
from evergold.store.traces import insert_new


def changed_entries(connection: Connection) -> list[tuple[int, str]]:
    """The entries (and their traces) that the last curation on this connection gave a place."""
    rows = connection.execute(text(f"SELECT v.entry, v.trace_id FROM {KEPT_VERDICTS} AND v.entry IS NOT NULL"))
    return [(row[0], row[1]) for row in rows]


def put_tags(connection: Connection, entry: int, tags: Iterable[str]) -> None:
    rows = [{"dataset_id": entry, "tag": tag} for tag in sorted(set(tags)) if tag]
    insert_new(connection, eval_dataset_tags, rows)
