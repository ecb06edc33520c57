"""Check rows of dataset A and B by the rules of the validator's export, and store those that a browser session sends.

A row's content is an edit of the version the session last saw; its mark "validated" is that reviewer's approval, so a
workspace that asks for two opinions still asks for the second. A case that others changed meanwhile is kept and named.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection

from evergold.model.case import Case, ReviewState
from evergold.model.flow import Evidence
from evergold.model.review import Decision, ReviewVerdict, VersionedKey
from evergold.review.desk import decide_many
from evergold.store.case.cases import held_cases, revisions_of
from evergold.store.case.writes import Author, put_cases

NEEDS = ("needsQuery", "needsBaseCommit")
COMMIT = re.compile(r"[0-9a-f]{7,64}", re.IGNORECASE)


def row_faults(row: dict[str, Any]) -> Iterator[str]:
    """Every fault of a row, each naming its field."""
    for name in NEEDS:
        if name in row:
            yield f"{name} is present: the row is not validated"
    if not _is_text(row.get("query")):
        yield "query is empty"
    # Abbreviated hashes are allowed from seven digits, git's own minimum for display.
    if not isinstance(row.get("baseCommit"), str) or not COMMIT.fullmatch(row["baseCommit"]):
        yield "baseCommit is not a commit hash (7 to 64 hex digits)"
    lists = [name for name in ("filePaths", "lineRanges") if name in row]
    if len(lists) != 1:
        yield "a row has filePaths (dataset A) or lineRanges (dataset B)"
        return
    entries = row[lists[0]]
    if not isinstance(entries, list):
        yield f"{lists[0]} is not a list"
        return
    if not entries and lists[0] == "filePaths":
        yield "filePaths is empty"
    for number, entry in enumerate(entries):
        for fault in _entry_faults(entry, lists[0]):
            yield f"{lists[0]}[{number}] {fault}"


def _entry_faults(entry: Any, name: str) -> Iterator[str]:
    if not isinstance(entry, dict):
        yield "is not an object"
        return
    path = entry.get("path")
    if not isinstance(path, str) or not path.strip() or path.startswith("/") or ".." in path.split("/"):
        yield f"has no path inside the repository: {path!r}"
    sources = entry.get("sources")
    if not isinstance(sources, list) or not sources or not all(_is_text(source) for source in sources):
        yield "has no sources"
    if name == "lineRanges":
        start, end = entry.get("startLine"), entry.get("endLine")
        # `True` is an integer in Python, hence the exact type.
        if type(start) is not int or type(end) is not int or not 1 <= start <= end:
            yield f"has lines {start!r} to {end!r}"


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value.strip() != ""


BY_PEOPLE = frozenset({"edited", *ReviewVerdict})
Held = Mapping[tuple[str, str], tuple[int, Case]]


@dataclass(frozen=True)
class Sender:
    """Who sends rows, how many reviewers a case needs, which versions the session saw, and whether it insists."""

    reviewer: str
    needed: int = 1
    seen: Mapping[str, int] = field(default_factory=dict)
    replace: bool = False


@dataclass
class Taken:
    """What became of the cases; `kept` names those left as others made them, `versions` where the rest stand."""

    added: int = 0
    changed: int = 0
    unchanged: int = 0
    kept: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    versions: dict[str, int] = field(default_factory=dict)


def take_cases(connection: Connection, cases: Sequence[Case], sender: Sender) -> Taken:
    """Put the cases in and record the sender's approvals, in one transaction."""
    held = _held(connection, cases)
    taken = Taken()
    wanted: list[Case] = []
    for case in cases:
        # Decided before anything is written: putting one case does not move another.
        if _moved_on(connection, case, held, sender):
            taken.kept.append(case.id)
        else:
            wanted.append(case)
    for action, group in _by_action(wanted, sender.seen).items():
        author = Author(who=sender.reviewer, action=action, why="sent from the validator", reviewer=True)
        put_cases(connection, [_draft(case, held) for case in group], author)
    for verdict, keys in _verdicts(connection, wanted, sender.seen).items():
        decision = Decision(version=1, verdict=verdict)
        for result in decide_many(connection, keys, decision, sender.reviewer, sender.needed):
            if result["error"] is not None:
                taken.problems.append(f"case {result['id']!r}: cannot {verdict.value}: {result['error']}")
    _count(connection, wanted, held, taken)
    return taken


def _held(connection: Connection, cases: Sequence[Case]) -> Held:
    return held_cases(connection, [(case.dataset, case.id) for case in cases]) if cases else {}


def _moved_on(connection: Connection, case: Case, held: Held, sender: Sender) -> bool:
    if sender.replace or (case.dataset, case.id) not in held:
        return False
    present = held[case.dataset, case.id][1]
    if case.id in sender.seen:
        # The same content and mark may be sent again from an old version: nothing would be lost.
        differs = present.rev() != case.rev() or present.review is not case.review
        return differs and present.version != sender.seen[case.id]
    # A session that saw no version may update what programs wrote, not what people did.
    touched = any(revision.action in BY_PEOPLE for revision in revisions_of(connection, case.dataset, case.id))
    return touched and present.rev() != case.rev()


def _by_action(cases: Sequence[Case], seen: Mapping[str, int]) -> dict[str, list[Case]]:
    groups: dict[str, list[Case]] = {"imported": [], "edited": []}
    for case in cases:
        groups["edited" if case.id in seen else "imported"].append(case)
    return groups


def _draft(case: Case, held: Held) -> Case:
    """The case without a verdict of its own: unchanged content keeps the one it has, other content has none yet."""
    present = held.get((case.dataset, case.id))
    same = present is not None and present[1].rev() == case.rev()
    # Content that did not change keeps its verdict; putting it must not reset the review.
    return case.model_copy(update={"review": present[1].review if present and same else ReviewState.UNVALIDATED})


def _verdicts(
    connection: Connection, cases: Sequence[Case], seen: Mapping[str, int]
) -> dict[ReviewVerdict, list[VersionedKey]]:
    """An approval for each case marked validated that is not, a withdrawal where a mark this session saw is gone."""
    # Read again: putting has changed versions, and verdicts are given on the present one.
    present = _held(connection, cases)
    results: dict[ReviewVerdict, list[VersionedKey]] = {ReviewVerdict.APPROVE: [], ReviewVerdict.WITHDRAW: []}
    for case in cases:
        _, now = present[case.dataset, case.id]
        if now.review is case.review:
            continue
        key = VersionedKey(dataset=case.dataset, id=case.id, version=now.version)
        if case.review is ReviewState.VALIDATED:
            results[ReviewVerdict.APPROVE].append(key)
        elif case.id in seen:
            results[ReviewVerdict.WITHDRAW].append(key)
    return results


def _count(connection: Connection, cases: Sequence[Case], before: Held, taken: Taken) -> None:
    for key, (_, case) in _held(connection, cases).items():
        taken.versions[case.id] = case.version
        if key not in before:
            taken.added += 1
        elif before[key][1].version == case.version:
            taken.unchanged += 1
        else:
            taken.changed += 1


def of_row(kept: Mapping[str, Any]) -> Evidence | None:
    """What the row carries, where it is of our shape; another tool's key of that name is not ours to read."""
    body = kept.get("evidence")
    if not isinstance(body, dict):
        return None
    try:
        return Evidence.model_validate({name: body[name] for name in Evidence.model_fields if name in body})
    except ValidationError:
        return None
