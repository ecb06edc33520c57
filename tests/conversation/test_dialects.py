"""One exchange with two tools called at once, as each provider and framework writes it: the same messages every time."""

import json
from typing import Any

from evergold.conversation.pairs import pair_results
from evergold.conversation.reader import messages_in
from tests.rows import each_row

SYSTEM, ASKED, ANSWER = "You know the weather.", "Weather in Lima and Quito?", "21 and 14 degrees."
LIMA, QUITO = {"city": "Lima"}, {"city": "Quito"}


def chat(system: bool = True) -> list[dict[str, Any]]:
    """The exchange in OpenAI's shape, which is the canonical one."""
    calls: list[Any] = [
        {"id": ident, "type": "function", "function": {"name": "weather", "arguments": json.dumps(arguments)}}
        for ident, arguments in (("c1", LIMA), ("c2", QUITO))
    ]
    return [
        *([{"role": "system", "content": SYSTEM}] if system else []),
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "21"},
        {"role": "tool", "tool_call_id": "c2", "content": "14"},
        {"role": "assistant", "content": ANSWER},
    ]


def langchain(wrap: Any, older: bool = False) -> list[Any]:
    """LangChain's messages, each as `wrap` writes it; older ones hold the provider's calls beside the content."""
    if older:
        called: dict[str, Any] = {"content": "", "additional_kwargs": {"tool_calls": chat()[2]["tool_calls"]}}
    else:
        calls = [{"name": "weather", "args": args, "id": ident, "type": "tool_call"} for ident, args in IDENTS]
        called = {"content": "", "tool_calls": calls, "additional_kwargs": {}, "response_metadata": {}}
    return [
        wrap("system", {"content": SYSTEM}),
        wrap("human", {"content": ASKED}),
        wrap("ai", called),
        wrap("tool", {"content": "21", "tool_call_id": "c1"}),
        wrap("tool", {"content": "14", "tool_call_id": "c2"}),
        wrap("ai", {"content": ANSWER}),
    ]


IDENTS = (("c1", LIMA), ("c2", QUITO))
CLASSES = {"human": "HumanMessage", "ai": "AIMessage", "system": "SystemMessage", "tool": "ToolMessage"}


def serialised(kind: str, fields: dict[str, Any]) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", CLASSES[kind]]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {**fields, "type": kind}}


def google(camel: bool) -> list[dict[str, Any]]:
    call, response = ("functionCall", "functionResponse") if camel else ("function_call", "function_response")
    return [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{call: {"name": "weather", "args": args, "id": i}} for i, args in IDENTS]},
        {
            "role": "user",
            "parts": [{response: {"name": "weather", "id": i, "response": r}} for i, r in (("c1", 21), ("c2", 14))],
        },
        {"role": "model", "parts": [{"text": ANSWER}]},
    ]


ANTHROPIC: list[Any] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": [{"type": "tool_use", "id": i, "name": "weather", "input": a} for i, a in IDENTS]},
    {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": "21"},
            {"type": "tool_result", "tool_use_id": "c2", "content": [{"type": "text", "text": "14"}]},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
]
BEDROCK = [
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": i, "name": "weather", "input": a}} for i, a in IDENTS]},
    {
        "role": "user",
        "content": [
            {"toolResult": {"toolUseId": "c1", "content": [{"text": "21"}], "status": "success"}},
            {"toolResult": {"toolUseId": "c2", "content": [{"json": 14}]}},
        ],
    },
    {"role": "assistant", "content": [{"text": ANSWER}]},
]
RESPONSES = [
    {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    *({"type": "function_call", "call_id": i, "name": "weather", "arguments": json.dumps(a)} for i, a in IDENTS),
    {"type": "function_call_output", "call_id": "c1", "output": "21"},
    {"type": "function_call_output", "call_id": "c2", "output": "14"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWER, "annotations": []}]},
]
OTEL = [
    {"role": "system", "parts": [{"type": "text", "content": SYSTEM}]},
    {"role": "user", "parts": [{"type": "text", "content": ASKED}]},
    {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": i, "name": "weather", "arguments": a} for i, a in IDENTS],
    },
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "21"}]},
    {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c2", "result": "14"}]},
    {"role": "assistant", "parts": [{"type": "text", "content": ANSWER}], "finish_reason": "stop"},
]
VERCEL = [
    {"role": "system", "content": SYSTEM},
    {"role": "user", "content": [{"type": "text", "text": ASKED}]},
    {
        "role": "assistant",
        "content": [{"type": "tool-call", "toolCallId": i, "toolName": "weather", "input": a} for i, a in IDENTS],
    },
    {
        "role": "tool",
        "content": [
            {
                "type": "tool-result",
                "toolCallId": "c1",
                "toolName": "weather",
                "output": {"type": "text", "value": "21"},
            },
            {"type": "tool-result", "toolCallId": "c2", "toolName": "weather", "result": 14},
        ],
    },
    {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
]
VERCEL_UI = [
    {"role": "system", "parts": [{"type": "text", "text": SYSTEM}]},
    {"role": "user", "parts": [{"type": "text", "text": ASKED}]},
    {
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "tool-weather", "toolCallId": "c1", "state": "output-available", "input": LIMA, "output": 21},
            {"type": "tool-weather", "toolCallId": "c2", "state": "output-available", "input": QUITO, "output": 14},
            {"type": "step-start"},
            {"type": "text", "text": ANSWER},
        ],
    },
]
PYDANTIC_AI = [
    {
        "kind": "request",
        "parts": [{"part_kind": "system-prompt", "content": SYSTEM}, {"part_kind": "user-prompt", "content": ASKED}],
    },
    {
        "kind": "response",
        "parts": [
            {"part_kind": "tool-call", "tool_name": "weather", "args": json.dumps(a), "tool_call_id": i}
            for i, a in IDENTS
        ],
    },
    {
        "kind": "request",
        "parts": [
            {"part_kind": "tool-return", "tool_name": "weather", "content": r, "tool_call_id": i}
            for i, r in (("c1", "21"), ("c2", "14"))
        ],
    },
    {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWER}]},
]
PYDANTIC_EVENTS = [
    {"event.name": "gen_ai.system.message", "role": "system", "content": SYSTEM, "gen_ai.message.index": 0},
    {"event.name": "gen_ai.user.message", "role": "user", "content": ASKED, "gen_ai.message.index": 0},
    {"event.name": "gen_ai.assistant.message", "role": "assistant", "tool_calls": chat()[2]["tool_calls"]},
    {"event.name": "gen_ai.tool.message", "role": "tool", "content": "21", "id": "c1", "name": "weather"},
    {"event.name": "gen_ai.tool.message", "role": "tool", "content": "14", "id": "c2", "name": "weather"},
    {"event.name": "gen_ai.choice", "index": 0, "message": {"role": "assistant", "content": ANSWER}},
]
LLAMA_INDEX = [
    {"role": "system", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": SYSTEM}]},
    {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": ASKED}]},
    {"role": "assistant", "additional_kwargs": {"tool_calls": chat()[2]["tool_calls"]}, "blocks": []},
    {"role": "tool", "additional_kwargs": {"tool_call_id": "c1"}, "blocks": [{"block_type": "text", "text": "21"}]},
    {"role": "tool", "additional_kwargs": {"tool_call_id": "c2"}, "content": "14"},
    {"role": "assistant", "additional_kwargs": {}, "content": ANSWER},
]
HAYSTACK = [
    {"role": "system", "meta": {}, "name": None, "content": [{"text": SYSTEM}]},
    {"_role": "user", "_content": [{"text": ASKED}], "_name": None, "_meta": {}},
    {
        "role": "assistant",
        "content": [{"tool_call": {"id": i, "tool_name": "weather", "arguments": a}} for i, a in IDENTS],
    },
    *(
        {"role": "tool", "content": [{"tool_call_result": {"result": r, "origin": {"id": i}, "error": False}}]}
        for i, r in (("c1", "21"), ("c2", "14"))
    ),
    {"role": "assistant", "content": [{"text": ANSWER}]},
]
AUTOGEN = [
    {"type": "SystemMessage", "content": SYSTEM},
    {"type": "UserMessage", "content": ASKED, "source": "user"},
    {
        "type": "AssistantMessage",
        "source": "assistant",
        "content": [{"id": i, "name": "weather", "arguments": json.dumps(a)} for i, a in IDENTS],
    },
    {
        "type": "FunctionExecutionResultMessage",
        "content": [{"content": r, "call_id": i, "name": "weather"} for i, r in (("c1", "21"), ("c2", "14"))],
    },
    {"type": "AssistantMessage", "source": "assistant", "content": ANSWER},
]
SEMANTIC_KERNEL = [
    {"role": "system", "items": [{"content_type": "text", "text": SYSTEM}]},
    {"role": "user", "items": [{"content_type": "text", "text": ASKED}]},
    {
        "role": "assistant",
        "items": [
            {"content_type": "function_call", "id": i, "name": "weather", "arguments": json.dumps(a)} for i, a in IDENTS
        ],
    },
    {"role": "tool", "items": [{"content_type": "function_result", "id": "c1", "result": "21"}]},
    {"Role": {"Label": "tool"}, "Items": [{"$type": "FunctionResultContent", "CallId": "c2", "Result": "14"}]},
    {"Role": {"Label": "assistant"}, "Items": [{"$type": "TextContent", "Text": ANSWER}]},
]
GENKIT = [
    {"role": "system", "content": [{"text": SYSTEM}]},
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "model", "content": [{"toolRequest": {"ref": i, "name": "weather", "input": a}} for i, a in IDENTS]},
    {
        "role": "tool",
        "content": [{"toolResponse": {"ref": i, "name": "weather", "output": r}} for i, r in (("c1", 21), ("c2", 14))],
    },
    {"role": "model", "content": [{"text": ANSWER}]},
]
OLLAMA = [
    *chat()[:2],
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"function": {"name": "weather", "arguments": a}} for _, a in IDENTS],
    },
    {"role": "tool", "content": "21", "tool_name": "weather"},
    {"role": "tool", "content": "14", "tool_name": "weather"},
    chat()[-1],
]
COHERE = [
    {"role": "SYSTEM", "message": SYSTEM},
    {"role": "USER", "message": ASKED},
    {"role": "CHATBOT", "message": "", "tool_calls": [{"name": "weather", "parameters": a} for _, a in IDENTS]},
    {
        "role": "TOOL",
        "tool_results": [
            {"call": {"name": "weather", "parameters": a}, "outputs": [r]}
            for (_, a), r in zip(IDENTS, (21, 14), strict=True)
        ],
    },
    {"role": "CHATBOT", "message": ANSWER},
]
SMOLAGENTS = [
    {"role": "system", "content": [{"type": "text", "text": SYSTEM}]},
    {"role": "MessageRole.USER", "content": [{"type": "text", "text": ASKED}]},
    {"role": "tool-call", "content": [{"type": "text", "text": f"Calling tools:\n{chat()[2]['tool_calls']!r}"}]},
    {"role": "tool-response", "content": [{"type": "text", "text": "21"}]},
    {"role": "tool-response", "content": [{"type": "text", "text": "14"}]},
    {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
]
PAYLOADS: dict[str, Any] = {
    "openai chat": {"model": "m", "messages": chat()},
    "openai, texts of texts": json.dumps(json.dumps({"messages": json.dumps(chat())})),
    "openai responses": {"instructions": SYSTEM, "input": RESPONSES, "model": "m"},
    "anthropic": {"system": [{"type": "text", "text": SYSTEM}], "messages": ANTHROPIC, "max_tokens": 9},
    "bedrock": {"system": [{"text": SYSTEM}], "messages": BEDROCK, "modelId": "m"},
    "gemini": {"systemInstruction": {"parts": [{"text": SYSTEM}]}, "contents": google(True)},
    "vertex": {"contents": google(False), "config": {"system_instruction": SYSTEM}},
    "adk": json.dumps({"model": "m", "config": {"system_instruction": SYSTEM}, "contents": google(False)}),
    "langchain dumped": {"messages": [langchain(lambda kind, fields: {"type": kind, **fields})]},
    "langchain older": langchain(lambda kind, fields: {"type": kind, "data": fields}, older=True),
    "langchain serialised": {"messages": [langchain(serialised)]},
    "langchain.js": langchain(lambda kind, fields: {"lc_kwargs": fields, "type": kind}),
    "langgraph state": {"inputs": {"messages": langchain(serialised)}, "tags": [], "metadata": {}, "kwargs": {}},
    "opentelemetry": json.dumps(OTEL),
    "vercel": json.dumps({"messages": VERCEL}),
    "vercel ui": VERCEL_UI,
    "pydantic ai": PYDANTIC_AI,
    "pydantic ai events": json.dumps(PYDANTIC_EVENTS),
    "llamaindex": {"messages": LLAMA_INDEX},
    "haystack": {"messages": HAYSTACK},
    "autogen": AUTOGEN,
    "semantic kernel": SEMANTIC_KERNEL,
    "genkit": {"messages": GENKIT, "config": {}},
    "ollama": {"model": "m", "messages": OLLAMA},
    "cohere": {"chat_history": COHERE},
    "smolagents": {"messages": SMOLAGENTS},
}


def plain(message: dict[str, Any]) -> dict[str, Any]:
    """A message without what differs by right: ids that were generated, the spelling of JSON, names of tools in results."""
    calls = [
        (call["function"]["name"], json.loads(call["function"]["arguments"])) for call in message.get("tool_calls", ())
    ]
    return {"role": message["role"], "content": message["content"] or None, "calls": calls}


@each_row("name", PAYLOADS)
def test_the_same_messages_in_every_spelling(name: str) -> None:
    messages, problems = pair_results(messages_in(PAYLOADS[name], "input"), ())
    expected = [plain(message) for message in chat()]
    if name == "cohere":
        expected[3]["content"], expected[4]["content"] = "[21]", "[14]"
    assert [plain(message) for message in messages] == expected
    assert problems == []
    calls = [call["id"] for message in messages for call in message.get("tool_calls", ())]
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == calls


REPLIES: dict[str, Any] = {
    "openai": {"id": "x", "choices": [{"index": 0, "message": chat()[-1], "finish_reason": "stop"}]},
    "completion": {"choices": [{"text": ANSWER, "finish_reason": "stop", "index": 0}]},
    "responses": {"object": "response", "output": RESPONSES[-1:]},
    "anthropic": {
        "type": "message",
        "role": "assistant",
        "content": ANTHROPIC[-1]["content"],
        "stop_reason": "end_turn",
    },
    "bedrock": {"output": {"message": BEDROCK[-1]}, "stopReason": "end_turn"},
    "gemini": {"candidates": [{"content": google(True)[-1], "finishReason": "STOP"}]},
    "adk": {"content": google(False)[-1], "partial": False},
    "langchain": {
        "generations": [[{"text": ANSWER, "message": serialised("ai", {"content": ANSWER})}]],
        "llm_output": {},
    },
    "langgraph": {"agent": {"messages": [serialised("ai", {"content": ANSWER})]}},
    "command": {"update": {"messages": [serialised("ai", {"content": ANSWER})]}},
    "ollama": {"model": "m", "message": chat()[-1], "done": True},
    "cohere": {
        "message": {"role": "assistant", "content": [{"type": "text", "text": ANSWER}]},
        "finish_reason": "COMPLETE",
    },
    "haystack": {"replies": HAYSTACK[-1:]},
    "llamaindex": {"message": LLAMA_INDEX[-1], "raw": None},
    "genkit": {"message": GENKIT[-1], "finishReason": "stop"},
    "logfire": {"message": chat()[-1], "usage": {"total_tokens": 3}},
}


@each_row("name", REPLIES)
def test_the_answer_in_every_reply(name: str) -> None:
    for value in (REPLIES[name], json.dumps(REPLIES[name])):
        assert [(m["role"], m["content"]) for m in messages_in(value, "output")] == [("assistant", ANSWER)]


def test_anthropics_thinking_is_kept_as_reasoning() -> None:
    thought = [{"type": "thinking", "thinking": "Look it up."}, {"type": "text", "text": ANSWER}]
    (message,) = messages_in([{"role": "assistant", "content": thought}], "output")
    assert message == {"role": "assistant", "content": ANSWER, "extra": {"reasoning": "Look it up."}}
