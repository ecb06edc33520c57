"""The living dataset: curation in the background and in bulk, corrections, statistics, forgetting."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from evergold.checks.service import Checks
from evergold.curate.background import Curator
from evergold.curate.live import Curation, Verdicts, judge_traces, refresh_cases
from evergold.curate.policy import agreement_of, read_labels, read_policy, trial_of
from evergold.curate.rules import RuleChanges
from evergold.model.operations import BackgroundState, CuratorState
from evergold.model.policy import Explanation, Policy, PolicyTrial, ReviewAgreement
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store import Store, make_reader, make_writer
from evergold.store.case.content import fill_contents
from evergold.store.case.questions import decided_cases
from evergold.store.database.rows import loads
from evergold.store.text_index import learn_parts, parts_waiting
from evergold.store.trace.overview import dataset_stats, incomplete_of
from evergold.store.trace.pages import count_traces
from evergold.store.trace.passages import learn_words
from evergold.store.verdict.corrections import withdraw_score
from evergold.store.verdict.curation import Changes, queue_counts, set_aside
from evergold.store.verdict.undo import Undone, policy_revisions

if TYPE_CHECKING:
    from evergold.model.policy import KeptOut
    from evergold.workspace import Workspace

LEISURE_CASES = 20  # whose contents are written at a time when nothing else waits


@dataclass(frozen=True)
class PolicyView:
    """A policy revision: its label (`name@digits`), whether it is in force, when it first changed an entry."""

    label: str
    rev: str
    in_force: bool
    first_used: str | None
    policy: dict[str, Any]


class Live:
    stats = make_reader(dataset_stats)
    incomplete = make_reader(incomplete_of)
    trace_count = make_reader(count_traces)
    unscore = make_writer(withdraw_score)

    def __init__(
        self, store: Store, settings: Settings, rules: RuleChanges, open_workspace: Callable[[Settings], "Workspace"]
    ) -> None:
        self._store = store
        self._settings = settings
        self._rules = rules
        self._open_workspace = open_workspace
        self._curator: Curator | None = None
        self._curating = threading.Lock()  # callers that want everything curated come one after the other

    @property
    def curation(self) -> Curation:
        """The policies in force, with the detector the settings name."""
        return self._rules.in_force.curation

    @property
    def checks(self) -> Checks:
        """The checks in force."""
        return self._rules.in_force.checks

    def step(self, limit: int) -> tuple[int, Changes]:
        """Curate up to `limit` waiting traces under the rules of this moment; how many were taken, and what changed."""
        return self.curation.step(limit)

    def fill_contents(
        self, *, until: float = inf, most: float = inf, progress: Callable[[int], None] = lambda _: None
    ) -> int:
        """Write the contents of cases that have none yet; how many were written."""
        return fill_contents(self._store.db, until=until, most=most, progress=progress)

    def use_policies(self, chosen: Sequence[Policy]) -> Curation:
        """These policies instead of those in force, for which what waits goes on waiting."""
        return self._rules.in_force.use_policies(chosen)

    def with_policy_files(self, paths: Sequence[Path]) -> Curation:
        """Only the policies of these files; with none given, those in force."""
        return self.use_policies([read_policy(path) for path in paths]) if paths else self.curation

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
            while in_force is not self._rules.in_force:  # rules that are changed meanwhile judge what is left
                in_force = self._rules.in_force
                in_force.checks.queue_missing(until)
                changes.add(in_force.curation.drain(until))
            self.fill_contents(until=until)
            return changes
        finally:
            self._curating.release()

    def count_waiting(self) -> int:
        """How many traces wait to be curated."""
        return self._store.read(queue_counts)[0]

    def refresh(self, progress: Callable[[int], None] = lambda _: None) -> tuple[int, int]:
        """Complete earlier cases from the traces they cite; how many cite one, and how many changed."""
        return refresh_cases(self._store, progress)

    def explain(self, trace_id: str) -> list[Explanation]:
        return self.curation.explain(trace_id)

    def undo(self, label: str) -> Undone:
        return self.curation.undo(label)

    def kept_out(self, since: str) -> "KeptOut":
        """Say what keeps the newest traces since then out of the golden set, by the first policy in force."""
        from evergold.curate.kept_out import kept_out_of

        curation = self.curation
        policy = curation.policies[0]
        return self._store.read(kept_out_of, policy, curation.scope_of(policy), since)

    def policies(self) -> list[PolicyView]:
        """Every policy revision that ever changed an entry, and those in force now."""
        now = {(policy.name, policy.rev): policy for policy in self.curation.policies}
        revisions = []
        for name, rev, body, at in self._store.read(policy_revisions):
            in_force = now.pop((name, rev), None) is not None
            revisions.append(PolicyView(f"{name}@{rev.removeprefix('sha256:')[:12]}", rev, in_force, at, loads(body)))
        return revisions + [PolicyView(p.label, p.rev, True, None, p.model_dump(mode="json")) for p in now.values()]

    def try_policies(self, labels: Path, policy_files: Sequence[Path] = ()) -> list[PolicyTrial]:
        """Measure each policy on labelled traces; nothing is written."""
        labelled, curation = read_labels(labels), self.with_policy_files(policy_files)
        verdicts = judge_traces(self._store, curation, self.checks.stage, list(labelled.labels))
        known = next(iter(verdicts.values()), {})
        brought = [trace for trace in labelled.traces if trace.id not in known]
        if brought:
            for label, policy_verdicts in self._judge_elsewhere(brought, curation.policies).items():
                verdicts[label] |= policy_verdicts
        return [trial_of(policy, labelled.labels, verdicts[policy.label]) for policy in curation.policies]

    def _judge_elsewhere(self, traces: Sequence[Trace], policies: Sequence[Policy]) -> Verdicts:
        """Judge traces that are not stored, in a workspace that is thrown away."""
        # The temporary workspace is new, where "auto" would turn checks on whatever the real one does.
        word = "true" if self.checks.stage.names else "false"
        with TemporaryDirectory(prefix="evergold-trial-") as folder:
            settings = replace(self._settings, home=Path(folder), database_url="", checks_builtin=word)
            with self._open_workspace(settings) as workspace:
                workspace.intake.accept(traces)
                workspace.live.curate()
                live, ids = workspace.live, [trace.id for trace in traces]
                return judge_traces(workspace.store, live.use_policies(policies), live.checks.stage, ids)

    def agreement(self) -> ReviewAgreement:
        """Sum up how often reviewers left what policies decided as it was."""
        with self._store.db.read() as connection:
            return agreement_of(decided_cases(connection))

    def start_background(self) -> Callable[[], None] | None:
        """Curate in the background from now on. Returns what to call when something came; None when turned off."""
        if not self._settings.eval_auto_curate or self._curator is not None:
            return None
        from evergold.upkeep.problems import UpkeepWatch
        from evergold.upkeep.traffic import TrafficWatch

        traffic, upkeep, owner = TrafficWatch(self._store), UpkeepWatch(self._store), self._store.holder
        self._curator = Curator(
            self,
            lambda trace_ids: self._store.db.write(partial(set_aside, trace_ids=trace_ids, owner=owner)),
            lambda: (
                bool(self.fill_contents(most=LEISURE_CASES))
                or self._learn_for_searches()
                or traffic.at_leisure()
                or upkeep.at_leisure()
            ),
        )
        self._curator.start()
        return self._curator.wake

    def _learn_for_searches(self) -> bool:
        """Index some of the traces, or of the cases, that searches will ask for; whether there were any to learn."""
        if learn_words(self._store.db):
            return True
        known, last = self._store.read(parts_waiting)
        return known < last and self._store.write(learn_parts)

    def stop_background(self) -> None:
        """Finish what waits."""
        if self._curator is not None:
            self._curator.stop()
            self._curator = None

    def background(self) -> CuratorState | None:
        """What the background does; None when it is turned off."""
        return None if self._curator is None else self._curator.state()

    def background_report(self) -> BackgroundState:
        """The background's state, with what waits and what ever failed: nothing it could not do is hidden."""
        waiting, failed = self._store.read(queue_counts)
        state = self.background()
        return BackgroundState(enabled=state is not None, waiting=waiting, failed_ever=failed, state=state)
