"""Relevancy: fitted weights, thresholds of their own, and two lists of probes, one that shaped it and one that measures it."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.judge.relevance import VECTORS, WORDS, basis, relevance, relevance_features, shipped_relevance
from evergold.judge.small_model import shipped_model
from tests.rows import each_row

PROBES = Path(__file__).parent / "probes"


def is_relevant(question: str, statement: str, lexical: bool = False) -> bool:
    model = None if lexical else shipped_model()
    least = shipped_relevance().thresholds[basis(question, model)]
    return relevance(question, [statement], model)[0] >= least


def read(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (PROBES / f"{name}.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(("name", "share"), [("relevancy_shaping", 0.95), ("relevancy_measuring", 0.93)])
def test_statements_about_the_question_are_told_from_others(name: str, share: float) -> None:
    probes = read(name)
    missed = [
        probe
        for probe in probes
        if is_relevant(probe["question"], probe["statement"]) != (probe["verdict"] == "relevant")
    ]
    assert len(missed) <= (1 - share) * len(probes), missed


def test_the_two_lists_have_no_text_in_common() -> None:
    one, other = ({probe[part] for probe in read(name)} for name in ("relevancy_shaping", "relevancy_measuring")
                  for part in ("statement",))  # fmt: skip
    assert not one & other


@each_row(
    ("question", "answer"),
    [
        ("Who wrote Faust?", "Goethe."),
        ("How heavy is it?", "Twelve tons."),
        ("Can I smoke here?", "No."),
        ("When is lunch?", "At noon."),
        ("Where is it kept?", "In the basement."),
    ],
)
@each_row("lexical", [False, True], ids=["model", "lexical"])
def test_an_answer_that_shares_no_word_with_its_question_can_be_relevant(
    question: str, answer: str, lexical: bool
) -> None:
    assert is_relevant(question, answer, lexical)


def test_the_thresholds_are_those_of_the_calibration_and_differ_by_what_is_known() -> None:
    shipped = shipped_relevance()
    assert (
        tuple(shipped.models["vectors"].weights) == WORDS + VECTORS and tuple(shipped.models["words"].weights) == WORDS
    )
    assert shipped.thresholds["vectors"] != shipped.thresholds["words"]
    assert basis("What is it?", None) == "words" and basis("¿Qué es?", shipped_model()) == "words"


@settings(max_examples=40, deadline=None)
@given(st.text(max_size=60), st.text(max_size=60))
def test_any_two_texts_have_features(question: str, statement: str) -> None:
    (row,) = relevance_features([(question, statement)], None)
    assert tuple(row) == WORDS
    assert 0 <= relevance(question, [statement], None)[0] <= 1


@each_row("text", ["", "…", "東京", "a" * 1_000_000, "word " * 200_000])
def test_odd_text_has_a_relevance(text: str) -> None:
    model = shipped_model()
    assert all(0 <= value <= 1 for value in relevance(text, [text, "Lima."], model) + relevance("Who?", [text], model))
