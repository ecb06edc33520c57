"""The reference of a case, the calls it expects, and a rev that survives new fields."""

from typing import Any

import pytest
from pydantic import ValidationError

from evergold.model.case import Answer, Case, Context, EntryType, Origin, ReviewState, written_case
from evergold.model.tool_calls import ExpectedTool, ToolCall, calls_in, expected_of
from tests.rows import each_row

CALL = ToolCall(name="look_up", args={"city": "Lima"}, id="c1", result="rain")
SCHEMA = {"type": "function", "function": {"name": "look_up"}}
TURN: tuple[dict[str, Any], ...] = ({"role": "assistant", "content": "It rains."},)


def a_golden(**fields: Any) -> Case:
    return Case(**{"id": "g", "input": "Does it rain?", "output": "It rains.", **fields})


@each_row(
    ("fields", "text", "origin"),
    [
        ({}, "It rains.", Origin.CANDIDATE),
        ({"metadata": {"confirmed": True}}, "It rains.", Origin.CONFIRMED),
        ({"review": ReviewState.VALIDATED}, "It rains.", Origin.CONFIRMED),
        ({"expected": "Yes."}, "Yes.", Origin.SOURCE),
        ({"expected": "Yes.", "approved": Answer(text="Yes!")}, "Yes!", Origin.PERSON),
        ({"entry_type": EntryType.FAILURE}, None, None),
        ({"entry_type": EntryType.FAILURE, "expected": "No."}, "No.", Origin.SOURCE),
        ({"entry_type": EntryType.FAILURE, "approved": Answer(text="No!")}, "No!", Origin.PERSON),
        ({"entry_type": EntryType.CORRECTION, "expected": "wrong, it is sunny"}, None, None),
        ({"entry_type": EntryType.CORRECTION, "expected": "x", "revised": Answer(text="Sun.")}, "Sun.", Origin.REVISED),
        ({"entry_type": EntryType.CORRECTION, "approved": Answer(text="Sun!")}, "Sun!", Origin.PERSON),
        ({"output": "  "}, None, None),
        ({"output": None, "tool_calls": (CALL,)}, None, Origin.CANDIDATE),
    ],
)
def test_the_reference_is_chosen_by_one_rule(fields: dict[str, Any], text: str | None, origin: Origin | None) -> None:
    reference = a_golden(**fields).reference()
    assert (reference.text if reference else None, reference.origin if reference else None) == (text, origin)


@each_row(
    ("fields", "expected"),
    [
        ({}, None),
        ({"tools": (SCHEMA,)}, None),  # nothing is known of the turn
        ({"tools": (SCHEMA,), "turn": TURN}, ()),
        ({"turn": TURN}, None),
        ({"tool_calls": (CALL,), "turn": TURN}, expected_of([CALL])),
        ({"tool_calls": (CALL,), "entry_type": EntryType.FAILURE}, None),
        ({"expected_tools": ()}, ()),
        ({"tool_calls": (CALL,), "expected_tools": (ExpectedTool(name="other"),)}, (ExpectedTool(name="other"),)),
        ({"tool_calls": (CALL,), "turn": TURN, "approved": Answer(text="Dry.")}, expected_of([CALL])),
        ({"tool_calls": (CALL,), "approved": Answer(text="Dry.", tool_calls=())}, ()),
    ],
)
def test_expected_calls_are_absent_none_or_some(fields: dict[str, Any], expected: Any) -> None:
    assert a_golden(**fields).expected_calls() == expected


def test_the_rev_of_a_case_that_uses_no_new_field_is_the_one_it_always_had() -> None:
    assert Case(id="a", input="q").rev() == "sha256:ae16ae02e729fc8f2dac7c101803f7cbad7238d1f2c6803af586afec084cfa35"
    whole = Case(
        id="a",
        input="q",
        output="x",
        contexts=(Context(text="t", source="s"),),
        tool_calls=(ToolCall(name="f", args={"a": 1}),),
        expected_tools=(ExpectedTool(name="g"),),
    )
    assert whole.rev() == "sha256:039f7697a7614c89e9d95d9bcdcfe4d80ddfaaa853e773c78303f867b46b5627"


@each_row(
    "change",
    [
        {"turn": TURN},
        {"approved": Answer(text="x")},
        {"revised": Answer(text="x")},
        {"expected_tools": ()},
        {"ordered": False},
        {"tool_calls": (CALL,)},
    ],
)
def test_every_new_field_is_part_of_the_rev(change: dict[str, Any]) -> None:
    case = a_golden(tool_calls=(ToolCall(name="look_up", args={"city": "Lima"}),))
    assert case.model_copy(update=change).rev() != case.rev()


def test_an_empty_list_of_an_older_file_becomes_absent_and_a_new_one_stays() -> None:
    old = {"id": "a", "input": "q", "expected_tools": []}
    assert written_case(old).expected_tools is None
    assert written_case({**old, "turn": []}).expected_tools == ()


def test_calls_get_their_results_by_id_by_name_or_in_order() -> None:
    def call(name: str, ident: str | None = None, arguments: Any = "{}") -> dict[str, Any]:
        return {"id": ident, "type": "function", "function": {"name": name, "arguments": arguments}}

    made = calls_in(
        [
            {"role": "assistant", "content": None, "tool_calls": [call("a", "1", '{"x": 1}'), call("b", "2")]},
            {"role": "tool", "tool_call_id": "2", "content": "two"},
            {"role": "tool", "tool_call_id": "1", "content": "one"},
            {"role": "tool", "tool_call_id": "9", "content": "nobody asked"},
            {"role": "assistant", "tool_calls": [call("a", "1", "no json"), call("c"), call("d", arguments={"y": 2})]},
            {"role": "tool", "name": "d", "content": "four"},
            {"role": "tool", "content": "three", "is_error": True},
        ]
    )
    assert [(one.name, one.args, one.result, one.failed) for one in made] == [
        ("a", {"x": 1}, "one", False),
        ("b", {}, "two", False),
        ("a", {"arguments": "no json"}, "three", True),
        ("c", {}, None, False),
        ("d", {"y": 2}, "four", False),
    ]


@each_row(
    ("args", "match", "said"),
    [
        ({}, {"city": "exact"}, "'city', which is not in args"),
        ({"city": "Lima"}, {"city": "any_of"}, "list of right values"),
        ({"city": 3}, {"city": "regex"}, "the pattern as text"),
        ({"city": "Lima"}, {"city": "fuzzy"}, "'exact', 'ignore_case'"),
    ],
)
def test_a_rule_that_does_not_fit_its_argument_is_refused(
    args: dict[str, Any], match: dict[str, str], said: str
) -> None:
    with pytest.raises(ValidationError, match=said):
        ExpectedTool.model_validate({"name": "f", "args": args, "match": match})


def test_a_preview_cuts_texts_and_leaves_conversations_out() -> None:
    case = a_golden(input="q" * 900, output=None, approved=Answer(text="a" * 900), messages=({"role": "user"},))
    cut = case.preview(300)
    assert (len(cut.input), cut.output, cut.messages, cut.id) == (300, None, (), case.id)
    assert cut.approved is not None
    assert len(cut.approved.text or "") == 300
