"""Calls and their results: ids are given, lost results are taken from tool spans, and what is wrong is named."""

from typing import Any

from evergold.conversation.pairs import CUT, is_cut, pair_results
from evergold.conversation.tools import is_calls, messages_of_runs, tool_runs
from evergold.model.trace import Span
from tests.rows import each_row


def call(name: str = "f", id: str | None = None, arguments: str = "{}") -> dict[str, Any]:
    return {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asked(*calls: dict[str, Any], content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": list(calls)}


def result(content: str = "42", id: str | None = None, name: str | None = None) -> dict[str, Any]:
    message = {"role": "tool", "content": content, "tool_call_id": id, "name": name}
    return {key: value for key, value in message.items() if value is not None}


USER, ANSWER = {"role": "user", "content": "Q"}, {"role": "assistant", "content": "A"}


def ids(messages: list[dict[str, Any]]) -> list[Any]:
    made = [one["id"] for message in messages for one in message.get("tool_calls", ())]
    return [*made, *(message.get("tool_call_id") for message in messages if message["role"] == "tool")]


def test_calls_and_results_without_ids_get_the_same_ones() -> None:
    messages, problems = pair_results([USER, asked(call("f"), call("g")), result("1"), result("2"), ANSWER], ())
    assert ids(messages) == ["call_1", "call_2", "call_1", "call_2"] and problems == []


def test_results_are_given_to_calls_by_name_before_order() -> None:
    messages, _ = pair_results([asked(call("f"), call("g")), result("of g", name="g"), result("of f", name="f")], ())
    assert ids(messages) == ["call_1", "call_2", "call_2", "call_1"]


def test_a_made_up_id_never_meets_one_that_came() -> None:
    messages, _ = pair_results([asked(call(), call(id="call_1")), result(), result(id="call_1")], ())
    assert ids(messages) == ["call_2", "call_1", "call_2", "call_1"]


def test_calls_of_messages_in_a_row_are_one_message() -> None:
    messages, problems = pair_results(
        [asked(call(id="1")), asked(call(id="2")), result(id="1"), result(id="2"), ANSWER], ()
    )
    assert [message["role"] for message in messages] == ["assistant", "tool", "tool", "assistant"]
    assert problems == []


def test_results_printed_into_one_text_are_parted() -> None:
    calls = [call(id=one, arguments=f'{{"n": "{one}"}}') for one in "12"]
    kept: dict[str, Any] = {"name": "f", "kind": "tool"}
    made = [Span(**kept, id=f"s{one}", input=f'{{"n": "{one}"}}', output=f'{{"n": "{one}"}}') for one in "12"]
    messages, problems = pair_results(
        [asked(*calls), result("{'n': '1'}\n{'n': '2'}", id="1"), ANSWER], tool_runs(made)
    )
    assert [message["content"] for message in messages[1:3]] == ['{"n": "1"}', '{"n": "2"}'] and problems == []


def test_a_text_between_two_calls_keeps_them_apart() -> None:
    messages, _ = pair_results([asked(call(id="1")), asked(call(id="2"), content="now the other")], ())
    assert len(messages) == 2


@each_row(
    ("messages", "problem"),
    [
        ([asked(call(id="1")), ANSWER], "call '1' of 'f' has no result"),
        ([USER, result(id="9"), ANSWER], "result '9' answers no call"),
        ([asked(call(id="1")), USER, result(id="1"), ANSWER], "result '1' answers no call"),
        ([asked(call(id="1"), call(id="1")), result(id="1"), result(id="1")], "id '1' names two calls of one message"),
        ([asked(call(id="1", arguments="nope")), result(id="1")], "arguments of call '1' are no JSON object"),
        ([{"role": "critic", "content": "x"}], "role 'critic' is not known"),
        ([{"role": "user", "content": f"long… [9 {CUT}"}], "a text was cut on arrival"),
    ],
)
def test_what_keeps_a_conversation_from_being_replayed_is_named(messages: list[dict[str, Any]], problem: str) -> None:
    assert any(problem in one for one in pair_results(messages, ())[1])


def test_calls_at_the_very_end_wait_for_their_results() -> None:
    assert pair_results([USER, asked(call(id="1"))], ())[1] == []


def tool(
    id: str, name: str = "f", gave: str | None = "42", begun: int = 0, ended: int = 1, call_id: str | None = None
) -> Span:
    moment = "2026-01-01T00:00:{:02}Z".format
    return Span(
        id=id,
        name=name,
        kind="tool",
        input="{}",
        output=gave,
        started_at=moment(begun),
        ended_at=moment(ended),
        metadata={"attributes": {"tool_call.id": call_id} if call_id else {}},
    )


def test_a_lost_result_is_taken_from_the_span_of_its_tool() -> None:
    runs = tool_runs([tool("s1", gave="of one", call_id="1"), tool("s2", "g", "of g")])
    messages, problems = pair_results([USER, asked(call(id="1"), call("g", id="2")), ANSWER], runs)
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["of one", "of g"]
    assert problems == []


def test_the_last_call_gets_the_last_run_of_the_same_tool() -> None:
    runs = tool_runs([tool("s1", gave="first"), tool("s2", gave="second")])
    messages, _ = pair_results([asked(call(id="1")), asked(call(id="2"), content="again"), ANSWER], runs)
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["first", "second"]


def test_a_run_is_used_once() -> None:
    messages, problems = pair_results([asked(call(id="1"), call(id="2")), ANSWER], tool_runs([tool("s1")]))
    assert len([message for message in messages if message["role"] == "tool"]) == 1 and len(problems) == 1


def test_tools_that_ran_side_by_side_were_called_together() -> None:
    together = messages_of_runs(
        tool_runs([tool("a", begun=0, ended=5), tool("b", begun=2, ended=3), tool("c", begun=6, ended=7)])
    )
    assert [len(message["tool_calls"]) for message in together if message["role"] == "assistant"] == [2, 1]
    assert [message["tool_call_id"] for message in together if message["role"] == "tool"] == ["a", "b", "c"]


def test_a_tool_without_a_result_gives_a_call_alone() -> None:
    assert [message["role"] for message in messages_of_runs(tool_runs([tool("a", gave=None)]))] == ["assistant"]


@each_row(
    ("given_input", "arguments", "ident"),
    [
        ('{"input_str": "{\\"a\\": 1}"}', '{"a":1}', None),
        ('{"type": "tool_call", "id": "9", "args": {"a": 1}}', '{"a":1}', "9"),
        ('{"a": 1}', '{"a": 1}', None),
        ("text", "text", None),
        (None, "{}", None),
    ],
)
def test_arguments_are_taken_out_of_what_frameworks_put_around_them(
    given_input: str | None, arguments: str, ident: str | None
) -> None:
    (run,) = tool_runs([Span(id="s", name="f", kind="tool", input=given_input)])
    assert (run.arguments, run.ident) == (arguments, ident)


@each_row(
    ("text", "calls"),
    [
        ('[{"name": "f", "arguments": {}}]', True),
        ('{"function": {"name": "f"}}', True),
        ('[{"name": "other"}]', False),
        ("[]", False),
        ("[5]", False),
        ("f()", False),
        (None, False),
    ],
)
def test_an_output_that_is_only_calls_is_known(text: str | None, calls: bool) -> None:
    assert is_calls(text, ["f"]) == calls


@each_row(
    ("content", "cut"),
    [(f"x{CUT}", True), ("x", False), ([{"text": f"x{CUT}"}], True), ([{"type": "image_url"}], False), (None, False)],
)
def test_a_text_that_was_cut_says_so(content: Any, cut: bool) -> None:
    assert is_cut(content) == cut
