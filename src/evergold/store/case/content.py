"""Cases as rows, and their content: conversation, turn, tools and contexts, each message stored once and cited by its number.

`messages` holds every item of these lists by its hash; `eval_dataset.content` names the items of a case and what else was
derived from its trace. Reading a case reads these two. Traces are parsed only to write a content: after curation, when a
trace grew, and when somebody reads a case whose content was not written yet (`content` is NULL), such as a row of a
hand-written `INSERT`. A case that a person changed or that was imported has its own content (`own_content` is 1), which is
never replaced by what its trace says.

When a trace grows after its case was made, the content of a case that nobody changed is put together again; a revision says so
in its history, and whoever has the earlier version open is told. Where somebody decided, the reviewer is asked.
"""

import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import inf
from typing import Any, NamedTuple

from sqlalchemy import Connection
from sqlalchemy.engine import RowMapping

from evergold.conversation import conversation_of
from evergold.conversation.assembly import texts_of
from evergold.conversation.message import as_text
from evergold.conversation.wholeness import exporter_of, gaps_of
from evergold.errors import Unavailable
from evergold.model.case import BOOKKEEPING, Case, Context, Conversation, ReviewState, TierEvidence
from evergold.model.check import ToolStep, Turn
from evergold.model.tool_calls import ToolCall, calls_in
from evergold.model.trace import Trace
from evergold.model.values import is_raw
from evergold.store.database.db import SUBMIT, Database
from evergold.store.database.rows import (
    batches,
    change_among,
    dumps,
    insert_rows,
    loads,
    now,
    rows_among,
    run_for_each,
    run_sql,
    tuples_among,
)
from evergold.store.schema import UNWRITTEN, messages
from evergold.store.trace.traces import Sessions, traces_with_spans

PARTS = ("messages", "turn", "tools", "contexts")  # lists whose items are stored apart: `store/case/content.py`
MADE_HERE = ("policy", "correction")  # sources of cases that curation makes without their content
IN_COLUMNS = {"id", "dataset", "kind", "entry_type", "input", "output", "expected", "metadata", "tags"} | BOOKKEEPING
SAME_IN_COLUMNS = ("dataset", "kind", "entry_type", "review", "status")
OF_PROVENANCE = ("session_id", "user_id", "policy", "policy_rev")


def row_of(case: Case, cited: Collection[str | None]) -> dict[str, Any]:
    """The columns of a case. A trace this database does not hold is cited in the body alone."""
    trace_id = case.provenance.trace_id
    # Such a case is written without its conversation, which is put together from its trace afterwards.
    made_here = case.provenance.source in MADE_HERE
    bare = made_here and not case.messages and not case.turn
    # The metadata of a case that curation made also say what its tier rests on.
    evidence = TierEvidence.PERSON if case.review is ReviewState.VALIDATED else case.evidence
    # Calls that the turn holds are read from it again.
    derived = {"tool_calls"} if case.turn and case.tool_calls == calls_in(case.turn) else set()
    body = case.model_dump(mode="json", exclude=IN_COLUMNS.union(PARTS, derived), exclude_defaults=True)
    return {
        **{name: getattr(case, name) for name in SAME_IN_COLUMNS},
        **{name: getattr(case.provenance, name) for name in OF_PROVENANCE},
        "case_id": case.id,
        "input_text": case.input,
        "output_text": case.output,
        "expected_output": case.expected,
        "metadata": dumps(case.metadata | ({"evidence": evidence} if made_here else {})),
        "body": dumps(body),
        "trace_id": trace_id if trace_id in cited else None,
        "confirmed": int(case.confirmed),
        "evidence": case.evidence,
        "own_content": int(not bare or trace_id not in cited),
    }


def case_of(row: Mapping[str, Any] | RowMapping, tags: Sequence[str]) -> Case:
    """The case that a row holds, without its content; earlier rows have their messages in the body."""
    body = loads(row["body"])
    provenance = body.pop("provenance", {})
    provenance |= {name: row[name] for name in ("trace_id", *OF_PROVENANCE) if row[name] is not None}
    if body.get("turn") and "tool_calls" not in body:
        body["tool_calls"] = calls_in(body["turn"])
    body |= {name: row[name] for name in (*SAME_IN_COLUMNS, "version", "created_at", "updated_at")}
    # Whoever decided what the entry is stands for it, until the decision is taken back.
    decided = row["review"] == ReviewState.VALIDATED or row["decided"]
    body["evidence"] = TierEvidence.PERSON if decided else row["evidence"]
    metadata = loads(row["metadata"])
    if provenance.get("source") in MADE_HERE:
        metadata.pop("evidence", None)
    body |= {"input": row["input_text"], "output": row["output_text"], "expected": row["expected_output"]}
    own = {"id": row["case_id"], "metadata": metadata, "tags": tuple(sorted(tags)), "provenance": provenance}
    return Case.model_validate(body | own)


# What reading a conversation raises where a trace holds what no convention foresees.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
HASH_BYTES = 18  # of SHA-256, as 24 characters: nobody finds two texts with the same ones
AT_ONCE = 200  # cases whose traces are in memory at a time
CITED = {
    "sqlite": "SELECT item.value FROM eval_dataset d, json_tree(d.content, '$.parts') item "
    "WHERE d.content IS NOT NULL AND item.type = 'integer'",
    "postgresql": "SELECT CAST(jsonb_path_query(content::jsonb, '$.parts.*[*]') AS bigint) FROM eval_dataset",
}


class Content(NamedTuple):
    """What a case says beside the columns of its row: the items of its lists, and what was derived from its trace.

    `derived` may have `metadata` (model and parameters), `problems`, `user_id`, and the texts `input` and `output` where the
    row has the JSON of messages.
    """

    parts: Mapping[str, Sequence[Any]]
    derived: Mapping[str, Any] = {}


class WrittenContent(NamedTuple):
    """The content of an entry as it was put together when its trace and session had grown so often."""

    entry: int
    grown: int
    content: Content


def add_contents(connection: Connection, rows: Sequence[RowMapping], cases: Sequence[Case]) -> list[Case]:
    """Add the stored contents to cases that were made from their rows; write those that are missing."""
    contents = [loads(row["content"]) for row in rows]
    items = _items(connection, rows, contents)
    results = list(cases)
    for number, content in enumerate(contents):
        if content:
            cited = {name: [items[at] for at in numbers] for name, numbers in content.get("parts", {}).items()}
            results[number] = _with_content(cases[number], Content(cited, content))
    missing = [number for number, row in enumerate(rows) if _is_unwritten(row)]
    for batch in batches(missing, AT_ONCE):
        written = _assemble(connection, [rows[number] for number in batch], [cases[number] for number in batch])
        for number, one in zip(batch, written, strict=True):
            results[number] = _with_content(cases[number], one.content)
        _leave_to_writer(connection, written)
    return results


def add_texts(connection: Connection, rows: Sequence[RowMapping], cases: Sequence[Case]) -> list[Case]:
    """Like `add_contents`, without the conversation: a list shows the texts of cases alone."""
    unwritten = [number for number, row in enumerate(rows) if _is_unwritten(row)]
    results = [_with_content(case, Content({}, loads(row["content"]))) for row, case in zip(rows, cases, strict=True)]
    # A text that people can read needs no trace; the others are the JSON of messages.
    raw = [number for number in unwritten if is_raw(cases[number].input) or is_raw(cases[number].output)]
    filled = add_contents(connection, [rows[number] for number in raw], [cases[number] for number in raw])
    for number, case in zip(raw, filled, strict=True):
        results[number] = case
    return results


def _is_unwritten(row: RowMapping) -> bool:
    return row["content"] is None and not row["own_content"] and row["trace_id"] is not None


def _items(connection: Connection, rows: Sequence[RowMapping], contents: list[Any]) -> dict[int, Any]:
    """The items that the contents cite, by number."""
    items = _load(connection, contents)
    stale = [number for number, content in enumerate(contents) if not items.keys() >= set(_numbers(content))]
    if stale:
        # PostgreSQL reads each statement at a moment of its own: the content was replaced between the two.
        query = "SELECT id, content FROM eval_dataset WHERE id"
        newer = {row[0]: loads(row[1]) for row in rows_among(connection, query, [rows[one]["id"] for one in stale])}
        for number in stale:
            contents[number] = newer.get(rows[number]["id"], {})
        items |= _load(connection, [contents[number] for number in stale])
    return items


def _load(connection: Connection, contents: Iterable[Any]) -> dict[int, Any]:
    numbers = {number for content in contents for number in _numbers(content)}
    rows = tuples_among(connection, "SELECT id, value FROM messages WHERE id", numbers)
    return {number: loads(value) for number, value in rows}


def _numbers(content: Mapping[str, Any]) -> Iterator[int]:
    for numbers in content.get("parts", {}).values():
        yield from numbers


def _with_content(case: Case, content: Content) -> Case:
    """Fill what is empty in a case from its content; what the case says already stays."""
    parts, derived = content
    fields: dict[str, Any] = {name: derived[name] for name in ("input", "output") if name in derived}
    for name in PARTS:
        if parts.get(name) and not getattr(case, name):
            fields[name] = tuple(parts[name])
    if "contexts" in fields:
        fields["contexts"] = tuple(map(Context.model_validate, fields["contexts"]))
    if "turn" in fields and not case.tool_calls:
        fields["tool_calls"] = calls_in(fields["turn"])
    if "metadata" in derived:
        fields["metadata"] = derived["metadata"] | case.metadata
    extra = {"after": list(parts.get("after", ())), "problems": list(derived.get("problems", ()))}
    if any(extra.values()):
        fields["extra"] = {name: value for name, value in extra.items() if value} | case.extra
    if case.provenance.user_id is None and derived.get("user_id") is not None:
        fields["provenance"] = case.provenance.model_copy(update={"user_id": derived["user_id"]})
    return case.model_copy(update=fields) if fields else case


class Contents:
    """The conversations of some traces, each read once."""

    def __init__(self, connection: Connection, trace_ids: Iterable[str]) -> None:
        self._traces = traces_with_spans(connection, trace_ids)
        self._sessions = Sessions(connection, self._traces.values())
        self._read: dict[str, Conversation] = {}

    def of(self, case: Case, trace_id: str) -> Content:
        """What the trace says of a case; nothing where the trace is not stored."""
        trace = self._traces.get(trace_id)
        return Content({}) if trace is None else _derive(case, trace, self._conversation(trace))

    def complete(self, case: Case, trace_id: str) -> Case:
        """The case with everything of its trace that it does not say itself."""
        return _with_content(case, self.of(case, trace_id))

    def calls_of(self, trace_id: str) -> tuple[ToolCall, ...]:
        """The tool calls that the turn of a trace made; none where the trace is not stored."""
        trace = self._traces.get(trace_id)
        return () if trace is None else calls_in(self._conversation(trace).turn)

    def fill_turn(self, turn: Turn) -> Turn:
        """The turn with what the case of its trace would hold: texts, calls with their results, contexts; and what it lacks."""
        trace = self._traces.get(turn.id)
        try:
            conversation = None if trace is None else self._conversation(trace)
            gaps = gaps_of(trace, conversation, last=turn.next_input is None) if trace and conversation else ()
        except UNREADABLE:
            conversation, gaps = None, ()
        if trace is None or conversation is None:
            return replace(turn, gaps="")
        question, answer = texts_of(trace, conversation)
        return replace(
            turn,
            input=question,
            output=answer,
            tools=_steps_of(calls_in(conversation.turn), turn.tools),
            contexts=tuple(context.text or "" for context in conversation.contexts),
            gaps=" ".join(("", *gaps, "")) if gaps else "",
            exporter=exporter_of(trace) if gaps else "",
        )

    def _conversation(self, trace: Trace) -> Conversation:
        if trace.id not in self._read:
            self._read[trace.id] = conversation_of(trace, self._sessions.list_before, self._sessions.called_before)
        return self._read[trace.id]


def _steps_of(calls: Sequence[ToolCall], ran: Sequence[ToolStep]) -> tuple[ToolStep, ...]:
    """The calls of a turn with their results, and the tools that only spans show; the status of a span counts for its tool."""
    last = {step.name: step.failed for step in ran}
    steps = [
        ToolStep(call.name, call.failed or last.pop(call.name, False), as_text(call.result), as_text(call.args))
        for call in calls[::-1]
    ]
    return (*(step for step in ran if step.name in last), *steps[::-1])


def _derive(case: Case, trace: Trace, conversation: Conversation) -> Content:
    parts: dict[str, Sequence[Any]] = {
        "messages": conversation.messages,
        "turn": conversation.turn,
        "tools": conversation.tools,
        "contexts": [_dump(context) for context in conversation.contexts],
        "after": conversation.after,
    }
    derived: dict[str, Any] = {
        "metadata": _facts(conversation),
        "problems": list(conversation.problems),
        "user_id": trace.user_id,
    }
    # Only where nobody edited the text: a case that a person wrote may well be JSON on purpose.
    question, answer = texts_of(trace, conversation)
    if case.input == trace.input != question:
        derived["input"] = question
    if case.output == trace.output != answer:
        derived["output"] = answer
    return Content(
        {name: items for name, items in parts.items() if items},
        {name: value for name, value in derived.items() if value},
    )


def _dump(context: Context) -> dict[str, Any]:
    return context.model_dump(mode="json", exclude_defaults=True)


def _facts(conversation: Conversation) -> dict[str, Any]:
    """Model, parameters, prompt name and version: how the answer came to be."""
    parameters = {name: value for name, value in conversation.parameters.items() if name != "model"}
    model = conversation.parameters.get("model")
    return ({"model": model} if model else {}) | ({"parameters": parameters} if parameters else {})


def own_content(case: Case) -> Content:
    """The content of a case as it says it itself."""
    lists = {name: getattr(case, name) for name in PARTS if getattr(case, name)}
    if "contexts" in lists:
        lists["contexts"] = [_dump(context) for context in case.contexts]
    return Content(lists)


def store_items(connection: Connection, contents: Sequence[Content]) -> list[str]:
    """Store the items of contents that are not stored yet; return the contents as `eval_dataset` holds them."""
    texts = [{name: [dumps(item) for item in items] for name, items in one.parts.items()} for one in contents]
    numbers = _number_of_each(connection, {item for parts in texts for items in parts.values() for item in items})
    return [
        dumps(
            {**one.derived, "parts": {name: [numbers[item] for item in items] for name, items in parts.items()}}
            if parts
            else one.derived
        )
        for one, parts in zip(contents, texts, strict=True)
    ]


def _number_of_each(connection: Connection, values: set[str]) -> dict[str, int]:
    if not values:
        return {}
    if connection.dialect.name == "postgresql":
        # Whoever deletes messages that nothing cites waits until these are cited.
        connection.exec_driver_sql("LOCK TABLE messages IN ROW EXCLUSIVE MODE")
    digests = {sha256(value.encode()).digest()[:HASH_BYTES]: value for value in values}
    hashes = {urlsafe_b64encode(digest).decode(): value for digest, value in digests.items()}
    query = "SELECT hash, id FROM messages WHERE hash"
    known = dict(tuples_among(connection, query, hashes))
    # In one order, so that two servers that store the same ones wait for each other in one direction alone.
    fresh = sorted(hashes.keys() - known.keys())
    if fresh:
        insert_rows(connection, messages, ("hash", "value"), [(one, hashes[one]) for one in fresh], new_only=True)
        known |= dict(tuples_among(connection, query, fresh))
    return {value: known[key] for key, value in hashes.items()}


def _assemble(connection: Connection, rows: Sequence[RowMapping], cases: Sequence[Case]) -> list[WrittenContent]:
    """Put contents together from the traces of these entries."""
    read = Contents(connection, {row["trace_id"] for row in rows})
    written = []
    for row, case in zip(rows, cases, strict=True):
        try:
            content = read.of(case, row["trace_id"])
            dumps([*content])
        except UNREADABLE as problem:
            # The case then states the problem: one trace must not keep others from being filled.
            content = Content({}, {"problems": [f"its conversation could not be read: {type(problem).__name__}"]})
        written.append(WrittenContent(row["id"], row["grown"], content))
    return written


def _leave_to_writer(connection: Connection, written: Sequence[WrittenContent]) -> None:
    """Write contents without waiting for it, where a reader put them together; at once, in the transaction of a writer."""
    submit: Callable[..., Any] | None = connection.get_execution_options().get(SUBMIT)
    if submit is None:
        write_contents(connection, written)
        return
    with suppress(Unavailable):  # a reader needs no writer
        submit(partial(write_contents, written=written))


def write_contents(connection: Connection, written: Sequence[WrittenContent]) -> int:
    """Store contents whose entries still have none, and whose traces have not grown since; return how many."""
    query = f"SELECT id, grown FROM eval_dataset WHERE {UNWRITTEN} AND id"
    waiting = {tuple(row) for row in tuples_among(connection, query, [one.entry for one in written])}
    wanted = [one for one in written if (one.entry, one.grown) in waiting]
    texts = store_items(connection, [one.content for one in wanted])
    statement = f"UPDATE eval_dataset SET content = :content WHERE id = :entry AND grown = :grown AND {UNWRITTEN}"
    values = (one._asdict() | {"content": stored} for one, stored in zip(wanted, texts, strict=True))
    run_for_each(connection, statement, values)
    return len(wanted)


def fill_contents(
    db: Database, *, until: float = inf, most: float = inf, progress: Callable[[int], None] = lambda _: None
) -> int:
    """Write the contents of entries that have none yet, until a moment of the monotonic clock; return how many.

    Neighbours in a session come together, so that its traces are read once.
    """
    query = f"SELECT * FROM eval_dataset WHERE {UNWRITTEN} ORDER BY session_id, id LIMIT {AT_ONCE}"
    filled, before = 0, [0]
    while filled < most and time.monotonic() < until:
        with db.read() as connection:
            rows = run_sql(connection, query).mappings().all()
            written = _assemble(connection, rows, [case_of(row, ()) for row in rows]) if rows else []
        done = db.write_with_retry(partial(write_contents, written=written)) if written else 0
        entries = [one.entry for one in written]
        # The same entries twice, none of them written: they grow faster than they are read.
        if not entries or (not done and entries == before):
            break
        filled, before = filled + done, entries
        progress(done)
    return filled


def keep_contents(connection: Connection, trace_ids: Sequence[str]) -> int:
    """Make the content of cases their own that is read from these traces or their sessions, before they are deleted."""
    # Earlier turns may be read from other traces of the session, so this concerns the cases of all of them.
    named = "SELECT DISTINCT session_id FROM traces WHERE session_id IS NOT NULL AND id"
    sessions = [row[0] for row in tuples_among(connection, named, trace_ids)]
    citing = "SELECT d.id FROM traces t JOIN eval_dataset d ON d.trace_id = t.id WHERE d.own_content = 0 AND t."
    entries = {row[0] for row in tuples_among(connection, f"{citing}id", trace_ids)}
    entries |= {row[0] for row in tuples_among(connection, f"{citing}session_id", sessions)}
    for batch in batches(sorted(entries), AT_ONCE):
        unwritten = rows_among(connection, f"SELECT * FROM eval_dataset WHERE {UNWRITTEN} AND id", batch)
        rows = [row._mapping for row in unwritten]
        write_contents(connection, _assemble(connection, rows, [case_of(row, ()) for row in rows]))
        change_among(connection, "UPDATE eval_dataset SET own_content = 1 WHERE id", batch)
    return len(entries)


FORGET = "UPDATE eval_dataset SET content = NULL, grown = grown + 1 WHERE own_content = 0 AND"


def forget_contents(connection: Connection, trace_ids: Collection[str]) -> None:
    """Let contents that were read from these traces, or from their sessions as earlier turns, be put together again."""
    later = """IN (SELECT t.id FROM traces s JOIN traces t ON t.session_id = s.session_id AND t.started_at >= s.started_at
        AND t.id <> s.id WHERE s.id"""
    change_among(connection, f"{FORGET} trace_id", trace_ids)
    change_among(connection, f"{FORGET} trace_id {later}", trace_ids, ")")


def drop_uncited(connection: Connection) -> int:
    """Delete the messages that no case cites any more; return how many."""
    if connection.dialect.name == "postgresql":
        # Whoever cites one is waited for, and waits from here on.
        connection.exec_driver_sql("LOCK TABLE messages IN EXCLUSIVE MODE")
    return connection.exec_driver_sql(f"DELETE FROM messages WHERE id IN ({_find_uncited(connection)})").rowcount


def has_uncited(connection: Connection) -> bool:
    """Whether there are messages that no case cites."""
    return connection.exec_driver_sql(f"{_find_uncited(connection)} LIMIT 1").first() is not None


def _find_uncited(connection: Connection) -> str:
    return f"SELECT id FROM messages EXCEPT {CITED[connection.dialect.name]}"


MORE_SPANS = "more of its trace arrived"
READ_ANEW = "its trace was read again"
LATE_TURN = "an earlier turn of its session arrived"
ENTRIES = "SELECT id, version, own_content FROM eval_dataset WHERE status = 'active' AND trace_id"
LATE = """SELECT late.id FROM traces late
    JOIN traces t ON t.session_id = late.session_id AND t.started_at > late.started_at AND t.seq < late.seq
    WHERE late.id"""
# Turns that came before others in time and after them on the wire, and the entries of those that nothing touched since.
AFTER_LATE = """SELECT d.id, d.version, d.own_content FROM traces late
    JOIN traces t ON t.session_id = late.session_id AND t.started_at > late.started_at AND t.seq < late.seq
    JOIN eval_dataset d ON d.trace_id = t.id
    WHERE d.status = 'active' AND d.updated_at < late.received_at AND late.id"""


def note_growth(connection: Connection, trace_ids: Collection[str]) -> None:
    """Record that these traces have more spans than their cases were made from."""
    if trace_ids:
        forget_contents(connection, trace_ids)
        _note(connection, rows_among(connection, ENTRIES, trace_ids), MORE_SPANS)


def note_late_turns(connection: Connection, trace_ids: Sequence[str]) -> None:
    """Record that new traces are earlier turns of sessions whose later turns have cases."""
    late = {row[0] for row in rows_among(connection, LATE, trace_ids)}
    if late:
        forget_contents(connection, late)
        _note(connection, rows_among(connection, AFTER_LATE, late), LATE_TURN)


def renew_contents(connection: Connection, entries: Collection[int]) -> int:
    """Have the contents of cases that nobody changed put together again; return how many there are."""
    if entries:
        change_among(connection, f"{FORGET} id", entries)
        query = "SELECT id, version, own_content FROM eval_dataset WHERE own_content = 0 AND id"
        _note(connection, rows_among(connection, query, entries), READ_ANEW)
    return len(entries)


def _note(connection: Connection, entries: Iterable[Sequence[int]], why: str) -> None:
    moment = now()
    # A set: two late turns of one session name the same entry twice.
    for entry, version, own in {tuple(row) for row in entries}:
        if own:
            run_sql(connection, ASK, entry=entry, now=moment)
            continue
        known = {"entry": entry, "version": version, "now": moment, "why": why}
        run_sql(connection, RENEW, entry=entry, version=version, now=moment)
        # The last revision was no growth: a new one is appended.
        if not run_sql(connection, MOVE, **known).rowcount:
            run_sql(connection, REVISE, **known)


RENEW = "UPDATE eval_dataset SET version = :version + 1, updated_at = :now WHERE id = :entry"
# One revision for spans that arrive bit by bit: the version moves on, so that whoever saw less cannot decide on it.
MOVE = """UPDATE case_revisions SET version = :version + 1, created_at = :now
    WHERE entry_id = :entry AND version = :version AND action = 'grew' AND why = :why"""
# Named like a policy: what a policy alone has made of an entry, a policy may change again.
REVISE = """INSERT INTO case_revisions (entry_id, version, action, who, why, created_at)
    VALUES (:entry, :version + 1, 'grew', 'policy growth', :why, :now)"""
ASK = """UPDATE eval_dataset SET question = 'grew:' || CAST((SELECT count(*) FROM spans s JOIN traces t
    ON t.seq = s.trace_seq WHERE t.id = eval_dataset.trace_id) AS text), updated_at = :now
    WHERE id = :entry AND (review = 'validated' OR decided <> '')"""
