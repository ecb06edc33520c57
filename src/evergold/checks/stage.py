"""Run the checks in force over stored traces, in the transaction that curates them or by hand.

With the results each trace gets keys by which the questions of a day are compared (`question_keys`).
"""

import hashlib
import re
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

from sqlalchemy import Connection

from evergold.checks.suite import FOLLOW_UP, Suite
from evergold.model.check import Checked, Turn
from evergold.store import Store
from evergold.store.database.rows import batches
from evergold.store.facts import Portion
from evergold.store.trace.scores import enqueue
from evergold.store.verdict.checks import (
    before_in_session,
    drop_checks,
    find_unchecked,
    follow_formats,
    ids_between,
    note_gaps,
    put_checked,
    turns_of,
)
from evergold.store.verdict.curation import ranges
from evergold.text.words import fold_text

LOOKED_AT = 2000
SHORT = 4  # so few words may mean something else in every session ("yes, please")
SKETCH = 2
STEM = 6
CALLS = '[{"name":'  # how a reply of calls alone is written
LAST = "z"  # sorts behind every hexadecimal number
_WORDS = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")
_SMALL = 3


def question_keys(trace_id: str, question: str, reply: str | None = None) -> tuple[str, str, str]:
    """Give the key of the question, that of its kind, and the trace's own place in a seeded order.

    The kind is a bottom-k sketch of the word stems with numbers masked: questions that share most words share it. A trace whose
    reply is calls alone comes after all others: an SDK that is traced call by call sends one before the answer to the same
    question, and the answer stands for that question.
    """
    words = _WORDS.findall(fold_text(question[:LOOKED_AT]))
    # A short question is compared within its own trace only, so it is never equal to another.
    exact = " ".join(words) if len(words) > SHORT else f"{' '.join(words)}|{trace_id}"
    long = {word for word in words if len(word) > _SMALL}
    stems = {(word if word.isalpha() else _DIGITS.sub("#", word))[:STEM] for word in long} or {" ".join(words)}
    # The smallest checksums of all stems: two sets that share most stems share their smallest with high probability.
    sketch = sorted([zlib.crc32(stem.encode("utf-8", "surrogatepass")) for stem in stems])[:SKETCH]
    behind = LAST if (reply or "").startswith(CALLS) else ""
    return _hash(exact), "".join(f"{number:08x}" for number in sketch), behind + _hash(f"evergold:{trace_id}")


def _hash(text: str) -> str:
    return hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()[:16]


EXAMPLES = 5
AT_ONCE = 500  # traces of a part
AHEAD_SECONDS = 2.0  # of slow checks between two transactions
READ_TOGETHER = 10  # traces whose turns are read at once for them


@dataclass
class CheckReport:
    """What a run of the checks found: traces looked at, results by check and value, errors by check, examples."""

    traces: int = 0
    changed: int = 0
    values: dict[str, Counter[str]] = field(default_factory=dict)
    errors: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def add(self, outcomes: Sequence[Checked]) -> None:
        for each in outcomes:
            if each.error is not None:
                self.errors[each.check] += 1
                self._example(f"{each.check} could not run: {each.error}", each.trace_id)
                continue
            word = "does not apply" if each.result is None else f"{each.result.value:g}"
            self.values.setdefault(each.check, Counter())[word] += 1
            if each.result is not None and each.result.value < 1:
                self._example(f"{each.check}: {each.result.reason}", each.trace_id)

    def _example(self, what: str, trace_id: str) -> None:
        held = self.examples.setdefault(what, [])
        if len(held) < EXAMPLES:
            held.append(trace_id)


class CheckStage:
    """A suite of checks, applied to a store. An empty suite does nothing."""

    def __init__(self, store: Store, suite: Suite) -> None:
        self._store, self.suite = store, suite
        self._ahead = threading.Lock()  # slow checks run one after the other, not twice over the same traces

    @property
    def names(self) -> frozenset[str]:
        return frozenset(self.suite.checks)

    @property
    def slow(self) -> bool:
        """Whether a check may take more than a few milliseconds."""
        return bool(self.suite.slow)

    def run_ahead(self, trace_ids: Sequence[str], *, everything: bool = False, seconds: float = AHEAD_SECONDS) -> int:
        """Run the slow checks over these traces outside any transaction, so that they do not hold up the writer.

        Gives how many of the traces, from the first, were reached within the seconds.
        """
        if not self.slow or not trace_ids:
            return len(trace_ids)
        with self._ahead:
            with self._store.db.read() as connection:
                # Traces that every check of this suite has seen already are left out, unless all are asked for again.
                wanted = trace_ids if everything else find_unchecked(connection, trace_ids, self.suite.identity)
            until = time.monotonic() + seconds
            # A few at a time: conversations that are not reached would be put together for nothing.
            for number, some in enumerate(batches(wanted, READ_TOGETHER)):
                # The order of the traces is kept, so everything before the first that was not reached is done.
                if number and time.monotonic() > until:
                    return trace_ids.index(some[0])
                with self._store.db.read() as connection:
                    turns = {turn.id: turn for turn in turns_of(connection, some)}
                left = self.suite.run_ahead([turns[one] for one in some if one in turns], until - time.monotonic())
                if left:
                    return trace_ids.index(left[0].id)
        return len(trace_ids)

    def look_at(self, connection: Connection, trace_ids: Sequence[str]) -> list[str]:
        """Run what is missing for these traces, and what their messages say of the turns before; the traces that changed.

        With every check turned off, what checks said of the traces earlier is taken away.
        """
        if not trace_ids:
            return []
        if not self.suite:
            drop_checks(connection, trace_ids)
            note_gaps(connection, turns_of(connection, trace_ids))
            return []
        fresh = find_unchecked(connection, trace_ids, self.suite.identity)
        self.put(connection, fresh)
        new = set(fresh)
        follow_up = FOLLOW_UP & self.suite.checks.keys()
        before = before_in_session(connection, trace_ids) if follow_up else []
        # Fresh traces were checked with their follow-ups a moment ago.
        earlier = [one for one in dict.fromkeys(before) if one not in new]
        if not earlier:
            return []
        outcomes = list(self.suite.run(turns_of(connection, earlier), follow_up))
        return earlier if put_checked(connection, outcomes, (), self.suite.identity) else []

    def put(
        self, connection: Connection, trace_ids: Sequence[str], only: frozenset[str] | None = None
    ) -> tuple[list[Checked], int]:
        """Run the whole suite, or `only` some of it, over these traces and keep what it found."""
        turns = turns_of(connection, trace_ids)
        note_gaps(connection, turns)
        follow_formats(connection, turns)
        outcomes = list(self.suite.run(turns, only))
        marks = [(turn.id, *question_keys(turn.id, turn.input, turn.output)) for turn in turns]
        return outcomes, put_checked(connection, outcomes, marks, self.suite.identity, _list_unseen(turns, outcomes))

    def backfill(self, *, everything: bool, progress: Callable[[int], None] = lambda _: None) -> CheckReport:
        """Check all of history: what no suite or an older one has seen, or `everything` again; what changed is queued."""
        report, portion = CheckReport(), Portion(AT_ONCE)
        # Ranges are taken first: a long read transaction would keep the database from cleaning up.
        for after, upto, _ in self._store.read(ranges, AT_ONCE):
            ids = self._store.read(ids_between, after, upto)
            while ids:
                reached = self.run_ahead(ids, everything=everything)
                # In short transactions.
                for some in portion.of(ids[:reached]):
                    work = portion.time_work(partial(self._run_suite, ids=some, everything=everything))
                    outcomes, changed = self._store.db.write_with_retry(work)
                    report.add(outcomes)
                    report.traces += len(some)
                    report.changed += changed
                    progress(len(some))
                ids = ids[reached:]
        return report

    def dry_run(self, progress: Callable[[int], None] = lambda _: None) -> CheckReport:
        """Report what a backfill would find, without keeping it."""
        report = CheckReport()
        for after, upto, count in self._store.read(ranges, AT_ONCE):
            turns = self._store.read(turns_of, self._store.read(ids_between, after, upto))
            report.add(list(self.suite.run(turns)))
            report.traces += count
            progress(count)
        return report

    def explain(self, trace_id: str) -> list[Checked]:
        """What each check says of one trace now."""
        return list(self.suite.run(self._store.read(turns_of, [trace_id])))

    def _run_suite(self, connection: Connection, ids: Sequence[str], everything: bool) -> tuple[list[Checked], int]:
        if not self.suite:
            # Checks that were turned off leave their scores behind; a backfill takes them away.
            wanted, outcomes, changed = ids, list[Checked](), drop_checks(connection, ids)
        else:
            wanted = ids if everything else find_unchecked(connection, ids, self.suite.identity)
            outcomes, changed = self.put(connection, wanted)
        if changed:
            # A changed score may change the verdict, so the trace is curated again.
            enqueue(connection, wanted)
        return outcomes, changed


def _list_unseen(turns: Sequence[Turn], outcomes: Sequence[Checked]) -> set[tuple[str, str]]:
    """Traces and checks of the next turn that say nothing because that turn is not here: it may be archived, or cited."""
    last = {turn.id for turn in turns if turn.next_input is None}
    silent = (each for each in outcomes if each.check in FOLLOW_UP and each.result is None)
    return {(each.trace_id, each.check) for each in silent if each.trace_id in last}
