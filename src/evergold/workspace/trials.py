"""Trials of policies: against a file of labels, and against the reviews made so far."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from evergold.checks.stage import CheckStage
from evergold.curate.classify import Facts, Verdict, classify
from evergold.curate.live import Curation
from evergold.curate.policy import agreement_of, read_labels, trial_of
from evergold.model.checking import Turn
from evergold.model.policy import Policy, PolicyTrial, ReviewAgreement
from evergold.model.trace import CHECK_KEY, Score, Trace
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.questions import decided_cases
from evergold.store.trace.traces import get_trace, known_traces
from evergold.store.verdict.checks import find_unchecked, turns_of
from evergold.store.verdict.corrections import is_corrected
from evergold.workspace.live import Live

Verdicts = dict[str, dict[str, Verdict]]  # by policy label, then by trace


class Trials:
    def __init__(self, store: Store, settings: Settings, live: Live) -> None:
        self._store = store
        self._settings = settings
        self._live = live

    def against(self, labels: Path, policy_files: Sequence[Path] = ()) -> list[PolicyTrial]:
        """Measure each policy on labelled traces; nothing is written."""
        labelled = read_labels(labels)
        curation = self._live.with_policy_files(policy_files)
        verdicts = self._verdicts(self._store, curation, self._live.checks.stage, list(labelled.labels))
        known = next(iter(verdicts.values()), {})
        brought = [trace for trace in labelled.traces if trace.id not in known]
        if brought:
            for label, policy_verdicts in self._elsewhere(brought, curation.policies).items():
                verdicts[label] |= policy_verdicts
        return [trial_of(policy, labelled.labels, verdicts[policy.label]) for policy in curation.policies]

    def from_reviews(self) -> ReviewAgreement:
        """Sum up how often reviewers left what policies decided as it was."""
        with self._store.db.read() as connection:
            return agreement_of(decided_cases(connection))

    def _elsewhere(self, traces: Sequence[Trace], policies: Sequence[Policy]) -> Verdicts:
        """Judge traces that are not stored in a workspace that is thrown away."""
        from evergold.workspace import Workspace

        # The temporary workspace is new, where "auto" would turn checks on whatever the real one does.
        word = "true" if self._live.checks.stage.names else "false"
        with TemporaryDirectory(prefix="evergold-trial-") as folder:
            settings = replace(self._settings, home=Path(folder), database_url="", checks_builtin=word)
            with Workspace.open(settings) as workspace:
                workspace.intake.accept(traces)
                workspace.live.curate()
                curation = workspace.live.under(policies)
                ids = [trace.id for trace in traces]
                return self._verdicts(workspace.store, curation, workspace.live.checks.stage, ids)

    def _verdicts(self, store: Store, curation: Curation, checks: CheckStage, ids: Sequence[str]) -> Verdicts:
        """Judge stored traces as curation would, with the checks they have or would get."""
        verdicts: Verdicts = {policy.label: {} for policy in curation.policies}
        with store.db.read() as connection:
            there = known_traces(connection, ids)
            known = [trace_id for trace_id in ids if trace_id in there]
            fresh = find_unchecked(connection, known, checks.suite.identity) if checks.suite else []
            given, failed = _checked(checks, turns_of(connection, fresh))
            for trace_id in known:
                trace = get_trace(connection, trace_id)
                scores = trace.scores
                if trace_id in given:
                    # Scores of an earlier version of the checks are replaced by those of today.
                    scores = (*(score for score in scores if not score.by_check), *given[trace_id])
                corrected = is_corrected(connection, trace_id)
                for policy in curation.policies:
                    # A check that could not be run must not count as passed for the policies that require it.
                    silent = failed.get(trace_id, frozenset()) & set(policy.checks)
                    facts = Facts(corrected=corrected, checked=not silent)
                    verdicts[policy.label][trace_id] = classify(trace, scores, policy, facts)
        return verdicts


def _checked(checks: CheckStage, turns: Sequence[Turn]) -> tuple[dict[str, list[Score]], dict[str, frozenset[str]]]:
    """Run the checks over turns: the scores of each trace, and the checks that could not be run on it."""
    given: dict[str, list[Score]] = {turn.id: [] for turn in turns}
    failed: dict[str, frozenset[str]] = {}
    for each in checks.suite.run(turns):
        if each.error is not None:
            failed[each.trace_id] = failed.get(each.trace_id, frozenset()) | {each.check}
        elif each.result is not None:
            score = Score(name=each.check, value=each.result.value, source=each.source, key=CHECK_KEY + each.check)
            given[each.trace_id].append(score)
    return given, failed
