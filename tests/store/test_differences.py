"""A span comes back to the letter from its difference from another one."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.store.database.rows import dumps, loads
from evergold.store.trace.compact import Carried, difference, heads_of, restore
from tests.rows import each_row

QUESTIONS = [f"Question {number}: where is my parcel and who has it? " * 3 for number in range(6)]
ANSWERS = [f'Answer {number}: she said "über\\all",\nthen 🎉 left. ' * 4 for number in range(6)]


def back(span: Carried, base: Carried) -> dict[str, Any]:
    return restore(loads(dumps(difference(span, base))), (span.input, span.output), base)


def message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def turn(number: int, *, system: str = "Be kind. " * 20, first: int = 0, ascii_only: bool = True) -> Carried:
    said = [message("system", system)]
    for earlier in range(first, number):
        said += [message("user", QUESTIONS[earlier]), message("assistant", ANSWERS[earlier])]
    said.append(message("user", QUESTIONS[number]))
    answer = [message("assistant", ANSWERS[number]) | {"finish_reason": "stop"}]
    attributes = {
        "gen_ai.request.model": "small-1",
        "gen_ai.usage.output_tokens": number,
        "gen_ai.input.messages": json.dumps(said, ensure_ascii=ascii_only),
        "gen_ai.output.messages": json.dumps(answer, ensure_ascii=ascii_only),
    }
    raw = {"attributes": attributes, "resource": {"service.name": "shop"}}
    return Carried(raw, QUESTIONS[number], ANSWERS[number])


@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_turn_is_told_by_the_turn_before(ascii_only: bool) -> None:
    span, base = turn(4, ascii_only=ascii_only), turn(3, ascii_only=ascii_only)
    told = dumps(difference(span, base))
    assert back(span, base) == span.raw
    assert len(told) < 450 and "parcel" not in told and "left" not in told
    assert "finish_reason" in told


@each_row("span", [turn(4, first=1), turn(4, system="It is noon. " * 20), turn(4, first=2, system="x" * 200)])
def test_a_window_that_moves_and_a_prompt_that_changes_repeat_little(span: Carried) -> None:
    told = dumps(difference(span, turn(3)))
    assert back(span, turn(3)) == span.raw
    assert len(told) < 1000 and "Question 2" not in told


def test_values_that_are_equal_in_python_and_not_in_json_are_told_apart() -> None:
    base = Carried({"attributes": {"a": 1, "b": True, "c": [1], "d": "x", "e": None}, "scope": "s"}, None, None)
    span = Carried({"attributes": {"a": True, "b": 1.0, "c": [True], "d": "x"}, "resource": {"r": 1}}, None, None)
    assert dumps(back(span, base)["attributes"]) == dumps({"a": True, "b": 1.0, "c": [True], "d": "x"})
    assert back(span, base) == span.raw


def test_a_text_that_goes_on_has_the_head_of_the_one_before() -> None:
    long = [("gen_ai.input.messages", turn(2).attributes["gen_ai.input.messages"]), ("other", "short")]
    more = [("gen_ai.input.messages", turn(3).attributes["gen_ai.input.messages"])]
    assert heads_of(long) == heads_of(more) != heads_of([("x", "y" * 200)])
    assert len(heads_of([("surrogate", "\ud800" * 200)])) == 1


TEXTS = st.sampled_from([*QUESTIONS[:2], *ANSWERS[:2], json.dumps(ANSWERS[0]), "x" * 120, "}, {", ", ", "é"])
LONG = st.lists(TEXTS | st.text(max_size=4), max_size=6).map("".join)
VALUES = LONG | st.integers(0, 3) | st.booleans() | st.none() | st.lists(st.integers(0, 2), max_size=2)
SPANS = st.builds(
    lambda attributes, question, answer: Carried({"attributes": attributes}, question, answer),
    st.dictionaries(st.sampled_from("abcd"), VALUES, max_size=4),
    st.none() | TEXTS,
    st.none() | TEXTS,
)


@given(SPANS, SPANS)
def test_whatever_a_span_and_its_base_are_the_span_comes_back(span: Carried, base: Carried) -> None:
    found = back(span, base)["attributes"]
    assert {name: dumps(value) for name, value in found.items()} == {
        name: dumps(value) for name, value in span.attributes.items()
    }
