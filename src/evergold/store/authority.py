"""Decide which verdict stands: the reviewer's, what spoke against it since, and scores or remarks that were taken back."""

from sqlalchemy import Connection, select, text, update

from evergold.errors import NotFound
from evergold.model.case import Case
from evergold.model.trace import DETECTED_KEY
from evergold.store.cases import entry_id_of
from evergold.store.corrections import DETECTED, correction_case_id
from evergold.store.queues import enqueue
from evergold.store.schema import eval_dataset, trace_corrections, trace_scores
from evergold.store.scores import drop_score


def set_decided(connection: Connection, case: Case, reviewer: str) -> None:
    """Record that a reviewer's word stands (empty: nobody's); it settles the question that was open."""
    entry = eval_dataset.c
    connection.execute(
        update(eval_dataset)
        .where(entry.id == entry_id_of(connection, case.dataset, case.id))
        .values(decided=reviewer, answered=entry.question if reviewer else "", question="")
    )
    if not reviewer and case.provenance.trace_id is not None:
        enqueue_known(connection, case.provenance.trace_id)


def enqueue_known(connection: Connection, trace_id: str) -> None:
    """Queue a trace for curation if it is still there."""
    if connection.execute(text("SELECT 1 FROM traces WHERE id = :id"), {"id": trace_id}).first() is not None:
        enqueue(connection, [trace_id])


def set_correction_dismissed(connection: Connection, case: Case, dismissed: bool) -> None:
    """Let a correction count no more, or again: what was derived from it goes with it, and the remark stays dismissed."""
    trace_id = case.provenance.trace_id
    if trace_id is None:
        return
    table = trace_corrections.c
    rows = connection.execute(select(table.id, table.text, table.author).where(table.trace_id == trace_id)).all()
    for row in rows:
        # The case is named after the text of its correction: a trace may have several.
        if correction_case_id(trace_id, row.text) != case.id:
            continue
        connection.execute(update(trace_corrections).where(table.id == row.id).values(dismissed=int(dismissed)))
        if row.author == DETECTED:
            _dismiss_remarks(connection, trace_id, row.text, dismissed)
        enqueue_known(connection, trace_id)


def _dismiss_remarks(connection: Connection, trace_id: str, message: str, dismissed: bool) -> None:
    query = "SELECT s.key FROM trace_scores s WHERE s.trace_id = :trace AND substr(s.key, 1, 9) = 'detected:'"
    keys = set(connection.execute(text(query), {"trace": trace_id}).scalars())
    # The remark is the message of a later trace with this very text: all of them that say it are dismissed.
    later = "SELECT t.id FROM traces t JOIN traces o ON o.session_id = t.session_id WHERE o.id = :trace AND t.input_text = :said"
    for message_id in list(connection.execute(text(later), {"trace": trace_id, "said": message}).scalars()):
        dismiss_remark(connection, trace_id, message_id, dismissed)
        if dismissed and DETECTED_KEY + message_id in keys:
            drop_score(connection, trace_id, DETECTED_KEY + message_id)
        enqueue(connection, [message_id])


def dismiss_remark(connection: Connection, trace_id: str, message_id: str, dismissed: bool = True) -> None:
    """Remember that a person said a message is no remark on an earlier reply, or that it is one after all."""
    statement = """INSERT INTO remarks (message_id, trace_id, kind, probability, dismissed)
        SELECT id, :trace, 'correction', 1.0, :dismissed FROM traces WHERE id = :message
        ON CONFLICT (message_id) DO UPDATE SET dismissed = :dismissed"""
    connection.execute(text(statement), {"trace": trace_id, "dismissed": int(dismissed), "message": message_id})


def is_dismissed(connection: Connection, message_id: str) -> bool:
    """Whether a person said that a message is no remark on an earlier reply."""
    query = text("SELECT 1 FROM remarks WHERE message_id = :id AND dismissed = 1")
    return connection.execute(query, {"id": message_id}).first() is not None


def withdraw_score(connection: Connection, score_id: int) -> str:
    """Take one score back, with what follows from it; returns its trace. A check's score comes back on backfill."""
    table = trace_scores.c
    row = connection.execute(select(table.trace_id, table.key).where(table.id == score_id)).first()
    if row is None:
        raise NotFound(
            f"there is no score {score_id}; `evergold traces show TRACE` lists the scores of a trace with their ids"
        )
    if row.key.startswith(DETECTED_KEY):
        message_id = row.key.removeprefix(DETECTED_KEY)
        dismiss_remark(connection, row.trace_id, message_id)
        message = connection.execute(text("SELECT input_text FROM traces WHERE id = :id"), {"id": message_id}).scalar()
        mine = (trace_corrections.c.trace_id == row.trace_id) & (trace_corrections.c.author == DETECTED)
        connection.execute(
            update(trace_corrections).where(mine, trace_corrections.c.text == message).values(dismissed=1)
        )
    drop_score(connection, row.trace_id, row.key)
    return str(row.trace_id)
