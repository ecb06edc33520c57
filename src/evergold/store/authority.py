"""Whose word stands: what a reviewer decided, what spoke against it since, and scores or remarks that are taken back."""

from sqlalchemy import Connection, select, text, update

from evergold.errors import NotFound
from evergold.model.case import Case
from evergold.model.trace import DETECTED_KEY
from evergold.store.cases import entry_id_of
from evergold.store.corrections import DETECTED, correction_case_id
from evergold.store.curation_queue import enqueue
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
        if correction_case_id(trace_id, row.text) != case.id:
            continue
        connection.execute(update(trace_corrections).where(table.id == row.id).values(dismissed=int(dismissed)))
        if row.author == DETECTED:
            _dismiss_remarks(connection, trace_id, row.text, dismissed)
        enqueue_known(connection, trace_id)


def _dismiss_remarks(connection: Connection, trace_id: str, message: str, dismissed: bool) -> None:
    query = """SELECT r.message_id FROM remarks r JOIN traces t ON t.id = r.message_id
        WHERE r.trace_id = :trace AND t.input_text = :said"""
    for message_id in list(connection.execute(text(query), {"trace": trace_id, "said": message}).scalars()):
        dismiss_remark(connection, message_id, dismissed)
        if dismissed:
            drop_score(connection, trace_id, DETECTED_KEY + message_id)
        else:
            enqueue(connection, [message_id])


def dismiss_remark(connection: Connection, message_id: str, dismissed: bool = True) -> None:
    """Remember that a person said a message is no remark on an earlier reply, or that it is one after all."""
    statement = "UPDATE remarks SET dismissed = :dismissed WHERE message_id = :message"
    connection.execute(text(statement), {"dismissed": int(dismissed), "message": message_id})


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
        dismiss_remark(connection, message_id)
        said = connection.execute(text("SELECT input_text FROM traces WHERE id = :id"), {"id": message_id}).scalar()
        mine = (trace_corrections.c.trace_id == row.trace_id) & (trace_corrections.c.author == DETECTED)
        connection.execute(update(trace_corrections).where(mine, trace_corrections.c.text == said).values(dismissed=1))
    drop_score(connection, row.trace_id, row.key)
    return str(row.trace_id)
