"""Cases into the store. Every change is an appended revision; an unchanged case changes nothing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from evergold.errors import Conflict, NotFound
from evergold.model.case import Case, ReviewState, TierEvidence, is_blank
from evergold.store.case.cases import entry_ids, get_case, held_cases
from evergold.store.case.content import own_content, row_of, store_items
from evergold.store.database.rows import batches, dumps, insert_new, now, stamp
from evergold.store.schema import case_revisions, eval_dataset, eval_dataset_tags
from evergold.store.trace.traces import known_traces


@dataclass(frozen=True)
class Author:
    """Who changes a case, doing what, and why."""

    who: str = "system"
    action: str = "imported"
    why: str = ""
    evidence: Mapping[str, Any] = field(default_factory=dict)
    reviewer: bool = False


JUDGED_FIELDS = [
    "input",
    "output",
    "expected",
    "expected_tools",
    "tests",
    "assertions",
    "tool_calls",
    "messages",
    "turn",
    "approved",
    "revised",
]


@dataclass
class PutResult:
    added: int = 0
    changed: int = 0
    unchanged: int = 0

    def add(self, other: "PutResult") -> None:
        self.added += other.added
        self.changed += other.changed
        self.unchanged += other.unchanged


def put_cases(connection: Connection, cases: Iterable[Case], author: Author) -> PutResult:
    """Insert new cases and revise changed ones; by `(dataset, id)`, whatever their number."""
    result = PutResult()
    for batch in batches(cases):
        # A file may hold one case twice; the later line counts.
        latest = {(case.dataset, case.id): case for case in batch}
        held = held_cases(connection, list(latest))
        fresh = [case for key, case in latest.items() if key not in held]
        changed = [(key, old) for key, (_, old) in held.items() if changes_between(old, latest[key])]
        _insert(connection, fresh, author)
        for key, old in changed:
            _revise(connection, held[key][0], old, latest[key], author)
        result.added += len(fresh)
        result.changed += len(changed)
        result.unchanged += len(latest) - len(fresh) - len(changed)
    return result


def revise_case(connection: Connection, case: Case, author: Author, expected_version: int | None = None) -> Case:
    """Store `case` over the one it came from; a version that moved on meanwhile is a conflict, never overwritten."""
    held = held_cases(connection, [(case.dataset, case.id)])
    if not held:
        raise NotFound(f"no case {case.id!r} in dataset {case.dataset!r}")
    entry_id, old = held[case.dataset, case.id]
    if expected_version is not None and old.version != expected_version:
        raise Conflict(
            f"case {case.id!r} is at version {old.version}, not {expected_version}: somebody changed it; "
            "load it again and repeat your change"
        )
    if changes_between(old, case):
        _revise(connection, entry_id, old, case, author)
    return get_case(connection, case.dataset, case.id)


def changes_between(old: Case, new: Case) -> dict[str, Any]:
    """Field by field, before and after; times and the version itself are no change."""
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    skipped = {"version", "created_at", "updated_at", "evidence"}
    return {
        name: {"old": before[name], "new": after[name]}
        for name in before
        if name not in skipped and before[name] != after[name]
    }


def _insert(connection: Connection, cases: Sequence[Case], author: Author) -> None:
    if not cases:
        return
    moment = now()
    rows = [
        row | {"version": 1, "created_at": stamp(case.created_at) or moment, "updated_at": moment}
        for case, row in zip(cases, _rows(connection, cases), strict=True)
    ]
    connection.execute(insert(eval_dataset), rows)
    # Read back instead of RETURNING: the order of returned rows is not promised for an insert of many.
    entries = entry_ids(connection, [(case.dataset, case.id) for case in cases])
    revisions = [_revision(entries[case.dataset, case.id], case, 1, author, moment) for case in cases]
    connection.execute(insert(case_revisions), revisions)
    tags = [{"dataset_id": entries[case.dataset, case.id], "tag": tag} for case in cases for tag in set(case.tags)]
    insert_new(connection, eval_dataset_tags, tags)


def _revision(entry: int, case: Case, version: int, author: Author, moment: str) -> dict[str, Any]:
    return {
        "entry_id": entry,
        "version": version,
        "rev": case.rev(),
        "action": author.action,
        "who": author.who,
        "why": author.why,
        "evidence": dumps(dict(author.evidence)),
        "created_at": moment,
    }


def _rows(connection: Connection, cases: Sequence[Case]) -> list[dict[str, Any]]:
    """The columns of cases, their contents included where they have their own."""
    cited = known_traces(connection, {case.provenance.trace_id for case in cases if case.provenance.trace_id})
    contents = store_items(connection, [own_content(case) for case in cases])
    rows = [row_of(case, cited) | {"content": content} for case, content in zip(cases, contents, strict=True)]
    return [row if row["own_content"] else row | {"content": None} for row in rows]


def _is_rewritten(old: Case, new: Case) -> bool:
    """Whether a validated case says something else now. A field that was empty before was not what somebody validated."""
    if old.review is not ReviewState.VALIDATED or new.review is not ReviewState.VALIDATED:
        return False
    # Tags, metadata and the like may change without asking a reviewer again.
    pairs = ((getattr(old, name), getattr(new, name)) for name in JUDGED_FIELDS)
    return any(before != after for before, after in pairs if not is_blank(before))


def _revise(connection: Connection, entry_id: int, old: Case, new: Case, author: Author) -> None:
    version, moment = old.version + 1, now()
    # A validated case that an import rewrites is unvalidated again: nobody has seen the new text.
    if not author.reviewer and _is_rewritten(old, new):
        new = new.model_copy(update={"review": ReviewState.UNVALIDATED})
    # A case that states nothing new rests on what it did: `old` shows a reviewer's word, which may be taken back.
    if new.evidence in (old.evidence, TierEvidence.SOURCE):
        stored = select(eval_dataset.c.evidence).where(eval_dataset.c.id == entry_id)
        new = new.model_copy(update={"evidence": TierEvidence(connection.execute(stored).scalar_one())})
    (columns,) = _rows(connection, [new])
    row = columns | {"version": version, "updated_at": moment}
    # The version in the condition makes this safe against a writer that read the same version (PostgreSQL).
    same = (eval_dataset.c.id == entry_id) & (eval_dataset.c.version == old.version)
    if connection.execute(update(eval_dataset).where(same).values(row)).rowcount != 1:
        raise Conflict(f"case {new.id!r} was changed by somebody else; load it again and repeat your change")
    revision = _revision(entry_id, new, version, author, moment)
    connection.execute(insert(case_revisions), revision | {"changes": dumps(changes_between(old, new))})
    if set(old.tags) != set(new.tags):
        connection.execute(delete(eval_dataset_tags).where(eval_dataset_tags.c.dataset_id == entry_id))
        tags = [{"dataset_id": entry_id, "tag": tag} for tag in sorted(set(new.tags))]
        insert_new(connection, eval_dataset_tags, tags)
