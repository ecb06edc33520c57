"""JSON inside JSON, decoded as far as it goes and no further."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.conversation.message import DEEPEST_JSON, as_json, as_text, decode_json, decode_list, decode_object
from tests.rows import each_row


@each_row(
    ("value", "expected"),
    [
        ("plain", "plain"),
        ('"quoted"', "quoted"),
        ('{"a": 1}', {"a": 1}),
        (" [1] ", [1]),
        ('"{\\"a\\": 1}"', {"a": 1}),
        ("{broken", "{broken"),
        ("5", "5"),
        ("null", "null"),
        ("", ""),
        (None, None),
        (7, 7),
        ({"a": "[1]"}, {"a": "[1]"}),
    ],
)
def test_a_text_that_holds_a_document_is_decoded(value: Any, expected: Any) -> None:
    assert decode_json(value) == expected


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 9), max_size=3), st.integers(1, DEEPEST_JSON))
def test_documents_are_found_however_often_they_were_dumped(document: dict[str, int], times: int) -> None:
    text: Any = document
    for _ in range(times):
        text = json.dumps(text)
    assert decode_json(text) == document


def test_decoding_ends() -> None:
    text: Any = {"a": 1}
    for _ in range(DEEPEST_JSON + 2):
        text = json.dumps(text)
    assert isinstance(decode_json(text), str)


@each_row(
    ("value", "as_object", "as_list"),
    [
        ('{"a": 1}', {"a": 1}, [{"a": 1}]),
        ("[1]", {}, [1]),
        ("text", {}, []),
        (None, {}, []),
    ],
)
def test_what_is_no_object_or_list_is_empty(value: Any, as_object: dict[str, Any], as_list: list[Any]) -> None:
    assert (decode_object(value), decode_list(value)) == (as_object, as_list)


@each_row("value", [2**70, {"n": 2**70}, {1: "a"}, [None, True]])
def test_any_value_can_be_written(value: Any) -> None:
    assert isinstance(json.loads(as_json(value)), int | dict | list)


@each_row(("value", "text"), [("a", "a"), (None, ""), (5, "5"), ({"a": 1}, '{"a":1}')])
def test_a_value_as_text(value: Any, text: str) -> None:
    assert as_text(value) == text
