"""The reference of a correction pair is an answer, never the user's complaint."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from evergold.formats.openai_chat import Preference, Unfit
from evergold.model.case import Case, EntryType
from evergold.model.check import admits, strip_admission
from evergold.model.trace import Correction, CorrectionKind, Span, Trace
from evergold.settings import Settings
from evergold.sources.agents.trajectories import AgentLogs
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.workspace import Workspace
from tests.builders import a_trace
from tests.rows import each_row


@pytest.fixture
def ws(settings: Settings) -> Iterator[Workspace]:
    with Workspace.open(settings) as opened:
        yield opened


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
    assert reference is not None and reference.text == "It is Wednesday at ten."


def test_a_reply_that_apologises_and_refuses_is_no_reference(tmp_path: Path) -> None:
    refusal = "I apologize for the mistake. As an AI, I am not able to look up trains. Is there anything else I can do for you?"
    remark = Correction(trace_id="t1", text="that is the wrong day", kind=CorrectionKind.REMARK)
    with Workspace.open(Settings(home=tmp_path, checks_builtin="true")) as ws:
        case = pair(ws, turn(1, "When?", "Tuesday."), turn(2, "that is the wrong day", refusal), correction=remark)
    assert case.expected == "that is the wrong day" and case.reference() is None


def booked(number: int, said: str, reply: str, *tool: str, **args: object) -> Trace:
    """A turn that called a tool before it replied."""
    calls = [Span(id=f"c{number}", name=name, kind="tool", input=json.dumps(args), output="ok") for name in tool]
    return turn(number, said, reply).model_copy(update={"spans": tuple(calls)})


def test_the_calls_of_the_next_reply_belong_to_the_corrected_answer(ws: Workspace) -> None:
    remark = Correction(trace_id="t1", text="I said four people", kind=CorrectionKind.REMARK)
    wrong = booked(1, "Book for four", "Booked for two.", "book", people=2)
    right = booked(2, "I said four people", "Sorry about that: booked for four.", "book", people=4)
    case = pair(ws, wrong, right, correction=remark)
    reference = case.reference()
    assert reference is not None and [call.args for call in reference.tool_calls or ()] == [{"people": 4}]
    with pytest.raises(Unfit, match="other calls"):
        Preference().record(case)


def test_a_reply_that_undoes_what_was_done_is_no_answer_to_the_question(ws: Workspace) -> None:
    remark = Correction(trace_id="t1", text="I said four people", kind=CorrectionKind.REMARK)
    wrong = booked(1, "Book for four", "Booked for two.", "book", people=2)
    undone = booked(2, "I said four people", "Sorry about that: changed to four.", "change_booking", people=4)
    assert pair(ws, wrong, undone, correction=remark).reference() is None


@each_row(
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


@each_row(
    ("reply", "answer"),
    [
        ("You're right, sorry — the coat is 500 pesos.", "The coat is 500 pesos."),
        ("Tienes razón, el abrigo está a 500 pesos", "El abrigo está a 500 pesos"),
        ("You are right that the office closes at 6 pm.", "The office closes at 6 pm."),
        ("¡Tenés toda la razón, perdoname! El envío tarda 5 días.", "El envío tarda 5 días."),
        ("I got the two mixed up: the Condor 2 weighs 2.1 kg.", "The Condor 2 weighs 2.1 kg."),
        ("Thanks for the correction! iPhone 12 is of 2020.", "iPhone 12 is of 2020."),
        (
            "I apologize for the error. Here is the corrected code:\n```\nx = 1\n```",
            "Here is the code:\n```\nx = 1\n```",
        ),
        ("Apologies. It is duck down. Sorry again for the confusion!", "It is duck down."),
        ("The coat is 500 pesos, you're right, sorry.", "The coat is 500 pesos."),
        ("The coat is 500 pesos.", "The coat is 500 pesos."),
        ("You're right, I've updated the reservation to 8 pm.", None),
        ("Tienes razón, es así.", None),
        ("Sorry, I'll check that and get back to you.", None),
        ("True, but the law changed in 2019.", None),
        ("You are absolutely right! I apologize for the oversight.", None),
        ("I understand now that you meant the coat of wool. It is 500 pesos.", "It is 500 pesos."),
        ('I understand that you meant "the red coat." It is 400 pesos.', "It is 400 pesos."),
        ("Ahora entiendo que preguntas por el abrigo: cuesta 500 pesos.", "Cuesta 500 pesos."),
    ],
)
def test_an_answer_is_told_from_its_admission(reply: str, answer: str | None) -> None:
    assert strip_admission(reply) == answer


def test_turns_without_times_are_in_the_order_of_their_file(ws: Workspace) -> None:
    topics = [
        "Oslo",
        "Quito",
        "Lima",
        "Riga",
        "Bern",
        "Kyiv",
        "Doha",
        "Male",
        "Suva",
        "Baku",
        "Cairo",
        "Tunis",
        "Accra",
    ]
    said = [
        message
        for town in topics
        for message in (("user", f"Which country is {town} in?"), ("assistant", f"{town} is in Land {town[0]}."))
    ]
    # Turn 10; by its name it stands between 1 and 2.
    said[20:22] = [("user", "No, that is wrong, Baku is in Asia."), ("assistant", "You are right, it is in Asia.")]
    chat = {"id": "c", "messages": [{"role": role, "content": text} for role, text in said]}
    turns = [one for one in AgentLogs().read([json.dumps(chat).encode()], "chats.jsonl") if isinstance(one, Trace)]
    ws.intake.accept([*turns])
    ws.live.curate()
    with ws.store.db.read() as connection:
        (case,) = iterate_cases(connection, CaseFilter(entry_type=EntryType.CORRECTION))
    assert case.input == "Which country is Baku in?" and len(case.messages) == 19
