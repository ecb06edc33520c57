"""Edits of a case: which fields a reviewer may change, what a change makes untrue, and how two revisions differ."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput, unknown
from evergold.model.case import BOOKKEEPING, Case, ReviewState

FIXED = frozenset({"id", "dataset", "kind", "provenance"}) | BOOKKEEPING
EDITABLE = tuple(name for name in Case.model_fields if name not in FIXED)

# Facts that were derived from a commit; they are no longer known once another commit is written in.
DERIVED_FROM_COMMIT = ("baseVerified",)


def edited(case: Case, changes: Mapping[str, Any]) -> Case:
    """The case with `changes`; a validated case becomes unvalidated, because the verdict was on other content."""
    for name in changes:
        if name not in EDITABLE:
            raise BadInput(unknown("field to edit", name, EDITABLE))
    try:
        draft = Case.model_validate(case.model_dump() | dict(changes))
    except ValidationError as problem:
        raise BadInput(f"case {case.id!r} cannot be saved: {_first(problem)}", problems=_all(problem)) from problem
    if draft.base_commit != case.base_commit:
        extra = {key: value for key, value in draft.extra.items() if key not in DERIVED_FROM_COMMIT}
        draft = draft.model_copy(update={"extra": extra})
    if draft.rev() == case.rev():
        return case
    return draft.model_copy(update={"review": ReviewState.UNVALIDATED})


def difference(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Fields that differ, each as `{"from": …, "to": …}`."""
    names = [name for name in after if before.get(name) != after[name]] + [name for name in before if name not in after]
    return {name: {"from": before.get(name), "to": after.get(name)} for name in names}


def corrected(case: Case, expected: str) -> dict[str, Any]:
    """The changes that turn a failure into a corrected case: the bad reply stays as output, the right one is expected."""
    if not expected.strip():
        raise BadInput(f"case {case.id!r}: write the expected answer before making it a correction")
    return {"entry_type": "correction", "expected": expected}


def _all(problem: ValidationError) -> list[str]:
    return [f"{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in problem.errors()]


def _first(problem: ValidationError) -> str:
    return _all(problem)[0]
