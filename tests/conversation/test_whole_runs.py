"""Runs of agents and chains as they are traced: states, wrappers around a call, failed calls, tools at work."""

import json
from typing import Any

import pytest

from evergold.conversation import conversation_of, text_of
from evergold.conversation.assembly import contexts_of, texts_of
from evergold.conversation.wholeness import change_of_exporter, gaps_of
from evergold.model.trace import Gap, Span
from tests.builders import a_model_call, a_trace
from tests.rows import each_row

SYSTEM = {"role": "system", "content": "You run a library."}
BEFORE = [{"role": "user", "content": "Haben Sie Faust?"}, {"role": "assistant", "content": "Ja, zwei."}]
ASKED = {"role": "user", "content": "Bis wann?"}
CALL: dict[str, Any] = {
    "role": "assistant",
    "content": "Ich sehe nach.",
    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "due", "arguments": '{"book":"Faust"}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "unknown book"}
ANSWER = {"role": "assistant", "content": "Das weiß ich nicht."}
SCHEMA = {"type": "object", "properties": {"book": {"type": "string"}}}


def a_root(asked: Any = None, answered: Any = None, **more: Any) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "CHAIN", "input.value": asked, "output.value": answered}
    known = {key: value for key, value in attributes.items() if value is not None}
    return {"id": "root", "name": "graph", "kind": "chain", "metadata": {"attributes": known}, **more}


def a_run(*spans: dict[str, Any], **more: Any) -> Any:
    return a_trace(**{"input": ASKED["content"], "output": ANSWER["content"], "spans": spans, **more})


def test_a_state_that_begins_with_earlier_turns_holds_the_question_once() -> None:
    state = {"messages": [*BEFORE, ASKED, ANSWER]}
    root = a_root({"messages": [ASKED]}, state)
    alone = conversation_of(a_run(root))
    assert [*alone.messages, *alone.turn] == [*BEFORE, ASKED, ANSWER]
    called = conversation_of(a_run(root, a_model_call("m", [SYSTEM, *BEFORE, ASKED], [ANSWER])))
    assert [*called.messages, *called.turn] == [SYSTEM, *BEFORE, ASKED, ANSWER]


def test_an_answer_after_a_tool_is_not_lost_where_it_is_a_bare_text() -> None:
    call = a_model_call("m", [ASKED, CALL, RESULT], None, output=ANSWER["content"])
    conversation = conversation_of(a_run(a_root(), call))
    assert conversation.turn == (CALL, RESULT, ANSWER)


def test_the_last_answer_of_a_session_is_not_that_of_a_trace_that_says_nothing() -> None:
    earlier = [a_trace("t0", input=BEFORE[0]["content"], output=BEFORE[1]["content"])]
    silent = a_trace("t1", input="", output=None, status="failed", spans=[a_root()])
    conversation = conversation_of(silent, lambda _: earlier)
    assert (conversation.messages, conversation.turn) == ((), ())


@pytest.mark.parametrize("status", ["failed", "completed"])
def test_a_reply_without_any_content_is_no_answer(status: str) -> None:
    call = a_model_call("m", [ASKED], [{"role": "assistant", "parts": []}], status=status, output=None)
    conversation = conversation_of(a_run(a_root(), call, output=None))
    assert (conversation.messages, conversation.turn) == ((ASKED,), ())


def test_a_run_without_an_answer_has_the_turns_that_its_last_call_was_given() -> None:
    call = a_model_call("m", [SYSTEM, *BEFORE, ASKED], None, status="failed", output=None)
    conversation = conversation_of(a_run(a_root({"messages": [ASKED]}), call, output=None, status="failed"))
    assert (conversation.messages, conversation.turn) == ((SYSTEM, *BEFORE, ASKED), ())


def test_a_step_around_the_tools_is_no_call() -> None:
    tool = {"id": "t", "parent_id": "root", "name": "due", "kind": "tool", "input": "{}", "output": "14 May"}
    around = tool | {"id": "a", "name": "execute_tool (merged tools)", "metadata": {"tool": "(merged tools)"}}
    assert len(conversation_of(a_run(a_root(), tool, around)).turn[0]["tool_calls"]) == 1


def test_the_call_inside_a_wrapper_holds_the_filled_template() -> None:
    template = {"role": "user", "content": "Context: {context} Question: {question}"}
    outer = a_model_call("outer", [template], [ANSWER], at=9)
    inner = a_model_call("inner", [SYSTEM, ASKED], [ANSWER], at=8, parent_id="outer")
    assert conversation_of(a_run(a_root(), outer, inner)).messages == (SYSTEM, ASKED)
    bare = a_model_call("inner", [], [ANSWER], at=8, parent_id="outer")
    assert conversation_of(a_run(a_root(), outer, bare)).messages == (template,)


@each_row("key", ["gen_ai.tool.json_schema", "tool.json_schema", "tool.parameters"])
def test_tools_are_known_from_their_spans_where_no_call_names_them(key: str) -> None:
    attributes = {key: SCHEMA, "tool.description": "When a book is due", "input.value": '{"book":"Faust"}'}
    span = {"id": "t", "parent_id": "root", "name": "due", "kind": "tool", "metadata": {"attributes": attributes}}
    call = a_model_call("m", [ASKED, CALL, RESULT], [ANSWER])
    function = {"name": "due", "description": "When a book is due", "parameters": SCHEMA}
    assert conversation_of(a_run(a_root(), span, call)).tools == ({"type": "function", "function": function},)


def test_words_and_calls_in_messages_of_their_own_are_one_message() -> None:
    words, calls = {"role": "assistant", "content": CALL["content"]}, CALL | {"content": None}
    conversation = conversation_of(a_run(a_root(), a_model_call("m", [ASKED, words, calls, RESULT], [ANSWER])))
    assert conversation.turn == (CALL, RESULT, ANSWER)


def test_a_question_without_its_content_is_named() -> None:
    call = a_model_call("m", [*BEFORE, {"role": "user", "parts": []}], [ANSWER])
    assert conversation_of(a_run(a_root(), call)).problems == ("a message of the user came without its content",)


@pytest.mark.parametrize("printed", ["<Hit(node=TextNode(id_=4), score=0.9)>", "<lib.Hit object at 0x7f00>"])
def test_a_printed_object_is_no_passage(printed: str) -> None:
    outer = {"documents": [{"content": "Two weeks."}]}
    spans = [
        Span(id="a", kind="retriever", metadata=outer),
        Span(id="b", kind="retriever", metadata={"attributes": {"output.value": [printed]}}),
    ]
    assert [context.text for context in contexts_of(spans, {})] == ["Two weeks."]


def test_a_tool_inside_a_called_agent_is_not_missing() -> None:
    helper = {"id": "h", "parent_id": "root", "name": "due.run", "kind": "agent"}
    inner = {"id": "i", "parent_id": "h", "name": "shelf", "kind": "tool", "output": "3"}
    trace = a_run(a_root(), a_model_call("m", [ASKED, CALL, RESULT], [ANSWER]), helper, inner)
    assert gaps_of(trace, conversation_of(trace)) == ()
    other = a_run(a_root(), a_model_call("m", [ASKED], [ANSWER]), helper, inner)
    assert gaps_of(other, conversation_of(other)) == (Gap.TOOLS_MISSING,)


@each_row("mask", ["HIDDEN:non-empty", "__REDACTED__", "[hidden]", "<redacted>", "<elided>"])
def test_contents_that_an_exporter_keeps_back_are_no_question_and_no_answer(mask: str) -> None:
    call = a_model_call("m", [{"role": "user", "content": mask}], [{"role": "assistant", "content": mask}])
    trace = a_run(a_root(), call, input=mask, output=mask)
    assert {Gap.NO_QUESTION, Gap.NO_ANSWER} <= set(gaps_of(trace, conversation_of(trace)))
    assert "setVerbose(true)" in change_of_exporter(Gap.NO_ANSWER, "ai.koog")


def test_the_settings_that_make_traces_of_adk_whole_are_named() -> None:
    assert "SPAN_ONLY" in change_of_exporter(Gap.NO_QUESTION, "gcp.vertex.agent")


def test_an_answer_that_repeats_the_calls_of_its_turn_makes_none() -> None:
    again = ANSWER | {"tool_calls": CALL["tool_calls"]}
    assert conversation_of(a_run(a_root(), a_model_call("m", [ASKED, CALL, RESULT], [again]))).turn == (
        CALL,
        RESULT,
        ANSWER,
    )


@each_row("word", ["Question: ", "Your task: ", "New task:\n", "User query:  "])
def test_the_word_before_a_question_is_not_the_persons(word: str) -> None:
    asked = {"role": "user", "content": word + str(ASKED["content"])}
    assert conversation_of(a_run(a_root(), a_model_call("m", [asked], [ANSWER]))).messages == (ASKED,)
    own = a_run(a_root(), a_model_call("m", [asked], [ANSWER]), input=asked["content"])
    assert text_of(conversation_of(own).messages[0]).startswith(word.split(":")[0]) or word.startswith("New")


def test_the_word_before_earlier_questions_goes_too_and_what_stands_around_are_instructions() -> None:
    history = [{"role": "user", "content": f"Your task: {BEFORE[0]['content']}"}, BEFORE[1]]
    asked = {"role": "user", "content": f"Your task: {ASKED['content']}"}
    told = conversation_of(a_run(a_root(), a_model_call("m", [*history, asked], [ANSWER])))
    assert told.messages == (*BEFORE, ASKED)
    framed = {"role": "user", "content": f"Context:\nUser Request: {ASKED['content']}\n\nOther agents: billing."}
    swarm = conversation_of(a_run(a_root(), a_model_call("m", [framed], [ANSWER])))
    assert swarm.messages == ({"role": "system", "content": "Context:\n\nOther agents: billing."}, ASKED)


@each_row("ending", ["", "\n\nProvide your complete response:"])
def test_what_is_expected_of_the_answer_to_a_task_are_instructions(ending: str) -> None:
    expected = "This is the expected criteria for your final answer: a date\nyou MUST return it."
    framed = f"\nCurrent Task: {ASKED['content']}\n\n{expected}{ending}"
    for message in ({"content": framed}, {"parts": [{"type": "text", "content": framed}]}):
        call = a_model_call("m", [{"role": "user", **message}], [ANSWER])
        assert conversation_of(a_run(call)).messages == ({"role": "system", "content": expected}, ASKED)
    plain = {"role": "user", "content": framed.removesuffix(ending).strip()}
    assert conversation_of(a_run(a_model_call("m", [plain], [ANSWER]), input=plain["content"])).messages == (plain,)


def test_the_messages_of_a_run_end_with_the_result_beside_them() -> None:
    run = {"raw": ANSWER["content"], "messages": [SYSTEM, ASKED], "agent": "desk"}
    agent = a_root("{}", json.dumps(run)) | {"id": "agent", "parent_id": "root", "kind": "agent"}
    read = conversation_of(a_run(a_root('{"q": "Bis wann?"}'), agent | {"output": ANSWER["content"]}))
    assert [*read.messages, *read.turn] == [SYSTEM, ASKED, ANSWER]


def test_the_instructions_of_an_agent_are_kept_where_no_call_has_them() -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.system_instructions": SYSTEM["content"]}
    attributes |= {"mastra.agent_run.input": ASKED["content"], "mastra.agent_run.output": json.dumps({"text": "x"})}
    root = {"id": "root", "name": "agent", "kind": "agent", "metadata": {"attributes": attributes}}
    assert conversation_of(a_run(root, a_model_call("m", [], [ANSWER]))).messages == (SYSTEM, ASKED)


def test_calls_that_are_numbered_beside_an_empty_reply_are_the_reply() -> None:
    attributes = {
        "gen_ai.input.messages": json.dumps([ASKED]),
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [], "finish_reason": "tool_calls"}]',
        **{f"gen_ai.completion.{n}.function_call.name": name for n, name in enumerate(("due", "renew"))},
        **{f"gen_ai.completion.{n}.function_call.arguments": '{"book":"Faust"}' for n in (0, 1)},
    }
    span = {"id": "m", "name": "chat", "kind": "llm", "metadata": {"attributes": attributes}}
    (made,) = conversation_of(a_run(span, output=None)).turn
    assert [call["function"]["name"] for call in made["tool_calls"]] == ["due", "renew"]


def test_an_object_around_an_answer_is_no_part_of_the_turn() -> None:
    said = {
        "gen_ai.prompt": json.dumps({"messages": [ASKED]}),
        "gen_ai.completion": json.dumps({"text": "x", "files": []}),
    }
    span = {"id": "m", "name": "chat", "kind": "llm", "output": ANSWER["content"], "metadata": {"attributes": said}}
    assert conversation_of(a_run(span)).turn == (ANSWER,)


def test_the_question_of_the_last_of_several_turns_below_a_silent_span() -> None:
    trace = a_run(a_root(), a_model_call("m", [*BEFORE, ASKED], [ANSWER]), input=BEFORE[0]["content"])
    assert texts_of(trace, conversation_of(trace)) == (ASKED["content"], ANSWER["content"])
    stated = a_run(a_root(input="x"), a_model_call("m", [*BEFORE, ASKED], [ANSWER]), input=BEFORE[0]["content"])
    assert texts_of(stated, conversation_of(stated))[0] == BEFORE[0]["content"]


def test_what_a_framework_tells_the_next_agent_is_not_said_by_a_person() -> None:
    hand = CALL | {"content": None}
    told = [{"role": "user", "content": f"For context: {text}"} for text in ("due was called", "unknown book")]
    first = a_model_call("first", [SYSTEM, ASKED], [hand], at=1)
    second = a_model_call("second", [SYSTEM, ASKED, *told], [ANSWER], at=3)
    tool = {"id": "t", "parent_id": "root", "name": "due", "kind": "tool", "input": '{"book":"Faust"}'}
    spans = (a_root(), first, tool | {"output": RESULT["content"], "metadata": {"tool_call_id": "c"}}, second)
    trace = a_run(*spans)
    conversation = conversation_of(trace)
    assert conversation.messages == (SYSTEM, ASKED)
    assert conversation.turn == (hand, RESULT | {"name": "due"}, ANSWER)
    assert gaps_of(trace, conversation) == ()
    # Without calls before it a second message of the user is the person's.
    again = conversation_of(a_run(a_root(), a_model_call("only", [ASKED, ASKED | {"content": "Sofort?"}], [ANSWER])))
    assert [message["content"] for message in again.messages] == [ASKED["content"], "Sofort?"]


def test_the_request_that_another_convention_holds_whole_is_taken() -> None:
    bare = [{"role": "assistant", "parts": []}, {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c"}]}]
    entity = {"traceloop.entity.input": {"messages": [SYSTEM, ASKED, CALL, RESULT]}}
    call = a_model_call("m", [SYSTEM, ASKED, *bare], [ANSWER], attributes=entity)
    assert conversation_of(a_run(a_root(), call)).turn == (CALL, RESULT, ANSWER)
    dropped = a_model_call("m", [SYSTEM, ASKED], [ANSWER], attributes=entity)
    assert conversation_of(a_run(a_root(), dropped)).turn == (CALL, RESULT, ANSWER)
    other = {"traceloop.entity.input": {"messages": [SYSTEM, BEFORE[0], CALL, RESULT]}}
    stays = a_model_call("m", [SYSTEM, ASKED], [ANSWER], attributes=other)
    assert conversation_of(a_run(a_root(), stays)).turn == (ANSWER,)


def test_an_answer_that_repeats_calls_without_ids_makes_none() -> None:
    calls = [{"function": {"name": "due", "arguments": '{"book":"Faust"}'}}]
    asked = [ASKED, {"role": "assistant", "tool_calls": calls}, {"role": "tool", "name": "due", "content": "14 May"}]
    call = a_model_call("m", asked, [ANSWER | {"tool_calls": calls}])
    turn = conversation_of(a_run(a_root(), call)).turn
    assert [(message["role"], "tool_calls" in message) for message in turn] == [
        ("assistant", True),
        ("tool", False),
        ("assistant", False),
    ]


def test_a_reply_without_a_known_role_is_the_assistants() -> None:
    call = a_model_call("m", [ASKED], [{"role": "unknown", "parts": [{"type": "text", "content": ANSWER["content"]}]}])
    assert conversation_of(a_run(a_root(), call)).turn == (ANSWER,)


@each_row(
    ("output", "texts"),
    [
        (['{"node": {"text": "Four days.", "id_": "n1"}, "score": 0.8}'], ["Four days."]),
        (['{"text": "Four days.", "id_": "n1"}'], []),
        ([{"role": "user", "content": "Four days."}], []),
    ],
)
def test_passages_with_scores_are_contexts_whatever_the_step_is_called(output: list[Any], texts: list[str]) -> None:
    step = {"id": "r", "parent_id": "root", "name": "Retriever.task", "kind": "chain", "output": json.dumps(output)}
    assert [one.text for one in contexts_of([Span(**step)], {})] == texts


def test_an_empty_list_of_documents_is_no_passage() -> None:
    step = {"id": "r", "parent_id": "root", "name": "find", "kind": "retriever", "output": '{"documents": []}'}
    assert contexts_of([Span(**step)], {}) == []
