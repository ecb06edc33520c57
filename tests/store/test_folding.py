"""What a span carried comes back to the letter, and its texts are stored once."""

import json
from copy import deepcopy
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st

from evergold.store.database.rows import dumps, loads
from evergold.store.trace.compact import FOLDED, SHORTEST, fold, unfold
from tests.rows import each_row

LONG = 'She said: "über\\all",\nthen 🎉 left.\t' * 5
PLAIN = "where is my parcel and who has it " * 5


def folded(raw: dict[str, Any], question: str | None, answer: str | None) -> dict[str, Any]:
    kept = deepcopy(raw)
    fold(kept, question, answer)
    return kept


def back(raw: dict[str, Any], question: str | None, answer: str | None) -> Any:
    return unfold(loads(dumps(folded(raw, question, answer))), question, answer)


@each_row("text", [LONG, PLAIN])
@each_row("spell", [str, json.dumps, lambda text: orjson.dumps(text).decode()])
def test_a_text_is_stored_once_however_it_is_spelled(text: str, spell: Any) -> None:
    attributes = {"before": 1, "gen_ai.output.messages": f'[{{"content": {spell(text)}}}]', "after": "x"}
    raw = {"attributes": attributes, "resource": {}}
    kept = folded(raw, "short", text)
    assert list(kept["attributes"].items()) == [("before", 1), ("gen_ai.output.messages", None), ("after", "x")]
    assert len(dumps(kept)) < len(text)
    assert list(back(raw, "short", text)["attributes"].items()) == list(attributes.items())


def test_what_holds_neither_text_is_left_as_it_is() -> None:
    raw = {"attributes": {"a": LONG, "b": "y" * (SHORTEST - 1), "c": [PLAIN]}}
    assert folded(raw, PLAIN, "y" * (SHORTEST - 1)) == folded(raw, None, None) == raw
    for odd in ({}, {"attributes": PLAIN}, {"attributes": None}):
        assert folded(odd, PLAIN, LONG) == odd
    assert FOLDED not in unfold(dict(raw), PLAIN, LONG)


TEXTS = st.sampled_from([PLAIN, LONG, PLAIN[: SHORTEST + 1], "x" * SHORTEST, "é" * SHORTEST])
VALUES = st.lists(TEXTS | st.text(max_size=5), max_size=3).map("".join) | TEXTS.map(json.dumps) | st.integers(0, 9)


@given(st.dictionaries(st.text(max_size=3), VALUES, max_size=5), st.none() | TEXTS, st.none() | TEXTS)
def test_whatever_was_folded_unfolds(attributes: dict[str, Any], question: str | None, answer: str | None) -> None:
    assert back({"attributes": attributes}, question, answer) == {"attributes": attributes}
