"""Rules of the offline judge: equal texts, JSON, code, dates and numbers with units; the daily budget of questions."""

import asyncio
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.code import compare_code, extract, has_code, looks_like_code
from evergold.judge.daily import DailyBudget, ask_now
from evergold.judge.evidence import stems_of
from evergold.judge.offline import refuses
from evergold.judge.rules import grade_by_rule, normal_text
from evergold.model.judge import JudgeAnswer, Question
from tests.rows import each_row


@each_row(
    ("expected", "output", "right"),
    [
        ("5 miles", "8.05 km", True),
        ("5 miles", "5 km", False),
        ("180 °C", "356 °F", True),
        ("180 °C", "180 °F", False),
        ("42", "it is 42", True),
        ("42", "43", False),
        ("31 March 2025", "2025-03-31", True),
        ("31 March 2025", "13 March 2025", False),
        ("a las seis menos cuarto", "5:45", True),
        ('{"a": 1}', '{"a": 1}', True),
        ('{"a": 1}', '{"a": 2}', False),
        ('{"a": 1}', '{"a": true}', False),
        ('{"a": 1}', 'Here: {"a": 1} or {"a": 2}', False),
        ("In 1492.", "In 1499.", False),
        ("404", "403", False),
        ("1,250.00 EUR", "1,254.00 EUR", False),
        ("3.5 million", "3,500,000", True),
        ("3.14", "3.14159", True),
        ("about 1,500", "1,504", True),
        ("1.000 €", "1000 €", True),
        ("1.000 €", "1 €", False),
        ("3 GB", "3000 MB", True),
        ("2 ha", "20,000 m2", True),
        ("A week.", "Two weeks.", False),
        ("An hour.", "60 minutes", True),
        ("On 3 March 2027 at noon.", "3 March 2027, 12:00", True),
        ("On 3 March 2027 at noon.", "On 3 May 2027 at noon.", False),
        ("Monday at 9:00", "Friday at 9:00", False),
        ("On 3 March 1990.", "It was not signed on 3 March 1990.", False),
        ("On 4 May 1991.", "Not on 3 March 1990 but on 4 May 1991.", True),
        ("9:00", "It is not at 9:00, it is at 10:00.", False),
        ("12", "12 or 13", False),
        ("12", "Certainly not 12.", False),
        ("12", "No, 12.", True),
        ("1945", "In 1945, not in 1944.", True),
        ("max(xs)", "max(xs)", True),
        ("max(xs)", "min(xs)", False),
    ],
)
def test_what_has_a_form_is_graded_by_rule(expected: str, output: str, right: bool) -> None:
    graded = grade_by_rule("", expected, output)
    assert graded is not None and (graded.value > 0.5) is right


def test_the_right_number_beside_other_words_is_left_to_the_model() -> None:
    assert grade_by_rule("How many?", "12", "More than 12") is None
    assert grade_by_rule("How old?", "18", "At least 18") is None
    assert grade_by_rule("What to take?", "500 mg of paracetamol", "500 mg of ibuprofen") is None
    assert grade_by_rule("", "Adobe acquired Figma.", "Figma acquired Adobe.") is None


def test_both_empty_is_right_and_one_empty_is_wrong() -> None:
    both, one = grade_by_rule("", "", ""), grade_by_rule("", "yes", " ")
    assert both is not None and one is not None and (both.value, one.value) == (1.0, 0.0)


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_a_rule_gives_a_share_or_nothing_for_any_texts(question: str, expected: str, output: str) -> None:
    graded = grade_by_rule(question, expected, output)
    assert graded is None or 0 <= graded.value <= 1


def test_refusals_and_normal_texts() -> None:
    assert refuses("I'm sorry, I cannot help.") and refuses("No dispongo de datos.") and not refuses("It is 5 km.")
    assert normal_text("  ¡Hola,  Mundo! ") == "hola, mundo" and normal_text("x = Foo") == "x = Foo"
    assert stems_of("The boots are red") == stems_of("red boots")


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
        ("def f(xs):\n    return sum(x for x in xs)", "def g(v):\n    return sum(n for n in v)", 1.0, 1.0),
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
    assert grade_by_rule("", "x = 1", many) is not None


def test_code_is_taken_out_of_its_fence_or_ticks() -> None:
    assert extract("Here:\n```python\nx = 1\n```\nand\n```\ny = 2\n```") == "x = 1\n\ny = 2\n"
    assert extract("call `f` or `g(1)`") == "g(1)" and extract("plain") == "plain"
    assert has_code("`f(1)`", "then `f( 1 )` is run") and not has_code("", "anything")


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

    async def ask(self, question: Question) -> JudgeAnswer:
        if question.task != "quick":
            await asyncio.Event().wait()
        return JudgeAnswer(data={"score": 1})

    async def close(self) -> None:
        self.closed = True


def a_question(task: str) -> Question:
    return Question(task=task, inputs={}, prompt="", answer_schema={})


def test_a_question_without_an_answer_in_time_does_not_cost_the_others_theirs() -> None:
    judge: Any = SlowJudge()
    quick, slow = ask_now(judge, [a_question("quick"), a_question("slow")], 0.05)
    assert quick.data == {"score": 1} and slow.data is None and slow.reason == "no answer within 0.05 s"
    assert judge.closed
