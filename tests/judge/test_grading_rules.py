"""Rules that grade an answer where the expected one has a form: what each rule calls right and wrong, and when it is silent."""

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.grades import grade
from evergold.judge.grading_rules import RULES, WRONG
from tests.rows import each_row

HIGH, LOW = 0.75, 0.4
CHOICE = "Which is the capital of Peru? A) Lima B) Quito C) La Paz"


@each_row(
    ("question", "expected", "output"),
    [
        ("", "Lima", " lima. "),
        ("", '{"a": 1, "b": [2]}', '```json\n{"b": [2], "a": 1}\n```'),
        ("", "x > 0", "`0 < x`"),
        (CHOICE, "A", "The answer is A."),
        (CHOICE, "A) Lima", "Lima"),
        ("Is it open?", "Yes", "Yes, it is open."),
        ("Is it open?", "No", "No."),
        ("When was it?", "3 May 2024", "It was on May 3rd, 2024."),
        ("When does it open?", "14:30", "At 2:30 pm."),
        ("How far is it?", "5 km", "It is 5000 metres away."),
        ("How many?", "1,200", "There are 1200 of them."),
        ("Which colours?", "red, green and blue", "blue, red, green"),
        ("Who wrote it?", "Goethe", "It was written by Goethe."),
        ("¿Quién lo escribió?", "Cervantes", "Lo escribió Cervantes en 1605."),
    ],
)
def test_right_answers_in_other_words_are_graded_high(question: str, expected: str, output: str) -> None:
    graded = grade(question, expected, output, None)
    assert graded is not None and graded.value >= HIGH, graded


@each_row(
    ("question", "expected", "output"),
    [
        ("", "Lima", ""),
        ("Who wrote it?", "Goethe", "I'm sorry, I don't know."),
        ("Who wrote Faust and when?", "Goethe", "Who wrote Faust and when?"),
        ("", '{"a": 1}', '{"a": 2}'),
        ("", '{"a": 1}', "There is one a."),
        ("", "return x + 1", "return x - 1"),
        (CHOICE, "A", "B"),
        (CHOICE, "A", "Quito"),
        ("Is it open?", "Yes", "No, it is closed."),
        ("When was it?", "3 May 2024", "It was on 4 May 2024."),
        ("When does it open?", "14:30", "At 15:30."),
        ("How far is it?", "5 km", "It is 5 miles away."),
        ("How many?", "12", "There are 13 of them."),
        ("Which colours?", "red, green and blue", "red and green"),
        ("Which colours?", "red and green", "red, green, yellow and black"),
        ("Who wrote it?", "Goethe", "It was not Goethe."),
    ],
)
def test_wrong_answers_are_graded_low(question: str, expected: str, output: str) -> None:
    graded = grade(question, expected, output, None)
    assert graded is not None and graded.value <= LOW, graded


def test_both_empty_is_right_and_one_empty_is_wrong() -> None:
    both, lacking = grade("", "", " ", None), grade("", "x", "", None)
    assert both is not None and both.value == 1.0 and lacking is not None and lacking.value == 0.0


def test_free_text_is_left_to_the_model() -> None:
    expected = "The treaty ended the war between the two kingdoms and returned the coastal provinces to the south."
    assert grade("What did the treaty do?", expected, "It brought peace to the region after many years.", None) is None


TEXT = st.text("ab 0123456789,.:;{}[]()\"'`\n-?!áñ", max_size=60)


@settings(max_examples=80, deadline=None)
@given(TEXT, TEXT, TEXT)
def test_a_rule_gives_a_share_or_nothing_for_any_texts(question: str, expected: str, output: str) -> None:
    for rule in RULES:
        graded = rule(question, expected, output)
        assert graded is None or (0.0 <= graded.value <= 1.0 and graded.reason)


def test_a_json_of_any_depth_is_compared() -> None:
    deep = "[" * 400 + "1" + "]" * 400
    graded = grade("", deep, deep.replace("1", "2"), None)
    assert graded is not None and graded.value <= LOW
    assert WRONG < LOW
