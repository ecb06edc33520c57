"""Judge traces as policies would, for a trial that writes nothing."""

from collections.abc import Sequence

from evergold.checks.stage import CheckStage
from evergold.curate.classify import Facts, Verdict, classify
from evergold.curate.live import Curation
from evergold.model.checking import Turn
from evergold.model.trace import CHECK_KEY, Score
from evergold.store import Store
from evergold.store.trace.traces import get_trace, known_traces
from evergold.store.verdict.checks import find_unchecked, turns_of
from evergold.store.verdict.corrections import is_corrected

Verdicts = dict[str, dict[str, Verdict]]  # by policy label, then by trace


def judge_traces(store: Store, curation: Curation, checks: CheckStage, ids: Sequence[str]) -> Verdicts:
    """Judge stored traces as curation would, with the checks they have or would get."""
    verdicts: Verdicts = {policy.label: {} for policy in curation.policies}
    with store.db.read() as connection:
        there = known_traces(connection, ids)
        known = [trace_id for trace_id in ids if trace_id in there]
        fresh = find_unchecked(connection, known, checks.suite.identity) if checks.suite else []
        given, failed = _run_checks(checks, turns_of(connection, fresh))
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


def _run_checks(checks: CheckStage, turns: Sequence[Turn]) -> tuple[dict[str, list[Score]], dict[str, frozenset[str]]]:
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
