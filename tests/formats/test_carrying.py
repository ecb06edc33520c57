"""Fields that a format cannot hold are carried, edits count, and YAML is read with care."""

import os
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.formats.parts import unheld_fields
from evergold.formats.records import (
    KEY,
    NO_REFERENCE,
    ONLY_CALLS,
    carry_fields,
    metadata_of,
    rebuild_case,
    unread_of,
    with_edited_reference,
    with_edits,
    with_reference,
)
from evergold.formats.tables import json_lines
from evergold.formats.yaml_documents import MAX_DEPTH, Problem, Unreadable, read
from evergold.model.case import Answer, Context
from evergold.model.faults import Rejected
from evergold.model.tool_calls import ExpectedTool
from tests.builders import a_case
from tests.rows import each_row

HELD = {"id", "input", "expected"}


def back(case: Any, **changes: Any) -> Any:
    """The case read from a record that a format of `HELD` would write."""
    held = {name: getattr(case, name) for name in HELD} | changes
    return rebuild_case(held, metadata_of(case, HELD))


@each_row(
    "case",
    [
        a_case(),
        a_case(dataset="other", tags=("a",), metadata={"k": 1}),
        a_case(metadata={KEY: {"mine": True}}),
        a_case(input="", expected=""),
        a_case(output=""),
        a_case(contexts=(Context(text=None, source="s"),), expected_tools=()),
        a_case(approved=Answer(text="Better."), expected="Good."),
    ],
)
def test_what_is_carried_gives_the_same_case(case: Any) -> None:
    assert back(case).content() == case.content()


def test_only_what_says_something_is_carried() -> None:
    assert carry_fields(a_case(output=None, expected="x"), HELD) == {}
    assert carry_fields(a_case(output="o", expected="x"), HELD) == {"output": "o"}
    assert carry_fields(a_case(output=None, expected=""), HELD) == {"expected": ""}


def test_a_record_of_another_tool_is_guessed_at_and_gets_an_id_of_its_content() -> None:
    one = rebuild_case({"input": "Q"}, {"k": 1}, guessed={"tags": ["g"]}, unread={"colour": "red"})
    assert (one.tags, one.metadata, one.extra, one.dataset) == (("g",), {"k": 1}, {"colour": "red"}, "imported")
    assert (
        len(one.id) == 16
        and one.id == rebuild_case({"input": "Q"}, {"k": 1}, guessed={"tags": ["g"]}, unread={"colour": "red"}).id
    )
    assert rebuild_case({"input": "Q"}, {"k": 2}).id != one.id
    with pytest.raises(ValueError, match="nothing to ask"):
        rebuild_case({"input": ""}, None)


@each_row(("entry_type", "field"), [("golden", "expected"), ("failure", "expected"), ("correction", "revised")])
def test_a_right_answer_that_was_edited_in_a_file_counts(entry_type: str, field: str) -> None:
    case = a_case(entry_type=entry_type, approved=Answer(text="Old."))
    edited = with_edited_reference(case, "New.")
    value = getattr(edited, field)
    assert (value.text if field == "revised" else value) == "New." and edited.approved is None
    assert with_edited_reference(case, "Old.") is case and with_edited_reference(case, None) is case


def test_a_context_keeps_its_source_while_its_text_is_the_same() -> None:
    case = a_case(contexts=(Context(text="a", source="x.md"), Context(text="b", source="y.md")))
    own = {"contexts": [{"text": "a"}, {"text": "b"}]}
    edited = with_edits(case, {"contexts": [{"text": "b"}, {"text": "new"}]}, own)
    assert [(context.text, context.source) for context in edited.contexts] == [("b", "y.md"), ("new", None)]
    assert with_edits(case, own, own) is case


def test_cases_without_a_reference_are_rejected_with_the_reason() -> None:
    failure = a_case("f", entry_type="failure", output="wrong")
    calls = a_case("c", output=None, expected_tools=(ExpectedTool(name="f"),))
    good = a_case("g", expected="Lima.")
    rejected: list[Rejected] = []
    assert list(with_reference([failure, calls, good], rejected)) == [good]
    assert [one.reason for one in rejected] == [NO_REFERENCE, ONLY_CALLS] and rejected[0].where == "live/f"
    assert list(with_reference([calls, good], [], calls_will_do=True)) == [calls, good]


def test_null_says_nothing() -> None:
    assert unread_of({"a": 1, "b": None, "c": 0, "d": 2}, "a") == {"c": 0, "d": 2}


def test_a_plain_question_is_no_conversation() -> None:
    one = a_case(
        messages=({"role": "user", "content": "Q"},), turn=({"role": "assistant", "content": "A"},), prompt="p"
    )
    assert list(unheld_fields(one)) == ["prompt"]
    assert "messages" in list(unheld_fields(one.model_copy(update={"messages": one.messages * 2})))


@each_row(
    ("text", "line", "problem"),
    [
        ("a: 1\na: 2\n", 2, "the key 'a' is already set on line 1"),
        ("1: x\n", 1, "the key 1 is not text; put it in quotes"),
        ("? [a]\n: x\n", 1, "the key a collection is not text"),
        ("a: !!python/object:os.system x\n", 1, "has no JSON value"),
        ("a: .inf\n", 1, ".inf is not a number JSON can hold"),
        ("a: [1\n", 2, "not valid YAML"),
        ("a: *b\n", 1, "not valid YAML"),
        ("a: &x\n  b: *x\n", 1, "points back into the value"),
        (f"a: {'[' * (MAX_DEPTH + 1)}{']' * (MAX_DEPTH + 1)}\n", 1, "nested more than"),
        ("a: \x00\n", 0, "not valid YAML"),
    ],
)
def test_yaml_that_cannot_be_kept_is_refused_with_its_line(text: str, line: int, problem: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read(text)
    assert problem in raised.value.problem.message and raised.value.problem.line == line


@each_row(
    ("text", "value"),
    [
        ("", None),
        ("a: 2026-01-02\n", {"a": "2026-01-02"}),
        ("a: no\n", {"a": False}),
        ("base: &b {x: 1}\na:\n  <<: *b\n  y: 2\n", {"base": {"x": 1}, "a": {"x": 1, "y": 2}}),
        ("- 1\n- [a, b]\n", [1, ["a", "b"]]),
    ],
)
def test_yaml_becomes_plain_json_values(text: str, value: Any) -> None:
    assert read(text).value == value


def test_a_value_is_traced_back_to_its_line() -> None:
    document = read("name: x\ntasks:\n  - id: a\n    input: q\n  - id: b\n")
    assert document.line(("tasks", 1, "id")) == 5 and document.line(("tasks", 0, "input")) == 4
    assert document.line(("tasks", 9)) == 2 and document.line(("nothing",)) == 1 and read("").line(("a",)) == 0
    assert Problem(3, "x").describe_at(Path("f")) == "f:3"


def test_a_pipe_is_no_parquet_file() -> None:
    reading, writing = os.pipe()
    os.close(writing)
    with os.fdopen(reading, "rb") as handle, pytest.raises(BadInput, match="cannot be read from a pipe"):
        list(json_lines(handle, "stdin"))
