"""The facade of what people put on traces: tags and comments."""

from evergold.model.trace import Retagged, Retagging, TraceComment
from evergold.store import Store
from evergold.store.trace.traces import comments_on, drop_comment, put_comment, retag


class TraceNotes:
    """Tags and comments of people on traces."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def retag(self, wanted: Retagging, who: str) -> list[Retagged]:
        """Put tags on traces and take people's tags off."""
        work = (wanted.trace_ids, wanted.add, wanted.remove, who)
        return self._store.db.write(lambda connection: retag(connection, *work))

    def comments(self, trace_id: str) -> list[TraceComment]:
        with self._store.db.read() as connection:
            return comments_on(connection, trace_id)

    def comment(self, trace_id: str, text: str, who: str) -> TraceComment:
        """Write a comment on a trace."""
        return self._store.db.write(lambda connection: put_comment(connection, trace_id, text, who))

    def uncomment(self, comment_id: int) -> None:
        """Delete a comment."""
        self._store.db.write(lambda connection: drop_comment(connection, comment_id))
