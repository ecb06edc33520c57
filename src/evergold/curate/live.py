"""Apply policies to a store: the queue (`queued.py`), backfills, dry runs, explanations, undo, trials, and refreshed cases."""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy import Connection

from evergold.checks.stage import CheckStage
from evergold.conversation.wholeness import change_of_exporter, exporter_of
from evergold.curate.classify import Facts, Verdict, classify, explain
from evergold.curate.findings import RemarkFinding, findings_in, forget_findings, put_finding
from evergold.curate.queued import SHARED_SECONDS, QueuedCuration, put_plugin_tags
from evergold.errors import BadInput, describe_unknown
from evergold.model.check import Turn
from evergold.model.policy import Explanation, Lack, Policy, Tier
from evergold.model.trace import CHECK_KEY, Gap, Score, Trace
from evergold.model.values import content_hash
from evergold.store import Store
from evergold.store.case.cases import iterate_with_traces
from evergold.store.case.content import fill_contents, renew_contents
from evergold.store.case.writes import Author, put_cases
from evergold.store.database.rows import batches
from evergold.store.facts import Portion, has_parts, keep_part, shared_work, take_part
from evergold.store.trace.pages import count_traces
from evergold.store.trace.traces import get_trace, known_traces
from evergold.store.verdict.candidates import (
    choose_day,
    gather_range,
    is_chosen,
    next_pool_day,
    put_due_days,
    put_off_days,
    weigh_day,
)
from evergold.store.verdict.checks import find_unchecked, has_spoken, seen_by_checks, turns_of
from evergold.store.verdict.corrections import count_unpaired, is_corrected, is_remark, shown_remarks
from evergold.store.verdict.curation import (
    BATCH,
    Changes,
    curate_range,
    curate_traces,
    list_queue,
    next_range,
    preview,
    ranges,
)
from evergold.store.verdict.tiers import Scope
from evergold.store.verdict.undo import Undone, find_revision, undo_batch

BACKFILL = "curation.backfill"
STEPS = ("gather", "choose", "entries", "weigh")  # of a backfill, for each policy
SMALLEST, PARTS = 200, 32  # traces of a part of a backfill at least, and parts of a small one


class Curation(QueuedCuration):
    """Policies, applied to a store: to what waits, and to all of history."""

    def backfill(self, progress: Callable[[int], None] = lambda _: None) -> Changes:
        """Judge all of history again, in ranges of ids: memory does not grow with it.

        Processes on one PostgreSQL that are asked for the same share the ranges; each returns what it did itself.
        """
        parts = self._store.read(self._parts)
        job = content_hash([[policy.label, str(self.scope_of(policy))] for policy in self.policies])
        with shared_work(self._store.db, BACKFILL, "a backfill of curation", job, parts):
            # Without a detector in force, what an earlier one found must not go on deciding.
            if self._detector is None and self._in_force:
                self._store.db.write(forget_findings)
            total = self.drain()
            total.traces = 0  # each trace once, however many policies looked at it and whether or not it waited
            portions = [Portion(BATCH) for _ in range(len(STEPS) * len(self.policies))]
            while (done := self._next_part(portions)) is not None:
                total.add(done)
                progress(done.traces)
        return total

    def _parts(self, connection: Connection) -> list[tuple[int, str, str]]:
        """The work of a backfill, policy by policy: candidates are gathered, days chosen, entries follow, days are weighed.

        Candidates of all days are chosen before entries follow, or a day would be chosen from half of its traces.
        """
        size = min(BATCH, max(SMALLEST, count_traces(connection) // PARTS))
        pieces = [(after, upto) for after, upto, _ in ranges(connection, size)]
        parts = []
        for number, policy in enumerate(self.policies):
            limited = self.scope_of(policy).limited
            for step, name in enumerate(STEPS, len(STEPS) * number):
                if name == "entries" or limited:
                    parts += [(step, *one) for one in (pieces if name in ("gather", "entries") else [("", "")])]
        return parts

    def _next_part(self, portions: Sequence[Portion]) -> Changes | None:
        """Do some of the next part, or wait while others have in hand what comes before it; None when all is done."""
        done = self._store.db.write_with_retry(partial(self._part, portions=portions))
        while done is None:
            if not self._store.read(has_parts, BACKFILL):
                return None
            time.sleep(SHARED_SECONDS)
            done = self._store.db.write_with_retry(partial(self._part, portions=portions))
        return done

    def _part(self, connection: Connection, portions: Sequence[Portion]) -> Changes | None:
        part = take_part(connection, BACKFILL)
        if part is None:
            return None
        policy, step = self.policies[part.step // len(STEPS)], STEPS[part.step % len(STEPS)]
        if step in ("choose", "weigh"):
            day = next_pool_day(connection, policy, part.after)
            keep_part(connection, part, day)
            if day is not None:
                (choose_day if step == "choose" else weigh_day)(connection, policy, day)
            elif step == "choose":
                put_due_days(connection, policy, ())
            return Changes()
        portion = portions[part.step]
        following = next_range(connection, part.after, portion.size, part.upto)
        if following is None:  # its traces were deleted meanwhile
            keep_part(connection, part, None)
            return Changes()
        _, upto, count = following
        keep_part(connection, part, None if upto == part.upto else upto)
        work = partial(self._gather if step == "gather" else self._entries, policy=policy, after=part.after, upto=upto)
        changes = portion.time_work(work)(connection)
        # Counted with the entries of the last policy, so that each trace counts once.
        changes.traces = count if part.step == len(portions) - 2 else 0
        return changes

    def _gather(self, connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
        if days := gather_range(connection, policy, after, upto, self.scope_of(policy).required):
            put_off_days(connection, policy, days)
        return Changes()

    def _entries(self, connection: Connection, policy: Policy, after: str, upto: str) -> Changes:
        changes = curate_range(connection, policy, after, upto, self.scope_of(policy))
        put_plugin_tags(connection, policy)
        return changes

    def dry_run(self, progress: Callable[[int], None] = lambda _: None) -> dict[str, Changes]:
        """What a backfill would change, by policy, without changing anything.

        A correction that would be detected changes the verdict on its trace, so those traces are really curated, and
        taken back; all others are only judged.
        """
        detected, decided = self._would_detect(), {policy.label: Changes() for policy in self.policies}
        for batch in batches(detected, BATCH):
            for label, changes in self._store.db.dry_run(partial(self._suppose, findings=batch)).items():
                decided[label].add(changes)
        with self._store.db.read() as connection:
            if unpaired := count_unpaired(connection):
                decided[self.policies[0].label].add(Changes(by_kind={"corrected": unpaired}))
            pieces = ranges(connection)
        corrected = {trace_id for finding in detected for trace_id in finding.traces}
        for policy in self.policies:
            # A trace over the day's limit stays out; one that no check has seen yet would be checked first.
            scope = Scope(limited=self.scope_of(policy).limited)
            for after, upto, count in pieces:
                changes = self._store.read(preview, policy, after, upto, corrected, scope)
                changes.traces = count
                decided[policy.label].add(changes)
                progress(count)
        return decided

    def explain(self, trace_id: str) -> list[Explanation]:
        """Each policy's verdict on a trace, its grounds, the remarks behind them, and what would change it."""
        with self._store.db.read() as connection:
            trace = get_trace(connection, trace_id)
            explained = [self._explain(connection, policy, trace) for policy in self.policies]
            shown: dict[str, object] = {"remarks": tuple(shown_remarks(connection, trace_id))}
        if trace.incomplete:
            exporter = exporter_of(trace)
            lacks = (Lack(gap=gap, change=change_of_exporter(gap, exporter)) for gap in trace.incomplete)
            shown |= {"incomplete": tuple(lacks), "exporter": exporter}
        return [one.model_copy(update=shown) for one in explained]

    def _explain(self, connection: Connection, policy: Policy, trace: Trace) -> Explanation:
        scope = self.scope_of(policy)
        facts = Facts(
            corrected=is_corrected(connection, trace.id),
            checked=has_spoken(connection, trace.id, scope.required),
            remarks=is_remark(connection, trace.id),
        )
        explanation = explain(trace, trace.scores, policy, facts)
        # Whether the day has room is looked up only where something depends on it: that reads the whole day.
        tiers = {explanation.tier, *(one.result for one in explanation.counterfactuals)}
        if scope.limited and Tier.CANDIDATE in tiers and not is_chosen(connection, policy, trace.id):
            explanation = explain(trace, trace.scores, policy, replace(facts, chosen=False))
        # Checks that are still to come may say anything.
        known = not scope.limited or bool(seen_by_checks(connection, [trace.id]))
        return explanation if known else explanation.model_copy(update={"counterfactuals": ()})

    def undo(self, label: str) -> Undone:
        """Take back what a policy revision (`name@digits`) did."""
        whole = self._store.read(find_revision, label)
        total, portion = Undone(whole), Portion(BATCH)
        after: int | None = 0
        while after is not None:
            work = partial(undo_batch, label=whole, after=after, size=portion.size)
            part, after = self._store.db.write_with_retry(portion.time_work(work))
            total.undone += part.undone
            total.left += part.left
        return total

    def policy(self, name: str) -> Policy:
        for policy in self.policies:
            if policy.name == name:
                return policy
        raise BadInput(describe_unknown("policy", name, [policy.name for policy in self.policies]))

    def _would_detect(self) -> list[RemarkFinding]:
        """What would be detected in the traces that wait."""
        if self._detector is None:
            return []
        findings: list[RemarkFinding] = []
        waiting: Sequence[str] = [""]
        with self._store.db.read() as connection:
            while waiting := list_queue(connection, waiting[-1]):
                findings += findings_in(connection, waiting, self._detector)
        return findings

    def _suppose(self, connection: Connection, findings: Sequence[RemarkFinding]) -> dict[str, Changes]:
        """Curate as if these corrections had been detected; how many traces there are is counted elsewhere."""
        pairs = sum(put_finding(connection, finding) for finding in findings)
        decided = {}
        for policy in self.policies:
            decided[policy.label] = curate_traces(
                connection, policy, {trace_id for finding in findings for trace_id in finding.traces}, Scope()
            )
        if pairs:
            decided[self.policies[0].label].add(Changes(by_kind={"corrected": pairs}))
        return decided


# Named like a policy: what a policy alone has made of an entry, a policy may change again.
AUTHOR = Author(who="policy refresh", action="refreshed", why="completed from its trace")
AT_ONCE = 200


def refresh_cases(store: Store, progress: Callable[[int], None] = lambda _: None) -> tuple[int, int]:
    """Complete every active case that cites a stored trace; how many cite one, and how many changed.

    What a person made of a case stays, and only what is empty in it is filled, which takes no verdict away. The content of a
    case that nobody changed is put together again where the trace is read differently by now.
    """
    seen = changed = 0
    portion = Portion(AT_ONCE)
    with store.db.read() as connection:
        # Compared before the transaction: most cases need nothing, and nobody waits meanwhile.
        for batch in batches(iterate_with_traces(connection), AT_ONCE):
            differing = [one for one in batch if one.fresh != one.held]
            for some in portion.of(differing):
                own = [one.fresh for one in some if one.own]
                others = [one.entry for one in some if not one.own]
                changed += store.db.write(portion.time_work(partial(put_cases, cases=own, author=AUTHOR))).changed
                changed += store.db.write(partial(renew_contents, entries=others))
            seen += len(batch)
            progress(len(batch))
    fill_contents(store.db)
    return seen, changed


Verdicts = dict[str, dict[str, Verdict]]  # by policy label, then by trace


def judge_traces(store: Store, curation: Curation, checks: CheckStage, ids: Sequence[str]) -> Verdicts:
    """Judge stored traces as curation would, with the checks they have or would get; nothing is written."""
    verdicts: Verdicts = {policy.label: {} for policy in curation.policies}
    with store.db.read() as connection:
        there = known_traces(connection, ids)
        known = [trace_id for trace_id in ids if trace_id in there]
        fresh = find_unchecked(connection, known, checks.suite.identity) if checks.suite else []
        turns = {turn.id: turn for turn in turns_of(connection, fresh)}
        given, failed = _run_checks(checks, list(turns.values()))
        for trace_id in known:
            trace = get_trace(connection, trace_id)
            scores = trace.scores
            if trace_id in given:
                gaps = (turns[trace_id].gaps or "").split()
                trace = trace.model_copy(update={"incomplete": tuple(map(Gap, gaps))})
                # Scores of an earlier version of the checks are replaced by those of today.
                scores = (*(score for score in scores if not score.by_check), *given[trace_id])
            corrected, remarks = is_corrected(connection, trace_id), is_remark(connection, trace_id)
            for policy in curation.policies:
                # A check that could not be run must not count as passed for the policies that require it.
                silent = failed.get(trace_id, frozenset()) & set(policy.checks)
                facts = Facts(corrected=corrected, checked=not silent, remarks=remarks)
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
