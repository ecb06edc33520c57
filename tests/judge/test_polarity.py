"""Yes and no, options, refusals, negations and opposites; code against code; budgets of a day."""

import asyncio
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.answer_words import compare_answers, likeness, normal_text, stems_of
from evergold.judge.code import compare_code, extract, has_code, looks_like_code
from evergold.judge.daily import DailyBudget, ask_now
from evergold.judge.grades import grade
from evergold.judge.polarity import chosen_letter, contradicts, denials, has_opposites, options, refuses, yes_or_no
from evergold.judge.relevance import relevance, shipped_relevance
from evergold.judge.small_model import WordPieces, shipped_model
from evergold.judge.support import SupportModel, shipped_weights
from evergold.model.judging import Answer, Question
from tests.rows import each_row


@each_row(
    ("text", "expected"),
    [
        ("Yes, it does.", True),
        ("Sí, claro.", True),
        ("Correct.", True),
        ("No.", False),
        ("no, that is correct", False),
        ("Falso", False),
        ("Perhaps", None),
        ("Nobody knows", None),
        ("", None),
    ],
)
def test_yes_and_no_are_read_from_the_beginning(text: str, expected: bool | None) -> None:
    assert yes_or_no(text) is expected


@each_row(
    ("text", "refused"),
    [
        ("I'm sorry, I can't help with that.", True),
        ("I don’t know.", True),
        ("The text does not mention the price.", True),
        ("Lo siento, no puedo ayudarte.", True),
        ("No hay información sobre eso.", True),
        ("The price is 5 euros.", False),
        ("x" * 300 + " I cannot say", False),
    ],
)
def test_a_refusal_stands_at_the_beginning(text: str, refused: bool) -> None:
    assert refuses(text) is refused


QUESTION = "Which is the capital of Peru? A) Lima B) Quito C) La Paz"


def test_options_of_a_question_by_letter() -> None:
    assert options(QUESTION) == {"a": "Lima", "b": "Quito", "c": "La Paz"}
    assert options("Is plan B) good?") == {} and options("What?") == {}


@each_row(
    ("answer", "letter"),
    [
        ("A", "a"),
        ("(b)", "b"),
        ("The correct answer is C.", "c"),
        ("I think the answer is: b", "b"),
        ("La respuesta es A", "a"),
        ("Lima", "a"),
        ("It is La Paz, I believe", "c"),
        ("Lima or Quito", None),
        ("Nobody knows", None),
    ],
)
def test_an_answer_chooses_by_letter_or_by_words(answer: str, letter: str | None) -> None:
    assert chosen_letter(answer, options(QUESTION)) == letter


@each_row(
    ("text", "count"),
    [("It is open", 0), ("It is not open", 1), ("It isn’t open, never", 2), ("No hay nada", 2), ("knot", 0)],
)
def test_denials_are_counted(text: str, count: int) -> None:
    assert denials(text) == count


@each_row(
    ("one", "other", "expected"),
    [
        ("the shop is open", "the shop is closed", True),
        ("the shop is open", "the shop is not open", True),
        ("the shop is open", "the shop is not closed", False),
        ("prices rose", "prices fell", True),
        ("prices rose", "prices rose", False),
        ("la tienda abre", "la tienda cierra", True),
    ],
)
def test_a_text_is_turned_by_a_negation_or_an_opposite_and_not_by_both(one: str, other: str, expected: bool) -> None:
    assert contradicts(one, other, set(one.split()), set(other.split())) is expected


def test_a_word_that_both_sides_have_is_no_opposite() -> None:
    assert has_opposites({"open"}, {"closed"}) and not has_opposites({"open", "closed"}, {"closed"})


@each_row(
    ("text", "code"),
    [
        ("def f(x):\n    return x", True),
        ("`x = 1`", True),
        ("```\nanything\n```", True),
        ("SELECT a FROM b WHERE c", True),
        ("git push origin main", True),
        ("items[0] += 1", True),
        ("The return of the king is the best of the films.", False),
        ("Lima", False),
        ("", False),
    ],
)
def test_code_is_told_from_prose(text: str, code: bool) -> None:
    assert looks_like_code(text) is code


@each_row(
    ("expected", "output", "at_least", "at_most"),
    [
        ("def f(a):\n    return a + 1", "def add(x):\n    return x + 1  # one more", 1.0, 1.0),
        ("x > 0", "0 < x", 1.0, 1.0),
        ("not a == b", "a != b", 1.0, 1.0),
        ("x += 1", "x = x + 1", 1.0, 1.0),
        ("select a from b", "SELECT a FROM b;", 0.97, 1.0),
        ("foo(1, 2)", "Use it like this: `foo(1, 2)`", 0.97, 1.0),
        ("return x + 1", "return x - 1", 0.0, 0.35),
        ("def f(x):\n    return x", "I would write a function.", 0.0, 0.15),
    ],
)
def test_code_is_compared_by_what_it_does(expected: str, output: str, at_least: float, at_most: float) -> None:
    value, reason = compare_code(expected, output)
    assert at_least <= value <= at_most and reason


@each_row("many", ["x = " + " + ".join(["a"] * 3000), "x = " + "-" * 900 + "1", "x = " + "[" * 90 + "]" * 90])
def test_code_of_any_depth_is_compared(many: str) -> None:
    assert compare_code(many, many)[0] >= 0.97
    value, _ = compare_code("x = 1", many)
    assert 0.0 <= value < 0.97
    assert grade("", "x = 1", many, None) is not None


def test_code_is_taken_out_of_its_fence_or_ticks() -> None:
    assert extract("Here:\n```python\nx = 1\n```\nand\n```\ny = 2\n```") == "x = 1\n\ny = 2\n"
    assert extract("call `f` or `g(1)`") == "g(1)" and extract("plain") == "plain"
    assert has_code("`f(1)`", "then `f( 1 )` is run") and not has_code("", "anything")


@each_row(
    ("one", "other", "value"),
    [("red boots", "boots, red", 1.0), ("red boots", "blue boots", 0.5), ("red", "blue", 0.0), ("", "", 0.0)],
)
def test_likeness_is_the_share_of_stems(one: str, other: str, value: float) -> None:
    assert likeness(one, other) == pytest.approx(value)


def test_texts_are_normal_without_case_space_and_marks_and_code_keeps_its_case() -> None:
    assert normal_text("  ¡Hola,  Mundo! ") == "hola, mundo" and normal_text("x = Foo") == "x = Foo"
    assert stems_of("The boots are red") == stems_of("red boots")


def test_texts_without_words_are_alike_only_where_they_are_equal() -> None:
    assert compare_answers("!!!", "!!!").value == 1.0 and compare_answers("!!!", "???").value == 0.0
    half = compare_answers("5 red boots", "6 red boots")
    assert half.numbers == 0.0 and half.value < half.shared_words


def test_a_budget_counts_by_name_and_begins_anew_at_midnight() -> None:
    day = ["2026-01-01"]
    budget = DailyBudget({"a": 1}, lambda: day[0])
    assert [budget.take("a", 2), budget.take("a", 2), budget.take("b", 1)] == [True, False, True]
    day[0] = "2026-01-02"
    assert budget.take("a", 2) and budget.take("a", 2) and not budget.take("a", 2)
    assert not budget.take("c", 0)


class SlowJudge:
    """Answers questions of the task `quick` and never the others."""

    identity = "slow"

    def __init__(self) -> None:
        self.closed = False

    async def ask(self, question: Question) -> Answer:
        if question.task != "quick":
            await asyncio.Event().wait()
        return Answer(data={"score": 1})

    async def close(self) -> None:
        self.closed = True


def a_question(task: str) -> Question:
    return Question(task=task, inputs={}, prompt="", answer_schema={})


def test_a_question_without_an_answer_in_time_does_not_cost_the_others_theirs() -> None:
    judge: Any = SlowJudge()
    quick, slow = ask_now(judge, [a_question("quick"), a_question("slow")], 0.05)
    assert quick.data == {"score": 1} and slow.data is None and slow.reason == "no answer within 0.05 s"
    assert judge.closed


def test_a_regression_is_bounded_and_rises_with_its_weight() -> None:
    model = SupportModel({"x": 0.0}, {"x": 1.0}, {"x": 2.0}, bias=0.0)
    assert model.probability({"x": 0.0}) == 0.5 and model.probability({"x": 1.0}) > 0.5
    assert model.log_odds({"x": 1e9}) == 30.0 and model.log_odds({"x": -1e9}) == -30.0
    assert shipped_weights()[1].startswith("sha256:") and shipped_weights() is shipped_weights()


@each_row(
    ("question", "statement", "relevant"),
    [
        ("Who wrote Faust?", "Goethe.", True),
        ("How many legs does it have?", "It has eight of them, which is more than most.", True),
        ("When did it open?", "The museum opened its doors to visitors in 1998.", True),
        ("Why is it closed?", "Because the roof of the old hall leaks badly.", True),
        ("Is the museum open?", "Yes, from nine until five on most days.", True),
        ("When does the museum open?", "My cousin once bought bright yellow rubber boots there.", False),
        ("When does the museum open?", "I'm sorry, I cannot say when the museum opens.", False),
    ],
)
def test_a_statement_is_relevant_by_words_or_by_the_form_that_is_asked_for(
    question: str, statement: str, relevant: bool
) -> None:
    for model, basis in ((None, "words"), (shipped_model(), "vectors")):
        (value,) = relevance(question, [statement], model)
        assert (value >= shipped_relevance().thresholds[basis]) is relevant


PIECES = WordPieces({"[UNK]": 0, "[CLS]": 1, "[SEP]": 2, "play": 3, "##ing": 4, "##s": 5, "!": 6, "中": 7, "e": 8})


@each_row(
    ("text", "ids"),
    [
        ("Playing", [3, 4]),
        ("plays!", [3, 5, 6]),
        ("é", [8]),
        ("中中", [7, 7]),
        ("xyz", [0]),
        ("play" * 30, [0]),
        ("", []),
        ("play\u0000ing\ufffd", [3, 4]),
    ],
)
def test_words_are_cut_into_the_longest_pieces(text: str, ids: list[int]) -> None:
    assert PIECES.ids(text, 10) == ids and PIECES.ids(text, 10) == ids


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.integers(0, 8))
def test_pieces_are_never_more_than_the_limit(text: str, limit: int) -> None:
    assert len(PIECES.ids(text, limit)) <= limit
