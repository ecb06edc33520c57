"""From opinions to a verdict: agreement decides, difference is a dispute, an adjudication settles it."""

import pytest

from evergold.errors import BadInput, Incomplete
from evergold.model.case import CaseStatus, ReviewState
from evergold.model.review import Opinion, ReviewVerdict, Standing
from evergold.review.decide import apply_verdict, edit_case, judged_rev, settle_verdicts, standing_verdicts
from tests.builders import a_case
from tests.rows import each_row

CASE = a_case()
REV = judged_rev(CASE)


def word(reviewer: str, verdict: str, *, adjudicate: bool = False, rev: str = REV) -> Opinion:
    return Opinion(
        dataset="live",
        id="c1",
        version=1,
        rev=rev,
        reviewer=reviewer,
        verdict=ReviewVerdict(verdict),
        adjudicate=adjudicate,
    )


@each_row(
    ("words", "needed", "verdict", "where"),
    [
        ([], 1, None, Standing.OPEN),
        ([word("ana", "approve")], 1, ReviewVerdict.APPROVE, Standing.AGREED),
        ([word("ana", "approve")], 2, None, Standing.OPEN),
        ([word("ana", "approve"), word("ana", "approve")], 2, None, Standing.OPEN),
        ([word("ana", "approve"), word("bo", "approve")], 2, ReviewVerdict.APPROVE, Standing.AGREED),
        ([word("ana", "approve"), word("bo", "dismiss")], 1, None, Standing.DISPUTED),
        (
            [word("ana", "approve"), word("bo", "dismiss"), word("bo", "approve")],
            2,
            ReviewVerdict.APPROVE,
            Standing.AGREED,
        ),
        (
            [word("ana", "approve"), word("bo", "dismiss"), word("bo", "withdraw")],
            1,
            ReviewVerdict.APPROVE,
            Standing.AGREED,
        ),
        (
            [word("ana", "approve"), word("bo", "dismiss"), word("cy", "dismiss", adjudicate=True)],
            2,
            ReviewVerdict.DISMISS,
            Standing.AGREED,
        ),
        ([word("ana", "second_opinion")], 1, None, Standing.SECOND_OPINION),
        ([word("ana", "second_opinion"), word("bo", "approve")], 1, None, Standing.SECOND_OPINION),
        (
            [word("ana", "second_opinion"), word("bo", "approve"), word("ana", "approve")],
            1,
            ReviewVerdict.APPROVE,
            Standing.AGREED,
        ),
        ([word("ana", "approve"), word("bo", "reopen")], 1, None, Standing.OPEN),
        ([word("ana", "skip")], 1, None, Standing.OPEN),
        ([word("ana", "approve", rev="sha256:older")], 1, None, Standing.OPEN),
    ],
)
def test_what_the_opinions_say(
    words: list[Opinion], needed: int, verdict: ReviewVerdict | None, where: Standing
) -> None:
    assert settle_verdicts(words, REV, needed) == verdict
    assert standing_verdicts(words, REV, needed) == where


def test_an_approved_candidate_is_confirmed_by_name_and_a_withdrawal_takes_it_back() -> None:
    approved = apply_verdict(CASE, ReviewVerdict.APPROVE, "ana")
    assert (approved.review, approved.metadata) == (ReviewState.VALIDATED, {"confirmed": True, "confirmed_by": "ana"})
    assert judged_rev(approved) == REV
    assert apply_verdict(approved, None, "ana").metadata == {"confirmed": False}


def test_a_confirmation_by_users_is_not_taken_back() -> None:
    case = a_case(metadata={"confirmed": True})
    assert apply_verdict(apply_verdict(case, ReviewVerdict.APPROVE, "ana"), None, "ana").confirmed


def test_a_dismissed_case_takes_no_part() -> None:
    assert apply_verdict(CASE, ReviewVerdict.DISMISS, "ana").status is CaseStatus.DISMISSED


def test_an_incomplete_case_cannot_be_approved() -> None:
    with pytest.raises(Incomplete, match="expected"):
        apply_verdict(a_case(output=None), ReviewVerdict.APPROVE, "ana")


def test_an_edit_of_a_validated_case_unvalidates_it_and_an_empty_edit_does_not() -> None:
    validated = CASE.as_validated()
    assert edit_case(validated, {"expected": "Lima"}).review is ReviewState.UNVALIDATED
    assert edit_case(validated, {"input": validated.input}) is validated


def test_an_edit_names_what_is_wrong() -> None:
    with pytest.raises(BadInput, match="did you mean 'expected'"):
        edit_case(CASE, {"expectd": "x"})
    with pytest.raises(BadInput, match=r"ranges\.0"):
        edit_case(CASE, {"ranges": [{"path": "a", "start": 9, "end": 1}]})
    with pytest.raises(BadInput, match="review"):
        edit_case(CASE, {"review": "validated"})


def test_another_base_commit_is_not_verified() -> None:
    case = a_case(kind="context", base_commit="abc1234", extra={"baseVerified": True, "kept": 1})
    assert edit_case(case, {"base_commit": "def5678"}).extra == {"kept": 1}


def test_withdrawing_a_reopening_brings_back_the_opinions_before_it() -> None:
    words = [word("ana", "approve"), word("bo", "reopen")]
    assert settle_verdicts(words, REV, 1) is None
    assert settle_verdicts([*words, word("bo", "withdraw")], REV, 1) is ReviewVerdict.APPROVE
