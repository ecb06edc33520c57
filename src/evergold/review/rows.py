"""Rows of dataset A and B from a browser session into the store, as its reviewer left them, and out of it again.

A row's content is an edit of the version the session last saw; its mark "validated" is that reviewer's approval, so a
workspace that asks for two opinions still asks for the second. A case that others changed meanwhile is kept and named.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Connection

from evergold.errors import BadInput
from evergold.formats.dataset_ab import case_of_rows, row_a, row_b
from evergold.model.access import Holder
from evergold.model.case import Case, CaseKind, CaseStatus, ReviewState
from evergold.model.review import Decision, ReviewVerdict, RowsTaken, VersionedKey
from evergold.review.desk import decide_many, overrule, voided_by
from evergold.store.case.cases import held_cases, revisions_of
from evergold.store.case.writes import Author, put_cases

SENT = "sent from the validator"
BY_PEOPLE = frozenset({"edited", *ReviewVerdict})
Row = dict[str, Any]
Held = Mapping[tuple[str, str], tuple[int, Case]]


@dataclass(frozen=True)
class Sender:
    """Who sends rows, how many reviewers a case needs, which versions the session saw, and whether it insists."""

    by: Holder
    needed: int = 1
    seen: Mapping[str, int] = field(default_factory=dict)
    replace: bool = False


def take_cases(connection: Connection, cases: Sequence[Case], sender: Sender) -> RowsTaken:
    """Put the cases in and record the sender's approvals, in one transaction."""
    held = _held_rows(connection, cases)
    taken = RowsTaken()
    wanted: list[Case] = []
    for case in cases:
        # Decided before anything is written: putting one case does not move another.
        if not sender.replace and _is_of_others(connection, case, held, sender):
            taken.kept.append(case.id)
        else:
            wanted.append(case)
            if (case.dataset, case.id) in held:
                present = held[case.dataset, case.id][1]
                overrule(connection, sender.by, "replaced", present, voided_by(connection, present, case))
    for action in ("imported", "edited"):
        group = [case for case in wanted if (case.id in sender.seen) is (action == "edited")]
        author = Author(who=sender.by.name, action=action, why=SENT, reviewer=True)
        put_cases(connection, [_draft(case, held) for case in group], author)
    for verdict, keys in _verdicts(connection, wanted, sender.seen).items():
        decision = Decision(version=1, verdict=verdict)
        for result in decide_many(connection, keys, decision, sender.by, sender.needed):
            if result.error is not None:
                taken.problems.append(f"case {result.id!r}: cannot {verdict.value}: {result.error}")
    for key, (_, case) in _held_rows(connection, wanted).items():
        taken.versions[case.id] = case.version
        if key not in held:
            taken.added += 1
        elif held[key][1].version == case.version:
            taken.unchanged += 1
        else:
            taken.changed += 1
    return taken


def _held_rows(connection: Connection, cases: Sequence[Case]) -> Held:
    return held_cases(connection, [(case.dataset, case.id) for case in cases]) if cases else {}


def _is_of_others(connection: Connection, case: Case, held: Held, sender: Sender) -> bool:
    """Whether others changed the case since the sender saw it, or their verdict holds for it."""
    if (case.dataset, case.id) not in held:
        return False
    me, present = sender.by.name, held[case.dataset, case.id][1]
    if not sender.by.moderates and set(voided_by(connection, present, case)) - {me}:
        return True
    if case.id in sender.seen:
        # The same content and mark may be sent again from an old version: nothing would be lost.
        differs = present.rev() != case.rev() or present.review is not case.review
        return differs and present.version != sender.seen[case.id]
    # A session that saw no version may update what programs wrote and what it sent itself, not what people did.
    touched = any(
        revision.action in BY_PEOPLE or (revision.why == SENT and revision.who != me)
        for revision in revisions_of(connection, case.dataset, case.id)
    )
    return touched and present.rev() != case.rev()


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
    present = _held_rows(connection, cases)
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


def cases_of_rows(rows: Sequence[Row], dataset: str) -> tuple[list[Case], list[str]]:
    """The cases that rows of either dataset describe, and what was wrong with the others, by position."""
    pairs: dict[str, dict[str, Row]] = {}
    problems: list[str] = []
    for number, row in enumerate(rows, 1):
        # The two datasets share no schema; the list each of them has tells which one a row is of.
        half = "a" if "filePaths" in row else "b" if "lineRanges" in row else None
        case_id = row.get("caseId")
        if half is None or not isinstance(case_id, str) or not case_id.strip():
            problems.append(f"row {number}: needs caseId, and filePaths (dataset A) or lineRanges (dataset B)")
        elif half in pairs.setdefault(case_id, {}):
            problems.append(f"row {number}: case {case_id!r} has a row of dataset {half.upper()} already")
        else:
            pairs[case_id][half] = row
    results: list[Case] = []
    for case_id, pair in pairs.items():
        try:
            results.append(case_of_rows(pair.get("a"), pair.get("b")).model_copy(update={"dataset": dataset}))
        # Rows come from a browser or a file that a person edited: anything may be missing or of another type.
        except (BadInput, ValidationError, TypeError, KeyError) as problem:
            problems.append(f"case {case_id!r}: {str(problem).splitlines()[0]}")
    return results, problems


def every_row_of(cases: Iterable[Case]) -> dict[str, Any]:
    """All context cases as rows of A and B, and the version of each: what another browser goes on from."""
    return _rows([case for case in cases if case.kind is CaseKind.CONTEXT and case.status is CaseStatus.ACTIVE], [])


def rows_of_cases(cases: Iterable[Case]) -> dict[str, Any]:
    """Validated, complete cases as rows of A and B; every other context case with what it lacks."""
    whole: list[Case] = []
    left_out: list[Row] = []
    for case in cases:
        if case.kind is CaseKind.CONTEXT:
            lacks = list(case.list_missing()) or ([] if case.review is ReviewState.VALIDATED else ["validation"])
            if lacks:
                left_out.append({"id": case.id, "lacks": lacks})
            else:
                whole.append(case)
    return _rows(whole, left_out)


def _rows(cases: list[Case], left_out: list[Row]) -> dict[str, Any]:
    versions = {case.id: case.version for case in cases}
    return {"a": [*map(row_a, cases)], "b": [*map(row_b, cases)], "left_out": left_out, "versions": versions}
