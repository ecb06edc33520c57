"""Which answer a reviewer stands behind after edits, approvals and a change of what the case is."""

from typing import Any

import pytest

from evergold.model.case import Answer, Case, EntryType, Origin, Reference
from evergold.model.review import ReviewVerdict
from evergold.review.decide import apply_verdict, edit_case


def a_case(entry_type: EntryType, **fields: Any) -> Case:
    texts = {"input": "Is there a dark mode?", "output": "Not yet."}
    return Case(id="c1", dataset="live", entry_type=entry_type, **texts, **fields)


def approved(case: Case) -> Reference | None:
    return apply_verdict(case, ReviewVerdict.APPROVE, "ana").reference()


@pytest.mark.parametrize("entry_type", [EntryType.FAILURE, EntryType.GOLDEN])
def test_an_answer_written_before_the_case_becomes_a_correction_is_its_reference(entry_type: EntryType) -> None:
    written = edit_case(a_case(entry_type), {"expected": "Yes, under Appearance."})
    reference = approved(edit_case(written, {"entry_type": "correction"}))
    assert reference is not None
    assert (reference.text, reference.origin) == ("Yes, under Appearance.", Origin.PERSON)


def test_an_answer_written_with_the_click_that_makes_a_correction_is_its_reference() -> None:
    case = edit_case(a_case(EntryType.FAILURE), {"expected": "Yes.", "entry_type": "correction"})
    assert case.approved == Answer(text="Yes.")


def test_the_remark_of_a_case_that_is_no_correction_is_no_reference() -> None:
    remark = a_case(EntryType.CORRECTION, expected="it does not work")
    golden = approved(edit_case(remark, {"entry_type": "golden"}))
    assert golden is not None
    assert golden.text == "Not yet."
    assert approved(edit_case(remark, {"entry_type": "failure"})) is None


def test_an_answer_that_was_sent_as_a_correction_stays_one() -> None:
    sent = a_case(EntryType.CORRECTION, expected="Since May.", revised=Answer(text="Since May."))
    reference = approved(edit_case(sent, {"entry_type": "failure"}))
    assert reference is not None
    assert reference.text == "Since May."


def test_the_answer_of_a_later_turn_does_not_make_the_remark_an_answer() -> None:
    revised = Answer(text="Since May.", trace_id="t2")
    remark = a_case(EntryType.CORRECTION, expected="since may!", revised=revised)
    assert edit_case(remark, {"entry_type": "golden"}).expected is None


def test_an_answer_written_after_the_recorded_one_was_approved_replaces_it() -> None:
    once = apply_verdict(a_case(EntryType.GOLDEN), ReviewVerdict.APPROVE, "ana")
    reference = approved(edit_case(once, {"expected": "Yes, under Appearance."}))
    assert reference is not None
    assert (reference.text, reference.origin) == ("Yes, under Appearance.", Origin.PERSON)


def test_an_edit_of_something_else_keeps_the_approved_answer() -> None:
    once = apply_verdict(a_case(EntryType.GOLDEN), ReviewVerdict.APPROVE, "ana")
    assert edit_case(once, {"tags": ["dark"]}).approved == Answer(text="Not yet.")


def test_an_answer_written_over_one_that_a_person_wrote_replaces_it() -> None:
    case = a_case(EntryType.GOLDEN, approved=Answer(text="Soon."))
    assert edit_case(case, {"expected": "Yes."}).approved == Answer(text="Yes.")


def test_a_case_with_an_approved_answer_keeps_it_when_it_becomes_a_correction() -> None:
    case = a_case(EntryType.FAILURE, expected="maybe", approved=Answer(text="Yes."))
    assert edit_case(case, {"entry_type": "correction"}).approved == Answer(text="Yes.")


def test_the_answer_of_an_approved_case_stays_when_it_becomes_a_correction() -> None:
    once = apply_verdict(a_case(EntryType.FAILURE, expected="Yes."), ReviewVerdict.APPROVE, "ana")
    assert edit_case(once, {"entry_type": "correction"}).approved == Answer(text="Yes.")
