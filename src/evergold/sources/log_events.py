"""Log records that tell of model calls → steps of a trace.

Two kinds of sender log what others put into spans: OpenTelemetry's gen_ai events (messages and choices beside the span that
made the call), and Claude Code (prompts, requests and tool results, with no span at all). Each such record becomes a
step of its own, with an id made of its content, so that the trace is told from them in any order and a repeated delivery
changes nothing. Evaluation results stay logs: they are scores. What is neither is counted and left out.
"""

import hashlib
from typing import Any

from evergold.model.values import canonical_json
from evergold.sources.conventions.messages import parse_json
from evergold.sources.conventions.read_span import message_of
from evergold.sources.conventions.scores import RESULT_EVENT
from evergold.sources.spans import Attributes, Received, WireEvent, WireLog, WireSpan

CLAUDE = "claude_code."
DETAILS = "gen_ai.client.inference.operation.details"
KIND = "evergold.span.kind"
EVENT = {KIND: "event"}


def spans_of_logs(received: Received) -> Received:
    """The records as spans; evaluation results stay in `logs`, the rest is counted in `ignored`."""
    spans = Received(refused=received.refused)
    for log in received.logs:
        if log.event.name == RESULT_EVENT and log.trace_id:
            spans.logs.append(log)
            continue
        try:
            span = _span(log)
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as problem:
            spans.refused.append(f"log record {log.event.name!r}: {problem}")
            continue
        if span is None:
            spans.ignored += 1
        else:
            spans.check(span)
    return spans


def _span(log: WireLog) -> WireSpan | None:
    name = _name(log)
    if name.startswith(CLAUDE):
        return _claude_step(log, name.removeprefix(CLAUDE))
    if name.startswith("gen_ai.") and log.trace_id and log.span_id:
        # Loggers of applications write the body as text.
        body = parse_json(log.body)
        fields = {**log.event.attributes, **(body if isinstance(body, dict) else {})}
        attributes: Attributes = {}
        if name != DETAILS:
            message = message_of(WireEvent(name, log.event.time_ns, fields))
            side = {"user": "input", "assistant": "output"}.get(str(message["role"]))
            if side and (side == "input" or name == "gen_ai.choice"):
                attributes = {f"{side}.value": [message], f"{side}.mime_type": "application/json"}
        assert log.trace_id is not None
        return _step(log, log.trace_id, log.span_id, name, EVENT | fields | attributes)
    return None


def _name(log: WireLog) -> str:
    """The event's name; older Claude Code writes it as the body."""
    if log.event.name and not log.event.name.startswith(("gen_ai.", CLAUDE)) and "session.id" in log.event.attributes:
        body = log.body if isinstance(log.body, str) else ""
        return body if body.startswith(CLAUDE) else CLAUDE + log.event.name
    return log.event.name or (log.body if isinstance(log.body, str) and log.body.startswith(CLAUDE) else "")


def _claude_step(log: WireLog, name: str) -> WireSpan | None:
    given = log.event.attributes
    session = given.get("session.id")
    if not session:
        return None
    # Claude Code sends no trace: a prompt of a session is one, and its id is made of both.
    trace_id = log.trace_id or _digest(session, given.get("prompt.id", ""))[:32]
    attributes: Attributes = {"session.id": session, "user.id": given.get("user.id") or given.get("user.account_uuid")}
    if name == "user_prompt":
        attributes |= EVENT | {"input.value": given.get("prompt")}
    elif name in ("api_request", "api_error"):
        attributes |= {
            KIND: "llm",
            "gen_ai.response.model": given.get("model"),
            "gen_ai.usage.input_tokens": given.get("input_tokens"),
            "gen_ai.usage.output_tokens": given.get("output_tokens"),
            "gen_ai.usage.cost": _number(given.get("cost_usd")),
        }
    elif name == "tool_result":
        arguments = given.get("tool_input") or given.get("tool_parameters")
        attributes |= {KIND: "tool", "tool.name": given.get("tool_name"), "input.value": arguments}
    elif name == "assistant_response":
        attributes |= EVENT | {"output.value": given.get("response")}
    else:
        attributes |= EVENT
    known = {key: value for key, value in attributes.items() if value is not None}
    # All steps of a prompt hang below one parent that never arrives; it only holds them together.
    span = _step(log, trace_id, log.span_id or _digest(trace_id)[:16], CLAUDE + name, {**given, **known})
    span.start_ns = max(0, span.end_ns - int(1e6 * (_number(given.get("duration_ms")) or 0)))
    span.failed = name == "api_error" or str(given.get("success", "true")).lower() == "false"
    span.status_message = str(given["error"]) if given.get("error") else None
    return span


def _step(log: WireLog, trace_id: str, parent_id: str | None, name: str, attributes: Attributes) -> WireSpan:
    moment = log.event.time_ns
    # The content is the identity: the same record delivered twice is the same span.
    span_id = _digest(trace_id, parent_id, name, moment, attributes)[:16]
    return WireSpan(trace_id, span_id, parent_id, name, moment, moment, attributes=attributes, resource=log.resource)


def _digest(*parts: Any) -> str:
    return hashlib.sha256(canonical_json(parts)).hexdigest()


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except (TypeError, ValueError):
        return None
