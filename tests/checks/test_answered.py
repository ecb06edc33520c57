"""`answered` on lists that were written before its phrases and never shaped them."""

from pathlib import Path

from evergold.checks.answered import Answered
from evergold.model.check import CheckResult, ToolStep, Turn
from tests.rows import each_row

LISTS = Path(__file__).parent / "labelled"
MOST_FALSE_ALARMS, LEAST_FOUND = 0.01, 0.95


def rows(name: str) -> list[list[str]]:
    lines = (LISTS / name).read_text(encoding="utf-8").splitlines()
    return [[part.replace("\\n", "\n").replace("\\t", "\t") for part in line.split("\t")] for line in lines]


def answered(output: str | None, question: str = "x", check: Answered | None = None) -> CheckResult:
    result = (check or Answered()).check(Turn("t", question, output))
    assert result is not None
    return result


def test_ordinary_answers_are_answers() -> None:
    ordinary = rows("ordinary.tsv")
    called = [output for question, output in ordinary if answered(output, question).value < 1]
    assert len(ordinary) >= 400 and len(called) <= MOST_FALSE_ALARMS * len(ordinary), called


def test_refusals_apologies_and_errors_are_found() -> None:
    unanswered = rows("unanswered.tsv")
    missed = [output for _, question, output in unanswered if answered(output, question).value == 1]
    assert len(unanswered) >= 200 and len(unanswered) - len(missed) >= LEAST_FOUND * len(unanswered), missed


@each_row(
    ("output", "value"),
    [
        (None, 0.0),
        (" \n", 0.0),
        ("Error: 500", 0.0),
        ("null", 0.0),
        ("Traceback (most recent call last):\n  File 'a.py', line 1\nKeyError: 'x'", 0.0),
        ('{"name": "refund", "arguments": {"id": 3}}', 0.0),
        ("LO SIENTO, ALGO SALIÓ MAL", 0.5),
        ("I'm sorry, but I can't help with that.", 0.5),
        ("👍", 1.0),
        ("Sorry, the gate changed: it is B12 now.", 1.0),
    ],
)
def test_failures_are_zero_and_refusals_a_half(output: str | None, value: float) -> None:
    assert answered(output).value == value


@each_row(
    "output",
    [
        "I'm sorry, but I cannot write a letter in another person's name. Signing for somebody else is illegal. It is important"
        " to be honest with your landlord. Is there anything else I can do for you?",
        "As an AI language model, I don't have a body, so I cannot taste the soup. However, I can help you with other questions.",
        "I apologize for the confusion. As a text-based assistant, I am not able to open the drawing. Please let me know how I"
        " can help in another way.",
        "I apologize, but I still don't understand which invoice you mean. Could you please give me more details?",
        "Lo siento, como modelo de lenguaje no tengo acceso a tu calendario. Es importante que lo revises tú. ¿Puedo ayudarte en"
        " algo más?",
    ],
)
def test_a_refusal_that_gives_its_reasons_is_no_answer(output: str) -> None:
    assert answered(output).value == 0.5


@each_row(
    "output",
    [
        "I'm sorry, but I cannot see live prices. Last week the ferry cost 38 EUR, and children under six travelled free.",
        "As an AI, I don't have favourites, but most guests choose the pumpkin ravioli with sage.",
        "I apologize, but I can't draw here. The floor plan in words:\n1. hall\n2. kitchen\n3. bath",
        "Hello! How can I help you today?",
        "¡Hola! ¿En qué puedo ayudarte hoy?",
    ],
)
def test_an_answer_after_an_apology_and_a_greeting_are_answers(output: str) -> None:
    assert answered(output).value == 1.0


def test_fallback_texts_of_ones_own_are_known_in_any_case() -> None:
    own = Answered(("Nuestros agentes duermen*", "Beep."))
    assert answered("NUESTROS AGENTES DUERMEN, vuelve a las 9", check=own).value == 0.5
    assert answered("beep", check=own).value == 0.5
    assert answered("beep beep is what it says", check=own).value == 1.0


CALL = '[{"name": "hand_over", "arguments": {"why": "asked for a person"}}]'


def test_a_turn_that_ended_with_a_call_that_was_made_is_no_call_as_text() -> None:
    ran = Turn("t", "A person, please.", CALL, tools=(ToolStep("hand_over", False),))
    stopped = Turn("t", "A person, please.", CALL, finish_reasons=("tool_calls",))
    other = Turn("t", "A person, please.", CALL, tools=(ToolStep("look_up", False),), finish_reasons=("stop",))
    assert [result.value for turn in (ran, stopped, other) if (result := Answered().check(turn))] == [1.0, 1.0, 0.0]


def test_an_answer_that_was_not_exported_is_not_judged() -> None:
    assert Answered().check(Turn("t", "Where is Lima?", None, gaps=" no_answer ")) is None
    crashed = Answered().check(Turn("t", "Where is Lima?", None))
    assert crashed is not None and crashed.value == 0.0
