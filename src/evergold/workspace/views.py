"""The facade of kept views: list, keep, delete."""

from evergold.model.case_actions import ListPage, ListView
from evergold.store import Store
from evergold.store.case.reviews import drop_view, keep_view, kept_views


class ListViews:
    """Filters, columns and orders of lists, kept under names for everybody."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def of(self, page: ListPage) -> list[ListView]:
        with self._store.db.read() as connection:
            return kept_views(connection, page)

    def keep(self, view: ListView) -> ListView:
        """Keep a view under its name; one of the same name is replaced."""
        return self._store.db.write(lambda connection: keep_view(connection, view))

    def delete(self, page: ListPage, name: str) -> None:
        self._store.db.write(lambda connection: drop_view(connection, page, name))
