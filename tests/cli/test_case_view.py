"""A case as `evergold cases show` prints it."""

from evergold.cli.datasets import case_lines
from evergold.model.case import Answer, EntryType
from evergold.model.tool_calls import ToolCall
from tests.builders import a_case

BOOKED = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": '{"people":2}'}}


def test_a_conversation_is_read_line_by_line() -> None:
    turn = (
        {"role": "assistant", "content": None, "tool_calls": [BOOKED]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"ok":true}'},
        {"role": "assistant", "content": "Booked.\nSee you."},
    )
    lines = list(case_lines(a_case(messages=({"role": "user", "content": "Book for two"},), turn=turn)))
    start = lines.index("messages:")
    assert lines[start:][:7] == [
        "messages:",
        "  user: Book for two",
        "turn:",
        '  assistant calls book({"people":2})',
        '  tool: {"ok":true}',
        "  assistant: Booked.",
        "    See you.",
    ]


def test_the_reference_is_named_with_its_origin_and_calls() -> None:
    revised = Answer(text="Booked for four.", tool_calls=(ToolCall(name="book", args={"people": 4}),))
    lines = list(case_lines(a_case(entry_type=EntryType.CORRECTION, expected="I said four", revised=revised)))
    assert lines[-3:] == ["reference (revised):", '  calls book({"people":4})', "  Booked for four."]
    assert "expected: I said four" in lines


def test_a_missing_reference_is_said() -> None:
    assert list(case_lines(a_case(entry_type=EntryType.FAILURE, output="?")))[-1] == "reference: none yet"
