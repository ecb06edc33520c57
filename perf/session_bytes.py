"""How many bytes a session of 20 turns takes, whose every turn sends the whole conversation again, beside its distinct texts.

    python -m perf.session_bytes                  # in four conventions
    python -m perf.session_bytes --turns 40 --sessions 20 --parts

Requests are OTLP protobuf, a turn each, through the real intake into SQLite; sessions take turns, as on a server. Bytes are
those of the database after it was closed, less those of an empty one, without curation. Distinct texts: the system prompt,
every question and every answer, once, in UTF-8. Goal: 1.5 times at most.
"""

import argparse
import json
import random
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

from evergold.settings import Settings
from evergold.sources.spans import Wire
from evergold.workspace import Workspace
from perf.otlp_load import FIRST_NS, words

GOAL = 1.5
Message = dict[str, str]
RESOURCE = {
    "service.name": "shop",
    "service.version": "1.4.2",
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "telemetry.sdk.version": "1.37.0",
    "deployment.environment.name": "production",
}


def genai(history: Sequence[Message], answer: str) -> dict[str, Any]:
    """OpenTelemetry's own convention: messages as JSON, the system prompt apart."""
    said = [_parts(message) for message in history if message["role"] != "system"]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.system_instructions": json.dumps([{"type": "text", "content": history[0]["content"]}]),
        "gen_ai.input.messages": json.dumps(said, ensure_ascii=False),
        "gen_ai.output.messages": json.dumps(
            [_parts({"role": "assistant", "content": answer}) | {"finish_reason": "stop"}], ensure_ascii=False
        ),
    }


def _parts(message: Message) -> dict[str, Any]:
    return {"role": message["role"], "parts": [{"type": "text", "content": message["content"]}]}


def openinference(history: Sequence[Message], answer: str) -> dict[str, Any]:
    """Each message in attributes of its own, and all of them once more as the request's JSON."""
    attributes: dict[str, Any] = {
        "openinference.span.kind": "LLM",
        "input.mime_type": "application/json",
        "input.value": json.dumps({"messages": list(history), "model": "small-1"}, ensure_ascii=False),
        "output.mime_type": "text/plain",
        "output.value": answer,
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": answer,
    }
    for number, message in enumerate(history):
        attributes[f"llm.input_messages.{number}.message.role"] = message["role"]
        attributes[f"llm.input_messages.{number}.message.content"] = message["content"]
    return attributes


def traceloop(history: Sequence[Message], answer: str) -> dict[str, Any]:
    """Each message in attributes of its own."""
    attributes: dict[str, Any] = {"gen_ai.system": "OpenAI", "llm.request.type": "chat"}
    for number, message in enumerate(history):
        attributes[f"gen_ai.prompt.{number}.role"] = message["role"]
        attributes[f"gen_ai.prompt.{number}.content"] = message["content"]
    return attributes | {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": answer}


def langfuse(history: Sequence[Message], answer: str) -> dict[str, Any]:
    """The request's messages as JSON, the answer as a message."""
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": json.dumps(list(history)),
        "langfuse.observation.output": json.dumps({"role": "assistant", "content": answer}),
    }


CONVENTIONS: dict[str, Callable[[Sequence[Message], str], dict[str, Any]]] = {
    "genai": genai,
    "openinference": openinference,
    "traceloop": traceloop,
    "langfuse": langfuse,
}


def sessions(chosen: argparse.Namespace) -> list[list[Message]]:
    """Conversations: a system prompt, then questions and answers of very different lengths."""
    source = random.Random(chosen.seed)
    made = []
    for _ in range(chosen.sessions):
        said = [{"role": "system", "content": words(source, chosen.system)}]
        for _ in range(chosen.turns):
            said.append({"role": "user", "content": words(source, _length(source, chosen.question))})
            said.append({"role": "assistant", "content": words(source, _length(source, chosen.answer))})
        made.append(said)
    return made


def _length(source: random.Random, middle: int) -> int:
    return max(30, min(int(source.lognormvariate(0, 0.7) * middle), 20 * middle))


def requests(said: Sequence[Message], number: int, convention: str, source: random.Random) -> Iterator[bytes]:
    """The turns of one session, a request each."""
    for turn in range(2, len(said), 2):
        attributes = CONVENTIONS[convention](said[:turn], said[turn]["content"])
        attributes |= {
            "gen_ai.conversation.id": f"session-{number}",
            "session.id": f"session-{number}",
            "gen_ai.request.model": "small-1",
            "gen_ai.response.model": "small-1",
            "gen_ai.response.id": f"chatcmpl-{source.randbytes(12).hex()}",
            "gen_ai.usage.input_tokens": sum(len(one["content"]) for one in said[:turn]) // 4,
            "gen_ai.usage.output_tokens": len(said[turn]["content"]) // 4,
            "gen_ai.request.temperature": 0.2,
        }
        yield _request(attributes, FIRST_NS + (turn * 1000 + number) * 10**9, source)


def _request(attributes: dict[str, Any], start: int, source: random.Random) -> bytes:
    request = ExportTraceServiceRequest()
    by_resource = request.resource_spans.add()
    by_resource.resource.attributes.extend(_pair(key, value) for key, value in RESOURCE.items())
    span = by_resource.scope_spans.add().spans.add()
    span.trace_id, span.span_id = source.randbytes(16), source.randbytes(8)
    span.name = "chat small-1"
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + 2 * 10**9
    span.attributes.extend(_pair(key, value) for key, value in attributes.items())
    packed: bytes = request.SerializeToString()
    return packed


def _pair(key: str, value: Any) -> KeyValue:
    kind = {str: "string_value", int: "int_value", float: "double_value"}[type(value)]
    return KeyValue(key=key, value=AnyValue(**{kind: value}))


def stored_bytes(bodies: Sequence[Sequence[bytes]], *, parts: bool = False) -> int:
    """Bytes of the database that holds these turns, less those of an empty one."""
    with tempfile.TemporaryDirectory() as name:
        settings = Settings(home=Path(name))
        database = Path(name) / "evergold.db"
        with Workspace.open(settings) as workspace:
            workspace.intake.counts()
        empty = database.stat().st_size
        with Workspace.open(settings) as workspace:
            for turns in zip(*bodies, strict=True):
                for written in [workspace.intake.receive_traces(body, Wire.PROTOBUF) for body in turns]:
                    assert not written.result().refused
        if parts:
            _print_parts(database, sum(map(len, bodies)))
        return database.stat().st_size - empty


def _print_parts(database: Path, turns: int) -> None:
    with closing(sqlite3.connect(database)) as connection:
        query = "SELECT name, sum(pgsize) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 12"
        for name, size in connection.execute(query):
            print(f"      {name:<34} {size / turns:8.0f} bytes a turn")


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--system", type=int, default=2000, help="characters of the system prompt")
    parser.add_argument("--question", type=int, default=300, help="characters of half of the questions, at most")
    parser.add_argument("--answer", type=int, default=1200, help="characters of half of the answers, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parts", action="store_true", help="bytes of each table and index, too")
    chosen = parser.parse_args(arguments)
    made = sessions(chosen)
    texts = sum(len(text.encode()) for said in made for text in {one["content"] for one in said})
    print(
        f"  {chosen.sessions} sessions of {chosen.turns} turns, {texts / chosen.sessions:.0f} bytes of distinct texts each"
    )
    for convention in CONVENTIONS:
        source = random.Random(chosen.seed)
        bodies = [list(requests(said, number, convention, source)) for number, said in enumerate(made)]
        sent = sum(len(body) for turns in bodies for body in turns)
        stored = stored_bytes(bodies, parts=chosen.parts)
        print(
            f"  {convention:<14} stored {stored / texts:5.2f} times the distinct texts (goal {GOAL}), "
            f"sent {sent / texts:.1f} times",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
