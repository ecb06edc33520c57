"""Correctness on probes: lists that shaped the rules, and others, of other texts, that measure them."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.claim_model import shipped_model
from evergold.judge.grading import grade

PROBES = Path(__file__).parent / "probes"
RIGHT_FROM, WRONG_BELOW = 0.7, 0.4


@pytest.mark.parametrize(
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
