"""Corrections as cases, and those that were detected.

A correction is a fact about a trace, kept beside its scores; its case pairs the bad reply with what should have been
said. The case is named after its text, so the same correction twice is one case, whichever way it came.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, func, select, text

from evergold.model.case import Answer, Case, CaseStatus, EntryType, Provenance
from evergold.model.remark import asks_back, grants
from evergold.model.trace import DETECTED_KEY
from evergold.model.values import content_hash
from evergold.store.case_content import Contents
from evergold.store.case_writes import Author, put_cases, revise_case
from evergold.store.cases import held_cases, touched_cases
from evergold.store.rows import rows_among
from evergold.store.schema import spans, trace_corrections, traces
from evergold.store.values import batches

FIRST_DIGITS = 16
DETECTED = "detected"  # the author of a correction that was found in the next message
DATASETS_OF = "SELECT dataset FROM eval_dataset WHERE case_id"
BELONGS_ELSEWHERE = "what was taken for a correction of this reply was said of another"


@dataclass(frozen=True)
class Detected:
    """A correction that was found before: in the message of which trace, and how that message begins."""

    next_id: str
    comment: str


def correction_case_id(trace_id: str, correction: str) -> str:
    # By its text: the same correction sent by two people is one case.
    digest = content_hash(correction.strip()).removeprefix("sha256:")[:FIRST_DIGITS]
    return f"correction:{trace_id}:{digest}"


def put_correction_cases(connection: Connection, trace_ids: Iterable[str], dataset: str) -> int:
    """Make a case of each correction of these traces that has none yet. A case somebody dismissed stays dismissed."""
    added = 0
    corrected = rows_among(connection, "SELECT DISTINCT trace_id FROM trace_corrections WHERE trace_id", trace_ids)
    for batch in batches([row[0] for row in corrected]):
        query = (
            select(
                traces, trace_corrections.c.text, trace_corrections.c.author, trace_corrections.c.kind.label("said_as")
            )
            .join(trace_corrections, trace_corrections.c.trace_id == traces.c.id)
            .where(traces.c.id.in_(batch))
            .order_by(trace_corrections.c.id)
        )
        tools = _tool_tags(connection, batch)
        rows = connection.execute(query).mappings().all()
        cases = [_case(row, dataset, tools.get(row["id"], ()), _revised(connection, row)) for row in rows]
        if not cases:
            continue
        held = {key[1] for key in held_cases(connection, [(case.dataset, case.id) for case in cases])}
        # A person may have moved or edited the case of a correction; it must not be made a second time.
        held |= _paired(connection, batch)
        fresh = [case for case in cases if case.id not in held]
        author = Author(who="correction", action="added", why="a person corrected the reply")
        added += put_cases(connection, fresh, author).added
    return added


def _tool_tags(connection: Connection, trace_ids: Iterable[str]) -> dict[str, list[str]]:
    """Trace → `tool:NAME` of each tool it used."""
    query = (
        select(traces.c.id, spans.c.name)
        .join(spans, spans.c.trace_seq == traces.c.seq)
        .where(traces.c.id.in_(list(trace_ids)), spans.c.kind == "tool", spans.c.name != "")
        .distinct()
    )
    detected: dict[str, list[str]] = {}
    for trace_id, name in connection.execute(query):
        detected.setdefault(trace_id, []).append(f"tool:{name}")
    return detected


def _revised(connection: Connection, row: Any) -> Answer | None:
    """The corrected answer: the text itself where it is one, else the assistant's next reply if it admits the mistake or
    agrees, answers at all instead of asking back, and nobody corrected that one too.
    Otherwise there is none yet, and the pair waits in review."""
    if row["said_as"] == "answer":
        return Answer(text=row["text"])
    query = text(
        "SELECT t.id, t.output_text, EXISTS (SELECT 1 FROM trace_scores s WHERE s.trace_id = t.id "
        "AND s.key = 'check:answered' AND s.value < 1) AS unanswered "
        "FROM traces t WHERE t.session_id = :session AND t.input_text = :said "
        "AND t.started_at >= :after AND t.id <> :id "
        "AND NOT EXISTS (SELECT 1 FROM trace_corrections c WHERE c.trace_id = t.id AND c.dismissed = 0) "
        "ORDER BY t.started_at, t.id LIMIT 1"
    )
    # The reply to the correcting message is the trace that has this message as its input.
    wanted = {"session": row["session_id"], "said": row["text"], "after": row["started_at"], "id": row["id"]}
    reply = connection.execute(query, wanted).one_or_none()
    if reply is None or reply.unanswered or not grants(reply.output_text) or asks_back(reply.output_text):
        return None
    return _answer_of(connection, row["id"], reply.id, reply.output_text)


def _answer_of(connection: Connection, corrected: str, reply: str, reply_text: str) -> Answer | None:
    """The reply with the calls it made. None where it called other tools than the corrected turn did: it then undid what
    that turn had done, which answers another state than the one the question was asked in."""
    contents = Contents(connection, (corrected, reply))
    before, calls = contents.calls_of(corrected), contents.calls_of(reply)
    if calls and before and {call.name for call in calls}.isdisjoint(call.name for call in before):
        return None
    return Answer(text=reply_text, tool_calls=calls or None, trace_id=reply)


def _case(row: Any, dataset: str, tools: Iterable[str], revised: Answer | None) -> Case:
    named = (row["message_type"], f"model:{row['model']}" if row["model"] else None, *tools)
    return Case(
        id=correction_case_id(row["id"], row["text"]),
        dataset=dataset,
        entry_type=EntryType.CORRECTION,
        input=row["input_text"],
        output=row["output_text"],
        expected=row["text"],
        revised=revised,
        metadata={"author": row["author"]} if row["author"] else {},
        tags=tuple(tag for tag in named if tag),
        provenance=Provenance(
            source="correction", trace_id=row["id"], session_id=row["session_id"], user_id=row["user_id"]
        ),
    )


def _paired(connection: Connection, trace_ids: Iterable[str]) -> set[str]:
    """The cases that these traces' corrections have, in whichever dataset and however edited since."""
    query = "SELECT case_id FROM eval_dataset WHERE entry_type = 'correction' AND trace_id"
    return {row[0] for row in rows_among(connection, query, trace_ids)}


def count_unpaired(connection: Connection) -> int:
    """Corrections that no case has been made of yet; the text alone does not tell, since a person may have edited it."""
    query = """SELECT c.trace_id, c.text FROM trace_corrections c WHERE NOT EXISTS (SELECT 1 FROM eval_dataset d
        WHERE d.trace_id = c.trace_id AND d.entry_type = 'correction' AND d.expected_output = c.text)"""
    unlike = [tuple(row) for row in connection.execute(text(query))]
    wanted = {correction_case_id(trace_id, correction) for trace_id, correction in unlike}
    return len(wanted - _paired(connection, {trace_id for trace_id, _ in unlike}))


def detected_among(connection: Connection, trace_ids: Iterable[str]) -> dict[str, list[Detected]]:
    """By trace, what was found in messages that are still there; a finding outlives the message it was found in."""
    query = (
        "SELECT trace_id, key, comment FROM trace_scores WHERE source = 'user' AND key LIKE 'detected:%%' AND trace_id"
    )
    # psycopg takes % for the beginning of a parameter, SQLite's driver does not.
    if connection.dialect.name == "sqlite":
        query = query.replace("%%", "%")
    rows = [
        (row[0], row[1].removeprefix(DETECTED_KEY), row[2] or "") for row in rows_among(connection, query, trace_ids)
    ]
    there = {row[0] for row in rows_among(connection, "SELECT id FROM traces WHERE id", {row[1] for row in rows})}
    results: dict[str, list[Detected]] = {}
    for trace_id, next_id, comment in rows:
        if next_id in there:
            results.setdefault(trace_id, []).append(Detected(next_id, comment))
    return results


def detected_traces(connection: Connection) -> list[str]:
    """The traces that have a score derived from what the user wrote next."""
    query = "SELECT DISTINCT trace_id FROM trace_scores WHERE source = 'user' AND substr(key, 1, 9) = 'detected:'"
    return list(connection.execute(text(query)).scalars())


def take_back(connection: Connection, trace_id: str, comment: str) -> None:
    """Forget the correction that begins so and was only detected; its case is withdrawn unless somebody has worked on it."""
    table = trace_corrections.c
    query = select(table.id, table.text).where(table.trace_id == trace_id, table.author == DETECTED)
    for row in connection.execute(query).all():
        if not row.text.startswith(comment):
            continue
        connection.execute(delete(trace_corrections).where(table.id == row.id))
        case_id = correction_case_id(trace_id, row.text)
        keys = [(name, case_id) for (name,) in rows_among(connection, DATASETS_OF, [case_id])]
        # What curation itself did to the case is no work of a person.
        worked_on = touched_cases(connection, keys, ("added", "refreshed", "grew"))
        for key, (_, case) in held_cases(connection, keys).items():
            if key not in worked_on:
                author = Author(who="correction", action="withdrawn", why=BELONGS_ELSEWHERE)
                revise_case(connection, case.model_copy(update={"status": CaseStatus.WITHDRAWN}), author)


def is_corrected(connection: Connection, trace_id: str) -> bool:
    table = trace_corrections.c
    by_person = func.coalesce(table.author, "") != DETECTED
    query = select(table.id).where(table.trace_id == trace_id, table.dismissed == 0, by_person).limit(1)
    return connection.execute(query).first() is not None
