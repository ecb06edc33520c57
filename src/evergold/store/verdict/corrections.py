"""Corrections as cases, remarks of users on earlier replies, and which verdict stands when people took something back.

A correction is a fact about a trace, kept beside its scores; its case pairs the bad reply with what should have been
said. The case is named after its text, so the same correction twice is one case, whichever way it came.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row

from evergold.errors import NotFound
from evergold.model.case import Answer, Case, CaseStatus, EntryType, Provenance, TierEvidence
from evergold.model.check import (
    EarlierTurn,
    Remark,
    ShownRemark,
    UserMessage,
    admits,
    asks_back,
    strip_admission,
)
from evergold.model.policy import Thresholds
from evergold.model.trace import DETECTED_KEY
from evergold.model.values import content_hash, seconds_between
from evergold.store.case.cases import entry_id_of, find_touched_cases, held_cases
from evergold.store.case.content import Contents
from evergold.store.case.writes import Author, put_cases, revise_case
from evergold.store.database.rows import (
    batches,
    change_among,
    dumps,
    group_among,
    loads,
    now,
    read_column,
    read_value,
    rows_among,
    run_sql,
)
from evergold.store.trace.scores import drop_score, enqueue
from evergold.store.verdict.tiers import DETECTED, REMARK, REMARKS

FIRST_DIGITS = 16
BY_DETECTOR = "detected"  # the author of a correction that was found in the next message
OF_CURATION = ("added", "refreshed", "grew")  # what curation itself does to a case is no work of a person
CALLED = Thresholds()  # from which scores on an answer was called good or bad, whatever the policy of a dataset
DATASETS_OF = "SELECT dataset FROM eval_dataset WHERE case_id"
TOOL_TAGS = """SELECT DISTINCT t.id, 'tool:' || s.name FROM traces t JOIN spans s ON s.trace_seq = t.seq
    WHERE s.kind = 'tool' AND s.name <> '' AND t.id"""
BELONGS_ELSEWHERE = "what was taken for a correction of this reply was said of another"


class Detected(NamedTuple):
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
        query = """SELECT t.*, c.text, c.author, c.kind AS said_as FROM traces t
            JOIN trace_corrections c ON c.trace_id = t.id AND c.dismissed = 0 WHERE t.id"""
        tools = group_among(connection, TOOL_TAGS, batch)
        rows = [row._mapping for row in rows_among(connection, query, batch, "ORDER BY c.id")]
        cases = [_case(row, dataset, tools.get(row["id"], ()), _corrected_answer(connection, row)) for row in rows]
        if not cases:
            continue
        entries = held_cases(connection, [(case.dataset, case.id) for case in cases])
        _follow_answers(connection, cases, entries)
        held = {key[1] for key in entries}
        # A person may have moved or edited the case of a correction; it must not be made a second time.
        held |= _paired_cases(connection, batch)
        fresh = [case for case in cases if case.id not in held]
        author = Author(who="correction", action="added", why="a person corrected the reply")
        added += put_cases(connection, fresh, author).added
    return added


def _follow_answers(
    connection: Connection, cases: Sequence[Case], held: Mapping[tuple[str, str], tuple[int, Case]]
) -> None:
    """Give pairs that nobody has worked on the corrected answer that the scores of today leave them."""
    right = {(case.dataset, case.id): case.revised for case in cases}
    active = [(key, case) for key, (_, case) in held.items() if case.status is CaseStatus.ACTIVE]
    changed = {key: case for key, case in active if case.revised != right[key]}
    worked_on = find_touched_cases(connection, list(changed), OF_CURATION) if changed else set()
    author = Author(who="correction", action="refreshed", why="scores changed what is known of the right answer")
    for key, case in changed.items():
        if key not in worked_on:
            revise_case(connection, case.model_copy(update={"revised": right[key]}), author)


def _corrected_answer(connection: Connection, row: Any) -> Answer | None:
    """The corrected answer: the text itself where it is one, else the assistant's next reply if it admits the mistake or
    agrees, answers at all instead of asking back, and nobody corrected that one or found it bad. Otherwise there is none yet,
    and the pair waits in review; so does a remark that was only detected where somebody's score calls the answer good, or where
    its grounds are too weak to call it bad."""
    if row["said_as"] == "answer":
        return Answer(text=row["text"])
    query = """SELECT t.id, t.output_text, EXISTS (SELECT 1 FROM trace_scores s WHERE s.trace_id = t.id
            AND s.key = 'check:answered' AND s.value < 1) AS unanswered
        FROM traces t WHERE t.session_id = :session AND t.input_text = :said AND t.started_at >= :after AND t.id <> :id
            AND NOT EXISTS (SELECT 1 FROM trace_corrections c WHERE c.trace_id = t.id AND c.dismissed = 0)
            AND NOT EXISTS (SELECT 1 FROM trace_scores s WHERE s.trace_id = t.id AND s.source <> 'llm_judge' AND s.value < :low)
            AND NOT EXISTS (SELECT 1 FROM remarks m WHERE m.trace_id = t.id AND m.dismissed = 0
                AND m.kind IN ('correction', 'complaint'))
        ORDER BY t.started_at, t.seq LIMIT 1"""
    # Somebody, and not a remark that was detected, scored the answer as good.
    praised = f"""SELECT 1 FROM trace_scores WHERE trace_id = :id AND source IN ('user', 'human') AND NOT ({DETECTED})
        AND value >= :high LIMIT 1"""
    # The remark calls the answer bad, and does not only doubt it.
    grounded = (
        f"SELECT 1 FROM trace_scores WHERE trace_id = :id AND {REMARK} AND value < :low AND comment = :said LIMIT 1"
    )
    remark = {"id": row["id"], "low": CALLED.failure_below, "said": row["text"][:SHOWN]}
    if row["author"] == BY_DETECTOR and (
        read_value(connection, praised, id=row["id"], high=CALLED.golden_from)
        or read_value(connection, grounded, **remark) is None
    ):
        return None
    # The reply to the correcting message is the trace that has this message as its input.
    params = {"session": row["session_id"], "said": row["text"], "after": row["started_at"], "id": row["id"]}
    reply = run_sql(connection, query, **params, low=CALLED.failure_below).one_or_none()
    if reply is None or reply.unanswered or not admits(reply.output_text) or asks_back(reply.output_text):
        return None
    # The reply with the calls it made. None where it called other tools than the corrected turn did: it then undid what
    # that turn had done, which answers another state than the one the question was asked in.
    corrected = row["id"]
    contents = Contents(connection, (corrected, reply.id))
    before, calls = contents.calls_of(corrected), contents.calls_of(reply.id)
    if calls and before and {call.name for call in calls}.isdisjoint(call.name for call in before):
        return None
    text = strip_admission(reply.output_text)
    return Answer(text=text, tool_calls=calls or None, trace_id=reply.id) if text or calls else None


def _case(row: Any, dataset: str, tools: Iterable[str], revised: Answer | None) -> Case:
    named = (row["message_type"], f"model:{row['model']}" if row["model"] else None, *tools)
    origin = {name: row[name] for name in ("session_id", "user_id")}
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
        evidence=TierEvidence.USER if row["author"] == BY_DETECTOR else TierEvidence.PERSON,
        provenance=Provenance(source="correction", trace_id=row["id"], **origin),
    )


def _paired_cases(connection: Connection, trace_ids: Iterable[str]) -> set[str]:
    """The cases that these traces' corrections have, in whichever dataset and however edited since."""
    query = "SELECT case_id FROM eval_dataset WHERE entry_type = 'correction' AND trace_id"
    return {row[0] for row in rows_among(connection, query, trace_ids)}


def count_unpaired(connection: Connection) -> int:
    """Corrections that no case has been made of yet; the text alone does not tell, since a person may have edited it."""
    query = """SELECT c.trace_id, c.text FROM trace_corrections c WHERE c.dismissed = 0
        AND NOT EXISTS (SELECT 1 FROM eval_dataset d
            WHERE d.trace_id = c.trace_id AND d.entry_type = 'correction' AND d.expected_output = c.text)"""
    unlike = [tuple(row) for row in run_sql(connection, query)]
    wanted = {correction_case_id(trace_id, correction) for trace_id, correction in unlike}
    return len(wanted - _paired_cases(connection, {trace_id for trace_id, _ in unlike}))


def detected_among(connection: Connection, trace_ids: Iterable[str]) -> dict[str, list[Detected]]:
    """By trace, what was found in messages that are still there; a finding outlives the message it was found in."""
    query = f"SELECT trace_id, key, comment FROM trace_scores WHERE {REMARK} AND trace_id"
    stored = rows_among(connection, query, trace_ids)
    rows = [(trace_id, key.removeprefix(DETECTED_KEY), comment or "") for trace_id, key, comment in stored]
    there = {row[0] for row in rows_among(connection, "SELECT id FROM traces WHERE id", {row[1] for row in rows})}
    results: dict[str, list[Detected]] = {}
    for trace_id, next_id, comment in rows:
        if next_id in there:
            results.setdefault(trace_id, []).append(Detected(next_id, comment))
    return results


def detected_traces(connection: Connection) -> list[str]:
    """The traces that have a score derived from what the user wrote next."""
    return read_column(connection, f"SELECT DISTINCT trace_id FROM trace_scores WHERE {REMARK}")


def take_back(connection: Connection, trace_id: str, comment: str) -> None:
    """Forget the correction that begins so and was only detected; its case is withdrawn unless somebody has worked on it."""
    for row in _corrections_of(connection, trace_id):
        if row.author == BY_DETECTOR and row.text.startswith(comment):
            run_sql(connection, "DELETE FROM trace_corrections WHERE id = :id", id=row.id)
            _withdraw_pair(connection, trace_id, row.text, BELONGS_ELSEWHERE)


def _corrections_of(connection: Connection, trace_id: str) -> Sequence[Row[Any]]:
    query = "SELECT id, text, author, dismissed FROM trace_corrections WHERE trace_id = :id"
    return run_sql(connection, query, id=trace_id).all()


def _withdraw_pair(connection: Connection, trace_id: str, correction: str, why: str) -> None:
    """Withdraw the case of a correction, unless somebody has worked on it."""
    case_id = correction_case_id(trace_id, correction)
    keys = [(name, case_id) for (name,) in rows_among(connection, DATASETS_OF, [case_id])]
    worked_on = find_touched_cases(connection, keys, OF_CURATION)
    for key, (_, case) in held_cases(connection, keys).items():
        if key not in worked_on:
            author = Author(who="correction", action="withdrawn", why=why)
            revise_case(connection, case.model_copy(update={"status": CaseStatus.WITHDRAWN}), author)


def is_corrected(connection: Connection, trace_id: str) -> bool:
    corrections = _corrections_of(connection, trace_id)
    return any(not one.dismissed and one.author != BY_DETECTOR for one in corrections)


def is_remark(connection: Connection, trace_id: str) -> bool:
    """Whether the message of a trace is a remark on an earlier answer."""
    return read_value(connection, REMARKS.format(":id"), id=trace_id) is not None


EARLIER = 4  # turns before a message that it can be on
SHOWN = 200  # characters of a message that an explanation shows
MOST = 4000  # characters of a message and of an answer that a detector is given


def messages_after(connection: Connection, trace_ids: Iterable[str]) -> list[UserMessage]:
    """Give the messages of these traces and of the next ones of their sessions, each with the turns before it."""
    start = set(trace_ids)
    query = (
        "SELECT t.session_id, t.id FROM traces t WHERE t.session_id IN (SELECT s.session_id FROM traces s WHERE s.id"
    )
    sessions = group_among(connection, query, start, ") ORDER BY t.started_at, t.seq")
    before: dict[str, list[str]] = {}
    for turns in (list(dict.fromkeys(turns)) for turns in sessions.values()):
        for number, trace_id in enumerate(turns):
            # A new trace can be the answer that a later message remarks on, so messages after it are looked at again.
            if number and not start.isdisjoint(turns[max(0, number - EARLIER) : number + 1]):
                before[trace_id] = turns[max(0, number - EARLIER) : number][::-1]
    query = f"""SELECT id, substr(input_text, 1, {MOST}), substr(output_text, 1, {MOST}), started_at FROM traces
        WHERE id"""
    ids = {*before, *(one for turns in before.values() for one in turns)}
    rows = {row[0]: tuple(row[1:]) for row in rows_among(connection, query, ids)}
    messages = []
    for trace_id, turns in before.items():
        message, reply, at = rows[trace_id]
        known = ((one, *rows[one]) for one in turns)
        earlier = [EarlierTurn(one, asked, answer, seconds_between(began, at)) for one, asked, answer, began in known]
        messages.append(UserMessage(trace_id, message, tuple(earlier), reply))
    return messages


def put_remark(connection: Connection, message_id: str, remark: Remark, detector: str) -> bool:
    """Keep what a message was found to say; one that a person dismissed stays dismissed. Whether that is news."""
    held = read_value(connection, "SELECT kind FROM remarks WHERE message_id = :id", id=message_id)
    statement = """INSERT INTO remarks (message_id, trace_id, kind, probability, evidence, detector, created_at)
        VALUES (:message, :trace, :kind, :probability, :evidence, :detector, :now)
        ON CONFLICT (message_id) DO UPDATE SET trace_id = :trace, kind = :kind, probability = :probability,
            evidence = :evidence, detector = :detector"""
    values = {"message": message_id, "trace": remark.trace_id, "kind": remark.kind.value, "detector": detector}
    evidence = dumps(list(remark.evidence))
    run_sql(connection, statement, **values, probability=remark.probability, evidence=evidence, now=now())
    return bool(held != remark.kind)


def drop_remarks(connection: Connection, message_ids: Iterable[str]) -> bool:
    """Forget what was found in these messages, unless a person dismissed it. Whether anything was."""
    return change_among(connection, "DELETE FROM remarks WHERE dismissed = 0 AND message_id", message_ids) > 0


def forget_remarks(connection: Connection) -> None:
    """Forget every remark that nobody dismissed."""
    run_sql(connection, "DELETE FROM remarks WHERE dismissed = 0")


def shown_remarks(connection: Connection, trace_id: str) -> list[ShownRemark]:
    """Give the remarks on a trace's answer and the one that its own message makes, those a person dismissed left out."""
    query = f"""SELECT r.message_id, r.trace_id AS target_id, r.kind, r.probability, r.evidence, r.detector,
            substr(t.input_text, 1, {SHOWN}) AS message FROM remarks r JOIN traces t ON t.id = r.message_id
        WHERE (r.trace_id = :id OR r.message_id = :id) AND r.dismissed = 0 ORDER BY t.started_at, t.seq"""
    rows = run_sql(connection, query, id=trace_id).mappings()
    return [ShownRemark.model_validate({**row, "evidence": loads(row["evidence"])}) for row in rows]


def set_decided(connection: Connection, case: Case, reviewer: str) -> None:
    """Record that a reviewer's word stands (empty: nobody's); it settles the question that was open."""
    settle = """UPDATE eval_dataset SET decided = :who, answered = CASE WHEN :who = '' THEN '' ELSE question END, question = ''
        WHERE id = :id"""
    run_sql(connection, settle, who=reviewer, id=entry_id_of(connection, case.dataset, case.id))
    if not reviewer and case.provenance.trace_id is not None:
        enqueue_known(connection, case.provenance.trace_id)


def enqueue_known(connection: Connection, trace_id: str) -> None:
    """Queue a trace for curation if it is still there."""
    if read_value(connection, "SELECT 1 FROM traces WHERE id = :id", id=trace_id) is not None:
        enqueue(connection, [trace_id])


def set_correction_dismissed(connection: Connection, case: Case, dismissed: bool) -> None:
    """Let a correction count no more, or again: what was derived from it goes with it, and the remark stays dismissed."""
    trace_id = case.provenance.trace_id
    if trace_id is None:
        return
    for row in _corrections_of(connection, trace_id):
        # The case is named after the text of its correction: a trace may have several.
        if correction_case_id(trace_id, row.text) != case.id:
            continue
        dismiss = "UPDATE trace_corrections SET dismissed = :dismissed WHERE id = :id"
        run_sql(connection, dismiss, dismissed=int(dismissed), id=row.id)
        if row.author == BY_DETECTOR:
            _dismiss_remarks(connection, trace_id, row.text, dismissed)
        enqueue_known(connection, trace_id)


def _dismiss_remarks(connection: Connection, trace_id: str, message: str, dismissed: bool) -> None:
    query = f"SELECT key FROM trace_scores WHERE trace_id = :trace AND {DETECTED}"
    keys = set(read_column(connection, query, trace=trace_id))
    # The remark is the message of a later trace with this very text: all of them that say it are dismissed.
    later = "SELECT t.id FROM traces t JOIN traces o ON o.session_id = t.session_id WHERE o.id = :trace AND t.input_text = :said"
    for message_id in read_column(connection, later, trace=trace_id, said=message):
        dismiss_remark(connection, trace_id, message_id, dismissed)
        if dismissed and DETECTED_KEY + message_id in keys:
            drop_score(connection, trace_id, DETECTED_KEY + message_id)


def dismiss_remark(connection: Connection, trace_id: str, message_id: str, dismissed: bool = True) -> None:
    """Remember that a person said a message is no remark on an earlier reply, or that it is one after all."""
    statement = """INSERT INTO remarks (message_id, trace_id, kind, probability, dismissed)
        SELECT id, :trace, 'correction', 1.0, :dismissed FROM traces WHERE id = :message
        ON CONFLICT (message_id) DO UPDATE SET dismissed = :dismissed"""
    run_sql(connection, statement, trace=trace_id, dismissed=int(dismissed), message=message_id)
    enqueue_known(connection, message_id)


def is_dismissed(connection: Connection, message_id: str) -> bool:
    """Whether a person said that a message is no remark on an earlier reply."""
    query = "SELECT 1 FROM remarks WHERE message_id = :id AND dismissed = 1"
    return read_value(connection, query, id=message_id) is not None


def withdraw_score(connection: Connection, score_id: int) -> str:
    """Take one score back, with what follows from it; returns its trace. A check's score comes back on backfill."""
    row = run_sql(connection, "SELECT trace_id, key FROM trace_scores WHERE id = :id", id=score_id).first()
    if row is None:
        raise NotFound(f"there is no score {score_id}; `evergold traces show TRACE` lists the scores with their ids")
    if row.key.startswith(DETECTED_KEY):
        message_id = row.key.removeprefix(DETECTED_KEY)
        dismiss_remark(connection, row.trace_id, message_id)
        statement = """UPDATE trace_corrections SET dismissed = 1 WHERE trace_id = :trace AND author = :author
            AND text = (SELECT input_text FROM traces WHERE id = :message) RETURNING text"""
        given = {"trace": row.trace_id, "author": BY_DETECTOR, "message": message_id}
        for correction in read_column(connection, statement, **given):
            _withdraw_pair(connection, row.trace_id, correction, "the remark that it was made from was taken back")
    drop_score(connection, row.trace_id, row.key)
    return str(row.trace_id)
