"""What references rest on, in the tables: recorded with each version of a case, and compared with what traces bring."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import starmap
from typing import Any, NamedTuple

from sqlalchemy import Connection

from evergold.conversation import conversation_of
from evergold.model.case import Case, Conversation
from evergold.model.trace import Trace
from evergold.store.case.cases import held_cases
from evergold.store.database.rows import insert_new, rows_among, run_for_each, run_sql
from evergold.store.schema import TIER, case_bases
from evergold.store.trace.traces import Sessions, traces_with_spans

OPEN = "open"
COLUMNS = [*case_bases.columns.keys()]
CHOSEN = ", ".join(f"b.{name}" for name in COLUMNS)
UNRECORDED = """SELECT e.dataset, e.case_id, e.id, e.version, t.seq,
    coalesce((SELECT max(r.created_at) FROM case_reviews r
      WHERE r.entry_id = e.id AND r.verdict = 'approve' AND e.review = 'validated'), t.started_at, e.created_at),
    coalesce(t.started_at, e.created_at)
    FROM eval_dataset e LEFT JOIN traces t ON t.id = e.trace_id
    LEFT JOIN case_bases b ON b.entry_id = e.id AND b.number = 0
    WHERE e.status = 'active' AND (:entry = 0 OR e.id = :entry) AND (b.version IS NULL OR b.version <> e.version)
    ORDER BY e.id LIMIT :most"""


@dataclass
class BasisRow:
    """One thing that a reference rests on, and what came instead of it."""

    entry_id: int
    number: int
    kind: str
    name: str
    key: str
    hash: str
    version: int
    seen_at: str
    state: str = ""
    now_hash: str = ""
    now_trace: str | None = None
    now_entry: int | None = None
    changed_at: str = ""
    model: str = ""
    prompt_version: str = ""


class UnrecordedCase(NamedTuple):
    """A case whose present version has no basis yet: when its answer was confirmed or given, and when its evidence came.

    `facts` has the model and the prompt of the trace that gave the answer.
    """

    case: Case
    entry_id: int
    seq: int | None
    since: str
    came_at: str
    facts: Mapping[str, Any]


def take_unrecorded(connection: Connection, most: int, entry: int = 0) -> list[UnrecordedCase]:
    """Read some cases whose basis is not recorded, of all or of one entry."""
    rows = run_sql(connection, UNRECORDED, most=most, entry=entry).all()
    cases = held_cases(connection, [(row[0], row[1]) for row in rows])
    revised = {one.revised.trace_id for _, one in cases.values() if one.revised and one.revised.trace_id}
    facts = {trace.id: conversation.parameters for trace, conversation in conversations_of(connection, revised)}
    results = []
    for dataset, case_id, entry_id, _, seq, since, came_at in rows:
        if (dataset, case_id) in cases:
            case = cases[dataset, case_id][1]
            stated = facts.get(case.revised.trace_id or "", {}) if case.revised else case.metadata
            results.append(UnrecordedCase(case, entry_id, seq, since, came_at, stated))
    return results


BASES = f"""SELECT {CHOSEN} FROM case_bases b JOIN eval_dataset ON eval_dataset.id = b.entry_id
    WHERE eval_dataset.status = 'active'"""
IN_ORDER = "ORDER BY b.entry_id, b.number"


def bases_of_entry(connection: Connection, entry: int) -> list[BasisRow]:
    """Read what an active case rests on."""
    query = f"{BASES} AND b.entry_id = :entry {IN_ORDER}"
    return [BasisRow(*row) for row in run_sql(connection, query, entry=entry)]


def open_bases(connection: Connection, entry: int | None = None) -> list[BasisRow]:
    """Read what changed and nobody has decided on, of all active cases or of one."""
    query = f"{BASES} AND b.state = 'open' AND (:entry = 0 OR b.entry_id = :entry) {IN_ORDER}"
    return [BasisRow(*row) for row in run_sql(connection, query, entry=entry or 0)]


def rests_on_evidence(connection: Connection) -> bool:
    """Whether any case rests on a document or a tool's result."""
    return run_sql(connection, "SELECT 1 FROM case_bases WHERE kind <> 'answer' LIMIT 1").first() is not None


def bases_by_key(connection: Connection, keys: Iterable[str]) -> dict[str, list[BasisRow]]:
    """Read the documents and results of these keys that active cases rest on."""
    held: defaultdict[str, list[BasisRow]] = defaultdict(list)
    for row in starmap(BasisRow, rows_among(connection, f"{BASES} AND b.kind <> 'answer' AND b.key", keys, IN_ORDER)):
        held[row.key].append(row)
    return held


def confirmed_answers(connection: Connection, keys: Iterable[str]) -> list[tuple[BasisRow, bool]]:
    """Read the answers to these questions that active cases hold, and whether a person or a user confirmed each."""
    query = f"""SELECT {CHOSEN}, ({TIER}) = 'confirmed' OR eval_dataset.review = 'validated' FROM case_bases b
        JOIN eval_dataset ON eval_dataset.id = b.entry_id WHERE eval_dataset.status = 'active' AND b.kind = 'answer' AND b.key"""
    return [(BasisRow(*row[:-1]), bool(row[-1])) for row in rows_among(connection, query, keys)]


def replace_bases(connection: Connection, entry_id: int, rows: Sequence[BasisRow]) -> None:
    """Record what a case rests on now."""
    run_sql(connection, "DELETE FROM case_bases WHERE entry_id = :entry", entry=entry_id)
    insert_new(connection, case_bases, [vars(row) for row in rows])


def change_bases(connection: Connection, rows: Iterable[BasisRow]) -> None:
    """Write what came instead, and flag the cases for review; a case that somebody deleted meanwhile is left out."""
    listed = [vars(row) for row in rows]
    assigned = ", ".join(f"{name} = :{name}" for name in COLUMNS[7:] if name != "now_trace")
    # A trace that was deleted meanwhile is not cited.
    cited = "now_trace = (SELECT id FROM traces WHERE id = :now_trace)"
    same = "entry_id = :entry_id AND number = :number AND hash = :hash"
    run_for_each(connection, f"UPDATE case_bases SET {assigned}, {cited} WHERE {same}", listed)
    flag_entries(connection, {row["entry_id"] for row in listed})


def flag_entries(connection: Connection, entries: Collection[int]) -> None:
    """Ask reviewers of cases that rest on something changed; ask no more where nothing is open."""
    for entry in entries:
        opened = open_bases(connection, entry)
        question = f"stale:{because_of(opened[0])}" if opened else ""
        ask = "UPDATE eval_dataset SET question = :question WHERE id = :entry AND question <> :question AND "
        condition = "(question = '' OR question LIKE 'stale:%')" if opened else "question LIKE 'stale:%'"
        run_sql(connection, ask + condition, question=question, entry=entry)


def because_of(row: BasisRow) -> str:
    """Name the change in a sentence."""
    if row.kind == "document":
        return f"the document {row.name} changed" if row.name else "a passage that it rests on changed"
    if row.kind == "tool":
        return f"the tool {row.name} gave another result for the same arguments"
    return "a confirmed answer to the same question differs"


def settle_entry(connection: Connection, entry_id: int, state: str) -> int:
    """Note what a person decided of everything that is open on a case; how much there was."""
    settle = "UPDATE case_bases SET state = :state WHERE entry_id = :entry AND state = 'open'"
    count = run_sql(connection, settle, state=state, entry=entry_id).rowcount
    flag_entries(connection, [entry_id])
    return count


def traces_after(connection: Connection, after: int, settled: str, most: int) -> list[tuple[int, str]]:
    """List traces that have arrived whole after one, by number."""
    query = """SELECT seq, id FROM traces WHERE seq > :after AND (content_hash IS NOT NULL OR received_at < :settled)
        ORDER BY seq LIMIT :most"""
    return [(row[0], row[1]) for row in run_sql(connection, query, after=after, settled=settled, most=most)]


def conversations_of(connection: Connection, trace_ids: Collection[str]) -> list[tuple[Trace, Conversation]]:
    traces = traces_with_spans(connection, trace_ids)
    sessions = Sessions(connection, traces.values())
    return [(one, conversation_of(one, sessions.list_before, sessions.called_before)) for one in traces.values()]


def cases_of_entries(connection: Connection, entries: Iterable[int]) -> dict[int, Case]:
    rows = rows_among(connection, "SELECT dataset, case_id FROM eval_dataset WHERE id", entries)
    return dict(held_cases(connection, [(row[0], row[1]) for row in rows]).values())
