"""From opinions to a verdict.

An opinion is one reviewer's latest word on the case's present content. A case is decided when as many reviewers as it
needs say the same and nobody says otherwise; when they differ it is disputed, and one adjudicated opinion settles it.
Nothing here overwrites a colleague: a second verdict is a second opinion, not a replacement.
"""

from collections.abc import Sequence

from evergold.errors import BadInput
from evergold.model.case import Case, CaseKind, CaseStatus, EntryType, ReviewState
from evergold.model.ident import content_hash
from evergold.model.review import OPINIONS, Opinion, ReviewVerdict, Standing
from evergold.review.answers import approval_of

CONFIRMED = ("confirmed", "confirmed_by")


def judged(case: Case) -> str:
    """Identity of what a reviewer judges: the content, without the mark that judging it leaves."""
    # Approving writes the approved answer into the case; the identity must not change by that.
    unmarked = case.model_copy(update={"approved": None}) if case.approved == approval_of(case) else case
    content = unmarked.identity()
    content["metadata"] = {key: value for key, value in content["metadata"].items() if key not in CONFIRMED}
    return content_hash(content)


def latest(opinions: Sequence[Opinion], rev: str) -> list[Opinion]:
    """Each reviewer's last word on content `rev`, oldest first. A withdrawn word is no word; reopening voids all."""
    last: dict[str, Opinion] = {}
    for opinion in _without_undone_reopenings(opinions):
        if opinion.rev != rev or opinion.verdict is ReviewVerdict.SKIP:
            continue
        # Removed and added again, so that the order is by each reviewer's latest word.
        last.pop(opinion.reviewer, None)
        if opinion.verdict is ReviewVerdict.REOPEN:
            last.clear()
        elif opinion.verdict is not ReviewVerdict.WITHDRAW:
            last[opinion.reviewer] = opinion
    return list(last.values())


def _without_undone_reopenings(opinions: Sequence[Opinion]) -> list[Opinion]:
    """Leave out each reopening that its reviewer withdrew as their next word: the opinions before it hold again."""
    kept: list[Opinion] = []
    for opinion in opinions:
        if opinion.verdict is ReviewVerdict.WITHDRAW:
            mine = [at for at, other in enumerate(kept) if other.reviewer == opinion.reviewer]
            if mine and kept[mine[-1]].verdict is ReviewVerdict.REOPEN:
                del kept[mine[-1]]
                continue
        kept.append(opinion)
    return kept


def standing(opinions: Sequence[Opinion], rev: str, needed: int) -> Standing:
    """Where the opinions on content `rev` leave the case."""
    return Standing.AGREED if settled(opinions, rev, needed) else _unsettled(latest(opinions, rev))


def settled(opinions: Sequence[Opinion], rev: str, needed: int) -> ReviewVerdict | None:
    """The verdict that holds, or None while it is open, disputed or waiting for a second opinion."""
    words = latest(opinions, rev)
    rulings = [word for word in words if word.adjudicate and word.verdict in OPINIONS]
    # A ruling ends a dispute whatever others said; the newest of several holds.
    if rulings:
        return rulings[-1].verdict
    if any(word.verdict is ReviewVerdict.SECOND_OPINION for word in words):
        # A request for a second opinion raises the bar for this case alone.
        needed = max(needed, 2)
    verdicts = {word.verdict for word in words if word.verdict in OPINIONS}
    count = sum(word.verdict in OPINIONS for word in words)
    return verdicts.pop() if len(verdicts) == 1 and count >= needed else None


def _unsettled(words: Sequence[Opinion]) -> Standing:
    if len({word.verdict for word in words if word.verdict in OPINIONS}) > 1:
        return Standing.DISPUTED
    if any(word.verdict is ReviewVerdict.SECOND_OPINION for word in words):
        return Standing.SECOND_OPINION
    return Standing.OPEN


def applied(case: Case, verdict: ReviewVerdict | None, reviewer: str) -> Case:
    """The case after the verdict that holds; with none it waits, unvalidated and active."""
    if verdict is ReviewVerdict.APPROVE:
        # A dismissed case that is approved becomes active again.
        return _confirmed(case.model_copy(update={"status": CaseStatus.ACTIVE}), reviewer).validated()
    status = CaseStatus.DISMISSED if verdict is ReviewVerdict.DISMISS else CaseStatus.ACTIVE
    return _unconfirmed(case).model_copy(update={"review": ReviewState.UNVALIDATED, "status": status})


def _confirmed(case: Case, reviewer: str) -> Case:
    """A case that a person approved has their reference; a golden candidate is confirmed, and says by whom."""
    if case.approved is None:
        case = case.model_copy(update={"approved": approval_of(case)})
    if case.kind is not CaseKind.CHAT or case.entry_type is not EntryType.GOLDEN or case.confirmed:
        return case
    return case.model_copy(update={"metadata": {**case.metadata, "confirmed": True, "confirmed_by": reviewer}})


def _unconfirmed(case: Case) -> Case:
    """Take back a confirmation that review gave; one that users' scores gave, and an answer a person wrote, stay."""
    if case.approved == approval_of(case):
        case = case.model_copy(update={"approved": None})
    if "confirmed_by" not in case.metadata:
        return case
    metadata = {key: value for key, value in case.metadata.items() if key != "confirmed_by"}
    return case.model_copy(update={"metadata": metadata | {"confirmed": False}})


def check_reviewable(case: Case) -> None:
    """A case erased on request, or withdrawn by its policy, is not for people to bring back by a click."""
    if case.status in (CaseStatus.ERASED, CaseStatus.WITHDRAWN):
        raise BadInput(f"case {case.id!r} of {case.dataset!r} is {case.status.value}; it can no longer be reviewed")
