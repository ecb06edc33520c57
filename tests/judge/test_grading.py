"""Correctness on probes: lists that shaped the rules, and others, of other texts, that measure them."""

import json
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.grades import grade
from evergold.judge.small_model import shipped_model
from tests.rows import each_row

PROBES = Path(__file__).parent / "probes"
RIGHT_FROM, WRONG_BELOW = 0.7, 0.4


@each_row(
    ("name", "share"),
    [("shaping", 0.95), ("second_shaping", 0.95), ("measuring", 0.95), ("fresh", 0.93), ("second_measuring", 0.9)],
)
def test_right_answers_are_graded_high_and_wrong_ones_low(name: str, share: float) -> None:
    probes = [json.loads(line) for line in (PROBES / f"{name}.jsonl").read_text().splitlines()]
    missed = []
    for probe in probes:
        made = grade(probe["question"], probe["expected"], probe["answer"], shipped_model())
        assert made is not None
        good = made.value > RIGHT_FROM if probe["verdict"] == "right" else made.value < WRONG_BELOW
        if not good:
            missed.append((probe["class"], probe["expected"], probe["answer"], made))
    assert len(missed) <= (1 - share) * len(probes) + 1e-9, missed


def test_only_equal_texts_are_surely_right() -> None:
    made = grade("", "The sky is blue.", "Blue is the sky's colour.", shipped_model())
    assert made is not None and made.value < 1.0
    same = grade("", "The sky is blue.", "the sky is  blue", shipped_model())
    assert same is not None and same.value == 1.0


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_are_graded_or_left_to_the_model(expected: str, output: str) -> None:
    made = grade("What?", expected, output, None)
    assert made is None or 0 <= made.value <= 1


PAGE = (
    "The pump starts at dawn.",
    "Water is drawn from the lake.",
    "A sieve holds back leaves and stones.",
    "The tank on the hill holds 400 litres.",
    "Pipes lead from the tank to the houses.",
    "Each house has a meter in the cellar.",
    "Meters are read in spring.",
    "Bills are sent in the following month.",
    "Repairs are paid by the village.",
    "The pump rests in winter.",
)
NUMBERED = ["first", "second", "third", "fourth", "fifth"]


def test_what_a_long_answer_says_at_its_end_counts() -> None:
    """The sentences of the expected answer come after ten of something else."""
    other = " ".join(f"The {word} shop sells bread and cheese." for word in NUMBERED * 2)
    late = grade("How does the water supply work?", " ".join(PAGE), f"{other} {' '.join(PAGE)}", shipped_model())
    never = grade("How does the water supply work?", " ".join(PAGE), f"{other} {other}", shipped_model())
    assert late is not None and never is not None
    assert late.value > 0.6 > 0.3 > never.value


def test_one_missing_number_does_not_spoil_a_page() -> None:
    changed = [sentence.replace("400", "several hundred") for sentence in PAGE] + ["The lake is 3 km away."]
    made = grade("How does the water supply work?", " ".join(PAGE), " ".join(changed), shipped_model())
    short = grade("", "The tank holds 400 litres.", "The tank holds 300 litres.", shipped_model())
    assert made is not None and short is not None
    assert made.value > 0.4 > short.value


def test_the_more_of_a_page_an_answer_keeps_the_higher_its_grade() -> None:
    wrong = ("The pump stops at dawn.", "Bills are never sent.", "Repairs are paid by the state.")
    answers = (PAGE[2:], PAGE[5:], (*PAGE[8:], *wrong), wrong)
    made = [grade("How does it work?", " ".join(PAGE), " ".join(answer), shipped_model()) for answer in answers]
    values = [one.value for one in made if one is not None]
    assert values == sorted(values, reverse=True) and values[0] > 0.7 and values[-1] < 0.4


def test_an_opposite_somewhere_in_a_page_does_not_make_all_of_it_wrong() -> None:
    more = (*PAGE, "The old pump stopped at night.", "No house is without water.")
    made = grade("How does it work?", " ".join(PAGE), " ".join(more), shipped_model())
    assert made is not None and made.value > 0.7


def test_length_alone_earns_nothing_on_a_page() -> None:
    """More words about something else neither make a wrong answer right nor a right one better."""
    padding = " ".join(f"The {word} shop sells bread, cheese, milk and fruit to guests." for word in NUMBERED)
    answers = ("It is cold in the north.", padding, " ".join(PAGE[:6]), f"{' '.join(PAGE[:6])} {padding}")
    made = [grade("How does it work?", " ".join(PAGE), answer, shipped_model()) for answer in answers]
    brief, long, half, padded = [one.value for one in made if one is not None]
    assert max(brief, long) < 0.2 and padded < half


def test_a_page_in_near_words_is_graded_above_one_on_something_else() -> None:
    expected = "The physician treats sick children. The clinic opens early. Parents pay nothing."
    near = "A doctor cares for ill kids. The hospital starts at dawn. Mothers and fathers are not charged."
    other = "A sailor repairs old boats. The harbour closes late. Tourists rent bicycles."
    made = [grade("What is offered?", expected, answer, shipped_model()) for answer in (near, other)]
    values = [one.value for one in made if one is not None]
    assert values[0] > values[1] + 0.2
