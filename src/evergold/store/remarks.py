"""Messages with the turns before them, and what they were found to remark on those."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, text

from evergold.model.remark import EarlierTurn, Remark, RemarkKind, ShownRemark, UserMessage
from evergold.model.values import seconds_between
from evergold.store.rows import rows_among
from evergold.store.values import batches, dumps, loads, now

EARLIER = 4  # turns before a message that it can be on
SHOWN = 200  # characters of a message that an explanation shows
MOST = 4000  # characters of a message and of an answer that a detector is given
_EARLIER = """SELECT x.id FROM traces x WHERE x.session_id = t.session_id
    AND (x.started_at < t.started_at OR (x.started_at = t.started_at AND x.id < t.id))
    ORDER BY x.started_at DESC, x.id DESC LIMIT 1"""
_LATER = """SELECT x.id FROM traces x WHERE x.session_id = t.session_id
    AND (x.started_at > t.started_at OR (x.started_at = t.started_at AND x.id > t.id))
    ORDER BY x.started_at, x.id LIMIT 1"""


def messages_after(connection: Connection, trace_ids: Iterable[str]) -> list[UserMessage]:
    """Give the messages of these traces and of the next ones of their sessions, each with the turns before it."""
    start = dict.fromkeys(trace_ids)
    later = _neighbours(connection, list(start), _LATER, EARLIER)
    wanted = dict.fromkeys([*start, *(one for chain in later.values() for one in chain)])
    # A new trace can be the answer that a later message remarks on, so messages after it are looked at again.
    before = _neighbours(connection, list(wanted), _EARLIER, EARLIER)
    before = {trace_id: chain for trace_id, chain in before.items() if chain}
    rows = _rows(connection, {*before, *(one for chain in before.values() for one in chain)})
    return [_message(trace_id, chain, rows) for trace_id, chain in before.items()]


def _neighbours(connection: Connection, ids: Sequence[str], query: str, steps: int) -> dict[str, list[str]]:
    """By trace, the next `steps` traces of its session in one direction, found for all of them at once, step by step."""
    links: dict[str, str | None] = {}
    front = list(ids)
    for _ in range(steps):
        # Sessions overlap: a trace whose neighbour is known is not asked again.
        front = [one for one in dict.fromkeys(front) if one not in links]
        links |= dict.fromkeys(front)
        for batch in batches(front):
            mark = "?" if connection.dialect.name == "sqlite" else "%s"
            listed = ", ".join([mark] * len(batch))
            rows = connection.exec_driver_sql(
                f"SELECT t.id, ({query}) FROM traces t WHERE t.session_id IS NOT NULL AND t.id IN ({listed})",
                tuple(batch),
            )
            links |= {row[0]: row[1] for row in rows}
        front = [after for one in front if (after := links[one]) is not None]
    return {one: _chain(one, links, steps) for one in ids}


def _chain(first: str, links: dict[str, str | None], steps: int) -> list[str]:
    chain: list[str] = []
    at = links.get(first)
    while at is not None and len(chain) < steps:
        chain.append(at)
        at = links.get(at)
    return chain


def _rows(connection: Connection, ids: Iterable[str]) -> dict[str, tuple[str, str | None, str | None]]:
    query = f"""SELECT id, substr(input_text, 1, {MOST}), substr(output_text, 1, {MOST}), started_at FROM traces
        WHERE id"""
    return {row[0]: (row[1], row[2], row[3]) for row in rows_among(connection, query, ids)}


def _message(trace_id: str, chain: Sequence[str], rows: dict[str, tuple[str, str | None, str | None]]) -> UserMessage:
    message, reply, at = rows[trace_id]
    earlier = tuple(
        EarlierTurn(one, rows[one][0], rows[one][1], seconds_between(rows[one][2], at)) for one in chain if one in rows
    )
    return UserMessage(trace_id, message, earlier, reply)


def put_remark(connection: Connection, message_id: str, remark: Remark, detector: str) -> None:
    """Keep what a message was found to say; one that a person dismissed stays dismissed."""
    statement = """INSERT INTO remarks (message_id, trace_id, kind, probability, evidence, detector, created_at)
        VALUES (:message, :trace, :kind, :probability, :evidence, :detector, :now)
        ON CONFLICT (message_id) DO UPDATE SET trace_id = :trace, kind = :kind, probability = :probability,
            evidence = :evidence, detector = :detector"""
    values = {
        "message": message_id,
        "trace": remark.trace_id,
        "kind": remark.kind.value,
        "probability": remark.probability,
        "evidence": dumps(list(remark.evidence)),
        "detector": detector,
        "now": now(),
    }
    connection.execute(text(statement), values)


def drop_remarks(connection: Connection, message_ids: Iterable[str]) -> None:
    """Forget what was found in these messages, unless a person dismissed it."""
    for message_id in message_ids:
        connection.execute(text("DELETE FROM remarks WHERE message_id = :id AND dismissed = 0"), {"id": message_id})


def forget_remarks(connection: Connection) -> None:
    """Forget every remark that nobody dismissed."""
    connection.execute(text("DELETE FROM remarks WHERE dismissed = 0"))


def shown_remarks(connection: Connection, trace_id: str) -> list[ShownRemark]:
    """Give the remarks on a trace's answer and the one that its own message makes, those a person dismissed left out."""
    query = f"""SELECT r.message_id, r.trace_id, r.kind, r.probability, r.evidence, r.detector,
            substr(t.input_text, 1, {SHOWN})
        FROM remarks r JOIN traces t ON t.id = r.message_id
        WHERE (r.trace_id = :id OR r.message_id = :id) AND r.dismissed = 0 ORDER BY t.started_at, r.message_id"""
    return [
        ShownRemark(
            message_id=row[0],
            target_id=row[1],
            kind=RemarkKind(row[2]),
            probability=float(row[3]),
            evidence=tuple(loads(row[4])),
            detector=row[5],
            message=row[6],
        )
        for row in connection.execute(text(query), {"id": trace_id})
    ]
