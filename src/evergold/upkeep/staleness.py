"""References that may no longer hold: what each rests on came again and is another, or a confirmed answer differs.

A case rests on passages of documents, results of tools and the answer to its question; each is recorded by hash with the version
of the case. New traces are compared with that. Another passage of a document is no change: a change is the same passage with
something in it replaced, added or left out. What came back as it was is no change either. People decide; nothing changes by
itself.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from difflib import SequenceMatcher
from functools import cache
from math import inf
from typing import Any

import orjson
from sqlalchemy import Connection

from evergold.conversation.message import as_text
from evergold.errors import BadInput
from evergold.judge.offline import OfflineJudge, shipped_calibration
from evergold.model.case import Case, Context, Conversation, EntryType, Origin
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.model.trace import Trace
from evergold.model.upkeep import Basis, StaleReason
from evergold.model.values import content_hash
from evergold.store import Store
from evergold.store.case.cases import entry_id_of
from evergold.store.database.rows import stamp
from evergold.store.facts import fact, fact_to_change, put_fact
from evergold.store.staleness import (
    OPEN,
    BasisRow,
    UnrecordedCase,
    bases_by_key,
    bases_of_entry,
    because_of,
    cases_of_entries,
    change_bases,
    confirmed_answers,
    conversations_of,
    open_bases,
    replace_bases,
    rests_on_evidence,
    settle_entry,
    take_unrecorded,
    traces_after,
)
from evergold.text.words import fold_text

CURSOR = "staleness.traces_upto"
ANSWERS = "staleness.answers"  # keys of questions whose answers are to be compared
AT_ONCE = 200
LONGEST_NAME = 200  # of a model or a prompt
FARTHEST_BACK = 20_000  # traces that are looked at again for a case that was made of an old one
SETTLED_SECONDS = 60
ALIKE = 0.5  # share of words that a passage has in common with its earlier wording
MOST_WORDS = 2_000
CALL_KEYS = """requestid traceid correlationid sessionid timestamp servertime generatedat retrievedat fetchedat
    requestedat servedat queriedat checkedat cachedat latency latencyms duration durationms elapsed elapsedms took tookms"""
VOLATILE = frozenset(CALL_KEYS.split())  # keys of a tool's result that differ from call to call


def _fold(value: str) -> str:
    return " ".join(fold_text(value).split())


def _hash(*parts: Any) -> str:
    return content_hash(list(parts))[7:39]


def hash_passage(text: str) -> str:
    """Identify a passage by its words."""
    return _hash(_fold(text))


def hash_result(result: Any) -> str:
    """Identify a tool's result, without what differs from call to call."""
    if isinstance(result, str):
        try:
            result = orjson.loads(result)
        except orjson.JSONDecodeError:
            return hash_passage(result)
    return _hash(_without_volatile(result))


def _without_volatile(value: Any) -> Any:
    if isinstance(value, Mapping):
        plain = {key: key.lower().replace("_", "").replace("-", "") for key in value}
        return {key: _without_volatile(one) for key, one in value.items() if plain[key] not in VOLATILE}
    return [_without_volatile(one) for one in value] if isinstance(value, list) else value


def _document_key(context: Context, question: str) -> str:
    return _hash("document", context.source) if context.source else _hash("passage", question)


def _tool_key(call: ToolCall) -> str:
    return _hash("tool", call.name, call.args)


def _answers(call: ToolCall) -> bool:
    """Whether a call has a result that says something: a call that failed says nothing of the world."""
    failed = isinstance(call.result, Mapping) and (call.result.get("error") or call.result.get("ok") is False)
    return call.result is not None and not call.failed and not failed


def _name_model(facts: Mapping[str, Any]) -> dict[str, str]:
    """Name the model, and the prompt with its version."""
    stated = facts.get("parameters")
    facts = {**facts, **stated} if isinstance(stated, Mapping) else facts
    prompt = (facts.get("prompt_name") or facts.get("prompt_id"), facts.get("prompt_version"))
    parts = {"model": [facts.get("model")], "prompt_version": prompt}
    return {name: "@".join(str(one) for one in values if one)[:LONGEST_NAME] for name, values in parts.items()}


def record_basis(one: UnrecordedCase) -> list[BasisRow]:
    """Say what the reference of a case rests on; the first row is its answer, empty where it has no reference."""
    case = one.case
    reference = None if case.entry_type is EntryType.FAILURE else case.reference()
    asked = _fold(case.input)
    earlier = [_fold(as_text(one.get("content"))) for one in case.messages[:-1] if one.get("role") == "user"]
    answer = _fold(reference.text) if reference and reference.text else ""
    listed = [("answer", "", _hash("question", asked, earlier) if answer else "", _hash(answer) if answer else "")]
    if reference is not None:
        listed += [
            ("document", one.source or "", _document_key(one, asked), hash_passage(one.text))
            for one in case.contexts
            if one.text
        ]
        listed += [
            ("tool", one.name, _tool_key(one), hash_result(one.result)) for one in case.tool_calls if _answers(one)
        ]
    rows = [
        BasisRow(one.entry_id, number, *row, version=case.version, seen_at=one.came_at if number else one.since)
        for number, row in enumerate(dict.fromkeys(listed))
    ]
    # The app's own answer, which a person may have approved as it is.
    recorded = (case.revised.text if case.revised else case.output) or ""
    if reference and reference.origin is not Origin.SOURCE and answer in ("", _fold(recorded)):
        rows[0].__dict__.update(_name_model(one.facts))
    return rows


def is_revision(old: str, new: str) -> bool:
    """Whether a passage is another wording of an earlier one, rather than another passage of the same document."""
    a, b = _fold(old).split()[:MOST_WORDS], _fold(new).split()[:MOST_WORDS]
    match = SequenceMatcher(None, a, b, autojunk=False)
    if match.real_quick_ratio() < ALIKE or match.ratio() < ALIKE:
        return False
    steps = [step for step in match.get_opcodes() if step[0] != "equal"]
    inside = any(
        kind == "replace" or (i1 > 0 and i2 < len(a)) or (j1 > 0 and j2 < len(b)) for kind, i1, i2, j1, j2 in steps
    )
    # Words added or left out at one end; at both ends it is a window that begins elsewhere in the document.
    ends_cut = (
        {old.rstrip()[-1:], new.rstrip()[-1:]} & {"…"} or old.rstrip().endswith("...") or new.rstrip().endswith("...")
    )
    return inside or (len(steps) == 1 and not ends_cut)


def concerns_other_item(old: str, new: str, question: str, other_question: str) -> bool:
    """Whether passages differ in what the two questions ask about: rows of one list, each of another thing."""
    a, b = set(_fold(old).split()), set(_fold(new).split())
    return bool((a - b) & set(_fold(question).split()) and (b - a) & set(_fold(other_question).split()))


class Staleness:
    def __init__(self, store: Store) -> None:
        self._store = store

    def all(self, seconds: float = inf) -> list[StaleReason]:
        """Compare what came with what references rest on, for so many seconds at most, and list those that may not hold."""
        self.refresh(seconds)
        return self._store.read(describe_stale)

    def refresh(self, seconds: float = inf) -> None:
        """Record and compare everything that waits, or what can be done in so many seconds."""
        until = time.monotonic() + seconds
        while self.step() and time.monotonic() < until:
            pass

    def step(self) -> bool:
        """Record some cases, else compare some traces; whether there was anything to do."""
        with self._store.db.read() as connection:
            asked = fact(connection, ANSWERS)
            changed = _compare_answers(connection, asked.split()) if asked else []
            fresh = [] if asked else take_unrecorded(connection, AT_ONCE)
        if asked:

            def keep_compared(connection: Connection) -> None:
                change_bases(connection, changed)
                # Keys that were added meanwhile stay.
                waiting = set((fact_to_change(connection, ANSWERS) or "").split())
                put_fact(connection, ANSWERS, " ".join(sorted(waiting - set(asked.split()))))

            self._store.db.write(keep_compared)
            return True
        if fresh:
            self._store.db.write(lambda connection: _record(connection, fresh))
            return True
        settled = str(stamp(datetime.now(UTC) - timedelta(seconds=SETTLED_SECONDS)))
        with self._store.db.read() as connection:
            rows = traces_after(connection, int(fact(connection, CURSOR) or 0), settled, AT_ONCE)
            changed = _compare(connection, [trace for _, trace in rows])
        if not rows:
            return False

        def keep(connection: Connection) -> None:
            change_bases(connection, changed)
            put_fact(connection, CURSOR, str(rows[-1][0]))

        self._store.db.write(keep)
        return True

    def settle(self, dataset: str, case_id: str, state: str) -> int:
        """Note what a person decided on a case; how many reasons there were."""
        return self._store.db.write(
            lambda connection: settle_entry(connection, entry_id_of(connection, dataset, case_id), state)
        )

    def reasons(self, dataset: str, case_id: str) -> list[StaleReason]:
        """List why a case may be stale, as far as it is known."""
        with self._store.db.read() as connection:
            return describe_stale(connection, entry_id_of(connection, dataset, case_id))

    def basis(self, dataset: str, case_id: str) -> list[Basis]:
        """List what the reference of a case rests on; nothing for a case without a reference, or one that is not active."""
        with self._store.db.read() as connection:
            entry = entry_id_of(connection, dataset, case_id)
            fresh = take_unrecorded(connection, 1, entry)
        if fresh:
            self._store.db.write(lambda connection: _record(connection, fresh))
        rows = self._store.read(bases_of_entry, entry)
        return [Basis.model_validate(row, from_attributes=True) for row in rows if row.hash]

    def reason(self, dataset: str, case_id: str) -> StaleReason:
        """Why a case may be stale; `BadInput` where nothing is open."""
        listed = self.reasons(dataset, case_id)
        if not listed:
            raise BadInput(f"case {case_id!r} of {dataset!r} is not stale; `evergold stale` lists those that may be")
        return listed[0]


def _record(connection: Connection, fresh: Sequence[Any]) -> None:
    """Record what cases rest on, and which answers are to be compared: the judge that does it stays out of this transaction."""
    oldest: list[int] = []
    asked = set((fact_to_change(connection, ANSWERS) or "").split())
    for one in fresh:
        known = {(row.kind, row.key, row.hash): row for row in bases_of_entry(connection, one.entry_id)}
        rows = record_basis(one)
        asked |= {rows[0].key} - {""}
        for row in rows:
            before = known.get((row.kind, row.key, row.hash))
            if before is not None:
                kept = {name: getattr(row, name) for name in ("number", "version", "model", "prompt_version")}
                row.__dict__.update(vars(before) | kept)
                row.seen_at = max(before.seen_at, one.since) if row.kind == "answer" else before.seen_at
            elif row.kind != "answer" and one.seq is not None:
                oldest.append(one.seq)
        replace_bases(connection, one.entry_id, rows)
    upto = int(fact(connection, CURSOR) or 0)
    if oldest and min(oldest) < upto:
        put_fact(connection, CURSOR, str(max(min(oldest) - 1, upto - FARTHEST_BACK, 0)))
    put_fact(connection, ANSWERS, " ".join(sorted(asked)))


def _compare_answers(connection: Connection, keys: Iterable[str]) -> list[BasisRow]:
    """Find answers to the same question that were confirmed later and are others."""
    held: defaultdict[str, list[tuple[BasisRow, bool]]] = defaultdict(list)
    for row, confirmed in confirmed_answers(connection, keys):
        held[row.key].append((row, confirmed))
    changed = []
    for rows in held.values():
        sure = [row for row, confirmed in rows if confirmed]
        newest = max(sure, key=lambda row: (row.seen_at, row.entry_id), default=None)
        for row, _ in rows:
            if newest is None or row.seen_at >= newest.seen_at or newest.hash in (row.hash, row.now_hash):
                continue
            cases = cases_of_entries(connection, [row.entry_id, newest.entry_id])
            if _do_differ(cases[row.entry_id], cases[newest.entry_id]):
                row.state, row.now_hash, row.changed_at = OPEN, newest.hash, newest.seen_at
                row.now_entry, row.now_trace = newest.entry_id, cases[newest.entry_id].provenance.trace_id
                changed.append(row)
    return changed


@cache
def _judge() -> OfflineJudge:
    return OfflineJudge()


def _do_differ(one: Case, other: Case) -> bool:
    """Whether two answers to one question say different things of the same matter."""
    calls = [{call.name: _tool_key(call) for call in case.tool_calls} for case in (one, other)]
    if any(calls[0][name] != calls[1][name] for name in calls[0].keys() & calls[1].keys()):
        return False  # the same words about another order, account or day
    first, second = one.reference(), other.reference()
    if first is None or second is None or not first.text or not second.text:
        return False
    return _judge().grade(one.input, first.text, second.text).value < shipped_calibration().thresholds["right"]


def _compare(connection: Connection, trace_ids: Sequence[str]) -> list[BasisRow]:
    """Compare what traces bring with what cases rest on; the rows that change."""
    if not trace_ids or not rests_on_evidence(connection):
        return []
    brought = [
        (trace, _evidence_of(trace, conversation)) for trace, conversation in conversations_of(connection, trace_ids)
    ]
    held = bases_by_key(connection, {key for _, came in brought for key in came})
    cases: dict[int, Case] = {}
    changed: dict[tuple[int, int], BasisRow] = {}
    for trace, came in sorted(brought, key=lambda one: str(one[0].started_at)):
        at = str(stamp(trace.started_at)) if trace.started_at else ""
        asked = _fold(trace.input)
        for key in came.keys() & held.keys():
            rows = held[key]
            for row in rows:
                if row.hash in came[key]:
                    if at > row.seen_at:
                        row.seen_at = at
                        if row.state == OPEN and row.changed_at < at:
                            row.state = row.now_hash = row.changed_at = ""
                        changed[row.entry_id, row.number] = row
                elif at > max(row.seen_at, row.changed_at):
                    hash_now = _find_change(connection, row, rows, came[key], asked, cases)
                    if hash_now is not None and not (hash_now == row.now_hash and row.state):
                        row.state, row.now_hash, row.now_trace, row.changed_at = OPEN, hash_now, trace.id, at
                        changed[row.entry_id, row.number] = row
    return list(changed.values())


def _evidence_of(trace: Trace, conversation: Conversation) -> dict[str, dict[str, str]]:
    """The passages and results that a trace brings: by what they are of, then by hash."""
    came: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for context in conversation.contexts:
        if context.text:
            came[_document_key(context, _fold(trace.input))][hash_passage(context.text)] = context.text
    for call in calls_in(conversation.turn):
        if _answers(call):
            came[_tool_key(call)][hash_result(call.result)] = ""
    return came


def _find_change(
    connection: Connection,
    row: BasisRow,
    rows: Sequence[BasisRow],
    came: Mapping[str, str],
    asked: str,
    cases: dict[int, Case],
) -> str | None:
    """The hash of what came instead; None where nothing did."""
    if row.kind == "tool":
        return next(iter(came))
    if row.entry_id not in cases:
        cases |= cases_of_entries(connection, [row.entry_id])
    case = cases[row.entry_id]
    was = _text_of(row, case.contexts, case.tool_calls)
    if was is None:
        return None
    others = {other.hash for other in rows}
    alike = [one for one, text in came.items() if one not in others and is_revision(was, text)]
    if _fold(case.input) != asked:
        # Several like passages in one trace, or one of what only the other question asks about, are rows of a list.
        alike = [one for one in alike if not concerns_other_item(was, came[one], case.input, asked)]
        alike = alike if len(alike) == 1 else []
    return alike[0] if alike else None


def _text_of(row: BasisRow, contexts: Iterable[Context], calls: Iterable[ToolCall], now: bool = False) -> str | None:
    wanted = row.now_hash if now else row.hash
    if row.kind == "document":
        return next((one.text for one in contexts if one.text and hash_passage(one.text) == wanted), None)
    of_tool = (one for one in calls if _answers(one) and _tool_key(one) == row.key)
    return next((as_text(one.result) for one in of_tool if hash_result(one.result) == wanted), None)


def describe_stale(connection: Connection, entry: int | None = None) -> list[StaleReason]:
    """List what is open, with both sides as they can still be read, of all cases or of one."""
    rows = open_bases(connection, entry)
    entries = {row.entry_id for row in rows}
    cases = cases_of_entries(connection, entries | {row.now_entry for row in rows if row.now_entry})
    traces = {row.now_trace for row in rows if row.now_trace and row.kind != "answer"}
    conversations = {trace.id: conversation for trace, conversation in conversations_of(connection, traces)}
    answers = {entry: bases_of_entry(connection, entry)[0] for entry in entries}
    described = []
    for row in rows:
        case = cases[row.entry_id]
        if row.kind == "answer":
            sides = [one.reference() if one else None for one in (case, cases.get(row.now_entry or 0))]
            was, now = (side.text if side else None for side in sides)
        else:
            came = conversations.get(row.now_trace or "")
            was = _text_of(row, case.contexts, case.tool_calls)
            now = _text_of(row, came.contexts, calls_in(came.turn), now=True) if came else None
        described.append(
            StaleReason(
                dataset=case.dataset,
                id=case.id,
                because=because_of(row),
                was=was,
                now=now,
                at=row.changed_at,
                trace_id=row.now_trace,
                model=answers[row.entry_id].model,
                prompt_version=answers[row.entry_id].prompt_version,
            )
        )
    return described
