"""Forgetting: old traces that nothing cites, and everything about one user.

Retention keeps what the dataset cites. Erasure does not: it empties the cases made from a user's traces, the copies
runs hold of them, and their histories, deletes the traces and what the user said of other people's, and leaves a tombstone
that says how much there was, with the user only as a hash. Cached model responses are named by hashes that tell nothing of
whom they are about, so the cache is emptied whole.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection

from evergold.model.build import without_tags
from evergold.model.trace import Reaction
from evergold.model.values import content_hash
from evergold.store.case.content import drop_uncited, forget_contents, keep_contents
from evergold.store.conditions import json_value
from evergold.store.database.rows import (
    change_among,
    delete_among,
    dumps,
    loads,
    read_column,
    read_value,
    rows_among,
    run_sql,
)
from evergold.store.trace.compact import release
from evergold.store.trace.scores import enqueue
from evergold.store.verdict.corrections import correction_case_id

PruneKey = tuple[str, int]  # when a trace began, and its number

BATCH = 5000
UNCITED = "NOT EXISTS (SELECT 1 FROM eval_dataset d WHERE d.trace_id = t.id)"
LOCATIONS = (
    "SELECT DISTINCT b.location FROM builds b JOIN build_cases c ON c.build_id = b.id "
    "WHERE b.location IS NOT NULL AND c.case_id"
)
NEVER_CAME = "FROM pending_records WHERE received_at < :before"


# Parts of a case, an attempt or a measurement that may quote a person.
LISTS = (
    *("contexts", "messages", "turn", "tool_calls", "tools", "citations", "retrieved", "sources", "tags", "labels"),
    "assertions",
)
EMPTIED: dict[str, Any] = {name: [] for name in LISTS} | {"metadata": {}, "extra": {}, "details": {}, "provenance": {}}
EMPTIED |= {"expected_tools": None, "tests": None, "approved": None, "revised": None}
EMPTY_CASES = (
    "UPDATE eval_dataset SET status = 'erased', trace_id = NULL, session_id = NULL, user_id = NULL, own_content = 1, "
    "content = NULL, input_text = '', output_text = NULL, expected_output = NULL, metadata = '{}', body = '{}', "
    "version = version + 1 WHERE id",
    "UPDATE case_revisions SET changes = '{}', evidence = '{}', why = '', rev = NULL WHERE entry_id",
    "UPDATE case_reviews SET label = '{}', comment = '' WHERE entry_id",
    "DELETE FROM review_answers WHERE entry_id",
    "DELETE FROM case_bases WHERE entry_id",
    "DELETE FROM eval_dataset_tags WHERE dataset_id",
    "INSERT INTO case_revisions (entry_id, version, action, who, why) "
    "SELECT id, version, 'erased', 'erasure', 'erased on request' FROM eval_dataset WHERE id",
)


@dataclass
class Pruned:
    """What retention removed, and what it kept because the dataset cites it. `waiting` are scores and corrections that
    waited for a trace as long as that, and it never came."""

    deleted: int = 0
    kept: int = 0
    waiting: int = 0


@dataclass
class Erased:
    """What erasure reached. `locations` are the folders of builds that held a copy of an erased case, `tags` those that
    such builds counted and no other case has."""

    traces: int = 0
    cases: int = 0
    run_copies: int = 0
    build_files: int = 0
    spooled: int = 0
    archived: int = 0
    case_ids: list[str] = field(default_factory=list)
    locations: list[str] = field(default_factory=list)
    tags: set[str] = field(default_factory=set)

    def counts(self) -> dict[str, int]:
        return {name: value for name, value in vars(self).items() if isinstance(value, int)}


def count_prunable(connection: Connection, before: str) -> Pruned:
    old = "SELECT count(*) FROM traces t WHERE started_at < :before"
    queries = (old, f"{old} AND {UNCITED}", f"SELECT count(*) {NEVER_CAME}")
    total, deleted, waiting = (int(read_value(connection, query, before=before)) for query in queries)
    return Pruned(deleted=deleted, kept=total - deleted, waiting=waiting)


def prune_waiting(connection: Connection, before: str) -> int:
    """Delete what has waited for its trace since before then."""
    return run_sql(connection, f"DELETE {NEVER_CAME}", before=before).rowcount


def prune_batch(
    connection: Connection, before: str, size: int = BATCH, after: PruneKey = ("", 0)
) -> tuple[int, PruneKey | None]:
    """Delete one batch of old traces that nothing cites, with their spans, scores and corrections.

    Returns how many, and the last trace it looked at, after which the next batch begins; None at the end. Cases of their
    sessions may be read from them as earlier turns, and are written down first.
    """
    chosen = f"""SELECT t.id, t.started_at, t.seq FROM traces t WHERE t.started_at < :before
        AND (t.started_at, t.seq) > (:at, :seq) AND {UNCITED} ORDER BY t.started_at, t.seq LIMIT :size"""
    rows = run_sql(connection, chosen, before=before, at=after[0], seq=after[1], size=size).all()
    if not rows:
        return 0, None
    ids = [row.id for row in rows]
    lock_traces(connection, ids)
    return delete_uncited(connection, ids), (rows[-1].started_at, rows[-1].seq)


def lock_traces(connection: Connection, trace_ids: Iterable[str]) -> None:
    """Let no other server change, cite or say anything about traces that are to be deleted; SQLite's writer is alone as it is."""
    if connection.dialect.name == "postgresql":
        # In the order in which intake locks them, so that the two never wait for each other in turn.
        list(rows_among(connection, "SELECT seq FROM traces WHERE id", trace_ids, "ORDER BY seq FOR UPDATE"))


def delete_uncited(connection: Connection, trace_ids: Sequence[str]) -> int:
    """Delete those of some locked traces that nothing cites; what is read from them is written down before.

    They are looked at again: another server may have cited one of them before it was locked.
    """
    uncited = f"SELECT t.id FROM traces t WHERE {UNCITED} AND t.id"
    free = [row[0] for row in rows_among(connection, uncited, trace_ids)]
    keep_contents(connection, free)
    release(connection, free)
    return delete_among(connection, "traces", "id", free)


def copies_of(connection: Connection, user: str) -> Erased:
    """The cases that erasing a user would empty, and the folders of builds that hold copies of them."""
    entries = _entries(connection, user, _traces_of(connection, user))
    case_ids = sorted({case_id for _, case_id in entries})
    # A manifest counts tags, and a tag may name a person: those that nobody else has are erased from it.
    manifests = _manifests(connection, case_ids)
    counted = {tag for manifest in manifests.values() for tag in manifest.get("tags") or {}}
    return Erased(
        cases=len(entries),
        case_ids=case_ids,
        locations=sorted({row[0] for row in rows_among(connection, LOCATIONS, case_ids)}),
        tags=_tags_without_others(connection, sorted(counted), [entry for entry, _ in entries]),
    )


def count_erasable(connection: Connection, user: str) -> Erased:
    """How many traces and cases erasing a user would reach in the tables."""
    return Erased(traces=len(_traces_of(connection, user)), cases=copies_of(connection, user).cases)


def erase_user(connection: Connection, user: str, who: str, why: str, begun: Erased | None = None) -> Erased:
    """Erase a user in the tables; `begun` says what was erased outside of them, for the tombstone."""
    trace_ids = _traces_of(connection, user)
    lock_traces(connection, trace_ids)
    # Collected first: what names the copies is gone once the tables are emptied.
    erased = copies_of(connection, user)
    if begun is not None:
        erased.build_files, erased.spooled, erased.archived = begun.build_files, begun.spooled, begun.archived
    with _overwriting_deleted(connection):
        _erase(connection, user, trace_ids, erased)
    insert = "INSERT INTO tombstones (kind, subject, who, why, counts) VALUES ('user', :user, :who, :why, :counts)"
    run_sql(connection, insert, user=content_hash(user), who=who, why=why, counts=dumps(erased.counts()))
    return erased


def _erase(connection: Connection, user: str, trace_ids: Sequence[str], erased: Erased) -> None:
    entries = _entries(connection, user, trace_ids)
    # Cases of other people in the same sessions are put together again without these turns.
    forget_contents(connection, trace_ids)
    for statement in EMPTY_CASES:
        change_among(connection, statement, [entry for entry, _ in entries])
    drop_uncited(connection)
    erased.run_copies = _empty_run_copies(connection, erased.case_ids)
    for build, manifest in _manifests(connection, erased.case_ids).items():
        kept = dumps(without_tags(manifest, erased.tags))
        run_sql(connection, "UPDATE builds SET manifest = :kept WHERE id = :id", kept=kept, id=build)
    _delete_feedback(connection, user)
    if erased.case_ids:
        # Replies may quote what was asked, and their keys do not say whose it was.
        run_sql(connection, "DELETE FROM response_cache")
        failed = "UPDATE attempts SET error = '' WHERE error IS NOT NULL AND case_id"
        change_among(connection, failed, erased.case_ids)
    release(connection, trace_ids)
    erased.traces = delete_among(connection, "traces", "id", trace_ids)


@contextmanager
def _overwriting_deleted(connection: Connection) -> Iterator[None]:
    """Have SQLite overwrite what it deletes, as not every build does; PostgreSQL clears it away at its next VACUUM."""
    if connection.dialect.name != "sqlite":
        yield
        return
    before = connection.exec_driver_sql("PRAGMA secure_delete").scalar_one()
    connection.exec_driver_sql("PRAGMA secure_delete = ON")
    try:
        yield
    finally:
        connection.exec_driver_sql(f"PRAGMA secure_delete = {before}")


def _traces_of(connection: Connection, user: str) -> list[str]:
    return read_column(connection, "SELECT id FROM traces WHERE user_id = :user", user=user)


def _delete_feedback(connection: Connection, user: str) -> None:
    """Delete corrections and reactions of the user on other people's traces, which are then curated again."""
    author = json_value(connection.dialect.name, "body", "author")
    run_sql(connection, f"DELETE FROM pending_records WHERE {author} = :user", user=user)
    # The key of a person's reactions is the same on every trace.
    reaction = Reaction(trace_id="any", emoji=None, author=user).key
    for statement, value in (
        ("DELETE FROM trace_corrections WHERE author = :value RETURNING trace_id", user),
        ("DELETE FROM trace_scores WHERE key = :value RETURNING trace_id", reaction),
    ):
        enqueue(connection, set(read_column(connection, statement, value=value)))


def _entries(connection: Connection, user: str, trace_ids: Sequence[str]) -> list[tuple[int, str]]:
    """Cases of the user's traces, pairs of the user's corrections, and imported cases that name the user."""
    at = json_value(connection.dialect.name, "body", "provenance", "user_id")
    query = f"SELECT id, case_id FROM eval_dataset WHERE user_id = :user OR {at} = :user"
    results = {row[0]: row[1] for row in run_sql(connection, query, user=user)}
    written = run_sql(connection, "SELECT trace_id, text FROM trace_corrections WHERE author = :user", user=user)
    pairs = {correction_case_id(trace_id, words) for trace_id, words in written}
    for column, values in (("case_id", pairs), ("trace_id", trace_ids)):
        rows = rows_among(connection, f"SELECT id, case_id FROM eval_dataset WHERE {column}", values)
        results |= {row[0]: row[1] for row in rows}
    return sorted(results.items())


def _empty_run_copies(connection: Connection, case_ids: Sequence[str]) -> int:
    """Runs keep a case as it was; its texts, and what judges said of them, go; its id and measured values stay."""
    emptied = 0
    for table, texts in (
        ("run_cases", ("input", "output", "expected", "prompt")),
        ("attempts", ("output", "error")),
        ("measurements", ("reason",)),
    ):
        change = f"UPDATE {table} SET body = :new WHERE case_id = :case_id AND body = :old"
        query = f"SELECT DISTINCT case_id, body FROM {table} WHERE case_id"
        for case_id, body in list(rows_among(connection, query, case_ids)):
            new = {
                key: "" if key in texts and isinstance(value, str) else EMPTIED.get(key, value)
                for key, value in loads(body).items()
            }
            # `old` in the condition: runs share equal bodies, and each distinct one is emptied once.
            emptied += run_sql(connection, change, new=dumps(new), case_id=case_id, old=body).rowcount
    return emptied


def _manifests(connection: Connection, case_ids: Sequence[str]) -> dict[int, dict[str, Any]]:
    """The manifests of the builds that hold any of these cases."""
    query = "SELECT id, manifest FROM builds WHERE id IN (SELECT build_id FROM build_cases WHERE case_id"
    return {row.id: loads(row.manifest) for row in rows_among(connection, query, case_ids, ")")}


def _tags_without_others(connection: Connection, tags: Sequence[str], entries: Sequence[int]) -> set[str]:
    """List those of the tags that no case beside these entries has."""
    others: Counter[str] = Counter()
    query = "SELECT tag, count(*) FROM eval_dataset_tags WHERE {}"
    for column, values, sign in (("tag", tags, 1), ("dataset_id", entries, -1)):
        for tag, number in rows_among(connection, query.format(column), values, "GROUP BY tag"):
            others[tag] += sign * number
    return {tag for tag in tags if others[tag] <= 0}
