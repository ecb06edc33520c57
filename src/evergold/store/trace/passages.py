"""What is said in a trace, passage by passage: the words by which a search finds it, and the excerpt that shows the hit.

A trace is found by its name, question, answer and error, by the messages of its conversation, by arguments and results of
tools and by the texts of its other steps. Left out are system prompts, which most traces of an app share, and turns that stand
in the session as traces of their own: those are found there.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from sqlalchemy import Connection

from evergold.conversation.exchanges import CALLERS, LoggedMessages
from evergold.conversation.message import INSTRUCTING, Message, calls_in, text_of
from evergold.conversation.reader import messages_in
from evergold.model.trace import HitPart, Trace, TraceHit
from evergold.store.conditions import json_value
from evergold.store.database.db import Database
from evergold.store.database.rows import delete_among, dumps, loads, rows_among, run_for_each
from evergold.store.text_index import fold, indexed_words
from evergold.store.trace.filter import TraceFilter, asked_of
from evergold.store.trace.search import SearchTerms, match_of
from evergold.store.trace.traces import traces_with_spans

AT_ONCE = 100  # traces that are indexed at a time
SAME_TURN = 2_000  # characters by which a turn is known again
ROW_TEXT = 20_000  # characters of question and answer that are looked at before the whole trace is read
MOST_READ = 4_000_000  # characters that are read of a page of traces for the sake of excerpts
EXCERPT, BEFORE = 240, 60  # characters of an excerpt, and of what stands before the first hit
LAID_OUT = ("tool", "retriever", "embedding")  # steps whose JSON is read; that of others repeats the conversation
ERRORS = ("error", "exception.message", "status_message")
ESCAPED = re.compile(r"\\[nrt]")


class TracePassage(NamedTuple):
    """A text of a trace, and where it stands."""

    part: HitPart
    text: str
    name: str | None = None  # of the tool or step
    turn: int | None = None  # of the conversation, from 1


def passages_of(trace: Trace, elsewhere: Collection[str] = ()) -> Iterator[TracePassage]:
    """The texts of a trace, each once; `elsewhere`: questions of the session that are traces of their own."""
    seen: set[str] = set()
    for passage in _all_passages(trace, elsewhere):
        if passage.text and (stripped := passage.text.strip()) not in seen:
            seen.add(stripped)
            yield passage


def _all_passages(trace: Trace, elsewhere: Collection[str]) -> Iterator[TracePassage]:
    yield TracePassage(HitPart.QUESTION, trace.input)
    yield TracePassage(HitPart.ANSWER, trace.output or "")
    yield from _errors(trace.metadata)
    for span in trace.spans:
        yield from _errors(span.metadata, span.name)
        if span.kind == "tool":
            tool = str(span.metadata.get("tool") or span.name)
            yield TracePassage(HitPart.TOOL_CALL, _readable(span.input), tool)
            yield TracePassage(HitPart.TOOL_RESULT, _readable(span.output), tool)
    yield from _messages(messages_in(trace.metadata.get("messages"), "input"), elsewhere)
    logged = LoggedMessages(trace.spans)
    holders = [span for span in trace.spans if any(map(span.metadata.get, ("attributes", "events", "messages")))]
    # What calls a model repeats in the chains around it is found by the calls.
    for span in [span for span in holders if span.kind in (*CALLERS, "agent")] or holders:
        exchange = logged.exchange(span)
        yield from _messages([*exchange.input, *exchange.output], elsewhere)
    for span in trace.spans:
        for given in (span.input, span.output) if span.kind != "tool" else ():
            if given and (span.kind in LAID_OUT or given.lstrip()[:1] not in ("{", "[")):
                yield TracePassage(HitPart.STEP, _readable(given), span.name)
    yield TracePassage(HitPart.NAME, trace.name)


def _errors(metadata: Mapping[str, object], name: str | None = None) -> Iterator[TracePassage]:
    for key in ERRORS:
        if given := metadata.get(key):
            yield TracePassage(HitPart.ERROR, given if isinstance(given, str) else dumps(given), name)


def _readable(given: str | None) -> str:
    """A text as people read it: JSON without its escapes, after which a word would begin with their letter."""
    if not given or given.lstrip()[:1] not in ("{", "[") or "\\" not in given:
        return given or ""
    with suppress(ValueError):  # it may only look like JSON
        given = dumps(loads(given))
    return ESCAPED.sub(" ", given)


def _messages(messages: Sequence[Message], elsewhere: Collection[str]) -> Iterator[TracePassage]:
    last = max((number for number, message in enumerate(messages) if message.get("role") == "user"), default=0)
    turn, left_out = 0, False
    tools: dict[object, str] = {}  # by the id of their call
    for number, message in enumerate(messages):
        role, content = message.get("role"), text_of(message)
        if role in INSTRUCTING:
            continue
        if role == "user":
            turn += 1
            left_out = number < last and content[:SAME_TURN].strip() in elsewhere
        if left_out:
            continue
        part = {"user": HitPart.USER, "tool": HitPart.TOOL_RESULT}.get(str(role), HitPart.ASSISTANT)
        name = message.get("name") or tools.get(message.get("tool_call_id"))
        yield TracePassage(part, _readable(content), name and str(name), turn or None)
        for call in calls_in(message.get("tool_calls") or []):
            function = call.get("function") or {}
            name = tools[call.get("id")] = str(function.get("name") or "")
            yield TracePassage(HitPart.TOOL_CALL, _readable(function.get("arguments")), name or None, turn or None)


def learn_words(db: Database, most: int = AT_ONCE) -> bool:
    """Index some of the traces that wait; whether there were any. They are read before the transaction that writes."""
    with db.read() as connection:
        # The newest first: they are looked for most.
        query = f"SELECT seq, mark FROM trace_words_due ORDER BY seq DESC LIMIT {most}"
        marks = {row[0]: row[1] for row in connection.exec_driver_sql(query)}
        words = _words_of(connection, marks)
    if marks:
        db.write(lambda connection: _put_words(connection, marks, words))
    return bool(marks)


def _words_of(connection: Connection, seqs: Collection[int]) -> dict[int, str]:
    ids = {row[1]: row[0] for row in rows_among(connection, "SELECT seq, id FROM traces WHERE seq", seqs)}
    traces = traces_with_spans(connection, ids)
    sessions = {trace.session_id for trace in traces.values() if trace.session_id and trace.spans}
    query = f"SELECT session_id, seq, substr(input_text, 1, {SAME_TURN}) FROM traces WHERE session_id"
    turns: dict[str, list[tuple[int, str]]] = {}
    for session, seq, asked in rows_among(connection, query, sessions):
        turns.setdefault(session, []).append((seq, asked.strip()))
    words = {}
    for trace_id, trace in traces.items():
        others = {asked for seq, asked in turns.get(trace.session_id or "", ()) if seq != ids[trace_id]}
        words[ids[trace_id]] = " ".join(indexed_words(passage.text for passage in passages_of(trace, others)))
    return words


def _put_words(connection: Connection, marks: Mapping[int, float], words: Mapping[int, str]) -> None:
    """Store the words of traces that have not changed since they were read, and that no other process has indexed."""
    is_sqlite = connection.dialect.name == "sqlite"
    lock = "" if is_sqlite else "ORDER BY seq FOR UPDATE"
    held = rows_among(connection, "SELECT seq, mark FROM trace_words_due WHERE seq", marks, lock)
    same = sorted(seq for seq, mark in held if mark == marks[seq])
    delete_among(connection, "trace_words_due", "seq", same)
    delete_among(connection, "trace_words", "seq", same)
    # From the table of traces, as a trace may have been deleted meanwhile.
    given = f"CAST(:words AS {'text' if is_sqlite else 'tsvector'})"
    insert = f"INSERT INTO trace_words (seq, words) SELECT seq, {given} FROM traces WHERE seq = :seq"
    run_for_each(connection, insert, ({"seq": seq, "words": words[seq]} for seq in same if seq in words))


def hits_of(connection: Connection, wanted: TraceFilter, trace_ids: Sequence[str]) -> dict[str, TraceHit]:
    """Where each of these traces holds the words of the search; of very large pages not of the last ones."""
    asked = asked_of(connection, wanted)
    match = match_of(connection, asked)
    if match is None:
        return {}
    patterns = _patterns(asked, beginning=match.by_beginning)
    hits: dict[str, TraceHit] = {}
    error = json_value(connection.dialect.name, "metadata", "error")
    texts = ", ".join(f"substr({side}, 1, {ROW_TEXT})" for side in ("input_text", "output_text"))
    query = f"SELECT id, {texts}, {error}, name FROM traces WHERE id"
    parts = (HitPart.QUESTION, HitPart.ANSWER, HitPart.ERROR, HitPart.NAME)
    for trace_id, *own in rows_among(connection, query, trace_ids):
        passages = [TracePassage(part, str(one or "")) for part, one in zip(parts, own, strict=True)]
        hit, is_all = _best(passages, patterns)
        if hit is not None and is_all:
            hits[trace_id] = hit
    read, rest = 0, [trace_id for trace_id in trace_ids if trace_id not in hits]
    for start in range(0, len(rest), 10):
        if read > MOST_READ:
            break
        for trace_id, trace in traces_with_spans(connection, rest[start : start + 10]).items():
            passages = list(passages_of(trace))
            read += sum(len(passage.text) for passage in passages)
            hit, _ = _best(passages, patterns)
            if hit is not None:
                hits[trace_id] = hit
    return hits


def _patterns(asked: SearchTerms, *, beginning: bool = False) -> list[re.Pattern[str]]:
    words = [rf"(?<![^\W_]){re.escape(word)}" + r"(?![^\W_])" * (not beginning) for word in asked.words[-1:]]
    words += [rf"(?<![^\W_]){re.escape(word)}(?![^\W_])" for word in asked.words[:-1]]
    return [re.compile(pattern) for pattern in (*words, *map(re.escape, asked.pieces))]


def _best(passages: Iterable[TracePassage], patterns: Sequence[re.Pattern[str]]) -> tuple[TraceHit | None, bool]:
    """The excerpt of the passage that holds most of the words, the first of equals; and whether together they hold all."""
    best, most, held = None, 0, set[int]()
    for passage in passages:
        folded = fold(passage.text)
        matched = {number for number, pattern in enumerate(patterns) if pattern.search(folded)}
        held |= matched
        if len(matched) > most:
            best, most = passage, len(matched)
            if most == len(patterns):
                break
    hit = best and TraceHit(part=best.part, name=best.name, turn=best.turn, excerpt=_excerpt(best.text, patterns))
    return hit, len(held) == len(patterns)


def _excerpt(given: str, patterns: Sequence[re.Pattern[str]]) -> tuple[str, ...]:
    """The part of a text around its hits, in pieces of which each second one is a hit."""
    whole = " ".join(unicodedata.normalize("NFC", given).split())
    folded, at = _fold_with_positions(whole)
    every = ((number, match) for number, pattern in enumerate(patterns) for match in pattern.finditer(folded))
    matches = sorted((at[match.start()], at[match.end() - 1] + 1, number) for number, match in every)
    # From the hit behind which most of the words stand within an excerpt.
    first = max(
        (begin for begin, _, _ in matches[:200]),
        key=lambda begin: len({n for start, end, n in matches if begin <= start and end <= begin + EXCERPT - BEFORE}),
        default=0,
    )
    start = 0 if first <= BEFORE else whole.rfind(" ", 0, first - BEFORE) + 1
    start = max(start, first - 2 * BEFORE)
    end = start + EXCERPT
    pieces, done = ["…" if start else ""], start
    for begin, until, _ in matches:
        if begin >= done and until <= max(end, first + EXCERPT):
            pieces[-1] += whole[done:begin]
            pieces += [whole[begin:until], ""]
            done = until
    pieces[-1] += whole[done : max(end, done)] + ("…" if max(end, done) < len(whole) else "")
    return tuple(pieces)


def _fold_with_positions(given: str) -> tuple[str, Sequence[int]]:
    """A folded text, and where in the text as it is each of its characters stands."""
    folded = fold(given)
    if len(folded) == len(given):
        return folded, range(len(given))
    pieces = [fold(character) for character in given]
    return "".join(pieces), [position for position, piece in enumerate(pieces) for _ in piece]
