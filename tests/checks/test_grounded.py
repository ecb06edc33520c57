"""The check `grounded`: what counts as a context, and what a sentence is held against."""

import pytest

from evergold.checks.builtin import Grounded
from evergold.model.check import Turn
from tests.rows import each_row

ANSWER = "Parcels to Lima take three days."


@each_row(
    "contexts",
    [
        (),
        ("help/orders.md",),
        ("https://shop.example/help?page=2#parcels", "doc-17"),
        ("", "  ", "C:\\pages\\parcels.html"),
    ],
)
def test_names_of_documents_are_no_evidence_and_give_no_result(contexts: tuple[str, ...]) -> None:
    assert Grounded().check(Turn("t", "How long?", ANSWER, contexts=contexts)) is None


@pytest.mark.parametrize("text", ["Parcels to Lima take three days.", "包裹三天内送到利马。"])
def test_a_text_is_evidence_also_beside_names_and_without_spaces(text: str) -> None:
    result = Grounded().check(Turn("t", "How long?", text, contexts=("help/orders.md", text)))
    assert result is not None and result.value == 1.0


def test_what_the_contexts_do_not_say_is_named() -> None:
    result = Grounded().check(Turn("t", "How long?", ANSWER, contexts=("Our shops open at nine in the morning.",)))
    assert result is not None and result.value == 0.0 and ANSWER in result.evidence


def test_what_a_lost_text_may_say_counts_neither_way() -> None:
    contexts = ("help/orders.md", "Our shops open at nine in the morning.")
    check = Grounded()
    assert check.check(Turn("t", "How long?", ANSWER, contexts=contexts)) is None
    assert check.check(Turn("t", "How long?", f"{contexts[1]} {ANSWER}", contexts=contexts)) is None
    supported = check.check(Turn("t", "When?", contexts[1], contexts=contexts))
    assert supported is not None and supported.value == 1.0


def test_a_language_that_the_judge_does_not_know_is_not_held_against_an_answer() -> None:
    turn = Turn(
        "t", "Wie lange?", "Pakete nach Lima brauchen drei Tage.", contexts=("Unsere Läden öffnen um neun Uhr.",)
    )
    assert Grounded().check(turn) is None
