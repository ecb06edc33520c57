"""AutoGen: a message names its `source` and its class; calls and results are the content of messages of their own."""

from typing import Any

from evergold.conversation.calls import calls_in

ROLES = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
    "ToolCallRequestEvent": "assistant",
    "ToolCallExecutionEvent": "tool",
    "ToolCallSummaryMessage": "assistant",
    "ThoughtEvent": "assistant",
}


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    kind = item.get("type")
    if not isinstance(kind, str) or ("source" not in item and kind not in ROLES) or "content" not in item:
        return None
    if kind not in ROLES and not kind.endswith(("Message", "Event")):
        return None
    source, content = str(item.get("source") or ""), item["content"]
    role = ROLES.get(kind) or ("user" if source in ("user", "user_proxy", "human") else "assistant")
    if role == "tool" and isinstance(content, list):
        return [_result(result) for result in content if isinstance(result, dict)]
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant" and isinstance(content, list) and (calls := calls_in(content)):
        message |= {"content": item.get("thought") or None, "tool_calls": calls}
    if source and source not in ("user", "assistant", "system"):
        message["name"] = source
    return [message]


def _result(result: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
    return message | {"name": result.get("name"), "failed": bool(result.get("is_error"))}
