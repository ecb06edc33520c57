"""Chats as other programs export and log them: their times, what they repeat, and what they hold beside the words."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import evergold
from evergold.conversation import conversation_of
from evergold.conversation.wholeness import gaps_of
from evergold.model.trace import Gap, Trace
from tests.cli.running import evergold as run_evergold
from tests.ingest.test_strange_files import as_table, ingest
from tests.rows import each_row

AT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def user(text: Any) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text} | more


def read(folder: Path, *documents: Any) -> list[Trace]:
    _, traces = ingest(folder, "".join(json.dumps(one) + "\n" for one in documents).encode())
    return traces


def texts(traces: list[Trace]) -> list[tuple[str, str | None]]:
    return [(trace.input, trace.output) for trace in traces]


@each_row(
    ("key", "value"),
    [
        ("created", "2025-01-02T03:04:05Z"),
        ("createdAt", "2025-01-02T03:04:05.000Z"),
        ("created_at", 1735787045),
        ("timestamp", 1735787045000),
        ("time", 1735787045000000),
        ("ts", 1735787045000000000),
        ("ts", "1735787045.0"),
        ("date", "Thu, 02 Jan 2025 03:04:05 GMT"),
        ("create_time", {"$date": "2025-01-02T03:04:05Z"}),
        ("createdAt", {"$date": {"$numberLong": "1735787045000"}}),
        ("created_at", {"_seconds": 1735787045, "_nanoseconds": 0}),
        ("sentAt", "2025-01-02 03:04:05"),
    ],
)
def test_a_time_is_read_however_it_is_written(key: str, value: Any, tmp_path: Path) -> None:
    for document in (
        {"messages": [user("Q?"), bot("A.")], key: value},
        {"messages": [user("Q?") | {key: value}, bot("A.") | {key: value}]},
    ):
        (trace,) = read(tmp_path, document)
        assert trace.started_at == AT


def test_a_chat_without_a_time_is_told(tmp_path: Path) -> None:
    for moment in ({}, {"time": 12.5}, {"created": "yesterday"}):
        line = json.dumps({"messages": [user("Q?"), bot("A.")]} | moment).encode()
        report, _ = ingest(tmp_path, line)
        assert (
            "1 chats state no time: their traces have that of their arrival" in report.problems[0]
            and not report.rejected
        )


@each_row(
    "documents",
    [
        [{"messages": [user("Q1"), bot("A1")]}, {"messages": [user("Q1"), bot("A1"), user("Q2"), bot("A2")]}],
        [{"messages": [user("Q1"), bot("A1"), user("Q2"), bot("A2")]}, {"messages": [user("Q1"), bot("A1")]}],
        [
            {"id": "r1", "messages": [user("Q1")], "response": "A1"},
            {"id": "r2", "messages": [user("Q1"), bot("A1"), user("Q2")], "response": "A2"},
        ],
    ],
)
def test_requests_that_repeat_what_was_said_are_one_chat(documents: list[Any], tmp_path: Path) -> None:
    traces = read(tmp_path, *documents)
    assert texts(traces) == [("Q1", "A1"), ("Q2", "A2")] and len({trace.session_id for trace in traces}) == 1


@each_row(
    ("first", "second"),
    [
        ({"id": "c1"}, {"id": "c2"}),
        ({"user_id": "ann"}, {"user_id": "bob"}),
        ({"session_id": "s1"}, {"session_id": "s2"}),
        ({"systemInstruction": "Be brief."}, {"systemInstruction": "Be long."}),
    ],
)
def test_chats_that_only_begin_alike_stay_apart(first: dict[str, Any], second: dict[str, Any], tmp_path: Path) -> None:
    greeting = [user("Hi"), bot("Hello!")]
    traces = read(tmp_path, first | {"messages": greeting}, second | {"messages": [*greeting, user("Q"), bot("A")]})
    assert len(traces) == 3 and len({trace.session_id for trace in traces}) == 2


def test_turns_that_a_later_file_repeats_are_duplicates(tmp_path: Path) -> None:
    chat = [user("Q1"), bot("A1"), user("Q2"), bot("A2")]
    for day, size in ((2, 2), (3, 4)):
        line = {"session_id": "k", "created_at": f"2025-01-0{day}", "messages": chat[:size]}
        (tmp_path / f"{day}.jsonl").write_text(json.dumps(line))
    other = {"session_id": "k", "messages": [user("Q1"), bot("Something else.")]}
    (tmp_path / "4.jsonl").write_text(json.dumps(other))
    with evergold.open(tmp_path) as ws:
        together = ws.ingest(tmp_path / "2.jsonl", tmp_path / "3.jsonl")
        assert (together.traces, together.duplicates, together.rejected) == (2, 1, 0)
        again = ws.ingest(tmp_path / "3.jsonl")
        assert (again.traces, again.duplicates, again.rejected) == (0, 2, 0)
        assert ws.ingest(tmp_path / "4.jsonl").rejected == 1


@each_row(
    "answer",
    [
        "<think>\nAdd.\n</think>\n\n4",
        "<thinking>Add.</thinking>4",
        "<reasoning>Add.</reasoning>\n4",
        "Add.\n</think>\n\n4",
        [{"type": "text", "text": "<think>Add.</think>\n4"}],
    ],
)
def test_thinking_before_an_answer_is_none_of_it(answer: Any, tmp_path: Path) -> None:
    documents: list[Any] = [{"messages": [user("2+2?"), bot(answer)]}]
    documents += [{"id": "n", "input": "2+2?", "output": answer}] if isinstance(answer, str) else []
    for document in documents:
        (trace,) = read(tmp_path, document)
        assert trace.output == "4" and "Add." in json.dumps(trace.metadata)
        (reply,) = conversation_of(trace).turn
        assert reply["content"] == "4"


@each_row("answer", ["Use <b>4</b>.", "<answer>4</answer>", "The tag </think> ends it.", "a <think> b </think> c"])
def test_an_answer_that_only_names_a_tag_is_whole(answer: str, tmp_path: Path) -> None:
    assert texts(read(tmp_path, {"messages": [user("Q?"), bot(answer)]})) == [("Q?", answer)]


def test_an_answer_that_never_ends_its_thinking_is_none(tmp_path: Path) -> None:
    (trace,) = read(tmp_path, {"id": "n", "input": "Q?", "output": "<think>Well, let me see"})
    assert trace.output == "" and trace.metadata["reasoning"] == "Well, let me see"


def node(number: int, role: str, content: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    message = {"author": {"role": role}, "create_time": 1.7e9 + number, "content": content, "metadata": metadata}
    return {"id": str(number), "parent": str(number - 1), "message": message | {"recipient": "all"}}


def test_an_export_of_chatgpt_has_its_pictures_thoughts_and_models(tmp_path: Path) -> None:
    picture = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-1"}
    nodes = [
        node(1, "user", {"parts": [picture, "What is it?"]}),
        node(2, "assistant", {"thoughts": [{"summary": "Look", "content": "I look."}]}, model_slug="o3"),
        node(3, "assistant", {"parts": ["A cat."]}, model_slug="o3"),
        node(4, "user", {"parts": ["Sure?"]}),
        node(5, "assistant", {"parts": ["Yes."]}, model_slug="gpt-4o"),
    ]
    chat = {"conversation_id": "c", "mapping": {one["id"]: one for one in nodes}, "current_node": "5", "title": "Cat"}
    first, second = read(tmp_path, [chat])
    assert texts([first, second]) == [("What is it?", "A cat."), ("Sure?", "Yes.")]
    assert (first.metadata["model"], second.metadata["model"]) == ("o3", "gpt-4o")
    asked, answered = first.metadata["messages"]
    assert asked["content"][0] == {"type": "image_url", "image_url": {"url": "file-service://file-1"}}
    assert answered["extra"]["reasoning"] == "I look."
    # Only the name of the picture is there: what was asked about it cannot be asked again.
    assert (
        gaps_of(first, conversation_of(first)) == (Gap.NO_QUESTION,) and gaps_of(second, conversation_of(second)) == ()
    )


VAPI = {
    "id": "call-1",
    "type": "webCall",
    "startedAt": "2025-01-02T03:04:05Z",
    "messages": [
        {"role": "system", "message": "Be kind.", "time": 1735787045000, "secondsFromStart": 0},
        {"role": "user", "message": "Open when?", "time": 1735787046000, "secondsFromStart": 1},
        {
            "role": "tool_calls",
            "message": "",
            "toolCalls": [{"id": "k", "function": {"name": "hours", "arguments": "{}"}}],
        },
        {"role": "tool_call_result", "name": "hours", "result": "9-17", "toolCallId": "k"},
        {"role": "bot", "message": "At nine.", "time": 1735787047000, "secondsFromStart": 2},
    ],
}
RASA = {
    "sender_id": "u7",
    "events": [
        {"event": "action", "name": "action_listen", "timestamp": 1735787044.1},
        {"event": "user", "text": "Open when?", "timestamp": 1735787045.0},
        {"event": "bot", "text": "At nine.", "timestamp": 1735787046.0},
    ],
}


def bedrock(request: Any, reply: Any) -> dict[str, Any]:
    sides = {
        "input": {"inputBodyJson": request, "inputTokenCount": 7},
        "output": {"outputBodyJson": reply, "outputTokenCount": 2},
    }
    log = {"schemaType": "ModelInvocationLog", "timestamp": "2025-01-02T03:04:05Z", "requestId": "r"}
    return log | {"modelId": "arn:aws:bedrock:eu::foundation-model/amazon.nova-lite-v1:0"} | sides


ASKED = {"messages": [{"role": "user", "content": [{"text": "Open when?"}]}], "system": [{"text": "Be kind."}]}
SAID = {"role": "assistant", "content": [{"text": "At nine."}]}


@each_row(
    "document",
    [
        [["Open when?", "At nine."]],
        {"history": [["Open when?", "At nine."], ["Thanks", None]]},
        VAPI,
        RASA,
        bedrock(ASKED, {"output": {"message": SAID}, "usage": {"inputTokens": 7, "outputTokens": 2}}),
        bedrock(
            {"messages": [user("Open when?")]},
            SAID | {"type": "message", "content": [{"type": "text", "text": "At nine."}]},
        ),
        bedrock({"inputText": "Open when?"}, {"results": [{"outputText": "At nine."}]}),
        bedrock({"prompt": "Open when?"}, {"generation": "At nine."}),
        bedrock(
            ASKED,
            [{"contentBlockDelta": {"delta": {"text": "At "}}}, {"contentBlockDelta": {"delta": {"text": "nine."}}}],
        ),
        {"request": {"modelId": "m", **ASKED}, "response": {"output": {"message": SAID}}},
    ],
)
def test_a_chat_of_another_tool_is_read(document: Any, tmp_path: Path) -> None:
    trace = read(tmp_path, document)[0]
    assert (trace.input, trace.output) == ("Open when?", "At nine.")
    if isinstance(document, dict) and "history" not in document and "request" not in document:
        assert trace.started_at is not None and trace.started_at.replace(second=5) == AT
        assert trace.session_id in ("call-1", "u7", "r")
    if "schemaType" in document:
        assert trace.metadata["input_tokens"] == 7 and trace.metadata["model"] == "amazon.nova-lite-v1:0" and trace.cost
    if "Be kind." in json.dumps(document):
        instructions = trace.metadata["messages"][0]
        assert (instructions["role"], instructions["content"]) == ("system", "Be kind.")


@each_row("key", ["systemInstruction", "system_instruction", "system"])
def test_instructions_beside_the_messages_are_kept(key: str, tmp_path: Path) -> None:
    said = [{"role": "user", "parts": [{"text": "Q?"}]}, {"role": "model", "parts": [{"text": "A."}]}]
    (trace,) = read(tmp_path, {key: {"parts": [{"text": "Be brief."}]}, "contents": said})
    assert [one["role"] for one in trace.metadata["messages"]] == ["system", "user", "assistant"]


def test_a_step_of_a_tool_has_what_it_was_given_and_gave(tmp_path: Path) -> None:
    call = {"id": "k", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Lima"}'}}
    result = {"role": "tool", "tool_call_id": "k", "content": "sunny"}
    (trace,) = read(tmp_path, {"messages": [user("Q?"), bot(None, tool_calls=[call]), result, bot("Sunny.")]})
    (step,) = trace.spans
    assert (step.name, step.input, step.output) == ("weather", '{"city": "Lima"}', "sunny")
    conversation = conversation_of(trace)
    assert [one["role"] for one in (*conversation.messages, *conversation.turn)] == [
        "user",
        "assistant",
        "tool",
        "assistant",
    ]


def test_what_each_request_of_a_session_used_is_priced(tmp_path: Path) -> None:
    used = {"prompt_tokens": 1_000_000, "completion_tokens": 0}
    reply = {"model": "gpt-4o-mini", "choices": [{"message": bot("A1")}], "usage": used}
    first = {"session_id": "s", "messages": [user("Q1")], "response": reply}
    second = {
        "session_id": "s",
        "messages": [user("Q1"), bot("A1"), user("Q2")],
        "response": reply | {"choices": [{"message": bot("A2")}]},
    }
    traces = read(tmp_path, first, second)
    assert [(trace.cost, trace.cost_source) for trace in traces] == [(0.15, "priced")] * 2
    (told,) = read(tmp_path, {"messages": [user("Q1"), bot("A1", usage=used, model="gpt-4o-mini")]})
    assert told.cost == 0.15 and told.metadata["input_tokens"] == 1_000_000


@each_row("named", [("sessionId", "userId"), ("conversationId", "customerId"), ("thread_id", "user")])
def test_a_log_of_questions_with_answers_is_chats_of_its_sessions(named: tuple[str, str], tmp_path: Path) -> None:
    session, who = named
    rows = [
        {session: "s", who: "ann", "question": "Q1", "response": "A1", "createdAt": "2025-01-02T03:04:05Z"},
        {session: "s", who: "ann", "question": "Q2", "response": "A2", "createdAt": "2025-01-02T03:05:05Z"},
    ]
    chat = {session: "s", who: "ann", "messages": [user("Q1"), bot("A1"), user("Q2"), bot("A2")], "time": 1735787045}
    for content in (
        json.dumps({"data": rows, "has_more": False}).encode(),
        "".join(json.dumps(row) + "\n" for row in rows).encode(),
        as_table(rows, ";"),
        json.dumps(chat).encode(),
    ):
        _, traces = ingest(tmp_path, content)
        assert texts(traces) == [("Q1", "A1"), ("Q2", "A2")] and traces[0].started_at == AT
        assert {(trace.session_id, trace.user_id) for trace in traces} == {("s", "ann")}


@each_row(
    "named",
    [
        ("Session ID", "User Message", "Bot Response"),
        ("SessionId", "inputUsuario", "respuestaBot"),
        ("session_id", "Pregunta del Cliente", "Respuesta del Bot"),
        ("conversation_id", "user_msg", "bot_msg"),
        ("session_id", "message", "ai_response"),
    ],
)
def test_the_words_of_a_name_say_whose_text_it_is(named: tuple[str, str, str], tmp_path: Path) -> None:
    session, asked, replied = named
    rows = [{session: "s", "Timestamp": "2025-01-02T03:04:05Z", asked: q, replied: a} for q, a in ("12", "34")]
    for content in ("".join(json.dumps(row) + "\n" for row in rows).encode(), as_table(rows, ",")):
        _, traces = ingest(tmp_path, content)
        assert texts(traces) == [("1", "2"), ("3", "4")] and {trace.session_id for trace in traces} == {"s"}
    greeted = read(tmp_path, {**rows[0], asked: "", replied: "Hello"}, rows[1])
    assert texts(greeted)[-1] == ("3", "4") and all(trace.input for trace in greeted)
    # Turns of a chat, in its list.
    assert texts(read(tmp_path, {"id": "c", "turns": rows})) == [("1", "2"), ("3", "4")]


def test_runs_whose_messages_stand_in_an_object_of_theirs_are_read(tmp_path: Path) -> None:
    runs = [{"task_id": n, "success": n == "a", "log": {"messages": [user("Q"), bot(n)]}} for n in "ab"]
    traces = read(tmp_path, {"metadata": {"model": "m"}, "results": runs})
    assert [(one.output, [score.value for score in one.scores]) for one in traces] == [("a", [1.0]), ("b", [0.0])]


def test_messages_that_come_in_and_go_out_are_a_chat(tmp_path: Path) -> None:
    rows = [
        {"chatId": "s", "direction": "incoming", "text": "Q"},
        {"chatId": "s", "direction": "outgoing", "text": "A"},
    ]
    assert texts(read(tmp_path, *rows)) == [("Q", "A")]


def ingest_file(folder: Path, document: Any) -> tuple[int, int, list[str]]:
    """The traces and refusals of `evergold ingest`, and what it says; `...` before documents puts one on each line."""
    home = folder / str(len(list(folder.iterdir())))
    home.mkdir()
    lines = document[1:] if isinstance(document, list) and document[0] is ... else [document]
    (home / "p.json").write_text("\n".join(map(json.dumps, lines)))
    ran = run_evergold("ingest", "p.json", "--json", cwd=home)
    told = [line for line in ran.err.splitlines() if line.startswith("p.json")]
    return ran.json["traces"], ran.json["rejected"], told


def a_chat(number: int, **more: Any) -> dict[str, Any]:
    return {"id": str(number), "messages": [user(f"Q{number}") | {"time": AT.isoformat()}, bot("A")]} | more


@each_row(
    ("wrap", "place"),
    [
        (lambda chats: [..., *chats], "p.json:{}"),
        (lambda chats: chats, "p.json:1: conversation {} of 5"),
        (lambda chats: {"conversations": chats}, "p.json:1: conversation {} of 5"),
    ],
)
def test_each_chat_that_is_not_read_is_named_by_its_place(wrap: Any, place: str, tmp_path: Path) -> None:
    chats = [a_chat(1), a_chat(2, messages=[]), a_chat(3), a_chat(4, messages=[{"said": "x"}]), a_chat(5, messages=[])]
    reasons = {2: "messages is empty", 4: "the items of messages have said, where a role and a content are looked for"}
    told = [f"{place.format(at)}: no message is read: {reasons.get(at, reasons[2])}" for at in (2, 4, 5)]
    assert ingest_file(tmp_path, wrap(chats)) == (2, 3, told)


@each_row("wrap", [lambda chats: [..., *chats], lambda chats: chats, lambda chats: {"conversations": chats}])
def test_a_file_may_begin_with_chats_without_messages(wrap: Any, tmp_path: Path) -> None:
    chats = [a_chat(1, messages=[]), a_chat(2, messages=[]), a_chat(3)]
    assert ingest_file(tmp_path, wrap(chats))[:2] == (1, 2)


def test_each_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    told = [f"p.json:{at}: expected an object, got {kind}" for at, kind in ((2, "int"), (4, "str"))]
    assert ingest_file(tmp_path, [..., a_chat(1), 7, a_chat(2), "x"]) == (2, 2, told)


@each_row("beside", ["steps", "events", "logs"])
def test_a_run_that_is_read_is_not_refused_for_another_list_beside_its_messages(beside: str, tmp_path: Path) -> None:
    runs = [a_chat(at, **{beside: [{"step": 1, "detail": "x"}]}) for at in range(3)]
    assert ingest_file(tmp_path, runs) == (3, 0, [])
    assert ingest_file(tmp_path, {"results": runs}) == (3, 0, [])


def test_only_runs_that_are_read_are_counted_as_read(tmp_path: Path) -> None:
    unread = {"id": "9", "turns": [{"asked": "Q"}]}
    traces, rejected, told = ingest_file(tmp_path, {"analysis": {"n": 2}, "results": [a_chat(1), unread]})
    assert (traces, rejected) == (1, 1) and told[0].startswith("p.json:1: conversation 2 of 2: no message is read")
    assert told[1:] == ["p.json:1: 1 runs are read; what stands beside them is not: analysis (1)"]
    assert "runs are read" not in str(ingest_file(tmp_path, {"analysis": {"n": 2}, "results": [unread]}))


@each_row(
    ("document", "reader", "meant"),
    [
        ({"message": [user("Q"), bot("A")]}, "agent-log", "messages"),
        ({"id": "1", "mesages": [user("Q"), bot("A")]}, "agent-log", "messages"),
        ({"simulatons": [{"id": "1", "reward": 1}]}, "agent-log", "simulations"),
        ({"simulation": [{"id": "1", "reward": 1}]}, "agent-log", "simulations"),
        ({"span": [{"traceId": "a", "spanId": "b", "name": "x"}]}, "otlp", "spans"),
        ({"resourceSpan": [{"scopeSpans": []}]}, "otlp", "resourceSpans"),
        ({"run_typ": "llm", "inputs": {}, "outputs": {}}, "langsmith", "run_type"),
    ],
)
def test_a_misspelt_key_leads_to_its_reader(document: Any, reader: str, meant: str, tmp_path: Path) -> None:
    traces, rejected, (told,) = ingest_file(tmp_path, document)
    assert (traces, rejected) == (0, 1) and f"the nearest reader is {reader}" in told
    assert f"did you mean {meant!r}?" in told.partition("it looks like")[2]


def test_a_session_of_copilot_chat_is_read(tmp_path: Path) -> None:
    fence = {"value": "\n```\n"}
    called = {"kind": "toolInvocationSerialized", "toolCallId": "t1", "toolId": "find_files", "isComplete": True}
    called |= {"invocationMessage": {"value": "Searching for `*.css`"}, "pastTenseMessage": {"value": "Found 2 files"}}
    symbol = {"kind": "inlineReference", "inlineReference": {"name": "main.css"}}
    first = {
        "requestId": "r1",
        "message": {"text": "Where are the colours?", "parts": []},
        "response": [{"value": "I search."}, called, fence, fence, {"value": "They are in "}, symbol, {"value": "."}],
        "result": {"timings": {"totalElapsed": 2000}, "metadata": {"sessionId": "s1"}},
        "timestamp": 1735787045000,
        "modelId": "copilot/model-1",
    }
    second = {"message": {"text": "Thanks?"}, "response": [{"value": "You are "}, {"value": "welcome."}]}
    session = {"requesterUsername": "ann", "responderUsername": "GitHub Copilot", "requests": [first, second]}
    one, two = read(tmp_path, session)
    assert texts([one, two]) == [("Where are the colours?", "They are in main.css."), ("Thanks?", "You are welcome.")]
    assert (one.session_id, two.session_id, one.user_id, one.metadata["model"]) == (
        "s1",
        "s1",
        "ann",
        "copilot/model-1",
    )
    assert one.started_at == AT and one.ended_at and (one.ended_at - one.started_at).seconds == 2
    (span,) = one.spans
    assert (span.name, span.output) == ("find_files", "Found 2 files")
