"""Edits of a case: which fields a reviewer may change, what a change makes untrue, and how two revisions differ."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pydantic import ValidationError

from evergold.errors import BadInput, unknown
from evergold.model.case import BOOKKEEPING, Case, ReviewState
from evergold.model.faults import faults_of
from evergold.review.answers import with_written_answer, without_outdated_approval

FIXED = frozenset({"id", "dataset", "kind", "provenance"}) | BOOKKEEPING
EDITABLE = tuple(name for name in Case.model_fields if name not in FIXED)

# Facts that were derived from a commit; they are no longer known once another commit is written in.
DERIVED_FROM_COMMIT = ("baseVerified", "baseOverride")


class EditedCase(Protocol):
    """A revision, as far as its difference is concerned."""

    @property
    def version(self) -> int: ...

    @property
    def changes(self) -> dict[str, Any]: ...


def edited(case: Case, changes: Mapping[str, Any]) -> Case:
    """The case with `changes`; a validated case becomes unvalidated, because the verdict was on other content."""
    for name in changes:
        if name not in EDITABLE:
            raise BadInput(unknown("field to edit", name, EDITABLE))
    try:
        # Validated anew from plain values: `model_copy` would accept anything.
        updates = with_written_answer(case, changes)
        draft = Case.model_validate(case.model_dump() | updates)
    except ValidationError as problem:
        raise BadInput(f"case {case.id!r} cannot be saved: {_first(problem)}", problems=_all(problem)) from problem
    if "approved" not in updates:
        draft = without_outdated_approval(draft, case)
    if draft.base_commit != case.base_commit:
        extra = {key: value for key, value in draft.extra.items() if key not in DERIVED_FROM_COMMIT}
        draft = draft.model_copy(update={"extra": extra})
    if draft.rev() == case.rev():
        return case
    return draft.model_copy(update={"review": ReviewState.UNVALIDATED})


def between(revisions: Sequence[EditedCase], first: int, last: int) -> dict[str, dict[str, Any]]:
    """What changed from version `first` to version `last`: each field with its value then and its value after."""
    results: dict[str, dict[str, Any]] = {}
    for revision in revisions:
        if first < revision.version <= last:
            for name, change in revision.changes.items():
                # The first old value and the last new one; a field that returned to its beginning is left out below.
                results[name] = {"old": results.get(name, change)["old"], "new": change["new"]}
    return {name: change for name, change in results.items() if change["old"] != change["new"]}


def _all(problem: ValidationError) -> list[str]:
    return [str(fault) for fault in faults_of(problem.errors(include_url=False), Case)]


def _first(problem: ValidationError) -> str:
    return _all(problem)[0]
