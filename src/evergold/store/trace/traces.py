"""Traces with their spans and scores in and out, the traces of a session, and what people note on them.

The first content of an id is kept; other content under it is refused.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import Connection

from evergold.conversation.assembly import reply_of
from evergold.errors import NotFound
from evergold.model.access import LOCAL, Holder
from evergold.model.faults import Rejected
from evergold.model.operations import IngestReport
from evergold.model.trace import Correction, Retagged, Score, Span, Trace, TraceComment, TraceStatus
from evergold.model.values import app_of, content_hash
from evergold.prices import MODEL_KINDS, add_costs
from evergold.store.database.rows import (
    SpanRow,
    TraceRow,
    batches,
    dumps,
    figures_of,
    group_among,
    insert_new,
    loads,
    make_storable,
    now,
    read_value,
    rows_among,
    run_sql,
    stamp,
    sum_figures,
    text_or_none,
    tuples_among,
)
from evergold.store.facts import ARCHIVES, fact, record_moderation
from evergold.store.schema import trace_tags
from evergold.store.trace.compact import read_spans, span_row, unfold
from evergold.store.trace.scores import enqueue, enqueue_new, put_scores, scores_of
from evergold.store.trace.spans import insert_spans, insert_traces

NO_CONTENT = {"scores", "cost", "cost_source", "incomplete", "app"}


def put_traces(connection: Connection, incoming: Iterable[Trace], report: IngestReport | None = None) -> list[str]:
    """Store whole traces; return the ids that are new. Known ones are counted, and refused where the id holds other content."""
    added: list[str] = []
    report = report or IngestReport()
    for batch in batches(incoming):
        # Scores come later and again, and the cost is computed here: neither makes another trace.
        contents = [content_hash(trace.model_dump(mode="json", exclude=NO_CONTENT)) for trace in batch]
        # Reversed, so that of two traces with one id the hash of the first stays.
        hashes = dict(zip((trace.id for trace in reversed(batch)), reversed(contents), strict=True))
        known = dict(tuples_among(connection, "SELECT id, content_hash FROM traces WHERE id", hashes))
        fresh: dict[str, Trace] = {}
        scored: list[Trace] = []
        others: list[Trace] = []
        for trace, content in zip(batch, contents, strict=True):
            if trace.id not in known and trace.id not in fresh:
                fresh[trace.id] = trace
                scored.append(trace)
            # A trace made of spans has no hash (None), so whole content under its id is a conflict.
            elif content == (hashes[trace.id] if trace.id in fresh else known[trace.id]):
                report.duplicates += 1
                # Scores are no part of the content: a known trace may bring new ones.
                scored.append(trace)
            else:
                others.append(trace)
        repeated = _repeated_turns(connection, others, fresh)
        report.duplicates += sum(trace.id in repeated for trace in others)
        for trace in others:
            if trace.id not in repeated:
                reason = "known with other content; the first is kept"
                report.reject(Rejected(where=f"trace {trace.id}", field="id", reason=reason))
        moment = now()
        rows = [(*_trace_row(trace, moment), hashes[trace.id]) for trace in fresh.values()]
        seqs = insert_traces(connection, (*TraceRow._fields, "content_hash"), rows)
        insert_spans(connection, [span_row(trace.id, span) for trace in fresh.values() for span in trace.spans], seqs)
        added += fresh
        report.traces += len(fresh)
        report.spans += sum(len(trace.spans) for trace in fresh.values())
        scores = [(trace.id, score) for trace in scored for score in trace.scores]
        report.scores += put_scores(connection, scores)
        enqueue_new(connection, {trace.id: make_storable(trace.session_id) for trace in fresh.values()})
    return added


def _repeated_turns(connection: Connection, others: list[Trace], fresh: dict[str, Trace]) -> set[str]:
    """Those of the traces that say what is held under their ids; a later log of a chat dates its earlier turns differently."""
    turns = {trace.id: _words_of(trace.metadata) for trace in others if "agent" in trace.metadata}
    if not turns:
        return set()
    held = dict(tuples_among(connection, "SELECT id, metadata FROM traces WHERE id", turns))
    stored = {id: _words_of(loads(metadata)) for id, metadata in held.items()}
    stored |= {id: _words_of(fresh[id].metadata) for id in turns.keys() & fresh.keys()}
    return {id for id, words in turns.items() if words is not None and words == stored.get(id)}


def _words_of(metadata: dict[str, Any]) -> list[tuple[Any, ...]] | None:
    """Who said what in the messages of a turn; None where they are not at hand."""
    messages = metadata.get("messages")
    if not isinstance(messages, list):
        return None
    return [tuple(one.get(key) for key in ("role", "content", "tool_calls", "tool_call_id")) for one in messages]


def put_correction(connection: Connection, correction: Correction) -> bool:
    """Add what a person said of a stored trace; the same words again are no change."""
    row = correction.model_dump(mode="json", include={"trace_id", "text", "author", "kind"})
    add = """INSERT INTO trace_corrections (trace_id, text, author, kind) VALUES (:trace_id, :text, :author, :kind)
        ON CONFLICT DO NOTHING"""
    if not run_sql(connection, add, **row).rowcount:
        return False
    enqueue(connection, [correction.trace_id])
    return True


def known_traces(connection: Connection, trace_ids: Iterable[str]) -> set[str]:
    return {row[0] for row in tuples_among(connection, "SELECT id FROM traces WHERE id", trace_ids)}


def get_trace(connection: Connection, trace_id: str) -> Trace:
    row = run_sql(connection, "SELECT * FROM traces WHERE id = :id", id=trace_id).mappings().first()
    if row is None:
        # Where the archives are is not said: over HTTP it would be nobody's business.
        restore = ", and `evergold traces restore DAY --from URL` brings an archived day back"
        archived = restore if fact(connection, ARCHIVES) else ""
        raise NotFound(f"no trace {trace_id!r}; `evergold traces list` shows what there is{archived}")
    (trace,) = _with_spans(connection, [row])
    return trace.model_copy(update={"scores": scores_of(connection, trace_id)})


def stored_size(connection: Connection, trace_id: str) -> int:
    """Characters that the spans of a trace take in the database; at least as many are read. 0 of an unknown one."""
    texts = " + ".join(f"length(coalesce(s.{name}, ''))" for name in ("input_text", "output_text", "raw"))
    query = f"SELECT sum({texts}) FROM spans s JOIN traces t ON t.seq = s.trace_seq WHERE t.id = :id"
    return int(read_value(connection, query, id=trace_id) or 0)


def _trace_row(trace: Trace, moment: str) -> TraceRow:
    started, ended = stamp(trace.started_at), stamp(trace.ended_at)
    # Agents and chains repeat what the calls below them took.
    calls = [span for span in trace.spans if span.kind in MODEL_KINDS] or trace.spans
    counted = sum_figures(trace.metadata, (span.metadata for span in calls))
    stated = trace.metadata if trace.cost is None or trace.cost_source == "priced" else {"cost": trace.cost}
    cost = add_costs(stated, [(span.kind, span.metadata) for span in calls], started or moment)
    return TraceRow(
        trace.id,
        make_storable(trace.session_id),
        make_storable(trace.user_id),
        make_storable(trace.name) or "",
        make_storable(trace.input) or "",
        # A trace that states no output has the reply of its last model call.
        make_storable(reply_of(trace)),
        trace.status.value,
        text_or_none(trace.metadata.get("message_type")),
        text_or_none(trace.metadata.get("model")),
        started or moment,
        ended,
        dumps(trace.tags),
        dumps(trace.metadata),
        moment,
        *figures_of(started, ended, counted, cost),
    )


def span_of(row: SpanRow) -> Span:
    """A stored span. What it carried was checked when it came; a limit set since then keeps nobody from reading it."""
    span = Span(
        id=row.id,
        parent_id=row.parent_id,
        name=row.name,
        kind=row.kind,
        input=row.input_text,
        output=row.output_text,
        status=TraceStatus(row.status),
        started_at=row.started_at,
        ended_at=row.ended_at,
    )
    metadata = loads(row.metadata) | unfold(loads(row.raw), row.input_text, row.output_text)
    # `model_copy` skips validation on purpose: see the docstring.
    return span.model_copy(update={"metadata": metadata})


def trace_of(row: Any, its_spans: tuple[Span, ...], its_scores: tuple[Score, ...]) -> Trace:
    same = ("id", "session_id", "user_id", "name", "status", "started_at", "ended_at")
    metadata = loads(row["metadata"])
    return Trace(
        **{name: row[name] for name in same},
        input=row["input_text"],
        output=row["output_text"],
        tags=tuple(loads(row["tags"]) or ()),
        metadata=metadata,
        spans=its_spans,
        scores=its_scores,
        cost=row["cost"],
        cost_source=None if row["cost"] is None else "priced" if row["priced"] else "reported",
        incomplete=tuple(row["incomplete"].split()),
        app=app_of(row["name"], metadata) if isinstance(metadata, dict) else row["name"],
    )


KINDS_OF_TURNS = ("tool",)  # the spans that an earlier turn is read from
KINDS_OF_CALLS = ("llm", "event")  # the spans that say which tools a model called


def traces_with_spans(connection: Connection, trace_ids: Iterable[str]) -> dict[str, Trace]:
    """The stored traces of these ids with their spans; their scores are not read."""
    by_key: dict[str, Trace] = {}
    # Traces with all of their spans are large; so many are in memory at a time.
    for batch in batches(dict.fromkeys(trace_ids), 200):
        rows = [row._mapping for row in rows_among(connection, "SELECT * FROM traces WHERE id", batch)]
        by_key |= {trace.id: trace for trace in _with_spans(connection, rows)}
    return by_key


class Sessions:
    """The sessions of traces, each read once. Holds them all: make one for each batch of traces.

    When the first session is asked for, those of all `traces` are read with it.
    """

    def __init__(self, connection: Connection, traces: Iterable[Trace] = ()) -> None:
        self._connection = connection
        self._named = {trace.session_id for trace in traces if trace.session_id is not None}
        self._read: dict[tuple[str, Sequence[str]], list[Trace]] = {}

    def list_before(self, trace: Trace) -> Sequence[Trace]:
        """The traces of the same session that began before this one, oldest first, with their tool spans."""
        return self._list_before(trace, KINDS_OF_TURNS)

    def called_before(self, trace: Trace) -> Sequence[Trace]:
        """The same traces with their model calls, which are read only where a history lacks the calls of its results."""
        return self._list_before(trace, KINDS_OF_CALLS)

    def _list_before(self, trace: Trace, kinds: Sequence[str]) -> Sequence[Trace]:
        if trace.session_id is None:
            return ()
        key = (trace.session_id, kinds)
        for batch in batches(sorted({trace.session_id} | self._named)) if key not in self._read else ():
            self._read |= {(name, kinds): [] for name in batch}
            query = "SELECT * FROM traces WHERE session_id"
            rows = rows_among(self._connection, query, batch, "ORDER BY started_at, seq")
            for one in _with_spans(self._connection, [row._mapping for row in rows], kinds):
                self._read[one.session_id or "", kinds].append(one)
        session = self._read[key]
        position = next((number for number, one in enumerate(session) if one.id == trace.id), len(session))
        return session[:position]


def _with_spans(connection: Connection, rows: Sequence[Any], kinds: Sequence[str] = ()) -> list[Trace]:
    by_key: dict[int, list[Span]] = {}
    for seq, row in read_spans(connection, {row["seq"]: row for row in rows}, kinds):
        by_key.setdefault(seq, []).append(span_of(row))
    return [trace_of(row, tuple(by_key.get(row["seq"], ())), ()) for row in rows]


def retag(
    connection: Connection, trace_ids: Sequence[str], add: Sequence[str], remove: Sequence[str], who: str
) -> list[Retagged]:
    """Put tags on traces and take people's tags off; returns what changed on each, by which it can be undone."""
    held = tags_by_people(connection, trace_ids)
    known = known_traces(connection, trace_ids)
    changed: list[Retagged] = []
    rows: list[dict[str, Any]] = []
    for trace_id in dict.fromkeys(trace_ids):
        before = set(held.get(trace_id, ()))
        # Only what changes is reported, because its reverse is the undo.
        added = sorted(set(add) - before) if trace_id in known else []
        removed = sorted(set(remove) & before)
        rows += [{"trace_id": trace_id, "tag": tag, "who": who, "created_at": now()} for tag in added]
        drop = "DELETE FROM trace_tags WHERE trace_id = :id AND tag IN :tags"
        run_sql(connection, drop, id=trace_id, tags=tuple(removed))
        problem = None if trace_id in known else f"no trace {trace_id!r} in this workspace"
        changed.append(Retagged(trace_id=trace_id, added=tuple(added), removed=tuple(removed), problem=problem))
    # Somebody else may have put the same tag on since it was read: theirs stays.
    insert_new(connection, trace_tags, rows)
    return changed


def tags_by_people(connection: Connection, trace_ids: Sequence[str]) -> dict[str, list[str]]:
    """The tags that people put on each of these traces."""
    query = "SELECT trace_id, tag FROM trace_tags WHERE trace_id"
    return group_among(connection, query, trace_ids, "ORDER BY tag")


def with_tags(connection: Connection, traces: Sequence[Trace]) -> list[Trace]:
    """The traces with the tags of people among those of the app."""
    held = tags_by_people(connection, [trace.id for trace in traces])
    tags = {trace.id: tuple(dict.fromkeys((*trace.tags, *held.get(trace.id, ())))) for trace in traces}
    return [trace.model_copy(update={"tags": tags[trace.id]}) if trace.id in held else trace for trace in traces]


def comments_on(connection: Connection, trace_id: str) -> list[TraceComment]:
    """The comments on a trace, the oldest first."""
    query = "SELECT * FROM trace_comments WHERE trace_id = :id ORDER BY id"
    return [TraceComment(**row) for row in run_sql(connection, query, id=trace_id).mappings()]


def put_comment(connection: Connection, trace_id: str, text: str, who: str) -> TraceComment:
    if not known_traces(connection, [trace_id]):
        raise NotFound(f"no trace {trace_id!r} in this workspace")
    add = "INSERT INTO trace_comments (trace_id, text, who, created_at) VALUES (:id, :text, :who, :now)"
    run_sql(connection, add, id=trace_id, text=make_storable(text) or "", who=who, now=now())
    return comments_on(connection, trace_id)[-1]


def drop_comment(connection: Connection, comment_id: int, by: Holder = LOCAL) -> None:
    """Delete a comment as `by`; one of somebody else is recorded as moderation, without its text."""
    row = run_sql(connection, "SELECT who, trace_id FROM trace_comments WHERE id = :id", id=comment_id).first()
    if row is None:
        raise NotFound(f"no comment {comment_id}; it may have been deleted already")
    what = f"comment {comment_id} on trace {row.trace_id}"
    if by.check_author(row.who, what):
        record_moderation(connection, by, "deleted", what, row.who)
    run_sql(connection, "DELETE FROM trace_comments WHERE id = :id", id=comment_id)
