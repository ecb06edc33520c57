"""What leaves a workspace for good: old traces that nobody cites, and everything that came from one user."""

from functools import partial

from evergold.formats.erasure import erase_lines, erase_spooled
from evergold.settings import Settings
from evergold.storage import location
from evergold.store import Store
from evergold.store.case.content import drop_uncited, has_uncited
from evergold.store.facts import Portion
from evergold.store.text_index import forget_deleted
from evergold.store.trace.retention import (
    BATCH,
    Erased,
    Pruned,
    PruneKey,
    copies_of,
    count_erasable,
    count_prunable,
    erase_user,
    prune_batch,
    prune_waiting,
)
from evergold.upkeep.archives import Archives, cutoff
from evergold.upkeep.traffic import TrafficWatch


class Retention:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    def prune(self, older_than: str, *, dry_run: bool = False) -> Pruned:
        """Delete traces older than `90d` (s, m, h, d, w) that no entry cites."""
        before = cutoff(older_than)
        pruned = self._store.read(count_prunable, before)
        if dry_run:
            return pruned
        pruned.deleted = 0
        # In batches: one delete of a million rows would block intake for minutes.
        portion = Portion(BATCH)
        last: PruneKey | None = ("", 0)
        while last is not None:
            batch = partial(prune_batch, before=before, size=portion.size, after=last)
            deleted, last = self._store.db.write_with_retry(portion.time_work(batch))
            pruned.deleted += deleted
        pruned.waiting = self._store.db.write_with_retry(partial(prune_waiting, before=before))
        if self._store.read(has_uncited):
            self._store.db.write_with_retry(drop_uncited)
        return pruned

    def erase(self, user: str, *, who: str = "system", why: str = "") -> Erased:
        """Erase everything that came from a user: traces, the cases made of them, copies of those, what lies in the spool.

        Files and archives go first: should this be cut short, what is still in the tables leads the next attempt to them.
        """
        begun = self._store.read(copies_of, user)
        begun.build_files = _erase_copies(begun)
        begun.spooled = erase_spooled(self._settings.home / "spool", user)
        begun.archived = Archives(self._store).erase(user)
        erased = self._store.db.write_with_retry(lambda connection: erase_user(connection, user, who, why, begun))
        # Copies made while the tables were being emptied are named by the second list.
        erased.build_files += _erase_copies(erased)
        if erased.traces:
            # Counts of traffic still hold the names of erased traces.
            TrafficWatch(self._store).refresh()
        # So do the indexes of words, of their texts.
        self._store.db.write(forget_deleted)
        # Deleted rows stay readable in free pages of the file until it is rewritten.
        self._store.db.rewrite()
        return erased

    def would_erase(self, user: str) -> Erased:
        """Count the traces and cases that `erase` would reach, and the traces in archives; erase nothing."""
        counted = self._store.read(count_erasable, user)
        counted.archived = Archives(self._store).count_of(user)
        return counted


def _erase_copies(erased: Erased) -> int:
    return sum(erase_lines(location(path), erased.case_ids, erased.tags) for path in erased.locations)
