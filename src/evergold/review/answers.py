"""The answer that a reviewer stands behind: by approving a case as it is, by writing it, by saying what the case is."""

from collections.abc import Mapping
from typing import Any

from evergold.model.case import Case, CaseKind, EntryType
from evergold.model.reference import Answer


def approval_of(case: Case) -> Answer | None:
    """The answer that somebody approves who approves the case as it stands; `expected` stays the source's."""
    if case.kind is not CaseKind.CHAT:
        return None
    reference = case.model_copy(update={"approved": None}).reference()
    return None if reference is None else Answer(text=reference.text, tool_calls=reference.tool_calls)


def with_written_answer(case: Case, changes: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, with what they mean for the reference of a correction.

    `expected` of a correction holds the words that corrected, which are no answer; of any other case it is one. So what
    a person writes there becomes the approved answer of a correction, also when the case becomes one by the same click,
    and of a case that has an approved answer already. Words that are no answer go when the case is no correction.
    """
    result = dict(changes)
    was = case.entry_type is EntryType.CORRECTION
    becomes = changes.get("entry_type", case.entry_type) == EntryType.CORRECTION
    written = changes.get("expected")
    if becomes and not was:
        written = written or (case.expected if case.approved in (None, approval_of(case)) else None)
    if written and (becomes or case.approved is not None):
        result.setdefault("approved", {"text": written})
    elif was and not becomes and "expected" not in changes and not _is_answer(case):
        result["expected"] = None
    return result


def without_outdated_approval(draft: Case, before: Case) -> Case:
    """The edited case without an approval of the answer it had before, where the edit gives it another one."""
    outdated = draft.approved is not None and draft.approved == before.approved == approval_of(before)
    if not outdated or approval_of(draft) == draft.approved:
        return draft
    return draft.model_copy(update={"approved": None})


def _is_answer(case: Case) -> bool:
    """Whether the words of a correction are the right answer: sent as one, or written by a person."""
    sent = case.revised is not None and case.revised.trace_id is None and case.revised.text == case.expected
    return sent or (case.approved is not None and case.approved.text == case.expected)
