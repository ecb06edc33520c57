"""Tool calls in every spelling: the keys under which a name, arguments and an id may stand."""

from typing import Any

from evergold.conversation.nested_json import decoded
from evergold.conversation.shape import tool_call

NAMES = ("name", "tool_name", "toolName", "function_name", "functionName", "FunctionName", "Name")
ARGUMENTS = (
    *("arguments", "args", "input", "parameters", "tool_kwargs", "tool_input", "toolInput", "kwargs", "tool_args"),
    *("Arguments", "function_arguments"),
)
IDENTS = ("id", "tool_call_id", "toolCallId", "call_id", "callId", "toolUseId", "tool_use_id", "ref", "Id", "tool_id")
WRAPPERS = ("tool_call", "toolCall", "function", "functionCall", "function_call")


def first_of(fields: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of these that is there and is not null."""
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def call_of(call: Any) -> dict[str, Any] | None:
    """A call in canonical shape; None for what names no tool."""
    call = decoded(call)
    if not isinstance(call, dict):
        return None
    ident = first_of(call, IDENTS)
    inner = call
    # `{"function_call": {"function": {…}}}`: wrappers nest, and a loop of them in a document must end.
    for _ in range(3):
        wrapped = next((decoded(inner[key]) for key in WRAPPERS if isinstance(decoded(inner.get(key)), dict)), None)
        if wrapped is None:
            break
        inner = wrapped
        ident = ident if ident is not None else first_of(inner, IDENTS)
    name = first_of(inner, NAMES)
    if name is None:
        return None
    # Semantic Kernel names a function by plug-in and function; models see both joined by a dash.
    plugin = inner.get("plugin_name") or inner.get("PluginName")
    if plugin and inner.get("function_name", inner.get("FunctionName")):
        name = inner.get("name") or f"{plugin}-{first_of(inner, ('function_name', 'FunctionName'))}"
    return tool_call(name, first_of(inner, ARGUMENTS), ident)


def calls_in(calls: Any) -> list[dict[str, Any]]:
    """The calls of a list (or its JSON, or an object of one); what is none is left out."""
    listed = decoded(calls)
    if isinstance(listed, dict):
        listed = [listed]
    return [call for item in listed if (call := call_of(item)) is not None] if isinstance(listed, list) else []
