"""One message, in whichever dialect, as canonical messages: a message that brings tool results becomes several."""

from collections.abc import Iterable
from typing import Any

from evergold.conversation.calls import call_of, calls_in, first_of
from evergold.conversation.dialects import CHATS, PARTS
from evergold.conversation.nested_json import decoded
from evergold.conversation.printed import PRINTED_AS
from evergold.conversation.shape import (
    KNOWN_ROLES,
    ROLES,
    Message,
    Piece,
    messages_of_pieces,
    result_content,
    role_named,
    text_piece,
)

CONTENTS = ("content", "parts", "contents", "text", "blocks", "message_content", "value")
CALLS = ("tool_calls", "toolCalls", "function_call", "functionCall", "tool_call")
REASONING = ("reasoning_content", "reasoning", "thinking")
WRAPPED_IN = ("message", "prompt", "completion")
KEPT = frozenset({"name", "tool_call_id", "refusal", "audio"})
DROPPED = frozenset({"role", "type", "extra", "failed", "is_error", "object", "tool_call_ids", PRINTED_AS})
IDENTS = ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "toolUseId")
SPEAKERS = frozenset({"human", "ai", "user", "assistant", "system", "model"})
PLAIN_ROLES = ("system", "user", "assistant")
DEEPEST = 6


def messages_of(item: Any, depth: int = 0) -> list[Message] | None:
    """The canonical messages an object stands for; None where it is no message."""
    if not isinstance(item, dict) or depth > DEEPEST:
        return None
    if (text := _plain_text(item)) is not None:
        return [{"role": item["role"], "content": text}]
    if len(item) == 1 and isinstance(item.get("message"), dict):
        return messages_of(item["message"], depth + 1)
    # Dialects first: what looks like a plain message may be a class of a framework that means more by its keys.
    for as_chat in CHATS:
        parsed = as_chat(item)
        if parsed is not None:
            return [message for one in parsed for message in _plain(one, depth + 1)]
    inner = _inner(item)
    if inner is not item:
        return messages_of(inner, depth + 1)
    role = item.get("role")
    if role is None and str(item.get("type")).lower() in SPEAKERS:
        role = item["type"]
    if role is None or not any(key in item for key in (*CONTENTS, *CALLS)):
        return None
    return _from_fields(role_named(role), item)


def _plain_text(item: dict[str, Any]) -> str | None:
    """The text of a message that has a role and a text alone, as most have: no dialect reads it differently."""
    if len(item) != 2 or item.get("role") not in PLAIN_ROLES:
        return None
    content = item.get("content")
    if content is None and isinstance(parts := item.get("parts"), list) and len(parts) == 1:
        (part,) = parts
        text = isinstance(part, dict) and part.get("type") == "text" and len(part) == 2
        content = part.get("content") if text else None
    return content if isinstance(content, str) and content and content[:2] != "[{" else None


def _plain(chat: dict[str, Any], depth: int) -> list[Message]:
    """What a dialect made of its message: a plain one, or one of another dialect inside it."""
    if "role" not in chat:
        return messages_of(chat, depth) or []
    role = role_named(chat["role"])
    inner = messages_of(chat["content"], depth) if isinstance(chat.get("content"), dict) else None
    return inner or _from_fields(role, chat)


def _inner(item: dict[str, Any]) -> dict[str, Any]:
    """The message inside an object that wraps it, as flattened lists (`0.message.role`) and choices do."""
    for key in WRAPPED_IN:
        inner = decoded(item.get(key))
        # A whole message may have a field `message` or `prompt` of its own, which is not what it says.
        if isinstance(inner, dict) and ("role" not in item or "content" not in item):
            # The role may stand outside, as in `{"role": …, "message": {"content": …}}`.
            inner = inner if "role" in inner or "role" not in item else {"role": item["role"], **inner}
            ended = item.get("finish_reason")
            return inner | ({"finish_reason": ended} if ended and "finish_reason" not in inner else {})
    return item


def _from_fields(role: str, item: dict[str, Any]) -> list[Message]:
    key = next((key for key in CONTENTS if item.get(key) not in (None, "", [])), None)
    content = item.get(key) if key else item.get("content")
    extra = _extra(item, key)
    if role == "tool":
        answered = _tool_result(item, content, extra)
        if answered is not None:
            return answered
    pieces = [Piece("reasoning", text) for name in REASONING if isinstance(text := item.get(name), str) and text][:1]
    if isinstance(parts := item.get("parts"), list) and key == "content" and isinstance(content, str):
        content = parts  # a UI message says its text a second time
    pieces += pieces_of(content)
    if role in ("assistant", "tool") or role not in KNOWN_ROLES:
        pieces = _with_calls(pieces, item)
    built = messages_of_pieces(role, pieces, extra) or [{"role": role, "content": content if content == "" else None}]
    if "extra" not in built[-1] and extra:
        built[-1]["extra"] = extra
    for message in built:
        if message["role"] == role:
            message.update({name: item[name] for name in KEPT if item.get(name) is not None})
    return built


def _with_calls(pieces: list[Piece], item: dict[str, Any]) -> list[Piece]:
    """The calls a message lists beside its content, unless its content makes the same ones."""
    made = [piece.value for piece in pieces if piece.kind == "call"]
    listed = [call for key in CALLS for call in calls_in(item.get(key))]
    known = {call["id"] for call in made if call["id"]}
    # Without an id two calls are the same when all of their fields are.
    fresh = [call for call in listed if not (call["id"] in known if call["id"] else call in made)]
    if made and not known:
        fresh = []  # without ids the content's own calls are the same ones
    # Calls belong before the results that answer them, or the message would be split between the two.
    first_result = next((number for number, piece in enumerate(pieces) if piece.kind == "result"), len(pieces))
    return pieces[:first_result] + [Piece("call", call) for call in fresh] + pieces[first_result:]


def _tool_result(item: dict[str, Any], content: Any, extra: dict[str, Any]) -> list[Message] | None:
    """A tool's message; None where its parts are results that name their calls themselves."""
    pieces = pieces_of(content)
    if any(piece.kind == "result" for piece in pieces):
        return None
    parts = [piece.value for piece in pieces if piece.kind == "content"]
    # Text parts are kept as parts; everything else a tool returned stays as it was, because it is data.
    understood = isinstance(content, list) and parts and all(part.get("type") == "text" for part in parts)
    value = parts if understood else decoded_parts(content)
    message: Message = {"role": "tool", "content": result_content(value)}
    ident = first_of(item, (*IDENTS, "id"))
    if ident is not None:
        message["tool_call_id"] = str(ident)
    if name := first_of(item, ("name", "tool_name", "toolName")):
        message["name"] = str(name)
    if item.get("failed") or item.get("is_error"):
        extra = extra | {"failed": True}
    extra.pop("id", None) if ident == item.get("id") else None
    return [message | ({"extra": extra} if extra else {})]


def decoded_parts(content: Any) -> Any:
    """Content that is the JSON of parts, as parts; any other text is a text, JSON or not."""
    # Only where every item is a part that a dialect knows: an answer that is a JSON list of objects stays a text.
    if isinstance(content, str) and content[:2] == "[{":
        parts = decoded(content)
        if isinstance(parts, list) and parts and all(isinstance(one, dict) and _pieces_of_part(one) for one in parts):
            return parts
    return content


def pieces_of(content: Any) -> list[Piece]:
    """The pieces of a message's content: a text, parts, or one part."""
    content = decoded_parts(content)
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [text_piece(content)]
    if isinstance(content, dict):
        return _pieces_of_part(content) or _keyed(content)
    return (
        [piece for part in content for piece in _pieces_of_item(part)]
        if isinstance(content, list)
        else [text_piece(str(content))]
    )


def _pieces_of_item(part: Any) -> Iterable[Piece]:
    if isinstance(part, dict) and "message_content" in part:  # OpenInference writes the call beside the content
        call = call_of(part["tool_call"]) if isinstance(part.get("tool_call"), dict) else None
        if call is not None:
            return [Piece("call", call)]
        part = part["message_content"]
    if isinstance(part, str):
        return [text_piece(part)]
    if not isinstance(part, dict):
        return [] if part is None else [Piece("content", {"type": "unknown", "value": part})]
    pieces = _pieces_of_part(part)
    return _keyed(part) if pieces is None else pieces


def _pieces_of_part(part: dict[str, Any]) -> list[Piece] | None:
    for read in PARTS:
        pieces = read(part)
        if pieces is not None:
            return pieces
    return None


def _keyed(part: dict[str, Any]) -> list[Piece]:
    """A part that no dialect knows: a call if it looks like one, a text if it holds one, else as it came."""
    if "type" in part and "call" in str(part["type"]) and (call := call_of(part)) is not None:
        return [Piece("call", call)]
    text = next((part[key] for key in ("text", "content") if isinstance(part.get(key), str)), None)
    if text is not None and len(part) == 1:
        return [text_piece(text)]
    if isinstance(parts := part.get("parts", part.get("content")), list) and "type" not in part:
        return pieces_of(parts)
    return [Piece("content", part)]


def _extra(item: dict[str, Any], content_key: str | None) -> dict[str, Any]:
    """The keys of a message that the canonical shape has none for; empty ones say nothing."""
    known = {*KEPT, *DROPPED, *CALLS, *REASONING, *IDENTS, content_key, "content"}
    if item.get("role") is not None and role_named(item["role"]) == "tool":
        known |= {"tool_name", "toolName"}
    if "parts" in item and content_key in ("content", "parts"):
        known |= {"parts"}
    rest = {key: value for key, value in item.items() if key not in known and value not in (None, "", [], {})}
    given = item.get("extra")
    role = item.get("role")
    # A spelling that was translated (`MessageRole.USER`) is kept, so that an export can give it back.
    if role is not None and str(role).lower() not in ROLES and role_named(role) in KNOWN_ROLES:
        rest.setdefault("role", str(role))
    return (given if isinstance(given, dict) else {}) | rest
