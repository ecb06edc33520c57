"""Dialects of messages: how providers, frameworks, SDKs and instrumentation spell parts, calls, results and messages.

A part says what it is by its `type`, or by the one key that it holds; the tables list the words of all dialects, so that a new
one is most often a word there. A message that is no plain `{"role", "content"}` is read by one of `MESSAGE_READERS`, as one or
more that are; each gives None for what is not its own.
"""

import ast
from typing import Any

from evergold.conversation.message import (
    CALL_ARGUMENTS,
    CALL_IDENTS,
    PRINTED_AS,
    Piece,
    as_text,
    call_of,
    call_piece,
    calls_in,
    data_url,
    decode_json,
    first_of,
    image_piece,
    result_piece,
    text_piece,
    tool_call,
)

Part = dict[str, Any]

TEXT_TYPES = frozenset({"text", "input_text", "output_text", "summary_text", "refusal"})
FILE_TYPES = frozenset({"input_audio", "file", "input_file", "audio"})
# OpenTelemetry's, Anthropic's and Vercel's; LangChain's calls are OpenTelemetry's.
CALL_TYPES = frozenset({"tool_call", "server_tool_call", "tool_use", "server_tool_use", "mcp_tool_use", "tool-call"})
RESULT_TYPES = frozenset({"tool_call_response", "server_tool_call_response", "tool-result", "tool-error"})
RESULT_KEYS = ("response", "result", "content", "output", "server_tool_call_response", "error")
RESULT_IDENTS = ("tool_use_id", "toolCallId", "toolUseId", "ref", "id")
# Keys of parts without a type: Bedrock's and Strands', Haystack's, Genkit's, Google's in either spelling.
CALL_HOLDERS = ("toolUse", "tool_call", "toolRequest", "function_call", "functionCall")
RESULT_HOLDERS = (
    *("toolResult", "tool_call_result", "toolResponse", "function_response", "functionResponse"),
    *("code_execution_result", "codeExecutionResult"),
)
GOOGLE_KEYS = frozenset(
    (
        *("text", "thought", "thought_signature", "thoughtSignature", "video_metadata", "media_resolution"),
        *("code_execution_result", "executable_code", "file_data", "function_call", "function_response"),
        *("inline_data", "meta", "cache_control", "cachePoint", "metadata"),
    )
)
HAYSTACK_CLASSES = {"ToolCall": "tool_call", "ToolCallResult": "tool_call_result", "ReasoningContent": "reasoning"}
# Items of OpenAI's Responses API.
ITEM_CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call", "computer_call", "local_shell_call"})
ITEM_RESULTS = frozenset(f"{kind}_output" for kind in ITEM_CALLS - {"mcp_call"})
HOSTED = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
ITEMS = ITEM_CALLS | ITEM_RESULTS | HOSTED | {"reasoning", "item_reference", "mcp_list_tools"}
LANGCHAIN_KINDS = frozenset({"human", "ai", "system", "tool", "function", "chat", "developer", "generic"})
LANGCHAIN_FIELDS = frozenset(
    ("type", "role", "status", "invalid_tool_calls", "tool_call_chunks", "example", "is_chunk", "kwargs")
)
AUTOGEN_ROLES = {
    "SystemMessage": "system",
    "UserMessage": "user",
    "AssistantMessage": "assistant",
    "FunctionExecutionResultMessage": "tool",
    "ToolCallRequestEvent": "assistant",
    "ToolCallExecutionEvent": "tool",
    "ToolCallSummaryMessage": "assistant",
    "ThoughtEvent": "assistant",
}
PYDANTIC_AI_ROLES = {"system-prompt": "system", "user-prompt": "user"}
COHERE_ROLES = frozenset({"USER", "CHATBOT", "SYSTEM", "TOOL"})
SMOLAGENTS_CALLING = "Calling tools:"
SMOLAGENTS_TASK, SMOLAGENTS_RESULT = "New task:\n", "Observation:\n"
TASK_BEGINS = "\nCurrent Task: "
# What agent frameworks write behind a task in the user's name: what is expected, and what earlier agents found.
TASK_FRAMES = (
    "\n\nThis is the expected criteria for your final answer:",
    "\n\nThis is the context you're working with:",
    "\n\n# Memories from past conversations:",
    "\n\nBegin! This is VERY important to you",
)
TASK_ENDS = "\n\nProvide your complete response:"
SMOLAGENTS_LONGEST = 200_000  # characters that are parsed as a Python literal


def read_part(part: Part) -> list[Piece] | None:
    """The pieces of one part of a message's content; None for a part that no dialect knows."""
    kind = part.get("type")
    pieces = None
    if isinstance(kind, str):
        pieces = _text_or_media(kind, part)
        pieces = _call_or_result(kind, part) if pieces is None else pieces
        pieces = read_item(part) if pieces is None else pieces
    elif "type" not in part:
        pieces = _keyed_part(part)
    return _block(part) if pieces is None else pieces


def either_case(fields: Part, name: str) -> Any:
    """The value under `like_this` or `likeThis`."""
    head, *rest = name.split("_")
    return fields.get(name, fields.get(head + "".join(word.title() for word in rest)))


def _text_or_media(kind: str, part: Part) -> list[Piece] | None:
    if kind in TEXT_TYPES:
        return _text(part, ("content", "text", "refusal") if kind == "text" else ("text", "content", "refusal"))
    if kind in ("reasoning", "thinking") and "summary" not in part:
        return [Piece("reasoning", part.get("content") or part.get("text") or part.get(kind))]
    if kind == "redacted_thinking":
        return [Piece("reasoning", "[redacted]")]
    if kind in ("image_url", "input_image"):
        picture = part.get("image_url", part.get("url"))
        if isinstance(picture, str):
            return [image_piece(picture)]
        return [Piece("content", part)] if isinstance(picture, dict) else None
    if kind == "blob" or (kind == "binary" and "content" in part):
        media = str(part.get("mime_type") or part.get("media_type") or "")
        picture = part.get("modality") == "image" or media.startswith("image")
        return [_picture(media, part.get("content", part.get("data"))) if picture else Piece("content", part)]
    if kind == "image-url" or (kind == "uri" and part.get("modality") == "image"):
        return [image_piece(str(part.get("uri") or part.get("url")))]
    if kind == "image":
        return [_image(part)]
    if kind == "document" and "source" not in part:  # Cohere's; Anthropic's has a source
        held = part.get("document")
        data = held.get("data", held) if isinstance(held, dict) else None
        return [text_piece(data) if isinstance(data, str) else Piece("content", part)] if data is not None else None
    whole = kind in FILE_TYPES or kind == "document" or (kind == "uri" and "modality" in part)
    return [Piece("content", part)] if whole else None


def _text(part: Part, keys: tuple[str, ...]) -> list[Piece] | None:
    text = next((part[key] for key in keys if isinstance(part.get(key), str)), None)
    if text is None and isinstance(inner := part.get("text"), dict) and isinstance(inner.get("value"), str):
        text = inner["value"]  # the Assistants API
    return None if text is None else [text_piece(text)]


def _image(part: Part) -> Piece:
    """Anthropic's picture has a source; Vercel's has the data beside its media type."""
    if isinstance(source := part.get("source"), dict):
        data = source.get("url") or source.get("data")
        return _picture(source.get("media_type"), data) if data else Piece("content", part)
    media = str(first_of(part, ("mediaType", "mimeType")) or "image/png")
    data = first_of(part, ("image", "url", "data"))
    if isinstance(data, str) and media.startswith("image"):
        return _picture(media, data)
    return text_piece(part["text"]) if isinstance(part.get("text"), str) else Piece("content", part)


def _picture(media: str | None, data: Any) -> Piece:
    return image_piece(data_url(media, data))


def _call_or_result(kind: str, part: Part) -> list[Piece] | None:
    ident = first_of(part, RESULT_IDENTS)
    if kind in CALL_TYPES:
        # OpenInference writes the call beside a part that says no more than its kind.
        return [_call(part)] if any(value for key, value in part.items() if key != "type") else []
    # `web_search_tool_result` and other server tools of Anthropic's end the same way.
    if kind in RESULT_TYPES or (kind.endswith("tool_result") and ("tool_use_id" in part or "content" in part)):
        failed = kind == "tool-error" or bool(part.get("is_error") or part.get("isError"))
        content = first_of(part, RESULT_KEYS)
        if kind == "tool-result" and isinstance(content, dict) and content.keys() >= {"type", "value"}:
            failed = failed or str(content["type"]).startswith("error")
            content = content["value"]
        return [result_piece(content, ident, first_of(part, ("name", "toolName")), failed=failed)]
    # UI messages of Vercel's hold several model calls in one; a step ends the message before it.
    if kind == "step-start":
        return [Piece("step")]
    if kind == "tool-invocation" and isinstance(made := part.get("toolInvocation"), dict):
        return _call_with_result(made, made.get("toolName"), made.get("args"), made.get("result"))
    if (kind.startswith("tool-") or kind == "dynamic-tool") and "toolCallId" in part:
        name = part.get("toolName") or kind.removeprefix("tool-")
        return _call_with_result(part, name, part.get("input"), part.get("output"))
    return None


def _call(fields: Part) -> Piece:
    return Piece(
        "call", call_of(fields) or tool_call(None, first_of(fields, CALL_ARGUMENTS), first_of(fields, CALL_IDENTS))
    )


def _call_with_result(made: Part, name: Any, given: Any, gave: Any) -> list[Piece]:
    """A call of a UI message, and its result where it has one."""
    ident, error = made.get("toolCallId"), made.get("errorText")
    results = [result_piece(error or gave, ident, name, failed=bool(error))] if error or gave is not None else []
    return [call_piece(name, given, ident), *results]


def read_item(part: Part) -> list[Piece] | None:
    """An item of the Responses API that is no message. What a hosted tool did is a call with its result."""
    kind = str(part.get("type"))
    ident = part.get("call_id") or part.get("id")
    name = kind.removesuffix("_call")
    if kind in ITEM_CALLS:
        pieces = [call_piece(part.get("name") or name, first_of(part, ("arguments", "input", "action")), ident)]
        if kind == "mcp_call" and part.get("output") is not None:
            pieces.append(result_piece(part["output"], ident, part.get("name"), failed=bool(part.get("error"))))
        return pieces
    if kind in ITEM_RESULTS:
        return [result_piece(part.get("output"), ident, part.get("name"))]
    if kind in HOSTED:
        keys = ("type", "id", "status", "results", "result", "outputs")
        arguments = part.get("action") or {key: value for key, value in part.items() if key not in keys}
        return [call_piece(name, arguments, ident), result_piece(first_of(part, keys[3:]), ident, name)]
    if kind == "reasoning" and ("summary" in part or "encrypted_content" in part):
        summary = part.get("summary") or part.get("content") or []
        texts = [item.get("text") if isinstance(item, dict) else item for item in summary]
        return [Piece("reasoning", "\n\n".join(as_text(text) for text in texts if text))]
    return None


def is_item_list(items: list[Any]) -> bool:
    """Whether a list holds items that are no messages, which have to be put together to messages."""
    kinds = [item.get("type") for item in items if isinstance(item, dict) and "role" not in item]
    return any(isinstance(kind, str) and kind in ITEMS for kind in kinds)


def _keyed_part(part: Part) -> list[Piece] | None:
    """A part without a type: the key it holds names it."""
    if key := HAYSTACK_CLASSES.get(str(part.get(PRINTED_AS))):
        part = {key: part}
    if part.get(PRINTED_AS) == "TextContent":
        return [text_piece(str(part.get("text") or ""))]
    for key in CALL_HOLDERS:
        if isinstance(inner := part.get(key), dict):
            return [_call(inner)]
    for key in RESULT_HOLDERS:
        if isinstance(inner := part.get(key), dict):
            return [_held_result(key, inner)]
    if part.keys() == {"call", "outputs"} and (call := call_of(part["call"])) is not None:  # Cohere
        return [result_piece(part["outputs"], call["id"], call["function"]["name"])]
    if isinstance(code := either_case(part, "executable_code"), dict):
        return [call_piece("code_execution", code)]
    if isinstance(reasoning := part.get("reasoning", part.get("reasoningContent")), dict):
        text = reasoning.get("reasoningText") or "[redacted]"
        text = reasoning.get("reasoning_text") if "reasoning" in part else text
        return [Piece("reasoning", text.get("text") if isinstance(text, dict) else text)]
    if (media := _held_media(part)) is not None:
        return [media]
    if "document" in part or "video" in part or "guardContent" in part:
        return [Piece("content", part)]
    # `{"text": …}` is also how others write a part with keys of their own; only Google's keys beside it make it Google's.
    if isinstance(text := part.get("text"), str | dict) and part.keys() <= GOOGLE_KEYS:
        # An object is the answer of a model that was asked for JSON, already decoded.
        return [Piece("reasoning", text) if part.get("thought") is True else text_piece(as_text(text))]
    return [] if "cachePoint" in part else None


def _held_result(key: str, result: Part) -> Piece:
    origin = result.get("origin")
    origin = origin if isinstance(origin, dict) else result
    name = "code_execution" if key.startswith("code") else first_of(origin, ("name", "tool_name"))
    failed = result.get("status") == "error" or bool(result.get("error"))
    content = result.get("content") if key == "toolResult" else first_of(result, RESULT_KEYS)
    if key == "toolResult" and isinstance(content, list) and all(isinstance(block, dict) for block in content):
        # Blocks of Bedrock's: a lone text or JSON block is what it holds.
        parts = [block.get("json", block.get("text", block)) for block in content]
        texts = all(isinstance(item, str) for item in parts)
        content = (
            parts[0] if len(parts) == 1 else [{"type": "text", "text": item} for item in parts] if texts else parts
        )
    return result_piece(content, first_of(origin, RESULT_IDENTS), name, failed=failed)


def _held_media(part: Part) -> Piece | None:
    if isinstance(image := part.get("image"), dict) and isinstance(source := image.get("source"), dict):
        location = source.get("s3Location")
        if isinstance(location, dict):
            return image_piece(str(location.get("uri")))
        return _picture(f"image/{image.get('format', 'png')}", source.get("bytes"))
    if isinstance(media := part.get("media"), dict):
        return image_piece(str(media.get("url")))
    for name, key in (("inline_data", "data"), ("file_data", "file_uri")):
        if isinstance(held := either_case(part, name), dict):
            kind, data = either_case(held, "mime_type"), either_case(held, key)
            if isinstance(data, str) and str(kind or "").startswith("image"):
                return image_piece(data) if "://" in data[:16] else _picture(str(kind), data)
            return Piece("content", {"type": "file", "file": {"mime_type": kind, "data": data}})
    return None


def _block(part: Part) -> list[Piece] | None:
    """A block of LlamaIndex (`block_type`), or an item of Semantic Kernel: `content_type` in Python, `$type` in .NET."""
    if kind := part.get("block_type"):
        if kind == "text":
            return [text_piece(str(part.get("text") or ""))]
        if kind == "tool_call":
            return [call_piece(part.get("tool_name"), part.get("tool_kwargs"), part.get("tool_call_id"))]
        if kind == "thinking":
            return [Piece("reasoning", part.get("content"))]
        data = part.get("url") or part.get("image") if kind == "image" else None
        return [_picture(part.get("image_mimetype"), data) if data else Piece("content", part)]
    kind = str(part.get("content_type") or part.get("$type") or "").replace("_", "").lower().removesuffix("content")
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


def read_message(item: Part) -> list[Part] | None:
    """A message as plain ones; None for one that is plain already, or none."""
    return next((read for reader in MESSAGE_READERS if (read := reader(item)) is not None), None)


def _openai_choice(item: Part) -> list[Part] | None:
    """A choice of a reply, or a reply of Ollama: the message with the reason why it ended. Pictures of Ollama."""
    if isinstance(item.get("images"), list) and "role" in item:
        pictures = [_picture("image/png", picture).value for picture in item["images"]]
        rest = {key: value for key, value in item.items() if key != "images"}
        return [rest | {"content": [{"type": "text", "text": item.get("content") or ""}, *pictures]}]
    message = item.get("message", item.get("delta"))
    if isinstance(message, dict) and any(key in item for key in ("finish_reason", "done", "index", "choice")):
        ended = {"finish_reason": item["finish_reason"]} if item.get("finish_reason") else {}
        return [{"role": "assistant", **message, **ended}]
    if isinstance(item.get("text"), str) and "finish_reason" in item and "role" not in item:
        return [{"role": "assistant", "content": item["text"], "finish_reason": item["finish_reason"]}]
    return None


def _google(item: Part) -> list[Part] | None:
    """A candidate of a reply, an event of ADK, or a `Content` without a role, which is the user's."""
    content = item.get("content")
    if "role" in item or not isinstance(content, dict) or not isinstance(content.get("parts"), list):
        return None
    author = str(item.get("author") or "")
    message = {"role": content.get("role") or ("user" if author == "user" else "model"), "parts": content["parts"]}
    if ended := either_case(item, "finish_reason"):
        message["finish_reason"] = ended
    return [message | ({"name": author} if author not in ("", "user") else {})]


def _cohere(item: Part) -> list[Part] | None:
    """`message` instead of `content` in the first version of the API; reasoning before calls in a field of its own."""
    if str(item.get("role")) in COHERE_ROLES and ("message" in item or "tool_results" in item):
        rest = {key: value for key, value in item.items() if key not in ("message", "tool_results")}
        return [rest | {"content": item.get("tool_results") or item.get("message")}]
    plan = item.get("tool_plan")
    if isinstance(plan, str) and item.get("role") == "assistant" and not item.get("content"):
        return [{key: value for key, value in item.items() if key != "tool_plan"} | {"content": plan}]
    return None


def _langchain(item: Part) -> list[Part] | None:
    """Messages of LangChain and LangGraph, Python and JavaScript, dumped, serialised or wrapped.

    `{"type": "human", "content"}`, `{"type", "data"}`, `{"lc", "id", "kwargs"}`, `{"lc_kwargs"}`, a generation.
    """
    kind = item.get("type")
    is_kind = isinstance(kind, str) and (kind in LANGCHAIN_KINDS or kind.removesuffix("Chunk").endswith("Message"))
    if isinstance(kwargs := item.get("kwargs"), dict) and isinstance(path := item.get("id"), list) and path:
        if "messages" in kwargs:
            return [inner for inner in kwargs["messages"] if isinstance(inner, dict)]
        return [_langchain_fields(kwargs, _speaker(str(path[-1])))] if "content" in kwargs else None
    if isinstance(kwargs := item.get("lc_kwargs"), dict) and "content" in kwargs:
        speaker = _speaker(str(kind or item.get("role") or (item.get("id") or [""])[-1]))
        return [_langchain_fields(kwargs, speaker)]
    if isinstance(data := item.get("data"), dict) and is_kind and "content" in data:
        return [_langchain_fields(data, str(kind))]
    # A generation of an LLM result: its message where it has one, its text where the model is no chat model.
    if "generation_info" in item or ("message" in item and "text" in item and "role" not in item):
        message = item.get("message")
        return [message] if isinstance(message, dict) else [{"role": "assistant", "content": item.get("text")}]
    if "role" not in item and is_kind and "content" in item:
        return [_langchain_fields(item, str(kind))]
    # `blocks` beside `additional_kwargs` is a message of LlamaIndex.
    if "role" in item and "additional_kwargs" in item and "blocks" not in item:
        return [_langchain_fields(item, str(item["role"]))]
    return None


def _speaker(name: str) -> str:
    """The kind of message a class is: `AIMessageChunk` → ai."""
    return name.removesuffix("Chunk").removesuffix("Message").lower() or "assistant"


def _as_list(calls: Any) -> list[Any]:
    """Calls as a list; a value of another kind is none."""
    return calls if isinstance(calls, list) else [calls] if isinstance(calls, dict) else []


def _langchain_fields(fields: Part, kind: str) -> Part:
    """The fields of a message as a chat message has them. Calls may stand twice: read and as the provider wrote them."""
    kind = kind.removesuffix("Chunk").removesuffix("Message").lower() if kind[:1].isupper() else kind
    role = str(fields.get("role") or "user") if kind in ("chat", "generic") else kind
    beside = decode_json(fields.get("additional_kwargs"))
    beside = beside if isinstance(beside, dict) else {}
    calls = _as_list(fields.get("tool_calls")) or _as_list(beside.get("tool_calls"))
    if not calls and isinstance(older := beside.get("function_call"), dict):
        calls = [older]
    # Calls whose arguments LangChain could not parse: the model made them all the same.
    calls = [*calls, *_as_list(fields.get("invalid_tool_calls"))]
    message: Part = {"role": role, "content": fields.get("content")}
    if role in ("ai", "assistant") and calls:
        message["tool_calls"] = calls
    message |= {key: fields[key] for key in ("tool_call_id", "name") if fields.get(key)}
    if fields.get("status") == "error":
        message["failed"] = True
    if isinstance(reasoning := beside.get("reasoning_content"), str):
        message["reasoning"] = reasoning
    known = {*message, *LANGCHAIN_FIELDS, "additional_kwargs"}
    message["extra"] = {key: value for key, value in fields.items() if key not in known and value}
    if rest := {key: value for key, value in beside.items() if key not in ("tool_calls", "function_call") and value}:
        message["extra"]["additional_kwargs"] = rest
    return message


def _llama_index(item: Part) -> list[Part] | None:
    """A message of blocks; calls of older versions stand beside the content."""
    if "role" not in item or not ("blocks" in item or "additional_kwargs" in item):
        return None
    beside = item.get("additional_kwargs")
    beside = beside if isinstance(beside, dict) else {}
    blocks = item.get("blocks") or []
    message = {"role": item["role"], "content": blocks or item.get("content")}
    made = any(isinstance(block, dict) and block.get("block_type") == "tool_call" for block in blocks)
    if (calls := item.get("tool_calls") or beside.get("tool_calls")) and not made:
        message["tool_calls"] = calls
    for key in ("tool_call_id", "name"):
        if value := item.get(key) or beside.get(key):
            message[key] = value
    rest = {key: value for key, value in beside.items() if key not in (*message, "tool_calls") and value}
    return [message | ({"extra": {"additional_kwargs": rest}} if rest else {})]


def _pydantic_ai(item: Part) -> list[Part] | None:
    """Requests and responses of parts, each with its `part_kind`; and the events of older spans."""
    if isinstance(name := item.get("event.name"), str):
        # A message as the log event that it was: `gen_ai.user.message`, `gen_ai.choice`.
        role = name.removeprefix("gen_ai.").removesuffix(".message")
        fields = {key: value for key, value in item.items() if not key.startswith(("event.", "gen_ai."))}
        message = decode_json(fields.pop("message", None))
        if isinstance(message, dict):
            fields |= message
        elif isinstance(message, str):
            fields["content"] = message
        if role == "tool" and "id" in fields:
            fields["tool_call_id"] = fields.pop("id")
        fields.pop("index", None)
        return [{"role": "assistant" if role == "choice" else role, **fields}]
    if item.get("kind") not in ("request", "response") or not isinstance(item.get("parts"), list):
        return None
    parts = [part for part in item["parts"] if isinstance(part, dict)]
    if item["kind"] == "response":
        return [{"role": "assistant", "content": [_pydantic_ai_output(part) for part in parts]}]
    first = [{"role": "system", "content": item["instructions"]}] if item.get("instructions") else []
    return first + [_pydantic_ai_input(part) for part in parts]


def _pydantic_ai_output(part: Part) -> Part:
    kind, content, ident = part.get("part_kind"), part.get("content"), part.get("tool_call_id")
    if kind in ("tool-call", "builtin-tool-call"):
        return {"type": "tool_use", "name": part.get("tool_name"), "input": part.get("args"), "id": ident}
    if kind == "builtin-tool-return":
        return {"type": "tool_result", "tool_use_id": ident, "content": content}
    return {"type": "thinking" if kind == "thinking" else "text", "text": content, "content": content}


def _pydantic_ai_input(part: Part) -> Part:
    kind = str(part.get("part_kind"))
    if kind in ("tool-return", "retry-prompt") and part.get("tool_name"):
        message = {"role": "tool", "content": part.get("content"), "tool_call_id": part.get("tool_call_id")}
        return message | {"name": part["tool_name"], "failed": kind == "retry-prompt"}
    return {"role": PYDANTIC_AI_ROLES.get(kind, "user"), "content": part.get("content")}


def _haystack(item: Part) -> list[Part] | None:
    """Older dumps, and printed messages, whose fields begin with `_`."""
    if "_role" not in item or "_content" not in item:
        return None
    message = {"role": item["_role"], "content": item["_content"]}
    message |= {"name": item["_name"]} if item.get("_name") else {}
    return [message | ({"extra": {"meta": item["_meta"]}} if item.get("_meta") else {})]


def _semantic_kernel(item: Part) -> list[Part] | None:
    if isinstance(items := item.get("Items", item.get("items")), list) and ("Role" in item or "role" in item):
        return [{"role": item.get("Role", item.get("role")), "content": items}]
    return None


def _autogen(item: Part) -> list[Part] | None:
    """A message names its `source` and its class; calls and results are the content of messages of their own."""
    kind = item.get("type")
    if not isinstance(kind, str) or ("source" not in item and kind not in AUTOGEN_ROLES) or "content" not in item:
        return None
    if kind not in AUTOGEN_ROLES and not kind.endswith(("Message", "Event")):
        return None
    source, content = str(item.get("source") or ""), item["content"]
    role = AUTOGEN_ROLES.get(kind) or ("user" if source in ("user", "user_proxy", "human") else "assistant")
    if role == "tool" and isinstance(content, list):
        return [
            {"role": "tool", "content": result.get("content"), "tool_call_id": result.get("call_id")}
            | {"name": result.get("name"), "failed": bool(result.get("is_error"))}
            for result in content
            if isinstance(result, dict)
        ]
    message: Part = {"role": role, "content": content}
    if role == "assistant" and isinstance(content, list) and (calls := calls_in(content)):
        message |= {"content": item.get("thought") or None, "tool_calls": calls}
    if source and source not in ("user", "assistant", "system"):
        message["name"] = source
    return [message]


def _smolagents(item: Part) -> list[Part] | None:
    """Roles `tool-call` and `tool-response`, whose texts hold the calls as Python prints them; words around a task.

    What an app expects of the answer is no word of the person who asked: it becomes a message of instructions.
    """
    role = str(item.get("role")).rpartition(".")[2].lower().replace("_", "-")
    text = content = item.get("content") or item.get("contents") or item.get("parts")
    if isinstance(content, list) and len(content) == 1 and isinstance(content[0], dict):
        part = content[0].get("message_content", content[0])
        text = part.get("text", part.get("content")) if isinstance(part, dict) else None
    if role == "user" and isinstance(text, str) and text.startswith(SMOLAGENTS_TASK):
        return [{"role": "user", "content": text.removeprefix(SMOLAGENTS_TASK)}]
    if role == "user" and isinstance(text, str) and text.startswith(TASK_BEGINS):
        body = text.removeprefix(TASK_BEGINS).rstrip().removesuffix(TASK_ENDS)
        end = min((at for frame in TASK_FRAMES if (at := body.find(frame)) >= 0), default=len(body))
        instructions = [{"role": "system", "content": body[end:].strip()}] if end < len(body) else []
        return [*instructions, {"role": "user", "content": body[:end]}]
    if role not in ("tool-call", "tool-response"):
        return None
    if role == "tool-response":
        plain = isinstance(text, str) and text.startswith(SMOLAGENTS_RESULT)
        return [{"role": "tool", "content": str(text).removeprefix(SMOLAGENTS_RESULT) if plain else content}]
    if isinstance(text, str) and text.lstrip().startswith(SMOLAGENTS_CALLING) and len(text) < SMOLAGENTS_LONGEST:
        try:
            # Printed by Python's repr, so single quotes and None: no JSON. `literal_eval` runs no code.
            calls = calls_in(ast.literal_eval(text.lstrip().removeprefix(SMOLAGENTS_CALLING).strip()))
        except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            calls = []
        if calls:
            return [{"role": "assistant", "content": None, "tool_calls": calls}]
    return [{"role": "assistant", "content": content}]


# The first that knows a message decides, so the most exact stand first.
MESSAGE_READERS = (
    _smolagents,
    _llama_index,
    _pydantic_ai,
    _autogen,
    _langchain,
    _semantic_kernel,
    _haystack,
    _cohere,
    _google,
    _openai_choice,
)
