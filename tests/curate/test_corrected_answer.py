"""The reference of a correction pair is an answer, never the user's complaint."""

import pytest

from evergold.model.admission import admits
from evergold.model.case import Case, EntryType
from evergold.model.trace import Correction, CorrectionKind, Trace
from evergold.settings import Settings
from evergold.store.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_trace


@pytest.fixture
def ws(settings: Settings) -> Workspace:
    return Workspace.open(settings)


def pair(ws: Workspace, *traces: Trace, correction: Correction) -> Case:
    ws.intake.accept([*traces])
    ws.intake.accept([correction])
    ws.live.curate()
    with ws.store.db.read() as connection:
        (case,) = iterate_cases(connection, CaseFilter(entry_type=EntryType.CORRECTION))
    return case


def turn(number: int, said: str, reply: str) -> Trace:
    return a_trace(f"t{number}", session_id="s", input=said, output=reply, started_at=f"2026-01-01T10:0{number}:00Z")


def test_an_answer_is_its_own_reference(ws: Workspace) -> None:
    case = pair(ws, a_trace("t1"), correction=Correction(trace_id="t1", text="Quito."))
    reference = case.reference()
    assert case.expected == "Quito." and reference is not None and reference.text == "Quito."


def test_a_remark_has_no_reference_of_its_own(ws: Workspace) -> None:
    remark = Correction(trace_id="t1", text="mal", kind=CorrectionKind.REMARK)
    case = pair(ws, a_trace("t1"), correction=remark)
    assert case.expected == "mal" and case.reference() is None


def test_the_next_reply_is_the_reference_when_it_admits(ws: Workspace) -> None:
    remark = Correction(trace_id="t1", text="that is the wrong day", kind=CorrectionKind.REMARK)
    told = "You are right, it is Wednesday at ten."
    case = pair(ws, turn(1, "When?", "Tuesday."), turn(2, "that is the wrong day", told), correction=remark)
    reference = case.reference()
    assert reference is not None and reference.text == told


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Tienes razón, es el miércoles.", True),
        ("My mistake: it's B12.", True),
        ("Tuesday it is.", False),
        (None, False),
    ],
)
def test_admissions_are_known(reply: str | None, expected: bool) -> None:
    assert admits(reply) is expected
