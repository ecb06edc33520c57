"""The living dataset: curation in the background and in bulk, corrections, statistics, forgetting."""

import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evergold.curate.background import Curator, CuratorState
from evergold.curate.classify import Explanation
from evergold.curate.live import Curation, refresh_cases
from evergold.curate.policy import DEFAULT, read_policy
from evergold.errors import BadInput
from evergold.formats.erasure import erase_lines, erase_spooled
from evergold.model.policy import Policy
from evergold.settings import Settings
from evergold.storage import location as located
from evergold.store import Store
from evergold.store.case.content import drop_uncited, fill_contents, has_uncited
from evergold.store.database.rows import loads, stamp
from evergold.store.facts import Portion
from evergold.store.text_index import forget_deleted, learn_parts, learn_words, parts_waiting, words_waiting
from evergold.store.trace.overview import DatasetStats, dataset_stats
from evergold.store.trace.pages import count_traces
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
from evergold.store.verdict.corrections import withdraw_score
from evergold.store.verdict.curation import Changes, newest_number, queue_counts, set_aside
from evergold.store.verdict.undo import Undone, policy_revisions
from evergold.workspace.checks import Checks
from evergold.workspace.in_force import InForce, read_in_force

if TYPE_CHECKING:
    from evergold.workspace.kept_out import KeptOut

LEISURE_CASES = 20  # whose contents are written at a time when nothing else waits
AGE = re.compile(r"^(\d+)\s*([smhdw])$")
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


@dataclass(frozen=True)
class PolicyRevision:
    """A revision of a policy that has changed entries, or is in force."""

    label: str
    rev: str
    in_force: bool
    first_used: str | None
    policy: dict[str, Any]


class Live:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._curator: Curator | None = None
        self._held: InForce | None = None
        self._curating = threading.Lock()  # callers that want everything curated come one after the other

    @property
    def in_force(self) -> InForce:
        """The rules as they are now: another process may have changed them since the last call."""
        with self._store.db.read() as connection:
            number = newest_number(connection)
        if self._held is None or self._held.number != number:
            self._held = read_in_force(self._store, self._settings)
        return self._held

    @property
    def curation(self) -> Curation:
        """The policies in force, with the detector the settings name."""
        return self.in_force.curation

    @property
    def checks(self) -> Checks:
        """The checks in force."""
        return self.in_force.checks

    def step(self, limit: int) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces under the rules of this moment; how many were taken, and what changed."""
        return self.curation.step(limit)

    def fill_contents(
        self, *, until: float = inf, most: float = inf, progress: Callable[[int], None] = lambda _: None
    ) -> int:
        """Write the contents of cases that have none yet; how many were written."""
        return fill_contents(self._store.db, until=until, most=most, progress=progress)

    def under(self, chosen: Sequence[Policy]) -> Curation:
        """These policies instead of those in force, for which what waits goes on waiting."""
        return self.in_force.under(chosen)

    def with_policy_files(self, paths: Sequence[Path]) -> Curation:
        """Only the policies of these files; with none given, those in force."""
        return self.under([read_policy(path) for path in paths]) if paths else self.curation

    def curate(self, trace_id: str | None = None, *, seconds: float = inf) -> Changes:
        """Bring entries up to date with everything new, or with one trace; after so many seconds the rest goes on waiting."""
        if trace_id is not None:
            changes = self.curation.trace(trace_id)
            self.fill_contents()
            return changes
        until = time.monotonic() + seconds
        # Bulk curation is one at a time in this process: two would judge the same traces twice.
        if not self._curating.acquire(timeout=min(seconds, threading.TIMEOUT_MAX)):
            return Changes()  # another caller has been at it for as long
        try:
            changes, in_force = Changes(), None
            while in_force is not self.in_force:  # rules that are changed meanwhile judge what is left
                in_force = self.in_force
                in_force.checks.queue_missing(until)
                changes.add(in_force.curation.drain(until))
            self.fill_contents(until=until)
            return changes
        finally:
            self._curating.release()

    def waiting(self) -> int:
        """How many traces wait to be curated."""
        with self._store.db.read() as connection:
            return queue_counts(connection)[0]

    def unscore(self, score_id: int) -> str:
        """Take a score back; returns its trace, which is curated again."""
        return self._store.db.write(lambda connection: withdraw_score(connection, score_id))

    def refresh(self, progress: Callable[[int], None] = lambda _: None) -> tuple[int, int]:
        """Complete earlier cases from the traces they cite; how many cite one, and how many changed."""
        return refresh_cases(self._store, progress)

    def explain(self, trace_id: str) -> list[Explanation]:
        return self.curation.explain(trace_id)

    def undo(self, label: str) -> Undone:
        return self.curation.undo(label)

    def stats(self, dataset: str | None = DEFAULT.dataset, *, days: int = 30) -> DatasetStats:
        with self._store.db.read() as connection:
            return dataset_stats(connection, dataset, days=days)

    def kept_out(self, since: str) -> "KeptOut":
        """Say what keeps the newest traces since then out of the golden set, by the first policy in force."""
        from evergold.workspace.kept_out import kept_out_of

        curation = self.curation
        policy = curation.policies[0]
        with self._store.db.read() as connection:
            return kept_out_of(connection, policy, curation.scope_of(policy), since)

    def policies(self) -> list[PolicyRevision]:
        """Every policy revision that ever changed an entry, and those in force now."""
        with self._store.db.read() as connection:
            used = {f"{name}@{rev}": (name, rev, body, at) for name, rev, body, at in policy_revisions(connection)}
        now = {f"{policy.name}@{policy.rev}": policy for policy in self.curation.policies}
        revisions = [
            PolicyRevision(_label(name, rev), rev, f"{name}@{rev}" in now, at, loads(body))
            for name, rev, body, at in used.values()
        ]
        fresh = [policy for key, policy in now.items() if key not in used]
        return revisions + [PolicyRevision(p.label, p.rev, True, None, p.model_dump(mode="json")) for p in fresh]

    def prune(self, older_than: str, *, dry_run: bool = False) -> Pruned:
        """Delete traces older than `90d` (s, m, h, d, w) that no entry cites."""
        before = cutoff(older_than)
        with self._store.db.read() as connection:
            pruned = count_prunable(connection, before)
        if not dry_run:
            pruned.deleted = 0
            # In batches: one delete of a million rows would block intake for minutes.
            portion = Portion(BATCH)
            last: PruneKey | None = ("", 0)
            while last is not None:
                batch = partial(prune_batch, before=before, size=portion.size, after=last)
                deleted, last = self._store.db.write_again(portion.time_work(batch))
                pruned.deleted += deleted
            pruned.waiting = self._store.db.write_again(partial(prune_waiting, before=before))
            with self._store.db.read() as connection:
                uncited = has_uncited(connection)
            if uncited:
                self._store.db.write_again(drop_uncited)
        return pruned

    def erase(self, user: str, *, who: str = "system", why: str = "") -> Erased:
        """Erase everything that came from a user: traces, the cases made of them, copies of those, what lies in the spool.

        Files and archives go first: should this be cut short, what is still in the tables leads the next attempt to them.
        """
        from evergold.workspace.archives import Archives
        from evergold.workspace.traffic import TrafficWatch

        with self._store.db.read() as connection:
            begun = copies_of(connection, user)
        begun.build_files = _erase_copies(begun)
        begun.spooled = erase_spooled(self._settings.home / "spool", user)
        begun.archived = Archives(self._store).erase(user)
        erased = self._store.db.write_again(lambda connection: erase_user(connection, user, who, why, begun))
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
        from evergold.workspace.archives import Archives

        with self._store.db.read() as connection:
            counted = count_erasable(connection, user)
        counted.archived = Archives(self._store).count_of(user)
        return counted

    def start_background(self) -> Callable[[], None] | None:
        """Curate in the background from now on. Returns what to call when something came; None when turned off."""
        if not self._settings.eval_auto_curate or self._curator is not None:
            return None
        from evergold.workspace.traffic import TrafficWatch

        traffic, owner = TrafficWatch(self._store), self._store.holder
        self._curator = Curator(
            self,
            lambda trace_ids: self._store.db.write(partial(set_aside, trace_ids=trace_ids, owner=owner)),
            lambda: (
                bool(self.fill_contents(most=LEISURE_CASES))
                or self._learn_words()
                or self._learn_parts()
                or traffic.at_leisure()
            ),
        )
        self._curator.start()
        return self._curator.wake

    def _learn_words(self) -> bool:
        """Some of the words that searches will ask for; whether there were any to learn."""
        with self._store.db.read() as connection:
            known, last = words_waiting(connection)
        return known < last and self._store.db.write(learn_words)

    def _learn_parts(self) -> bool:
        """Some of the cases that searches will ask for; whether there were any to learn."""
        with self._store.db.read() as connection:
            known, last = parts_waiting(connection)
        return known < last and self._store.db.write(learn_parts)

    def stop_background(self) -> None:
        """Finish what waits."""
        if self._curator is not None:
            self._curator.stop()
            self._curator = None

    def background(self) -> CuratorState | None:
        """What the background does; None when it is turned off."""
        return None if self._curator is None else self._curator.state()

    def background_report(self) -> dict[str, Any]:
        """The background's state, with what waits and what ever failed: nothing it could not do is hidden."""
        with self._store.db.read() as connection:
            waiting, failed = queue_counts(connection)
        state = self.background()
        return {"enabled": state is not None, "waiting": waiting, "failed_ever": failed, "state": state}

    def trace_count(self) -> int:
        with self._store.db.read() as connection:
            return count_traces(connection)


def _erase_copies(erased: Erased) -> int:
    return sum(erase_lines(located(location), erased.case_ids, erased.tags) for location in erased.locations)


def cutoff(older_than: str) -> str:
    """The moment that lies an age (`90d`) back."""
    match = AGE.match(older_than.strip())
    if match is None:
        raise BadInput(f"age {older_than!r} is not a number and a unit: use 90d, 12h, 2w (s, m, h, d, w)")
    number, unit = match.groups()
    try:
        moment = datetime.now(UTC) - timedelta(**{UNITS[unit]: int(number)})
    except (OverflowError, ValueError) as problem:  # ValueError: more digits than Python converts
        raise BadInput(f"age {older_than[:40]!r} reaches back before the year 1") from problem
    return stamp(moment) or ""


def _label(name: str, rev: str) -> str:
    return f"{name}@{rev.removeprefix('sha256:')[:12]}"
