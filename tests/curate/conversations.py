"""Recorded conversations as apps send them: native lines per turn, OTLP JSON per conversation, OTLP protobuf per turn.

A conversation is a list of messages in OpenAI's chat shape, as the log of an agent has them, with its reward. Every model call
is a step that holds what was sent and what came back; every tool that ran is a step of its own.
"""

import base64
import itertools
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from evergold import plugins
from evergold.conversation.message import decode_json
from evergold.model.case import Case, EntryType
from evergold.model.faults import Rejected
from evergold.sources.spans import Wire
from evergold.workspace import Workspace

Message = dict[str, Any]
SKIPPED = ("dataset-a", "dataset-b", "qa", "summaries")  # rows of other kinds of cases
FIRST_NS = 1_767_225_600 * 10**9
SECOND = 10**9


@dataclass(frozen=True)
class Recorded:
    """One conversation up to the last thing the assistant did, the tools it was offered, and its reward."""

    id: str
    user: str
    reward: float
    messages: tuple[Message, ...]
    tools: tuple[dict[str, Any], ...] = ()
    began: int = FIRST_NS

    def turns(self) -> list[range]:
        """The numbers of the messages of each turn; the first turn has the instructions, too."""
        asked = [number for number, message in enumerate(self.messages) if message["role"] == "user"]
        bounds = [0, *asked[1:], len(self.messages)]
        return [range(start, end) for start, end in itertools.pairwise(bounds)]

    def results_of(self, number: int) -> list[Message]:
        """The results that follow message `number`, one for each of its calls."""
        calls = len(self.messages[number].get("tool_calls") or ())
        later = self.messages[number + 1 : number + 1 + calls]
        return [message for message in later if message["role"] == "tool"]


def native_turns(recorded: Recorded) -> Iterator[bytes]:
    """A native trace per turn: steps of the model with what was sent, steps of the tools, the reward on the last."""
    for number, turn in enumerate(recorded.turns()):
        yield _line(recorded, number, turn, [_native_call(recorded, at) for at in _answers(recorded, turn)])


def native_steps(recorded: Recorded) -> Iterator[bytes]:
    """A native trace per turn that has question, answer and tools alone: what was said before is in its session."""
    for number, turn in enumerate(recorded.turns()):
        yield _line(recorded, number, turn, [])


def _answers(recorded: Recorded, turn: range) -> list[int]:
    return [number for number in turn if recorded.messages[number]["role"] == "assistant"]


def _reply(said: list[Message]) -> str:
    """The answer of a turn: its last text; the calls it ended with, as JSON."""
    if said[-1]["role"] == "assistant" and said[-1]["content"]:
        return str(said[-1]["content"])
    calls = [message["tool_calls"] for message in said if message.get("tool_calls")][-1]
    return json.dumps([{"name": c["function"]["name"], "arguments": c["function"]["arguments"]} for c in calls])


def _line(recorded: Recorded, number: int, turn: range, steps: list[dict[str, Any]]) -> bytes:
    said = [recorded.messages[at] for at in turn]
    last = turn.stop == len(recorded.messages)
    tools = [step for at in _answers(recorded, turn) for step in _native_tools(recorded, at)]
    line = {
        "type": "trace",
        "id": f"{recorded.id}-{number}",
        "session_id": recorded.id,
        "user_id": recorded.user,
        "input": next(message["content"] for message in said if message["role"] == "user"),
        "output": None if steps and said[-1]["role"] == "tool" else _reply(said),
        "started_at": _moment(recorded, turn.start),
        "ended_at": _moment(recorded, turn.stop),
        "spans": steps + tools,
        "tools": list(recorded.tools),
        "scores": [{"name": "reward", "value": recorded.reward}] if last else [],
    }
    return json.dumps(line).encode()


def _native_call(recorded: Recorded, at: int) -> dict[str, Any]:
    return {
        "id": f"call-{at}",
        "name": "chat",
        "kind": "llm",
        "input": json.dumps(recorded.messages[:at]),
        "output": json.dumps([recorded.messages[at]]),
        "started_at": _moment(recorded, at),
        "ended_at": _moment(recorded, at, 0.4),
    }


def _native_tools(recorded: Recorded, at: int) -> Iterator[dict[str, Any]]:
    calls = recorded.messages[at].get("tool_calls") or ()
    for number, (call, result) in enumerate(zip(calls, recorded.results_of(at), strict=False)):
        yield {
            "id": f"tool-{at}-{number}",
            "name": call["function"]["name"],
            "kind": "tool",
            "input": call["function"]["arguments"],
            "output": result["content"],
            "started_at": _moment(recorded, at, 0.5),
            "ended_at": _moment(recorded, at, 0.9),
            "metadata": {"tool_call_id": call["id"]},
        }


def _nanoseconds(recorded: Recorded, at: int, part: float = 0.0) -> int:
    return recorded.began + at * SECOND + int(part * SECOND)


def _moment(recorded: Recorded, at: int, part: float = 0.0) -> str:
    seconds, rest = divmod(_nanoseconds(recorded, at, part), SECOND)
    minutes = (seconds - FIRST_NS // SECOND) // 60
    return f"2026-01-{1 + minutes // 1440:02}T{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds % 60:02}.{rest // 10**6:03}Z"


def otlp_conversation(recorded: Recorded) -> Iterator[bytes]:
    """One OTLP JSON request: an agent's span, a span per model call and per tool, the reward as its evaluation."""
    whole = range(len(recorded.messages))
    request = MessageToDict(_request(recorded, whole, recorded.id))
    for span in request["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        for key in ("traceId", "spanId", "parentSpanId"):
            if key in span:
                span[key] = base64.b64decode(span[key]).hex()
    yield json.dumps(request).encode()


def protobuf_turns(recorded: Recorded) -> Iterator[bytes]:
    """One OTLP protobuf request per turn, a trace each; the session's id joins them."""
    for number, turn in enumerate(recorded.turns()):
        body: bytes = _request(recorded, turn, f"{recorded.id}-{number}").SerializeToString()
        yield body


def _request(recorded: Recorded, turn: range, trace: str) -> ExportTraceServiceRequest:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    root = spans.add(name="invoke_agent airline")
    _times(root, recorded, turn.start, turn.stop)
    root.trace_id, root.span_id = _ident(trace, 16), _ident(trace, 8)
    root.attributes.extend(_pairs(_facts(recorded) | {"gen_ai.operation.name": "invoke_agent"}))
    if turn.stop == len(recorded.messages):
        evaluation = {"gen_ai.evaluation.name": "reward", "gen_ai.evaluation.score.value": float(recorded.reward)}
        root.events.add(name="gen_ai.evaluation.result", attributes=_pairs(evaluation))
    for at in _answers(recorded, turn):
        chat = spans.add(name="chat gpt-4o", parent_span_id=root.span_id, span_id=_ident(f"{trace}-{at}", 8))
        chat.attributes.extend(_pairs(_facts(recorded) | _chat(recorded, at)))
        _times(chat, recorded, at, at, 0.4)
        calls = recorded.messages[at].get("tool_calls") or ()
        for number, (call, result) in enumerate(zip(calls, recorded.results_of(at), strict=False)):
            ident = _ident(f"{trace}-{at}-{number}", 8)
            tool = spans.add(name="execute_tool", parent_span_id=root.span_id, span_id=ident)
            tool.attributes.extend(_pairs(_tool(call, result)))
            _times(tool, recorded, at, at + 1, 0.5)
    for span in spans:
        span.trace_id = root.trace_id
    return request


def _times(span: Span, recorded: Recorded, start: int, end: int, part: float = 0.0) -> None:
    span.start_time_unix_nano = _nanoseconds(recorded, start)
    span.end_time_unix_nano = _nanoseconds(recorded, end, part)


def _ident(text: str, size: int) -> bytes:
    return sha256(text.encode()).digest()[:size]


def _facts(recorded: Recorded) -> dict[str, Any]:
    return {"gen_ai.conversation.id": recorded.id, "user.id": recorded.user}


def _chat(recorded: Recorded, at: int) -> dict[str, Any]:
    sent = recorded.messages[:at]
    instructions = [{"type": "text", "content": m["content"]} for m in sent if m["role"] == "system"]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.system_instructions": json.dumps(instructions),
        "gen_ai.input.messages": json.dumps([_parts(message) for message in sent if message["role"] != "system"]),
        "gen_ai.output.messages": json.dumps([_parts(recorded.messages[at]) | {"finish_reason": "stop"}]),
        "gen_ai.tool.definitions": json.dumps([{"type": "function", **tool["function"]} for tool in recorded.tools]),
    }


def _parts(message: Message) -> dict[str, Any]:
    if message["role"] == "tool":
        answer = {"type": "tool_call_response", "id": message["tool_call_id"], "response": message["content"]}
        return {"role": "tool", "parts": [answer]}
    parts: list[dict[str, Any]] = []
    if message.get("content"):
        parts.append({"type": "text", "content": message["content"]})
    for call in message.get("tool_calls") or ():
        arguments = json.loads(call["function"]["arguments"])
        parts.append({"type": "tool_call", "id": call["id"], "name": call["function"]["name"], "arguments": arguments})
    return {"role": message["role"], "parts": parts}


def _tool(call: dict[str, Any], result: Message) -> dict[str, Any]:
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": call["function"]["name"],
        "gen_ai.tool.call.id": call["id"],
        "gen_ai.tool.call.arguments": call["function"]["arguments"],
        "gen_ai.tool.call.result": result["content"],
    }


def _pairs(attributes: dict[str, Any]) -> list[KeyValue]:
    kinds = {str: "string_value", int: "int_value", float: "double_value"}
    return [KeyValue(key=key, value=AnyValue(**{kinds[type(value)]: value})) for key, value in attributes.items()]


WAYS: dict[str, Callable[[Recorded], Iterator[bytes]]] = {
    "native per turn": native_turns,
    "native per turn, steps alone": native_steps,
    "OTLP JSON per conversation": otlp_conversation,
    "OTLP protobuf per turn": protobuf_turns,
}


def send(workspace: Workspace, way: str, sent: Sequence[Recorded]) -> None:
    """Send every conversation; the turns of different ones are mixed, as on a server."""
    bodies = [list(WAYS[way](recorded)) for recorded in sent]
    turns = [turn[number] for number in range(max(map(len, bodies))) for turn in bodies if number < len(turn)]
    if way.startswith("native"):
        report = workspace.intake.ingest([BytesIO(b"\n".join(turns) + b"\n")])
        assert not report.problems, report.problems
        return
    wire = Wire.JSON if "JSON" in way else Wire.PROTOBUF
    for written in [workspace.intake.receive_traces(body, wire) for body in turns]:
        assert not written.result().refused


def expected_messages(recorded: Recorded, way: str) -> list[Any]:
    """What a case has to say. A trace that has only steps of its tools holds no instructions and no words beside calls."""
    if "alone" not in way:
        return [_plain(message) for message in recorded.messages]
    spoken = (_plain(message) for message in recorded.messages if message["role"] != "system")
    return [(role, "" if calls else text, calls) for role, text, calls in spoken]


def _plain(message: Message) -> Any:
    calls = [
        (call["function"]["name"], decode_json(call["function"]["arguments"]))
        for call in message.get("tool_calls") or ()
    ]
    return message["role"], message.get("content") or "", calls


def case_of(cases: Sequence[Case], recorded: Recorded) -> Case | None:
    """The case of a conversation: the one of its last turn."""
    own = [case for case in cases if case.provenance.session_id == recorded.id]
    return max(own, key=lambda case: len(case.messages) + len(case.turn), default=None)


def losses(case: Case | None, recorded: Recorded, way: str) -> Iterator[str]:
    """What a case lacks or says wrongly, one word each."""
    if case is None:
        yield "case"
        return
    whole = [*case.messages, *case.turn, *case.extra.get("after", ())]
    if [_plain(message) for message in whole] != expected_messages(recorded, way):
        yield "messages"
    if not case.messages or case.messages[-1]["role"] != "user":
        yield "question"
    made = [(name, args) for message in recorded.messages for _, _, calls in [_plain(message)] for name, args in calls]
    if made and {tool["function"]["name"] for tool in case.tools} != {t["function"]["name"] for t in recorded.tools}:
        yield "tools"
    if case.provenance.user_id != recorded.user:
        yield "user"
    if case.entry_type is not (EntryType.GOLDEN if recorded.reward >= 1 else EntryType.FAILURE):
        yield "verdict"
    if case.extra.get("problems"):
        yield "problems"


def changed_by(cases: Sequence[Case], name: str, folder: Path) -> tuple[int, int, int]:
    """Cases written in a format, left out of it with a reason, and changed after they were read back."""
    chosen = plugins.load("formats", name)
    unfit: list[Rejected] = []
    path = folder / f"live-{name}{chosen.suffix}"
    written = chosen.write(iter(cases), path, rejected=unfit)
    left_out = {item.where for item in unfit}
    before = {case.id: case for case in cases if f"{case.dataset}/{case.id}" not in left_out}
    # Where no case is written, a format of one file per dataset writes none.
    back = {case.id: case for case in chosen.read(path) if isinstance(case, Case)} if written else {}
    changed = sum(id not in back or before[id].content() != back[id].content() for id in before)
    return written, len(unfit), changed
