"""Dialects of frameworks, SDKs and instrumentation: how each spells the messages it dumps or traces."""

import ast
from typing import Any, ClassVar

from evergold.conversation.message import (
    PRINTED_AS,
    Piece,
    call_of,
    call_piece,
    calls_in,
    data_url,
    decode_json,
    image_piece,
    result_piece,
    text_piece,
)


class OtelParts:
    """OpenTelemetry's message parts: `{"type": "text", "content"}`, `tool_call`, `tool_call_response`, `reasoning`."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        kind = part.get("type")
        if kind == "text" and isinstance(text := part.get("content"), str):
            return [text_piece(text)]
        if kind in ("tool_call", "server_tool_call"):
            inner = part.get("tool_call") if isinstance(part.get("tool_call"), dict) else None
            call = (
                inner or part.get("server_tool_call")
                if isinstance(part.get("server_tool_call"), dict)
                else inner or part
            )
            assert isinstance(call, dict)
            arguments = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), None)
            function = call.get("function")
            if isinstance(function, dict):
                call = call | function
                arguments = function.get("arguments")
            return [call_piece(call.get("name"), arguments, part.get("id") or call.get("id"))]
        if kind in ("tool_call_response", "server_tool_call_response"):
            keys = ("response", "result", "content", "output", "server_tool_call_response")
            result = next((part[key] for key in keys if part.get(key) is not None), None)
            return [result_piece(result, part.get("id"), part.get("name"), failed=bool(part.get("is_error")))]
        if kind in ("reasoning", "thinking") and "summary" not in part:
            return [Piece("reasoning", part.get("content") or part.get("text"))]
        if kind == "blob" or (kind == "binary" and "content" in part):
            media = str(part.get("mime_type") or part.get("media_type") or "")
            data = part.get("content", part.get("data"))
            if part.get("modality") == "image" or media.startswith("image"):
                return [image_piece(data_url(media, data))]
            return [Piece("content", part)]
        if kind in ("uri", "image-url") and (part.get("modality") == "image" or kind == "image-url"):
            return [image_piece(str(part.get("uri") or part.get("url")))]
        return [Piece("content", part)] if kind in ("uri", "file", "blob") and "modality" in part else None


class LangChain:
    """LangChain and LangGraph, present and older, Python and JavaScript: messages as dumped, serialised or wrapped."""

    KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat", "developer", "generic"})

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        """`{"type": "human", "content"}`, `{"type", "data"}`, `{"lc", "id", "kwargs"}`, `{"lc_kwargs"}`, a generation."""
        if isinstance(kwargs := item.get("kwargs"), dict) and isinstance(path := item.get("id"), list) and path:
            if "messages" in kwargs:
                return [message for inner in kwargs["messages"] if isinstance(inner, dict) for message in [inner]]
            return [LangChain._fields(kwargs, LangChain._speaker(str(path[-1])))] if "content" in kwargs else None
        if isinstance(kwargs := item.get("lc_kwargs"), dict) and "content" in kwargs:
            return [
                LangChain._fields(
                    kwargs,
                    LangChain._speaker(str(item.get("type") or item.get("role") or (item.get("id") or [""])[-1])),
                )
            ]
        if isinstance(data := item.get("data"), dict) and LangChain._is_kind(item.get("type")) and "content" in data:
            return [LangChain._fields(data, str(item["type"]))]
        # A generation of an LLM result: its message where it has one, its text where the model is no chat model.
        if "generation_info" in item or ("message" in item and "text" in item and "role" not in item):
            message = item.get("message")
            return [message] if isinstance(message, dict) else [{"role": "assistant", "content": item.get("text")}]
        if "role" not in item and LangChain._is_kind(item.get("type")) and "content" in item:
            return [LangChain._fields(item, str(item["type"]))]
        # `blocks` beside `additional_kwargs` is a message of LlamaIndex.
        if "role" in item and "additional_kwargs" in item and "blocks" not in item:
            return [LangChain._fields(item, str(item["role"]))]
        return None

    @staticmethod
    def _is_kind(kind: Any) -> bool:
        return isinstance(kind, str) and (kind in LangChain.KINDS or kind.removesuffix("Chunk").endswith("Message"))

    @staticmethod
    def _speaker(name: str) -> str:
        """The kind of message a class is: `AIMessageChunk` → ai."""
        return name.removesuffix("Chunk").removesuffix("Message").lower() or "assistant"

    @staticmethod
    def _list_calls(calls: Any) -> list[Any]:
        """Calls as a list; a value of another kind is none."""
        return calls if isinstance(calls, list) else [calls] if isinstance(calls, dict) else []

    @staticmethod
    def _fields(fields: dict[str, Any], kind: str) -> dict[str, Any]:
        """The fields of a message as a chat message has them. Calls may stand twice: read and as the provider wrote them."""
        kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if kind[:1].isupper() else kind
        role = str(fields.get("role") or "user") if kind in ("chat", "generic") else kind
        beside = decode_json(fields.get("additional_kwargs"))
        beside = beside if isinstance(beside, dict) else {}
        calls = LangChain._list_calls(fields.get("tool_calls")) or LangChain._list_calls(beside.get("tool_calls"))
        older = beside.get("function_call")
        if not calls and isinstance(older, dict):
            calls = [older]
        # Calls whose arguments LangChain could not parse: the model made them all the same.
        invalid = LangChain._list_calls(fields.get("invalid_tool_calls"))
        message: dict[str, Any] = {"role": role, "content": fields.get("content")}
        if role in ("ai", "assistant") and (calls or invalid):
            message["tool_calls"] = [*calls, *invalid]
        for key in ("tool_call_id", "name"):
            if fields.get(key):
                message[key] = fields[key]
        if fields.get("status") == "error":
            message["failed"] = True
        if isinstance(reasoning := beside.get("reasoning_content"), str):
            message["reasoning"] = reasoning
        known = {
            *message,
            "type",
            "role",
            "status",
            "invalid_tool_calls",
            "tool_call_chunks",
            "example",
            "is_chunk",
            "kwargs",
        }
        message["extra"] = {key: value for key, value in fields.items() if key not in known and value} | {}
        if beside and (rest := {k: v for k, v in beside.items() if k not in ("tool_calls", "function_call") and v}):
            message["extra"]["additional_kwargs"] = rest
        else:
            message["extra"].pop("additional_kwargs", None)
        return message


class LlamaIndex:
    """LlamaIndex: a message of blocks, each with its `block_type`; calls of older versions beside the content."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        kind = part.get("block_type")
        if kind == "text":
            return [text_piece(str(part.get("text") or ""))]
        if kind == "tool_call":
            return [call_piece(part.get("tool_name"), part.get("tool_kwargs"), part.get("tool_call_id"))]
        if kind == "thinking":
            return [Piece("reasoning", part.get("content"))]
        if kind == "image":
            data = part.get("url") or part.get("image")
            return [image_piece(data_url(part.get("image_mimetype"), data))] if data else [Piece("content", part)]
        return [Piece("content", part)] if kind else None

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        if "role" not in item or not ("blocks" in item or "additional_kwargs" in item):
            return None
        beside = item.get("additional_kwargs")
        beside = beside if isinstance(beside, dict) else {}
        message = {"role": item["role"], "content": item.get("blocks") or item.get("content")}
        blocks = item.get("blocks") or []
        made = any(isinstance(block, dict) and block.get("block_type") == "tool_call" for block in blocks)
        if (calls := item.get("tool_calls") or beside.get("tool_calls")) and not made:
            message["tool_calls"] = calls
        for key in ("tool_call_id", "name"):
            if value := item.get(key) or beside.get(key):
                message[key] = value
        rest = {key: value for key, value in beside.items() if key not in (*message, "tool_calls") and value}
        return [message | ({"extra": {"additional_kwargs": rest}} if rest else {})]


class PydanticAI:
    """Pydantic AI: requests and responses of parts, each with its `part_kind`; and the events of its older spans."""

    ROLE_OF_PART: ClassVar = {"system-prompt": "system", "user-prompt": "user"}

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        if isinstance(name := item.get("event.name"), str):
            return PydanticAI._event(name, item)
        if item.get("kind") not in ("request", "response") or not isinstance(item.get("parts"), list):
            return None
        parts = [part for part in item["parts"] if isinstance(part, dict)]
        if item["kind"] == "response":
            return [{"role": "assistant", "content": [PydanticAI._output_part(part) for part in parts]}]
        instructions = item.get("instructions")
        first = [{"role": "system", "content": instructions}] if instructions else []
        return first + [PydanticAI._input_message(part) for part in parts]

    @staticmethod
    def _output_part(part: dict[str, Any]) -> dict[str, Any]:
        kind = part.get("part_kind")
        if kind in ("tool-call", "builtin-tool-call"):
            return {
                "type": "tool_use",
                "name": part.get("tool_name"),
                "input": part.get("args"),
                "id": part.get("tool_call_id"),
            }
        if kind == "builtin-tool-return":
            return {"type": "tool_result", "tool_use_id": part.get("tool_call_id"), "content": part.get("content")}
        return {
            "type": "thinking" if kind == "thinking" else "text",
            "text": part.get("content"),
            "content": part.get("content"),
        }

    @staticmethod
    def _input_message(part: dict[str, Any]) -> dict[str, Any]:
        kind = str(part.get("part_kind"))
        if kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
            message = {"role": "tool", "content": part.get("content"), "tool_call_id": part.get("tool_call_id")}
            return message | {"name": part["tool_name"], "failed": kind == "retry-prompt"}
        return {"role": PydanticAI.ROLE_OF_PART.get(kind, "user"), "content": part.get("content")}

    @staticmethod
    def _event(name: str, item: dict[str, Any]) -> list[dict[str, Any]]:
        """A message as the log event that it was: `gen_ai.user.message`, `gen_ai.choice`."""
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        own = {key: value for key, value in item.items() if not key.startswith(("event.", "gen_ai."))}
        message = decode_json(own.pop("message", None))
        fields = {**own, **message} if isinstance(message, dict) else own
        if isinstance(message, str):
            fields["content"] = message
        if role == "tool" and "id" in fields:
            fields["tool_call_id"] = fields.pop("id")
        fields.pop("index", None)
        return [{"role": "assistant" if role == "choice" else role, **fields}]


class VercelAI:
    """The Vercel AI SDK: parts named `tool-call` and `tool-result`, and the parts of its UI messages."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        kind = part.get("type")
        if not isinstance(kind, str):
            return None
        # UI messages hold several model calls in one; a step ends the message before it.
        if kind == "step-start":
            return [Piece("step")]
        if kind == "tool-call":
            return [call_piece(part.get("toolName"), VercelAI._either(part, "input", "args"), part.get("toolCallId"))]
        if kind == "tool-result":
            content, failed = VercelAI._output(VercelAI._either(part, "output", "result"))
            failed = failed or bool(part.get("isError"))
            return [result_piece(content, part.get("toolCallId"), part.get("toolName"), failed=failed)]
        if kind == "tool-error":
            return [result_piece(part.get("error"), part.get("toolCallId"), part.get("toolName"), failed=True)]
        if kind == "tool-invocation" and isinstance(made := part.get("toolInvocation"), dict):
            return VercelAI._call_and_result(made, made.get("toolName"), "args", "result")
        if (kind.startswith("tool-") or kind == "dynamic-tool") and "toolCallId" in part:
            return VercelAI._call_and_result(
                part, part.get("toolName") or kind.removeprefix("tool-"), "input", "output"
            )
        if kind == "reasoning" and isinstance(text := part.get("text", part.get("reasoning")), str):
            return [Piece("reasoning", text)]
        if kind in ("image", "file"):
            return VercelAI._media(part)
        return None

    @staticmethod
    def _either(part: dict[str, Any], *keys: str) -> Any:
        return next((part[key] for key in keys if part.get(key) is not None), None)

    @staticmethod
    def _output(output: Any) -> tuple[Any, bool]:
        """What a tool gave, out of the object that names its type; whether it is an error."""
        if isinstance(output, dict) and output.keys() >= {"type", "value"}:
            kind, value = str(output["type"]), output["value"]
            if kind == "content" and isinstance(value, list):
                return [item for item in value if isinstance(item, dict)], False
            return value, kind.startswith("error")
        return output, False

    @staticmethod
    def _call_and_result(made: dict[str, Any], name: Any, given: str, gave: str) -> list[Piece]:
        """A call of a UI message, and its result where it has one."""
        ident = made.get("toolCallId")
        pieces = [call_piece(name, made.get(given), ident)]
        if made.get("errorText"):
            pieces.append(result_piece(made["errorText"], ident, name, failed=True))
        elif made.get(gave) is not None:
            pieces.append(result_piece(made[gave], ident, name))
        return pieces

    @staticmethod
    def _media(part: dict[str, Any]) -> list[Piece] | None:
        kind = str(VercelAI._either(part, "mediaType", "mimeType") or ("image/png" if part["type"] == "image" else ""))
        data = VercelAI._either(part, "image", "url", "data")
        if isinstance(data, str) and kind.startswith("image"):
            return [image_piece(data_url(kind, data))]
        return [text_piece(part["text"])] if isinstance(part.get("text"), str) else [Piece("content", part)]


class Haystack:
    """Haystack: content as objects of one key (`text`, `tool_call`, `tool_call_result`); older dumps begin with `_`, printed
    messages too."""

    KEYS: ClassVar = {"ToolCall": "tool_call", "ToolCallResult": "tool_call_result", "ReasoningContent": "reasoning"}

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        if "type" in part:
            return None
        if key := Haystack.KEYS.get(str(part.get(PRINTED_AS))):
            part = {key: part}
        if part.get(PRINTED_AS) == "TextContent":
            return [text_piece(str(part.get("text") or ""))]
        if isinstance(result := part.get("tool_call_result"), dict):
            origin = result.get("origin")
            origin = origin if isinstance(origin, dict) else {}
            failed = bool(result.get("error"))
            return [result_piece(result.get("result"), origin.get("id"), origin.get("tool_name"), failed=failed)]
        if isinstance(part.get("tool_call"), dict) and (call := call_of(part["tool_call"])) is not None:
            return [Piece("call", call)]
        if isinstance(reasoning := part.get("reasoning"), dict):
            return [Piece("reasoning", reasoning.get("reasoning_text"))]
        return None

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        if "_role" in item and "_content" in item:
            message = {"role": item["_role"], "content": item["_content"]}
            meta = item.get("_meta")
            return [
                message
                | ({"name": item["_name"]} if item.get("_name") else {})
                | ({"extra": {"meta": meta}} if meta else {})
            ]
        return None


class Genkit:
    """Genkit: parts of one key (`text`, `toolRequest`, `toolResponse`, `media`)."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        if isinstance(call := part.get("toolRequest"), dict):
            return [call_piece(call.get("name"), call.get("input"), call.get("ref"))]
        if isinstance(result := part.get("toolResponse"), dict):
            return [result_piece(result.get("output"), result.get("ref"), result.get("name"))]
        if isinstance(media := part.get("media"), dict):
            return [image_piece(str(media.get("url")))]
        return None


class SemanticKernel:
    """Semantic Kernel: items with a `content_type` (Python) or a `$type` (.NET)."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        kind = str(part.get("content_type") or part.get("$type") or "").replace("_", "").lower()
        kind = kind.removesuffix("content")
        lower = {key.lower(): value for key, value in part.items()}
        if kind == "text":
            return [text_piece(str(lower.get("text") or ""))]
        if kind == "functioncall" and (call := call_of(part)) is not None:
            return [Piece("call", call)]
        if kind == "functionresult":
            ident = lower.get("callid") or lower.get("id")
            return [result_piece(lower.get("result"), ident, lower.get("name") or lower.get("functionname"))]
        if kind == "image":
            return [image_piece(str(lower.get("uri") or lower.get("datauri") or lower.get("data_uri")))]
        return [Piece("content", part)] if kind else None

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        if isinstance(items := item.get("Items", item.get("items")), list) and ("Role" in item or "role" in item):
            return [{"role": item.get("Role", item.get("role")), "content": items}]
        return None


class AutoGen:
    """AutoGen: a message names its `source` and its class; calls and results are the content of messages of their own."""

    ROLES: ClassVar = {
        "SystemMessage": "system",
        "UserMessage": "user",
        "AssistantMessage": "assistant",
        "FunctionExecutionResultMessage": "tool",
        "ToolCallRequestEvent": "assistant",
        "ToolCallExecutionEvent": "tool",
        "ToolCallSummaryMessage": "assistant",
        "ThoughtEvent": "assistant",
    }

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        kind = item.get("type")
        if not isinstance(kind, str) or ("source" not in item and kind not in AutoGen.ROLES) or "content" not in item:
            return None
        if kind not in AutoGen.ROLES and not kind.endswith(("Message", "Event")):
            return None
        source, content = str(item.get("source") or ""), item["content"]
        role = AutoGen.ROLES.get(kind) or ("user" if source in ("user", "user_proxy", "human") else "assistant")
        if role == "tool" and isinstance(content, list):
            return [AutoGen._result(result) for result in content if isinstance(result, dict)]
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant" and isinstance(content, list) and (calls := calls_in(content)):
            message |= {"content": item.get("thought") or None, "tool_calls": calls}
        if source and source not in ("user", "assistant", "system"):
            message["name"] = source
        return [message]

    @staticmethod
    def _result(result: dict[str, Any]) -> dict[str, Any]:
        message = {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
        return message | {"name": result.get("name"), "failed": bool(result.get("is_error"))}


class SmolAgents:
    """smolagents: roles `tool-call` and `tool-response`, whose texts hold the calls as Python prints them."""

    CALLING = "Calling tools:"
    LONGEST = 200_000  # characters that are parsed as a Python literal

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        role = str(item.get("role")).rpartition(".")[2].lower().replace("_", "-")
        if role not in ("tool-call", "tool-response"):
            return None
        content = item.get("content") or item.get("contents")
        if role == "tool-response":
            return [{"role": "tool", "content": content}]
        text = content
        if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
            part = content[0].get("message_content", content[0])
            text = part.get("text") if isinstance(part, dict) else None
        if isinstance(text, str) and text.lstrip().startswith(SmolAgents.CALLING) and len(text) < SmolAgents.LONGEST:
            try:
                # Printed by Python's repr, so single quotes and None: no JSON. `literal_eval` runs no code.
                calls = calls_in(ast.literal_eval(text.lstrip().removeprefix(SmolAgents.CALLING).strip()))
            except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
                calls = []
            if calls:
                return [{"role": "assistant", "content": None, "tool_calls": calls}]
        return [{"role": "assistant", "content": content}]
