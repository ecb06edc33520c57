"""The door: what waits is curated, history is curated again, and what a policy did is explained or taken back.

Every way in goes through the same queue: a trace, score, reaction or correction marks its trace in the transaction
that stores it, and `step` takes marked traces off and brings their entries up to date in one transaction. A crash in
between loses nothing, and doing it twice changes nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import Connection

from evergold import plugins
from evergold.curate.explain import Explanation, explain
from evergold.curate.findings import Finding, findings_in, put_finding
from evergold.curate.taggers import is_built_in
from evergold.errors import BadInput, unknown
from evergold.model.policy import Policy
from evergold.seams import Detector, Tagger
from evergold.store import Store
from evergold.store.corrections import count_unpaired, is_corrected, put_correction_cases
from evergold.store.curation import BATCH, Changes, curate_range, curate_traces, preview, queued, ranges, take_queued
from evergold.store.curation_tags import changed_entries, put_tags
from evergold.store.traces import get_trace
from evergold.store.undo import Undone, find_revision, undo_batch
from evergold.store.values import batches


class Curation:
    """Policies, applied to a store. Those that are not all in force look at what waits and leave it waiting for these."""

    def __init__(
        self, store: Store, policies: Sequence[Policy], detector: Detector | None, *, in_force: bool = True
    ) -> None:
        self._store = store
        self.policies = tuple(policies)
        self._detector = detector
        self._in_force = in_force

    def step(self, limit: int = BATCH) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces; how many were taken, and what changed."""
        taken, changes = self._store.db.write(
            lambda connection: self._look_at(connection, take_queued(connection, limit))
        )
        return len(taken), changes

    def drain(self) -> Changes:
        """Curate everything that waits."""
        total = Changes()
        waiting: Sequence[str] = [""]
        while waiting:
            waiting, changes = self._store.db.write(partial(self._next, after=waiting[-1]))
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
        """What a backfill would change, by policy, without changing anything.

        A correction that would be detected changes the verdict on its trace, so those traces are really curated, and
        taken back; all others are only judged.
        """
        found, decided = self._would_detect(), {policy.label: Changes() for policy in self.policies}
        for batch in batches(found, BATCH):
            for label, changes in self._store.db.rehearse(partial(self._suppose, findings=batch)).items():
                decided[label].add(changes)
        with self._store.db.read() as connection:
            if unpaired := count_unpaired(connection):
                decided[self.policies[0].label].add(Changes(by_kind={"corrected": unpaired}))
        corrected = {finding.trace_id for finding in found}
        for policy in self.policies:
            for after, upto, count in self._ranges():
                with self._store.db.read() as connection:
                    changes = preview(connection, policy, after, upto, corrected)
                changes.traces = count
                decided[policy.label].add(changes)
                progress(count)
        return decided

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

    def _next(self, connection: Connection, after: str) -> tuple[Sequence[str], Changes]:
        return self._look_at(connection, take_queued(connection) if self._in_force else queued(connection, after))

    def _look_at(self, connection: Connection, waiting: Sequence[str]) -> tuple[Sequence[str], Changes]:
        if waiting and self._detector is not None:
            for finding in findings_in(connection, waiting, self._detector):
                put_finding(connection, finding)
        return waiting, self._curate(connection, waiting) if waiting else Changes()

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

    def _would_detect(self) -> list[Finding]:
        """What would be detected in the traces that wait."""
        if self._detector is None:
            return []
        found: list[Finding] = []
        waiting: Sequence[str] = [""]
        with self._store.db.read() as connection:
            while waiting := queued(connection, waiting[-1]):
                found += findings_in(connection, waiting, self._detector)
        return found

    def _suppose(self, connection: Connection, findings: Sequence[Finding]) -> dict[str, Changes]:
        """Curate as if these corrections had been detected; how many traces there are is counted elsewhere."""
        pairs = sum(put_finding(connection, finding) for finding in findings)
        decided = {}
        for policy in self.policies:
            decided[policy.label] = curate_traces(connection, policy, {finding.trace_id for finding in findings})
        if pairs:
            decided[self.policies[0].label].add(Changes(by_kind={"corrected": pairs}))
        return decided

    def _plug_in_tags(self, connection: Connection, policy: Policy) -> None:
        taggers: list[Tagger] = [plugins.load("taggers", name) for name in policy.tags if not is_built_in(name)]
        if not taggers:
            return
        for entry, trace_id in changed_entries(connection):
            trace = get_trace(connection, trace_id)
            put_tags(connection, entry, {tag for tagger in taggers for tag in tagger.tags(trace)})
