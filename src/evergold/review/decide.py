"""Derive the verdict on a case from opinions, and apply edits and approvals to it.

An opinion is one reviewer's latest verdict on the case's present content. A case is decided when as many reviewers as it
needs give the same verdict and nobody another; when they differ it is disputed, and one adjudicated opinion settles it.
Nothing here overwrites a colleague: a second verdict is a second opinion, not a replacement.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput, describe_unknown
from evergold.model.case import BOOKKEEPING, Answer, Case, CaseKind, CaseStatus, EntryType, ReviewState
from evergold.model.faults import faults_of
from evergold.model.review import OPINIONS, Opinion, ReviewVerdict, Standing
from evergold.model.values import content_hash
from evergold.store.case.cases import Revision


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


def _is_answer(case: Case) -> bool:
    """Whether the words of a correction are the right answer: sent as one, or written by a person."""
    sent = case.revised is not None and case.revised.trace_id is None and case.revised.text == case.expected
    return sent or (case.approved is not None and case.approved.text == case.expected)


CONFIRMED = ("confirmed", "confirmed_by")


def judged_rev(case: Case) -> str:
    """Identity of what a reviewer judges: the content, without the mark that judging it leaves."""
    # Approving writes the approved answer into the case; the identity must not change by that.
    unmarked = case.model_copy(update={"approved": None}) if case.approved == approval_of(case) else case
    content = unmarked.identity()
    content["metadata"] = {key: value for key, value in content["metadata"].items() if key not in CONFIRMED}
    return content_hash(content)


def list_latest(opinions: Sequence[Opinion], rev: str) -> list[Opinion]:
    """Each reviewer's last word on content `rev`, oldest first. A withdrawn word is no word; reopening voids all."""
    last: dict[str, Opinion] = {}
    # Leave out each reopening that its reviewer withdrew as their next word: the opinions before it hold again.
    kept: list[Opinion] = []
    for opinion in opinions:
        if opinion.verdict is ReviewVerdict.WITHDRAW:
            mine = [at for at, other in enumerate(kept) if other.reviewer == opinion.reviewer]
            if mine and kept[mine[-1]].verdict is ReviewVerdict.REOPEN:
                del kept[mine[-1]]
                continue
        kept.append(opinion)
    for opinion in kept:
        if opinion.rev != rev or opinion.verdict is ReviewVerdict.SKIP:
            continue
        # Removed and added again, so that the order is by each reviewer's latest word.
        last.pop(opinion.reviewer, None)
        if opinion.verdict is ReviewVerdict.REOPEN:
            last.clear()
        elif opinion.verdict is not ReviewVerdict.WITHDRAW:
            last[opinion.reviewer] = opinion
    return list(last.values())


def standing_verdicts(opinions: Sequence[Opinion], rev: str, needed: int) -> Standing:
    """Where the opinions on content `rev` leave the case."""
    if settle_verdicts(opinions, rev, needed):
        return Standing.AGREED
    verdicts = {word.verdict for word in list_latest(opinions, rev)}
    if len(verdicts.intersection(OPINIONS)) > 1:
        return Standing.DISPUTED
    return Standing.SECOND_OPINION if ReviewVerdict.SECOND_OPINION in verdicts else Standing.OPEN


def settle_verdicts(opinions: Sequence[Opinion], rev: str, needed: int) -> ReviewVerdict | None:
    """The verdict that holds, or None while it is open, disputed or waiting for a second opinion."""
    words = list_latest(opinions, rev)
    rulings = [word for word in words if word.adjudicate and word.verdict in OPINIONS]
    # A ruling ends a dispute whatever others said; the newest of several holds.
    if rulings:
        return rulings[-1].verdict
    if any(word.verdict is ReviewVerdict.SECOND_OPINION for word in words):
        # A request for a second opinion raises the bar for this case alone.
        needed = max(needed, 2)
    verdicts = [word.verdict for word in words if word.verdict in OPINIONS]
    return verdicts[0] if len(set(verdicts)) == 1 and len(verdicts) >= needed else None


def apply_verdict(case: Case, verdict: ReviewVerdict | None, reviewer: str) -> Case:
    """The case after the verdict that holds; with none it waits, unvalidated and active."""
    own, metadata = approval_of(case), case.metadata
    if verdict is ReviewVerdict.APPROVE:
        # The case has its reviewer's reference; a golden candidate is confirmed, and says by whom.
        if case.kind is CaseKind.CHAT and case.entry_type is EntryType.GOLDEN and not case.confirmed:
            metadata = {**metadata, "confirmed": True, "confirmed_by": reviewer}
        # A dismissed case that is approved becomes active again.
        changes = {"status": CaseStatus.ACTIVE, "approved": case.approved or own, "metadata": metadata}
        return case.model_copy(update=changes).as_validated()
    # A confirmation that review gave is taken back; one that users' scores gave, and an answer a person wrote, stay.
    if "confirmed_by" in metadata:
        metadata = {key: value for key, value in metadata.items() if key != "confirmed_by"} | {"confirmed": False}
    return case.model_copy(
        update={
            "review": ReviewState.UNVALIDATED,
            "status": CaseStatus.DISMISSED if verdict is ReviewVerdict.DISMISS else CaseStatus.ACTIVE,
            "approved": None if case.approved == own else case.approved,
            "metadata": metadata,
        }
    )


def check_reviewable(case: Case) -> None:
    """A case erased on request, or withdrawn by its policy, is not for people to bring back by a click."""
    if case.status in (CaseStatus.ERASED, CaseStatus.WITHDRAWN):
        raise BadInput(f"case {case.id!r} of {case.dataset!r} is {case.status.value}; it can no longer be reviewed")


FIXED = frozenset({"id", "dataset", "kind", "provenance"}) | BOOKKEEPING
EDITABLE = tuple(name for name in Case.model_fields if name not in FIXED)

# Facts that were derived from a commit; they are no longer known once another commit is written in.
DERIVED_FROM_COMMIT = ("baseVerified", "baseOverride")


def edit_case(case: Case, changes: Mapping[str, Any]) -> Case:
    """The case with `changes`; a validated case becomes unvalidated, because the verdict was on other content."""
    for name in changes:
        if name not in EDITABLE:
            raise BadInput(describe_unknown("field to edit", name, EDITABLE))
    try:
        # Validated anew from plain values: `model_copy` would accept anything.
        updates = with_written_answer(case, changes)
        draft = Case.model_validate(case.model_dump() | updates)
    except ValidationError as problem:
        faults = [str(fault) for fault in faults_of(problem.errors(include_url=False), Case)]
        raise BadInput(f"case {case.id!r} cannot be saved: {faults[0]}", problems=faults) from problem
    # An approval of the answer the case had before goes where the edit gives it another one.
    outdated = "approved" not in updates and draft.approved is not None
    if outdated and draft.approved == case.approved == approval_of(case) != approval_of(draft):
        draft = draft.model_copy(update={"approved": None})
    if draft.base_commit != case.base_commit:
        extra = {key: value for key, value in draft.extra.items() if key not in DERIVED_FROM_COMMIT}
        draft = draft.model_copy(update={"extra": extra})
    if draft.rev() == case.rev():
        return case
    return draft.model_copy(update={"review": ReviewState.UNVALIDATED})


def merge_changes(revisions: Sequence[Revision], first: int, last: int) -> dict[str, dict[str, Any]]:
    """What changed from version `first` to version `last`: each field with its value then and its value after."""
    results: dict[str, dict[str, Any]] = {}
    for revision in revisions:
        if first < revision.version <= last:
            for name, change in revision.changes.items():
                # The first old value and the last new one; a field that returned to its beginning is left out below.
                results[name] = {"old": results.get(name, change)["old"], "new": change["new"]}
    return {name: change for name, change in results.items() if change["old"] != change["new"]}
