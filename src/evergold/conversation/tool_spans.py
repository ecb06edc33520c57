"""The tools a trace shows at work: spans of kind tool, each a call with its result."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evergold.conversation.nested_json import as_text, decoded
from evergold.conversation.shape import Message, arguments_text, tool_message
from evergold.model.trace import Span, TraceStatus

IDENTS = ("gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id", "tool.call_id", "tool_call_id", "tool.id", "call_id")
PARAMETERS = "tool.parameters"
GIVEN = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", PARAMETERS, "input.value")
GAVE = ("gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "output.value")
SCHEMAS = ("gen_ai.tool.json_schema", "tool.json_schema", PARAMETERS)
DESCRIPTIONS = ("gen_ai.tool.description", "tool.description")
AROUND = ("input_str", "inputs", "kwargs", "input", "args", "arguments")


@dataclass(slots=True)
class ToolRun:
    """One tool at work. `result` is None where the span does not say what came of it."""

    name: str
    arguments: str
    ident: str | None
    result: str | None
    failed: bool
    span: Span


def tool_runs(spans: Iterable[Span]) -> list[ToolRun]:
    """The tools of a trace in order of time."""
    # A name in brackets is a step around the tools, such as ADK's `(merged tools)`, which repeats their results.
    return [run for span in spans if span.kind == "tool" and (run := _run(span)).name[:1] != "("]


def _run(span: Span) -> ToolRun:
    attributes = span.metadata.get("attributes")
    attributes = attributes if isinstance(attributes, dict) else {}
    ident = next((where[key] for where in (attributes, span.metadata) for key in IDENTS if where.get(key)), None)
    given = next((attributes[key] for key in GIVEN if _is_given(key, attributes)), span.input)
    gave = next((attributes[key] for key in GAVE if attributes.get(key) not in (None, "")), span.output)
    error = span.metadata.get("error")
    failed = span.status is TraceStatus.FAILED
    # A tool that raised has no output; its error is what the model was told.
    result = _result(gave) if gave is not None else str(error) if failed and error else None
    name = str(span.metadata.get("tool") or attributes.get("gen_ai.tool.name") or span.name)
    arguments, ident = _unwrapped(given, ident)
    return ToolRun(name, arguments_text(arguments), None if ident is None else str(ident), result, failed, span)


def tools_at_work(runs: Iterable[ToolRun]) -> list[dict[str, Any]]:
    """The tools whose spans hold their schema: all that is known of the offer where no model call names it."""
    offered: dict[str, dict[str, Any]] = {}
    for run in runs:
        attributes = run.span.metadata.get("attributes")
        attributes = attributes if isinstance(attributes, dict) else {}
        schema = next((given for key in SCHEMAS if _is_schema(given := decoded(attributes.get(key)))), None)
        if schema is not None and run.name not in offered:
            described = next((attributes[key] for key in DESCRIPTIONS if attributes.get(key)), None)
            function = {"name": run.name, **({"description": described} if described else {}), "parameters": schema}
            offered[run.name] = {"type": "function", "function": function}
    return list(offered.values())


def _is_given(key: str, attributes: dict[str, Any]) -> bool:
    """Whether an attribute holds arguments: `tool.parameters` is the schema of the tool with some instrumentations."""
    if attributes.get(key) in (None, ""):
        return False
    return key != PARAMETERS or not attributes.get("input.value") or not _is_schema(decoded(attributes[key]))


def _is_schema(document: Any) -> bool:
    if not isinstance(document, dict) or not document:
        return False
    properties = document.get("properties", document)
    return isinstance(properties, dict) and all(isinstance(one, dict) and "type" in one for one in properties.values())


def _unwrapped(given: Any, ident: Any) -> tuple[Any, Any]:
    """Arguments out of what frameworks put around them; a tool call passed whole brings its id."""
    document = decoded(given)
    if isinstance(document, dict):
        if document.get("type") == "tool_call" and "args" in document:
            return document["args"], ident or document.get("id")
        if isinstance(document.get("kwargs"), dict) and document.get("args") == []:
            return document["kwargs"], ident  # a call of a Python function, with what else was passed beside it
        # Frameworks wrap the arguments in the parameter of their own run method (`{"input_str": "{…}"}`).
        only = [key for key, value in document.items() if value not in (None, "", [], {})]
        if len(only) == 1 and only[0] in AROUND and isinstance(inner := decoded(document[only[0]]), dict):
            return _unwrapped(inner, ident) if inner is not document else (inner, ident)
    return given, ident


def _result(gave: Any) -> str:
    """A result as text; a tool message that a framework passed on is its content."""
    document = decoded(gave)
    if isinstance(document, dict):
        inner = document.get("kwargs") if isinstance(document.get("kwargs"), dict) else document
        if isinstance(inner, dict) and (inner.get("type") == "tool" or "tool_call_id" in inner) and "content" in inner:
            return as_text(inner["content"])
        if document.keys() == {"output"}:
            return _result(document["output"])
    return as_text(gave)


def acted(runs: Sequence[ToolRun]) -> list[Message]:
    """The messages of tools at work where no model call says them: tools that ran side by side were called together."""
    messages: list[Message] = []
    for number, group in enumerate(_side_by_side(runs)):
        idents = [run.ident or f"{run.span.id}" or f"call_{number}" for run in group]
        calls = [
            {"id": ident, "type": "function", "function": {"name": run.name, "arguments": run.arguments}}
            for ident, run in zip(idents, group, strict=True)
        ]
        messages.append({"role": "assistant", "content": None, "tool_calls": calls})
        for ident, run in zip(idents, group, strict=True):
            if run.result is not None:
                messages.append(tool_message(run.result, ident, run.name, failed=run.failed))
    return messages


def _side_by_side(runs: Sequence[ToolRun]) -> list[list[ToolRun]]:
    groups: list[list[ToolRun]] = []
    until = None
    for run in runs:
        begun, ended = run.span.started_at, run.span.ended_at
        # It began before all of the group had ended: the model must have asked for both at once.
        if groups and begun is not None and until is not None and begun < until:
            groups[-1].append(run)
        else:
            groups.append([run])
            until = None
        if ended is not None and (until is None or ended > until):
            until = ended
    return groups


def is_calls(text: str | None, names: Sequence[str]) -> bool:
    """Whether a text is the JSON of calls of these tools, which a trace has where it ended with them."""
    listed: Any = decoded(text) if text and text.lstrip()[:1] in ("{", "[") else None
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not listed:
        return False
    return all(isinstance(item, dict) and _name(item) in names for item in listed)


def _name(item: dict[str, Any]) -> Any:
    inner = item.get("function")
    return inner.get("name") if isinstance(inner, dict) else item.get("name")
