"""An assistant as a test app: the OpenTelemetry SDK with its exporter, and no code of ours.

It answers from a script, and is instrumented as the GenAI conventions say: a span for the agent, one for the call of the model
in it. It gives no scores.
"""

import json
from collections.abc import Sequence
from datetime import datetime, timedelta

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace import set_span_in_context

from tests.assistant import AssistantTurn
from tests.patience import PATIENCE


def export_turns(turns: Sequence[AssistantTurn], url: str) -> dict[str, str]:
    """Send the turns to a server as a running app would; returns the id of each turn by that of its trace."""
    provider = TracerProvider(resource=Resource.create({"service.name": "assistant"}))
    exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", timeout=PATIENCE)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("assistant")
    history: dict[str, list[dict[str, object]]] = {}
    ids = {}
    for turn in turns:
        messages = history.setdefault(turn.session, [])
        messages.append(_message("user", turn.message))
        ends = turn.at + timedelta(seconds=3)
        agent = tracer.start_span(
            "invoke_agent assistant",
            start_time=_nanoseconds(turn.at),
            attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": turn.session},
        )
        call = tracer.start_span(
            "chat small-1",
            context=set_span_in_context(agent),
            start_time=_nanoseconds(turn.at + timedelta(seconds=1)),
            attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1"},
        )
        call.set_attribute("gen_ai.input.messages", json.dumps(messages))
        messages.append(_message("assistant", turn.answer))
        call.set_attribute("gen_ai.output.messages", json.dumps(messages[-1:]))
        call.end(_nanoseconds(ends))
        agent.end(_nanoseconds(ends))
        ids[f"{agent.get_span_context().trace_id:032x}"] = turn.id
    provider.force_flush(int(PATIENCE * 1000))
    provider.shutdown()
    return ids


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _nanoseconds(moment: datetime) -> int:
    return int(moment.timestamp()) * 10**9
