"""The reviewer's desk: claim, edit, decide. Each function is one transaction, on the version the reviewer saw.

Two reviewers on one case never overwrite each other: an edit or verdict on a version that has moved on is a conflict,
and verdicts of two people stand beside each other until they agree or somebody adjudicates.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection

from evergold.errors import Conflict, EvergoldError
from evergold.model.access import Holder
from evergold.model.case import Case, CaseStatus, EntryType, ReviewState
from evergold.model.review import (
    OPINIONS,
    AssignmentState,
    BulkResult,
    CaseFile,
    CaseKey,
    Decision,
    Edit,
    HistoryEntry,
    Opinion,
    QueueQuery,
    ReviewVerdict,
    VersionedKey,
)
from evergold.review.decide import (
    apply_verdict,
    check_reviewable,
    edit_case,
    judged_rev,
    list_latest,
    settle_verdicts,
    standing_verdicts,
)
from evergold.review.questions import check_answered
from evergold.store.case import reviews
from evergold.store.case.cases import get_case, revisions_of
from evergold.store.case.questions import answers_on, questionnaire_of
from evergold.store.case.writes import Author, revise_case
from evergold.store.facts import record_moderation
from evergold.store.verdict.corrections import set_correction_dismissed, set_decided


def case_file(connection: Connection, key: CaseKey, needed: int) -> CaseFile:
    """Everything about one case, with its history of revisions and opinions in the order in which they happened."""
    held = get_case(connection, key.dataset, key.id)
    opinions = reviews.opinions_in(connection, key.dataset, key.id)
    revisions = revisions_of(connection, key.dataset, key.id)
    recorded = {(revision.version, revision.who, revision.action) for revision in revisions}
    names = ("at", "who", "what", "why", "version", "changes")
    rows: list[tuple[Any, ...]] = [(r.created_at, r.who, r.action, r.why, r.version, r.changes) for r in revisions]
    rows += [
        (opinion.created_at, opinion.reviewer, opinion.verdict.value, opinion.comment, opinion.version, {})
        for opinion in opinions
        # A verdict that changed the case is in the history as its revision already.
        if (opinion.version, opinion.reviewer, opinion.verdict.value) not in recorded
    ]
    entries = [HistoryEntry.model_validate(dict(zip(names, row, strict=True))) for row in rows]
    # By version first: servers whose clocks differ would put entries of one case into another order.
    return CaseFile(
        case=held,
        rev=held.rev(),
        missing=held.list_missing(),
        standing=standing_verdicts(opinions, judged_rev(held), needed),
        decided_by=deciders_of(held, opinions),
        opinions=tuple(opinions),
        assignments=tuple(reviews.assignments_of(connection, key)),
        history=tuple(sorted(entries, key=lambda entry: (entry.version, entry.at))),
        needs_look=reviews.open_question(connection, key.dataset, key.id),
        questions=questionnaire_of(connection, key.dataset).questions,
        answers=tuple(answers_on(connection, key)),
    )


def edit(connection: Connection, key: CaseKey, wanted: Edit, by: Holder) -> Case:
    """Change fields of a case; what was validated is unvalidated again."""
    held = _load_version(connection, VersionedKey(**key.model_dump(), version=wanted.version))
    draft = edit_case(held, wanted.changes)
    overrule(connection, by, "edited", held, voided_by(connection, held, draft))
    author = Author(who=by.name, action="edited", why=wanted.why, reviewer=True)
    after = revise_case(connection, draft, author, wanted.version)
    if after.version != held.version:
        set_decided(connection, after, by.name)
    return after


def deciders_of(case: Case, opinions: Sequence[Opinion]) -> tuple[str, ...]:
    """Whose verdicts decided a case; nobody's while it is open."""
    if case.review is not ReviewState.VALIDATED and case.status is not CaseStatus.DISMISSED:
        return ()
    return tuple(word.reviewer for word in list_latest(opinions, judged_rev(case)) if word.verdict in OPINIONS)


def voided_by(connection: Connection, held: Case, draft: Case) -> tuple[str, ...]:
    """Whose verdicts are void when `draft` replaces the case."""
    if held.rev() == draft.rev():
        return ()
    return deciders_of(held, reviews.opinions_in(connection, held.dataset, held.id))


def overrule(connection: Connection, by: Holder, action: str, case: Case, authors: Iterable[str]) -> None:
    """Raise `Refused` where verdicts of others are not the holder's to void; record it where they are."""
    for author in authors:
        if by.check_author(author, f"the verdict on case {case.id!r}", "give your own, or ask for a second opinion"):
            record_moderation(connection, by, action, f"case {case.id} of {case.dataset}", author)


def decide(connection: Connection, key: CaseKey, decision: Decision, by: Holder, needed: int) -> Case:
    """Record a verdict, with the edits that came with it, and let the case follow what the opinions now say."""
    reviewer = by.name
    held = _load_version(connection, VersionedKey(**key.model_dump(), version=decision.version))
    draft = edit_case(held, decision.changes)
    before = reviews.opinions_in(connection, key.dataset, key.id)
    words = list_latest(before, judged_rev(held))
    if decision.adjudicate:
        by.check_moderates("settling a dispute (adjudicate)")
        others = [word.reviewer for word in words if word.verdict is not decision.verdict]
        overrule(connection, by, "overruled", held, others)
    elif decision.verdict is ReviewVerdict.REOPEN:
        overrule(connection, by, "reopened", held, [word.reviewer for word in words])
    else:
        overrule(connection, by, "edited", held, voided_by(connection, held, draft))
    if decision.verdict is ReviewVerdict.APPROVE:
        # Raises before anything is written: an incomplete case cannot be approved.
        draft.as_validated()
        check_answered(connection, held, reviewer)
    spoken = Opinion(
        **key.model_dump(),
        version=draft.version,
        rev=judged_rev(draft),
        reviewer=reviewer,
        verdict=decision.verdict,
        comment=decision.comment,
        adjudicate=decision.adjudicate and decision.verdict in OPINIONS,
    )
    opinions = [*before, spoken]
    if decision.verdict is not ReviewVerdict.SKIP:
        # Skipping is no opinion and changes nothing.
        draft = apply_verdict(draft, settle_verdicts(opinions, spoken.rev, needed), reviewer)
    author = Author(who=reviewer, action=decision.verdict.value, why=decision.comment, reviewer=True)
    after = revise_case(connection, draft, author, decision.version)
    # Let the reviewer's word stand against later signals, or no longer, and let a dismissed correction count no more.
    dismissed = after.status is CaseStatus.DISMISSED
    if after.review is ReviewState.VALIDATED or dismissed or decision.changes:
        set_decided(connection, after, reviewer)
    elif decision.verdict in (ReviewVerdict.WITHDRAW, ReviewVerdict.REOPEN):
        set_decided(connection, after, "")
    if after.entry_type is EntryType.CORRECTION and dismissed != (held.status is CaseStatus.DISMISSED):
        set_correction_dismissed(connection, after, dismissed)
    # The opinion carries the version that it produced, so that the history can tell which revision it belongs to.
    reviews.add_opinion(connection, spoken.model_copy(update={"version": after.version}))
    reviews.set_standing(connection, after, standing_verdicts(opinions, spoken.rev, needed))
    # After a verdict the case leaves the reviewer's hands.
    if decision.verdict is ReviewVerdict.SKIP:
        reviews.hold(connection, key, reviewer, AssignmentState.SKIPPED)
    elif decision.verdict in OPINIONS or decision.verdict is ReviewVerdict.SECOND_OPINION:
        reviews.hold(connection, key, reviewer, AssignmentState.DONE)
    else:
        reviews.release(connection, key, reviewer)
    return after


def decide_many(
    connection: Connection, keys: Iterable[VersionedKey], decision: Decision, by: Holder, needed: int
) -> list[BulkResult]:
    """The same verdict on many cases: each succeeds or says why not, none holds up the others."""
    results: list[BulkResult] = []
    for key in keys:
        try:
            # A savepoint for each case: one that fails takes back its own changes only.
            with connection.begin_nested():
                verdict = decision.model_copy(update={"version": key.version})
                after = decide(connection, CaseKey(dataset=key.dataset, id=key.id), verdict, by, needed)
            results.append(BulkResult(dataset=key.dataset, id=key.id, version=after.version, error=None))
        except EvergoldError as problem:
            results.append(BulkResult(**dict(key), error=problem.message))
    return results


def claim(
    connection: Connection, query: QueueQuery, reviewer: str, needed: int, seconds: float, first: Mapping[int, str]
) -> CaseKey | None:
    """Take the next case into this reviewer's hands for so many seconds, those of `first` before others; None: none is left."""
    if (result := reviews.next_for(connection, query, reviewer, needed, first)) is None:
        return None
    key = CaseKey(dataset=result[0], id=result[1])
    reviews.hold(connection, key, reviewer, AssignmentState.CLAIMED, seconds)
    return key


def _load_version(connection: Connection, key: VersionedKey) -> Case:
    held = get_case(connection, key.dataset, key.id)
    check_reviewable(held)
    if held.version != key.version:
        last = revisions_of(connection, key.dataset, key.id)[-1:]
        who = f" by {last[0].who}" if last else ""
        raise Conflict(
            f"case {key.id!r} was changed{who} meanwhile: it is at version {held.version}, you saw {key.version}; "
            "load it again and repeat your change"
        )
    return held
