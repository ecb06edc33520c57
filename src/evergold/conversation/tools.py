"""The function schemas that were offered to a model, in OpenAI's shape; a tool of another kind stays as it came."""

from typing import Any

from evergold.conversation.nested_json import decoded

SCHEMAS = (
    *("parameters", "input_schema", "inputSchema", "json_schema", "args_schema", "parameters_json_schema"),
    *("parametersJsonSchema", "parameter_definitions", "schema", "function_parameters"),
)
LISTS = ("tools", "functions", "function_tools", "available_tools", "toolConfig", "tool_config")
NESTED = ("config", "kwargs", "invocation_params", "options", "body", "llm_request", "model_request_parameters")
WRAPPERS = ("function", "toolSpec", "tool")
DECLARATIONS = ("function_declarations", "functionDeclarations")
DEEPEST = 6


def tools_in(value: Any, depth: int = 0) -> list[dict[str, Any]]:
    """The tools of a list of them, or of a request that has one."""
    document = decoded(value)
    if depth > DEEPEST:
        return []
    if isinstance(document, list):
        return [tool for item in document for tool in _tools_of(decoded(item))]
    if not isinstance(document, dict):
        return []
    for key in (*LISTS, *NESTED):
        inner = decoded(document.get(key))
        if not inner:
            continue
        tools = _named(inner) if key == "tools" and isinstance(inner, dict) else tools_in(inner, depth + 1)
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


def _named(tools: dict[str, Any]) -> list[dict[str, Any]]:
    """Tools in an object, each under its name."""
    return [
        tool
        for name, fields in tools.items()
        if isinstance(fields, dict)
        for tool in _tools_of({"name": name, **fields})
    ]


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
        if isinstance(wrapped := decoded(inner.get(key)), dict):
            inner = wrapped
    if "name" not in inner and isinstance(whole := decoded(inner.get("json_schema")), dict):
        return _tools_of(whole)  # OpenInference holds the whole tool there, whichever provider's it is
    schema = next((inner[key] for key in SCHEMAS if inner.get(key) is not None), None)
    name = inner.get("name", name)
    # Hosted tools (`web_search`) have a type and no schema: they stay as the provider names them.
    if not name or (item.get("type") not in (None, "function", "tool", "custom") and schema is None):
        return [item]
    return [_function(str(name), inner, schema)]


def _function(name: str, fields: dict[str, Any], schema: Any) -> dict[str, Any]:
    schema = decoded(schema)
    if isinstance(schema, dict) and isinstance(schema.get("json"), dict):
        schema = schema["json"]  # Bedrock
    if "parameter_definitions" in fields and isinstance(schema, dict):
        schema = _from_definitions(schema)  # Cohere's first API
    function: dict[str, Any] = {"name": name}
    if fields.get("description"):
        function["description"] = fields["description"]
    if isinstance(schema, dict):
        function["parameters"] = _lowered(schema)
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


def _lowered(schema: Any) -> Any:
    """Google writes the types of its schemas in capitals; JSON Schema does not."""
    if isinstance(schema, dict):
        return {
            key: value.lower() if key == "type" and isinstance(value, str) and value.isupper() else _lowered(value)
            for key, value in schema.items()
        }
    return [_lowered(item) for item in schema] if isinstance(schema, list) else schema
