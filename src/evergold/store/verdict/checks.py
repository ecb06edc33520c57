"""Turns out of the store for checks, and what the checks found back into it.

A result is a score under the key `check:` and the check's name. It queues nothing: whoever runs checks curates right after.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from evergold.conversation.wholeness import CALLS, DOCUMENTS, MODEL_CALLS, may_lack
from evergold.model.check import Checked, ToolStep, Turn
from evergold.model.trace import CHECK_KEY, TraceStatus
from evergold.model.values import app_of, is_raw, seconds_between
from evergold.store.case.content import Contents
from evergold.store.conditions import APP
from evergold.store.database.rows import (
    batches,
    change_among,
    delete_among,
    insert_rows,
    loads,
    make_storable,
    now,
    read_column,
    read_value,
    rows_among,
    run_for_each,
    run_sql,
    stamp,
)
from evergold.store.facts import count, fact, put_fact
from evergold.store.trace.scores import drop_scores, enqueue, insert_scores
from evergold.store.verdict.tiers import CHECK

# The first columns of the query for turns are fields of a turn.
SAME = ["id", "input", "output", "name", "started_at", "ended_at", "next_input", "next_output", "cost", "incomplete"]
SCORE_COLUMNS = ("trace_id", "key", "name", "source", "value", "comment", "version", "created_at")
MARK_COLUMNS = ("trace_id", "suite", "failed", "question", "cluster", "point", "checked_at")
# Turns without a time of their own have the same one: they are in the order in which they came.
NEXT = """(SELECT x.id FROM traces x WHERE x.session_id = t.session_id
    AND (x.started_at > t.started_at OR (x.started_at = t.started_at AND x.seq > t.seq)) ORDER BY x.started_at, x.seq LIMIT 1)"""
BEFORE = """(SELECT x.id FROM traces x WHERE x.session_id = t.session_id
    AND (x.started_at < t.started_at OR (x.started_at = t.started_at AND x.seq < t.seq))
    ORDER BY x.started_at DESC, x.seq DESC LIMIT 1)"""
# The JSON may itself be a text inside JSON, with one or more backslashes before each quote.
FINISH = re.compile(r"finish_?reasons?\\*\"\s*:\s*\[?\s*\\*\"([A-Za-z_]+)", re.I)
WINDOW = 80
# Of an app's answers of a day, for a format to be its own; of many the earliest decide.
FEWEST_ANSWERS, MOST_ANSWERS, OWN_SHARE = 20, 2_000, 0.8
IS_JSON = "substr(ltrim(coalesce(t.output_text, '')), 1, 1) IN ('{', '[')"
# By the index of names; the app is more than its name. `U` sorts behind the `T` of a time.
OF_DAY = "t.name = :name AND t.started_at >= :day AND t.started_at < :end"
HEAD = 400  # characters of an output that name the lists in it
DOCUMENT_KEYS = ("documents", "contexts", "page_content", "chunks", "source_nodes", "nodes", "docs", "context")
MESSAGE_COLUMNS = ("raw", "input_text", "metadata")
# One of them is in every shape of messages with calls or results.
CALL_WORDS = ("tool", "function_call", "functionCall")
RETRY_AFTER = timedelta(hours=1)  # a check that failed is not run on the same trace again before
AT_ONCE = 200  # traces that are in memory with all of their spans


@dataclass(slots=True)
class TraceSteps:
    """The tool calls and finish reasons of one trace in the order of time, and the kinds of its spans."""

    tools: list[ToolStep] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    kinds: set[str] = field(default_factory=set)


NO_STEPS = TraceSteps()


def turns_of(connection: Connection, trace_ids: Iterable[str]) -> list[Turn]:
    """Read traces as checks see them: what their cases would hold, how the last model call ended, and the next message."""
    turns: list[Turn] = []
    query = f"""SELECT t.id, t.input_text AS input, t.output_text AS output, t.name, t.started_at, t.ended_at,
        n.input_text AS next_input, n.output_text AS next_output, t.cost, t.incomplete,
        t.seq, t.status, t.tags, t.metadata, n.started_at AS next_started FROM traces t
        LEFT JOIN traces n ON n.id = CASE WHEN t.session_id IS NULL THEN NULL ELSE {NEXT} END
        WHERE t.id"""
    for batch in batches(trace_ids):
        rows = list(rows_among(connection, query, batch))
        steps = _steps(connection, [row.seq for row in rows])
        turns += [_turn(row, steps.get(row.seq, NO_STEPS)) for row in rows]
    formatted = {_app_day(turn) for turn in turns if is_raw(turn.output)}
    if own := {key for key in formatted if _is_own_format(connection, *key)}:
        turns = [replace(turn, own_format=is_raw(turn.output) and _app_day(turn) in own) for turn in turns]
    whole: dict[str, Turn] = {}
    for some in batches([turn for turn in turns if may_lack(turn)], AT_ONCE):
        contents = Contents(connection, [turn.id for turn in some])
        whole |= {turn.id: contents.fill_turn(turn) for turn in some}
    return [whole.get(turn.id, turn) for turn in turns]


def _app_day(turn: Turn) -> tuple[str, str, str]:
    return turn.name, turn.app, (turn.started_at or "")[:10]


def _is_own_format(connection: Connection, name: str, app: str, day: str) -> bool:
    """Whether nearly all answers of an app on a day (UTC) are JSON: then that is its format."""
    query = f"""SELECT count(*), count(*) FILTER (WHERE {IS_JSON}) FROM (SELECT t.output_text FROM traces t
        WHERE t.output_text <> '' AND {OF_DAY} AND {APP[connection.dialect.name].format("t")} = :app
        ORDER BY t.started_at LIMIT {MOST_ANSWERS}) AS t"""
    rows = run_sql(connection, query, name=name, app=app, day=day, end=f"{day}U")
    answers, in_json = next((int(row[0]), int(row[1])) for row in rows)
    return answers >= FEWEST_ANSWERS and in_json >= OWN_SHARE * answers


def follow_formats(connection: Connection, turns: Sequence[Turn]) -> None:
    """Have the answers in JSON of an app's day looked at again where they became its own format, or no longer are it."""
    states = {_app_day(turn): turn.own_format for turn in turns if is_raw(turn.output)}
    at_hand = {turn.id for turn in turns}
    for name, app, day in dict.fromkeys(map(_app_day, turns)):
        key = f"format:{day}:{app}"
        held, own = fact(connection, key), states.get((name, app, day))
        if own is None and held is not None:
            own = _is_own_format(connection, name, app, day)
        if own is None or own is (held == "json"):
            continue
        put_fact(connection, key, "json" if own else "")
        query = f"SELECT t.id FROM traces t WHERE {IS_JSON} AND {OF_DAY} AND {APP[connection.dialect.name].format('t')} = :app"
        there = read_column(connection, query, name=name, app=app, day=day, end=f"{day}U")
        again = [one for one in there if one not in at_hand]
        delete_among(connection, "trace_checks", "trace_id", again)
        enqueue(connection, again)


def _turn(row: Any, steps: TraceSteps) -> Turn:
    stated = loads(row.metadata)
    metadata: dict[str, Any] = stated if isinstance(stated, dict) else {}
    finish = metadata.get("finish_reason")
    return Turn(
        **dict(zip(SAME, row, strict=False)),
        status=TraceStatus(row.status),
        app=app_of(row.name, metadata),
        tags=tuple(loads(row.tags)) if row.tags != "[]" else (),
        metadata=metadata,
        tools=tuple(steps.tools),
        finish_reasons=tuple(steps.reasons) or ((finish,) if isinstance(finish, str) else ()),
        output_type=_declared_type(metadata),
        kinds=frozenset(steps.kinds),
        next_seconds=seconds_between(row.started_at, row.next_started),
    )


def _declared_type(metadata: dict[str, Any]) -> str | None:
    for key in ("output_type", "response_format", "gen_ai.output.type"):
        value = metadata.get(key)
        kind = value.get("type") if isinstance(value, dict) else value
        if isinstance(kind, str) and kind.startswith("json"):
            return "json"
    return None


def _steps(connection: Connection, seqs: Sequence[int]) -> dict[int, TraceSteps]:
    """The steps of some traces, by the number of the trace."""
    steps: dict[int, TraceSteps] = {}
    at = "instr({0}, 'finish_reason')" if connection.dialect.name == "sqlite" else "position('finish_reason' in {0})"
    raw, own = at.format("raw"), at.format("metadata")
    # Only some characters behind the key leave the database: the column holds whole conversations.
    part = f"""CASE WHEN kind <> 'llm' THEN NULL WHEN {own} > 0 THEN substr(metadata, {own}, {WINDOW})
        WHEN {raw} > 0 THEN substr(raw, {raw}, {WINDOW}) END"""
    # Integers of our own, written out: a list of parameters would be limited in number.
    listed = ", ".join(str(int(seq)) for seq in seqs) or "NULL"
    named = " OR ".join(f"substr(output_text, 1, {HEAD}) LIKE '%%\"{key}\"%%'" for key in DOCUMENT_KEYS)
    in_raw = at.replace("finish_reason", "retrieval.documents").format("raw")
    stated = f"{in_raw} > 0 OR metadata LIKE '%%\"contexts\"%%' OR metadata LIKE '%%retrieval.documents%%'"
    like = "LIKE" if connection.dialect.name == "sqlite" else "ILIKE"
    called = " OR ".join(f"{column} {like} '%%{word}%%'" for column in MESSAGE_COLUMNS for word in CALL_WORDS)
    query = f"""SELECT trace_seq, kind, name, status, {part},
        CASE WHEN kind = 'tool' THEN 0 WHEN kind IN ('llm', 'event') THEN CASE WHEN {called} THEN 1 ELSE 0 END
        WHEN {stated} OR {named} THEN 1 ELSE 0 END FROM spans
        WHERE trace_seq IN ({listed}) ORDER BY trace_seq, started_at, length(id), id"""
    for seq, kind, name, status, finish, shown in connection.exec_driver_sql(query):
        its = steps.setdefault(seq, TraceSteps())
        its.kinds |= {kind} if not shown else {kind, CALLS if kind in MODEL_CALLS else DOCUMENTS}
        if kind == "tool":
            its.tools.append(ToolStep(name, status == TraceStatus.FAILED.value))
        elif finish and (match := FINISH.match(finish)):
            its.reasons.append(match[1])
    return steps


def note_gaps(connection: Connection, turns: Iterable[Turn]) -> None:
    """Note with each trace what it lacks to be evaluated at all, and what sent it."""
    changed = (turn for turn in turns if turn.gaps is not None and turn.gaps != turn.incomplete)
    noted = ({"id": turn.id, "gaps": turn.gaps, "exporter": turn.exporter} for turn in changed)
    run_for_each(connection, "UPDATE traces SET incomplete = :gaps, exporter = :exporter WHERE id = :id", noted)


def find_unchecked(connection: Connection, trace_ids: Sequence[str], suite: str) -> list[str]:
    """Of some traces, those that have not been through this suite of checks, or failed in it longer ago than RETRY_AFTER.

    `evergold check-traces --backfill` runs every check again at once.
    """
    since = str(stamp(datetime.now(UTC) - RETRY_AFTER))
    query = "SELECT trace_id, suite, failed, checked_at FROM trace_checks WHERE trace_id"
    rows = rows_among(connection, query, trace_ids)
    done = {row[0] for row in rows if row[1] == suite and (not row[2] or row[3] > since)}
    return [trace_id for trace_id in trace_ids if trace_id not in done]


def enqueue_unchecked(connection: Connection, suite: str, after: str, upto: str) -> None:
    """Mark those of a range of traces that have not been through a suite of checks, or failed in it a while ago."""
    # What another process has taken off the queue, and not yet committed, is still seen in it here, and not marked again.
    statement = """INSERT INTO curation_queue (trace_id) SELECT t.id FROM traces t WHERE t.id > :after AND t.id <= :upto
        AND NOT EXISTS (SELECT 1 FROM curation_queue q WHERE q.trace_id = t.id)
        AND NOT EXISTS (SELECT 1 FROM trace_checks k WHERE k.trace_id = t.id AND k.suite = :suite
            AND (k.failed = '' OR k.checked_at > :since)) ON CONFLICT DO NOTHING"""
    run_sql(connection, statement, after=after, upto=upto, suite=suite, since=stamp(datetime.now(UTC) - RETRY_AFTER))


def before_in_session(connection: Connection, trace_ids: Sequence[str]) -> list[str]:
    """The turns right before some traces, in the same session."""
    query = f"SELECT {BEFORE} FROM traces t WHERE t.session_id IS NOT NULL AND t.id"
    return [row[0] for row in rows_among(connection, query, trace_ids) if row[0] is not None]


def put_checked(
    connection: Connection,
    outcomes: Sequence[Checked],
    marks: Sequence[tuple[str, ...]],
    suite: str,
    unseen: Collection[tuple[str, str]] = (),
) -> int:
    """Replace the scores that these checks gave these traces before; returns how many scores are new or changed.

    `marks` has a row for each trace that has been through the whole suite: trace, question, cluster, point. `unseen` are
    traces and checks that could not see what they look at: an earlier score of theirs stays.
    """
    wanted = {(each.trace_id, CHECK_KEY + each.check): each for each in outcomes}
    query = f"""SELECT trace_id, key, name, source, value, comment, version FROM trace_scores
        WHERE {CHECK} AND trace_id"""
    stored = rows_among(connection, query, {trace_id for trace_id, _ in wanted})
    held = {(row[0], row[1]): tuple(row[2:]) for row in stored}
    moment = now()
    rows_of = {key: row for key, each in wanted.items() if (row := _row(each)) is not None}
    fresh = [(*key, *row, moment) for key, row in rows_of.items() if row != held.get(key)]
    # A check that failed with an error says nothing new: its earlier score stays.
    silent = {(trace_id, CHECK_KEY + check) for trace_id, check in unseen}
    silent |= {key for key, each in wanted.items() if each.error is not None}
    gone = [key for key in held if key in wanted and rows_of.get(key) != held[key] and key not in silent]
    whole = {mark[0] for mark in marks}
    stale = [key for key in held if key not in wanted and key[0] in whole]
    drop_scores(connection, [*gone, *stale])
    # In the order of their keys: two servers that store the same scores then never wait for each other in turn.
    insert_scores(connection, SCORE_COLUMNS, sorted(fresh, key=lambda row: (row[0], row[1])))
    failed = [each for each in outcomes if each.error is not None]
    if marks:
        named: dict[str, str] = {}
        for each in failed:  # with a blank on both sides, so that SQL finds a whole name by LIKE '% name %'
            named[each.trace_id] = f"{named.get(each.trace_id, ' ')}{each.check} "
        rows = [(mark[0], suite, named.get(mark[0], ""), *mark[1:], moment) for mark in marks]
        delete_among(connection, "trace_checks", "trace_id", list(whole))
        insert_rows(connection, "trace_checks", MARK_COLUMNS, rows, new_only=True)
    count(connection, Counter(f"checks.failed.{each.check}" for each in failed))
    return len(fresh) + len(stale)


def _row(each: Checked) -> tuple[Any, ...] | None:
    if each.result is None:
        return None
    comment = f"{each.result.reason}: {each.result.evidence}" if each.result.evidence else each.result.reason
    return (each.check, each.source.value, each.result.value, make_storable(comment), each.version)


def drop_checks(connection: Connection, trace_ids: Sequence[str]) -> int:
    """Take away what checks said of these traces: they were turned off."""
    delete_among(connection, "trace_checks", "trace_id", trace_ids)
    return change_among(connection, f"DELETE FROM trace_scores WHERE {CHECK} AND trace_id", trace_ids)


def seen_by_checks(connection: Connection, trace_ids: Iterable[str]) -> set[str]:
    """Of some traces, those that any suite of checks has seen."""
    return {row[0] for row in rows_among(connection, "SELECT trace_id FROM trace_checks WHERE trace_id", trace_ids)}


def asked_today(connection: Connection) -> dict[str, int]:
    """How many questions each check has put to a judge since midnight (UTC)."""
    query = f"""SELECT name, count(*) FROM trace_scores WHERE source = 'llm_judge' AND {CHECK}
        AND created_at >= :day GROUP BY name"""
    return {row[0]: int(row[1]) for row in run_sql(connection, query, day=now()[:10])}


def count_unchecked(connection: Connection) -> int:
    """How many traces no suite of checks has seen."""
    return int(read_value(connection, "SELECT (SELECT count(*) FROM traces) - (SELECT count(*) FROM trace_checks)"))


def has_spoken(connection: Connection, trace_id: str, required: Sequence[str]) -> bool:
    """Whether the checks that a policy asks for could be run on a trace; one that is not checked yet will be when curated."""
    failed = read_value(connection, "SELECT failed FROM trace_checks WHERE trace_id = :id", id=trace_id)
    return not any(f" {name} " in (failed or "") for name in required)


def ids_between(connection: Connection, after: str, upto: str) -> list[str]:
    """The ids of traces after one id, up to another."""
    query = "SELECT id FROM traces WHERE id > :after AND id <= :upto ORDER BY id"
    return read_column(connection, query, after=after, upto=upto)
