"""Cases whose trace grew after they were made: a revision where nobody decided, a question to the reviewer where somebody did.

The content of a case that nobody changed is put together again from its trace (`store/case_content.py`); the revision says so
in its history, and whoever has the earlier version open is told. A case that a person changed or decided on holds its own
content and keeps it.
"""

from collections.abc import Collection, Iterable, Sequence

from sqlalchemy import Connection, text

from evergold.store.case_content import forget_contents
from evergold.store.rows import change_among, rows_among
from evergold.store.values import now

ACTION = "grew"
WHO = "policy growth"  # named like a policy: what a policy alone has made of an entry, a policy may change again
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
        forget = "UPDATE eval_dataset SET content = NULL, grown = grown + 1 WHERE own_content = 0 AND id"
        change_among(connection, forget, entries)
        query = "SELECT id, version, own_content FROM eval_dataset WHERE own_content = 0 AND id"
        _note(connection, rows_among(connection, query, entries), READ_ANEW)
    return len(entries)


def _note(connection: Connection, entries: Iterable[Sequence[int]], why: str) -> None:
    moment = now()
    # A set: two late turns of one session name the same entry twice.
    for entry, version, own in {tuple(row) for row in entries}:
        known = {"entry": entry, "version": version, "now": moment, "why": why, "who": WHO, "action": ACTION}
        if own:
            connection.execute(ASK, known)
            continue
        connection.execute(RENEW, known)
        # The last revision was no growth: a new one is appended.
        if not connection.execute(MOVE, known).rowcount:
            connection.execute(REVISE, known)


RENEW = text("UPDATE eval_dataset SET version = :version + 1, updated_at = :now WHERE id = :entry")
# One revision for spans that arrive bit by bit: the version moves on, so that whoever saw less cannot decide on it.
MOVE = text(
    "UPDATE case_revisions SET version = :version + 1, created_at = :now "
    "WHERE entry_id = :entry AND version = :version AND action = :action AND why = :why"
)
REVISE = text(
    "INSERT INTO case_revisions (entry_id, version, action, who, why, created_at) "
    "VALUES (:entry, :version + 1, :action, :who, :why, :now)"
)
ASK = text(
    "UPDATE eval_dataset SET question = 'grew:' || CAST((SELECT count(*) FROM spans s JOIN traces t ON t.seq = s.trace_seq "
    "WHERE t.id = eval_dataset.trace_id) AS text), updated_at = :now "
    "WHERE id = :entry AND (review = 'validated' OR decided <> '')"
)
