"""The tools of a trace: those offered to its model, as function schemas, and those it ran, as spans of kind tool.

Offered tools are in OpenAI's shape; one of another kind than a function stays as it came. A run is a call with its result.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from evergold.conversation.message import Message, arguments_text, as_text, decode_json, tool_message
from evergold.model.trace import Span, TraceStatus

SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "json_schema", "args_schema", "parameters_json_schema"),
    *("parametersJsonSchema", "parameter_definitions", "schema", "function_parameters"),
)
LISTS = ("tools", "functions", "function_tools", "available_tools", "toolConfig", "tool_config")
NESTED = ("config", "kwargs", "invocation_params", "options", "body", "llm_request", "model_request_parameters")
WRAPPERS = ("function", "toolSpec", "tool")
DECLARATIONS = ("function_declarations", "functionDeclarations")
DEEPEST_OFFER = 6
IDENT_ATTRIBUTES = (
    "gen_ai.tool.call.id",
    "ai.toolCall.id",
    "tool_call.id",
    "tool.call_id",
    "tool_call_id",
    "tool.id",
    "call_id",
    "tool_use_id",
)
PARAMETERS = "tool.parameters"
ARGUMENT_ATTRIBUTES = ("gen_ai.tool.call.arguments", "ai.toolCall.args", "tool_arguments", PARAMETERS, "input.value")
RESULT_ATTRIBUTES = ("gen_ai.tool.call.result", "ai.toolCall.result", "tool_response", "output.value")
SCHEMA_ATTRIBUTES = ("gen_ai.tool.json_schema", "tool.json_schema", PARAMETERS)
DESCRIPTION_ATTRIBUTES = ("gen_ai.tool.description", "tool.description")
BESIDE = ("tags", "metadata", "options", "config")
ARGUMENT_WRAPPERS = ("input_str", "inputs", "kwargs", "input", "args", "arguments")


def attributes_of(span: Span) -> dict[str, Any]:
    attributes = span.metadata.get("attributes")
    return attributes if isinstance(attributes, dict) else {}


def tools_in(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    """The tools of a list of them, or of a request that has one."""
    document = decode_json(value)
    if depth > DEEPEST_OFFER:
        return []
    if isinstance(document, list):
        # A list of one text is the JSON of all of them (Langtrace).
        if len(document) == 1 and isinstance(document[0], str) and document[0].lstrip()[:1] == "[":
            return tools_in(document[0], depth + 1)
        return [tool for item in document for tool in _tools_of(decode_json(item))]
    if not isinstance(document, dict):
        return []
    for key in (*LISTS, *NESTED):
        inner = decode_json(document.get(key))
        if not inner:
            continue
        if key == "tools" and isinstance(inner, dict):
            inner = [{"name": name, **fields} for name, fields in inner.items() if isinstance(fields, dict)]
        tools = tools_in(inner, depth + 1)
        if key == "function_tools":
            tools += tools_in(document.get("output_tools") or [], depth + 1)
        if tools:
            return tools
    return []


def is_offer(item: Any) -> bool:
    """Whether a message of a list is no message but a tool that was offered, as Langfuse's callback for LangChain writes it."""
    if not isinstance(item, dict) or item.get("role") != "tool" or item.get("tool_call_id"):
        return False
    offered = item.get("content")
    function = offered.get("function") if isinstance(offered, dict) and offered.get("type") == "function" else None
    return isinstance(function, dict) and "name" in function and any(key in function for key in SCHEMAS)


def _tools_of(item: Any) -> list[dict[str, Any]]:
    if not isinstance(item, dict):
        return []
    if "role" in item:
        return _tools_of(item["content"]) if is_offer(item) else []
    for key in DECLARATIONS:
        if isinstance(declared := item.get(key), list):
            return [tool for one in declared for tool in _tools_of(one)]
    inner, name = item, item.get("name")
    for key in WRAPPERS:
        if isinstance(wrapped := decode_json(inner.get(key)), dict):
            inner = wrapped
    if "name" not in inner and isinstance(whole := decode_json(inner.get("json_schema")), dict):
        return _tools_of(whole)  # OpenInference holds the whole tool there, whichever provider's it is
    schema = next((inner[key] for key in SCHEMAS if inner.get(key) is not None), None)
    name = inner.get("name", name)
    # Hosted tools (`web_search`) have a type and no schema: they stay as the provider names them.
    if not name or (item.get("type") not in (None, "function", "tool", "custom") and schema is None):
        return [item]
    return [_function(str(name), inner, schema)]


def _function(name: str, fields: dict[str, Any], schema: Any) -> dict[str, Any]:
    schema = decode_json(schema)
    if isinstance(schema, dict) and isinstance(schema.get("json"), dict):
        schema = schema["json"]  # Bedrock
    if "parameter_definitions" in fields and isinstance(schema, dict):
        schema = _from_definitions(schema)  # Cohere's first API
    function: dict[str, Any] = {"name": name}
    if fields.get("description"):
        function["description"] = fields["description"]
    if isinstance(schema, dict):
        function["parameters"] = _lowercase_types(schema)
    if fields.get("strict") is not None:
        function["strict"] = fields["strict"]
    return {"type": "function", "function": function}


def _from_definitions(definitions: dict[str, Any]) -> dict[str, Any]:
    types = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object"}
    properties = {
        name: {key: value for key, value in field.items() if key != "required"}
        | {"type": types.get(str(field.get("type")), field.get("type", "string"))}
        for name, field in definitions.items()
        if isinstance(field, dict)
    }
    required = [name for name, field in definitions.items() if isinstance(field, dict) and field.get("required")]
    return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _lowercase_types(schema: Any) -> Any:
    """Google writes the types of its schemas in capitals; JSON Schema does not."""
    if isinstance(schema, dict):
        return {
            key: value.lower()
            if key == "type" and isinstance(value, str) and value.isupper()
            else _lowercase_types(value)
            for key, value in schema.items()
        }
    return [_lowercase_types(item) for item in schema] if isinstance(schema, list) else schema


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
    attributes = attributes_of(span)
    ident = next(
        (where[key] for where in (attributes, span.metadata) for key in IDENT_ATTRIBUTES if where.get(key)), None
    )
    given = next((attributes[key] for key in ARGUMENT_ATTRIBUTES if _holds_arguments(key, attributes)), span.input)
    gave = next((attributes[key] for key in RESULT_ATTRIBUTES if attributes.get(key) not in (None, "")), span.output)
    error = span.metadata.get("error")
    failed = span.status is TraceStatus.FAILED
    # A tool that raised has no output; its error is what the model was told.
    result = _result_text(gave) if gave is not None else str(error) if failed and error else None
    name = str(span.metadata.get("tool") or attributes.get("gen_ai.tool.name") or span.name)
    arguments, ident = _unwrap_arguments(given, ident)
    arguments = _name_arguments(arguments, decode_json(attributes.get(PARAMETERS)))
    return ToolRun(name, arguments_text(arguments), None if ident is None else str(ident), result, failed, span)


def tools_of_runs(runs: Iterable[ToolRun]) -> list[dict[str, Any]]:
    """The tools whose spans hold their schema: all that is known of the offer where no model call names it."""
    offered: dict[str, dict[str, Any]] = {}
    for run in runs:
        attributes = attributes_of(run.span)
        schema = next(
            (given for key in SCHEMA_ATTRIBUTES if _is_schema(given := decode_json(attributes.get(key)))), None
        )
        if schema is not None and run.name not in offered:
            described = next((attributes[key] for key in DESCRIPTION_ATTRIBUTES if attributes.get(key)), None)
            function = {"name": run.name, **({"description": described} if described else {}), "parameters": schema}
            offered[run.name] = {"type": "function", "function": function}
    return list(offered.values())


def _holds_arguments(key: str, attributes: dict[str, Any]) -> bool:
    """Whether an attribute holds arguments: `tool.parameters` is the schema of the tool with some instrumentations."""
    if attributes.get(key) in (None, ""):
        return False
    return key != PARAMETERS or not attributes.get("input.value") or not _is_schema(decode_json(attributes[key]))


def _is_schema(document: Any) -> bool:
    if not isinstance(document, dict) or not document:
        return False
    properties = document.get("properties", document)
    return isinstance(properties, dict) and all(isinstance(one, dict) and "type" in one for one in properties.values())


def _unwrap_arguments(given: Any, ident: Any) -> tuple[Any, Any]:
    """Arguments out of what frameworks put around them; a tool call passed whole brings its id."""
    document = decode_json(given)
    if isinstance(document, dict):
        if document.get("type") == "tool_call" and "args" in document:
            return document["args"], ident or document.get("id")
        if isinstance(document.get("kwargs"), dict) and document.get("args") == []:
            return document["kwargs"], ident  # a call of a Python function, with what else was passed beside it
        if isinstance(document.get("inputs"), dict) and "input_str" in document:
            return document["inputs"], ident  # LangChain's, beside tags and metadata
        # Frameworks wrap the arguments in the parameter of their own run method (`{"input_str": "{…}"}`).
        only = [key for key, value in document.items() if value not in (None, "", [], {}) and key not in BESIDE]
        if (
            len(only) == 1
            and only[0] in ARGUMENT_WRAPPERS
            and isinstance(inner := decode_json(document[only[0]]), dict)
        ):
            return _unwrap_arguments(inner, ident) if inner is not document else (inner, ident)
    return given, ident


def _name_arguments(given: Any, schema: Any) -> Any:
    """Arguments that a Python function was given by place, by the names of the tool's parameters where those are known."""
    document = decode_json(given)
    if not isinstance(document, dict) or not isinstance(document.get("kwargs"), dict):
        return given
    values = document.get("args")
    if not isinstance(values, list) or not values:
        return given
    names = list(schema.get("properties", schema)) if _is_schema(schema) else []
    if len(names) < len(values):
        return {"args": values} | document["kwargs"]
    return dict(zip(names, values, strict=False)) | document["kwargs"]


def _result_text(gave: Any) -> str:
    """A result as text; a tool message or a function's response that a framework passed on is its content."""
    document = decode_json(gave)
    if isinstance(document, dict):
        if document.keys() == {"id", "name", "response"}:  # Google's
            return as_text(document["response"])
        inner = document.get("kwargs") if isinstance(document.get("kwargs"), dict) else document
        if isinstance(inner, dict) and (inner.get("type") == "tool" or "tool_call_id" in inner) and "content" in inner:
            return as_text(inner["content"])
        if document.keys() == {"output"}:
            return _result_text(document["output"])
    return as_text(gave)


def messages_of_runs(runs: Sequence[ToolRun]) -> list[Message]:
    """The messages of tools at work where no model call says them: tools that ran side by side were called together."""
    messages: list[Message] = []
    for number, group in enumerate(_group_parallel(runs)):
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


def _group_parallel(runs: Sequence[ToolRun]) -> list[list[ToolRun]]:
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
    listed: Any = decode_json(text) if text and text.lstrip()[:1] in ("{", "[") else None
    listed = [listed] if isinstance(listed, dict) else listed
    if not isinstance(listed, list) or not listed:
        return False
    return all(isinstance(item, dict) and _call_name(item) in names for item in listed)


def _call_name(item: dict[str, Any]) -> Any:
    inner = item.get("function")
    return inner.get("name") if isinstance(inner, dict) else item.get("name")
