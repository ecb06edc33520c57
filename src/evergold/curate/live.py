"""The door: what waits is curated, history is curated again, and what a policy did is explained or taken back.

Every way in goes through the same queue: a trace, score, reaction or correction marks its trace in the transaction
that stores it, and `step` takes marked traces off and brings their entries up to date in one transaction. A crash in
between loses nothing, and doing it twice changes nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from evergold import plugins
from evergold.curate.detectors import CORRECTION_SCORE, HIGH
from evergold.curate.explain import Explanation, explain
from evergold.curate.taggers import is_built_in
from evergold.errors import BadInput, unknown
from evergold.model.policy import Policy
from evergold.model.trace import Correction, Score, ScoreSource
from evergold.seams import Detector, Tagger
from evergold.store import Store
from evergold.store.corrections import count_unpaired, exchanges, is_corrected, put_correction_cases
from evergold.store.curation import BATCH, Changes, curate_range, curate_traces, preview, ranges, take_queued
from evergold.store.curation_tags import changed_entries, put_tags
from evergold.store.traces import get_trace, put_correction, put_scores
from evergold.store.undo import Undone, find_revision, undo_batch


class Curation:
    """The policies in force, applied to a store."""

    def __init__(self, store: Store, policies: Sequence[Policy], detector: Detector | None) -> None:
        self._store = store
        self.policies = tuple(policies)
        self._detector = detector

    def step(self, limit: int = BATCH) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces; how many were taken, and what changed."""
        return self._store.db.write(lambda connection: self._step(connection, limit))

    def drain(self) -> Changes:
        """Curate everything that waits."""
        total = Changes()
        taken = 1
        while taken:
            taken, changes = self.step()
            total.add(changes)
        return total

    def trace(self, trace_id: str) -> Changes:
        """Curate one trace now, whether or not it waits."""

        def work(connection: Connection) -> Changes:
            get_trace(connection, trace_id)
            return self._curate(connection, [trace_id])

        return self._store.db.write(work)

    def backfill(self, progress: Callable[[int], None] = lambda _: None) -> Changes:
        """Judge all of history again, in ranges of ids: memory does not grow with it."""
        total = self.drain()
        for policy in self.policies:
            for after, upto, count in self._ranges():
                changes = self._store.db.write(partial(self._range, policy=policy, after=after, upto=upto))
                changes.traces = count
                total.add(changes)
                progress(count)
        return total

    def dry_run(self, progress: Callable[[int], None] = lambda _: None) -> dict[str, Changes]:
        """What a backfill would change, by policy, without changing anything."""
        told: dict[str, Changes] = {}
        for policy in self.policies:
            total = told.setdefault(policy.label, Changes())
            if policy is self.policies[0]:
                with self._store.db.read() as connection:
                    if waiting := count_unpaired(connection):
                        total.by_kind["corrected"] = waiting
            for after, upto, count in self._ranges():
                with self._store.db.read() as connection:
                    changes = preview(connection, policy, after, upto)
                changes.traces = count
                total.add(changes)
                progress(count)
        return told

    def explain(self, trace_id: str) -> list[Explanation]:
        """Each policy's verdict on a trace, its grounds, and what would change it."""
        with self._store.db.read() as connection:
            trace = get_trace(connection, trace_id)
            corrected = is_corrected(connection, trace_id)
        return [explain(trace, trace.scores, policy, corrected=corrected) for policy in self.policies]

    def undo(self, label: str) -> Undone:
        """Take back what a policy revision (`name@digits`) did."""
        with self._store.db.read() as connection:
            whole = find_revision(connection, label)
        total = Undone(whole)
        after: int | None = 0
        while after is not None:
            part, after = self._store.db.write(partial(undo_batch, label=whole, after=after))
            total.undone += part.undone
            total.left += part.left
        return total

    def policy(self, name: str) -> Policy:
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise BadInput(unknown("policy", name, [policy.name for policy in self.policies]))

    def _ranges(self) -> list[tuple[str, str, int]]:
        with self._store.db.read() as connection:
            return list(ranges(connection))

    def _step(self, connection: Connection, limit: int) -> tuple[int, Changes]:
        taken = take_queued(connection, limit)
        if taken and self._detector is not None:
            self._detect(connection, taken, self._detector)
        return len(taken), self._curate(connection, taken) if taken else Changes()

    def _curate(self, connection: Connection, trace_ids: Sequence[str]) -> Changes:
        total = Changes(traces=len(trace_ids))
        if corrections := put_correction_cases(connection, trace_ids, self.policies[0].dataset):
            total.by_kind["corrected"] = corrections
        for policy in self.policies:
            total.add(curate_traces(connection, policy, trace_ids))
            self._plug_in_tags(connection, policy)
        return total

    def _range(self, connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
        changes = curate_range(connection, policy, after, upto)
        self._plug_in_tags(connection, policy)
        return changes

    def _detect(self, connection: Connection, trace_ids: Sequence[str], detector: Detector) -> None:
        """Look for corrections in the message after each reply. A finding is a user's score, and if it is plain, a pair."""
        for exchange in list(exchanges(connection, trace_ids)):
            value = detector.detect(exchange.message, exchange.reply)
            if value is None:
                continue
            score = Score(
                name=CORRECTION_SCORE,
                value=value,
                source=ScoreSource.USER,
                comment=exchange.message[:200],
                key=f"detected:{exchange.next_id}",
            )
            put_scores(connection, exchange.trace_id, [score])
            if value == HIGH:
                found = Correction(trace_id=exchange.trace_id, text=exchange.message, author="detected")
                put_correction(connection, found)

    def _plug_in_tags(self, connection: Connection, policy: Policy) -> None:
        taggers: list[Tagger] = [plugins.load("taggers", name) for name in policy.tags if not is_built_in(name)]
        if not taggers:
            return
        for entry, trace_id in changed_entries(connection):
            trace = get_trace(connection, trace_id)
            put_tags(connection, entry, {tag for tagger in taggers for tag in tagger.tags(trace)})
