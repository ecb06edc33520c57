"""Read the messages of a document of any shape, in whichever dialect: `messages_in` is what everybody calls.

Documents are lists of messages, requests and replies of every provider, and states of chains. `messages_of` reads one message;
one that brings the results of tools becomes several.
"""

from collections.abc import Iterable
from typing import Any, Literal

from evergold.conversation.dialects import TASK_BEGINS, either_case, is_item_list, read_item, read_message, read_part
from evergold.conversation.message import (
    INSTRUCTING,
    KNOWN_ROLES,
    PRINTED_AS,
    ROLES,
    Message,
    Piece,
    call_of,
    calls_in,
    decode_json,
    decode_object,
    first_of,
    messages_of_pieces,
    parse_printed,
    result_content,
    role_named,
    split_thinking,
    text_of,
    text_piece,
)
from evergold.conversation.tools import is_offer

Side = Literal["input", "output"]

CONTENT_KEYS = ("content", "parts", "contents", "text", "blocks", "message_content", "value")
CALL_KEYS = ("tool_calls", "toolCalls", "function_call", "functionCall", "tool_call")
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
WRAPPED_IN = ("message", "prompt", "completion")
KEPT = frozenset({"name", "tool_call_id", "refusal", "audio"})
DROPPED = frozenset({"role", "type", "extra", "failed", "is_error", "object", "tool_call_ids", PRINTED_AS})
IDENTS = ("tool_call_id", "toolCallId", "tool_use_id", "call_id", "toolUseId")
SPEAKERS = frozenset({"human", "ai", "user", "assistant", "system", "model"})
PLAIN_ROLES = ("system", "user", "assistant")
DEEPEST_MESSAGE = 6
DEEPEST_DOCUMENT = 10
SYSTEM_KEYS = (
    *("system", "system_instruction", "systemInstruction", "system_instructions", "instructions", "system_prompt"),
    *("preamble", "systemPrompt"),
)
LIST_KEYS = ("messages", "contents", "chat_history", "history", "conversation", "new_messages", "all_messages")
QUESTION_KEYS = (
    *("input", "prompt", "message", "query", "question", "user_input", "inputs", "request", "llm_request"),
    "prompts",
)
ANSWER_KEYS = (
    *("choices", "candidates", "generations", "replies", "output", "outputs", "message", "response", "result"),
    *("update", "content", "completion", "answer", "text", "output_text", "final_output", "llm_response", "raw"),
    *("generation", "return_values", "results"),
)
NESTING_KEYS = ("kwargs", "config", "args", "body", "invocation_params", "data", "state", "values", "node", "value")
# Google's client calls functions itself, and lists what was said so far.
AUTOMATIC = "automatic_function_calling_history"
FINAL = frozenset({"choices", "candidates", "generations", "replies"})


def messages_of(item: Any, depth: int = 0) -> list[Message] | None:
    """The canonical messages an object stands for; None where it is no message."""
    if not isinstance(item, dict) or depth > DEEPEST_MESSAGE:
        return None
    if (text := _plain_text(item)) is not None:
        return [{"role": item["role"], "content": text}]
    if len(item) == 1 and isinstance(item.get("message"), dict):
        return messages_of(item["message"], depth + 1)
    # Dialects first: what looks like a plain message may be a class of a framework that means more by its keys.
    if (parsed := read_message(item)) is not None:
        return [message for one in parsed for message in _plain_messages(one, depth + 1)]
    inner = _inner(item)
    if inner is not item:
        return messages_of(inner, depth + 1)
    role = item.get("role")
    if role is None and str(item.get("type")).lower() in SPEAKERS:
        role = item["type"]
    if role is None or not any(key in item for key in (*CONTENT_KEYS, *CALL_KEYS)):
        return None
    return _from_fields(role_named(role), item)


def _plain_text(item: dict[str, Any]) -> str | None:
    """The text of a message that has a role and a text alone, as most have: no dialect reads it differently."""
    if len(item) != 2 or item.get("role") not in PLAIN_ROLES:
        return None
    content = item.get("content")
    if (item["role"] == "assistant" and isinstance(content, str) and "</think" in content) or "<" in str(content)[:20]:
        return None
    if content is None and isinstance(parts := item.get("parts"), list) and len(parts) == 1:
        (part,) = parts
        text = isinstance(part, dict) and part.get("type") == "text" and len(part) == 2
        content = part.get("content") if text else None
    plain = isinstance(content, str) and content and content[:2] != "[{" and not content.startswith(TASK_BEGINS)
    return content if plain else None


def _plain_messages(chat: dict[str, Any], depth: int) -> list[Message]:
    """What a dialect made of its message: a plain one, or one of another dialect inside it."""
    if "role" not in chat:
        return messages_of(chat, depth) or []
    role = role_named(chat["role"])
    inner = messages_of(chat["content"], depth) if isinstance(chat.get("content"), dict) else None
    return inner or _from_fields(role, chat)


def _inner(item: dict[str, Any]) -> dict[str, Any]:
    """The message inside an object that wraps it, as flattened lists (`0.message.role`) and choices do."""
    for key in WRAPPED_IN:
        inner = decode_json(item.get(key))
        # A whole message may have a field `message` or `prompt` of its own, which is not what it says.
        if isinstance(inner, dict) and ("role" not in item or "content" not in item):
            # The role may stand outside, as in `{"role": …, "message": {"content": …}}`.
            inner = inner if "role" in inner or "role" not in item else {"role": item["role"], **inner}
            ended = item.get("finish_reason")
            return inner | ({"finish_reason": ended} if ended and "finish_reason" not in inner else {})
    return item


def _from_fields(role: str, item: dict[str, Any]) -> list[Message]:
    key = next((key for key in CONTENT_KEYS if item.get(key) not in (None, "", [])), None)
    content = item.get(key) if key else item.get("content")
    extra = _extra(item, key)
    if role == "tool":
        answered = _tool_result(item, content, extra)
        if answered is not None:
            return answered
    pieces = [Piece("reasoning", text) for name in REASONING_KEYS if isinstance(text := item.get(name), str) and text][
        :1
    ]
    if isinstance(parts := item.get("parts"), list) and key == "content" and isinstance(content, str):
        content = parts  # a UI message says its text a second time
    pieces += pieces_of(content)
    if role == "assistant":
        pieces = _part_thinking(pieces)
    if role in ("assistant", "tool") or role not in KNOWN_ROLES:
        pieces = _with_calls(pieces, item)
    built = messages_of_pieces(role, pieces, extra) or [{"role": role, "content": content if content == "" else None}]
    if "extra" not in built[-1] and extra:
        built[-1]["extra"] = extra
    for message in built:
        if message["role"] == role:
            message.update({name: item[name] for name in KEPT if item.get(name) is not None})
    return built


def _part_thinking(pieces: list[Piece]) -> list[Piece]:
    """The pieces of an answer with the thinking that stands in its first text as reasoning."""
    at = next((number for number, piece in enumerate(pieces) if piece.kind == "content"), -1)
    text = pieces[at].value.get("text") if at >= 0 and isinstance(pieces[at].value, dict) else None
    thinking, answer = split_thinking(text) if isinstance(text, str) else ("", "")
    if not thinking and answer == (text or ""):
        return pieces
    # A text that stands beside as reasoning, too, is kept once.
    known = any(piece.kind == "reasoning" and piece.value == thinking for piece in pieces)
    return [*pieces[:at], *([] if known else [Piece("reasoning", thinking)]), text_piece(answer), *pieces[at + 1 :]]


def _with_calls(pieces: list[Piece], item: dict[str, Any]) -> list[Piece]:
    """The calls a message lists beside its content, unless its content makes the same ones."""
    made = [piece.value for piece in pieces if piece.kind == "call"]
    listed = [call for key in CALL_KEYS for call in calls_in(item.get(key))]
    known = {call["id"] for call in made if call["id"]}
    # Without an id two calls are the same when all of their fields are.
    fresh = [call for call in listed if not (call["id"] in known if call["id"] else call in made)]
    if made and not known:
        fresh = []  # without ids the content's own calls are the same ones
    # Calls belong before the results that answer them, or the message would be split between the two.
    first_result = next((number for number, piece in enumerate(pieces) if piece.kind == "result"), len(pieces))
    return pieces[:first_result] + [Piece("call", call) for call in fresh] + pieces[first_result:]


def _tool_result(item: dict[str, Any], content: Any, extra: dict[str, Any]) -> list[Message] | None:
    """A tool's message; None where its parts are results that name their calls themselves, or where it only calls."""
    pieces = pieces_of(content)
    kinds = {piece.kind for piece in pieces}
    if "result" in kinds or kinds == {"call"} or (not pieces and any(item.get(key) for key in CALL_KEYS)):
        return None
    parts = [piece.value for piece in pieces if piece.kind == "content"]
    # Text parts are kept as parts; everything else a tool returned stays as it was, because it is data.
    understood = isinstance(content, list) and parts and all(part.get("type") == "text" for part in parts)
    value = parts if understood else decode_parts(content)
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


def decode_parts(content: Any) -> Any:
    """Content that is the JSON of parts, as parts; any other text is a text, JSON or not."""
    # Only where every item is a part that a dialect knows: an answer that is a JSON list of objects stays a text.
    if isinstance(content, str) and content[:2] == "[{":
        parts = decode_json(content)
        if isinstance(parts, list) and parts and all(isinstance(one, dict) and read_part(one) for one in parts):
            return parts
    return content


def pieces_of(content: Any) -> list[Piece]:
    """The pieces of a message's content: a text, parts, or one part."""
    content = decode_parts(content)
    if content is None or content == "":
        return []
    if isinstance(content, str):
        return [text_piece(content)]
    if isinstance(content, dict):
        return read_part(content) or _pieces_of_unknown_part(content)
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
    pieces = read_part(part)
    return _pieces_of_unknown_part(part) if pieces is None else pieces


def _pieces_of_unknown_part(part: dict[str, Any]) -> list[Piece]:
    """A part that no dialect knows: a call if it looks like one, a text if it holds one, else as it came."""
    made = "call" in str(part.get("type")) or "arguments" in decode_object(part.get("function"))
    if "type" in part and made and (call := call_of(part)) is not None:
        return [Piece("call", call)]
    text = next((part[key] for key in ("text", "content") if isinstance(part.get(key), str)), None)
    if text is not None and len(part) == 1:
        return [text_piece(text)]
    if isinstance(parts := part.get("parts", part.get("content")), list) and "type" not in part:
        return pieces_of(parts)
    return [Piece("content", part)]


def _extra(item: dict[str, Any], content_key: str | None) -> dict[str, Any]:
    """The keys of a message that the canonical shape has none for; empty ones say nothing."""
    known = {*KEPT, *DROPPED, *CALL_KEYS, *REASONING_KEYS, *IDENTS, content_key, "content"}
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


def messages_in(value: Any, side: Side) -> list[Message]:
    """The messages in a value, canonical; none where it holds no message. A bare text is none either."""
    return _messages(decode_json(value), side, 0)


def text_message(text: str, side: Side) -> Message:
    return {"role": "user" if side == "input" else "assistant", "content": text}


def instructions_in(value: Any) -> list[Message]:
    """System instructions: a text, parts, or an object of parts, as one system message."""
    document = decode_json(value)
    if isinstance(document, list) and document and all(isinstance(item, dict) and "role" in item for item in document):
        return [message | {"role": "system"} for message in _from_list(document, "input", 0)]
    if isinstance(document, dict) and isinstance(document.get("parts"), list):
        document = document["parts"]
    return messages_of_pieces("system", pieces_of(document))


def _messages(document: Any, side: Side, depth: int) -> list[Message]:
    if depth > DEEPEST_DOCUMENT:
        return []
    if isinstance(document, list):
        return _from_list(document, side, depth)
    return _from_document(document, side, depth) if isinstance(document, dict) else []


def _from_list(items: list[Any], side: Side, depth: int) -> list[Message]:
    items = [parse_printed(decode_json(item)) for item in items]
    items = [item for item in items if not is_offer(item)]
    if not items:
        return []
    # LangChain accepts `("human", "text")` tuples, which JSON writes as lists.
    if all(map(_is_pair, items)):
        items = [{"role": role, "content": text} for role, text in items]
    if isinstance(items[0], list):
        return _from_list(items[0], side, depth + 1)  # a batch: the first is the one that was asked
    if is_item_list(items):
        return _from_items(items)
    messages: list[Message] = []
    for item in items:
        parsed = messages_of(item)
        if parsed is None and isinstance(item, dict) and len(items) == 1:
            parsed = _from_document(item, side, depth + 1)
        messages += parsed or []
    return messages


def _is_pair(item: Any) -> bool:
    """A message written as who speaks and what they say."""
    return (
        isinstance(item, list)
        and len(item) == 2
        and isinstance(item[0], str)
        and item[0].lower() in ("user", "human", "ai", "assistant", "system", "tool", "developer")
        and isinstance(item[1], str | list)
    )


def _from_items(items: Iterable[Any]) -> list[Message]:
    """Items of the Responses API: what the assistant says and calls until a result comes is one message."""
    messages: list[Message] = []
    pieces: list[Piece] = []

    def flush() -> None:
        messages.extend(messages_of_pieces("assistant", pieces))
        pieces.clear()

    for item in items:
        made = read_item(item) if isinstance(item, dict) and "role" not in item else None
        if made is not None:
            answered = any(piece.kind == "result" for piece in pieces)
            if answered and any(piece.kind in ("call", "reasoning") for piece in made):
                flush()
            pieces += made
            continue
        parsed = messages_of(item) or []
        if len(parsed) == 1 and parsed[0]["role"] == "assistant" and "tool_calls" not in parsed[0]:
            if any(piece.kind in ("call", "result", "content") for piece in pieces):
                flush()
            pieces += pieces_of(parsed[0]["content"])
            continue
        flush()
        messages += parsed
    flush()
    return messages


def _from_document(document: dict[str, Any], side: Side, depth: int) -> list[Message]:
    wrapped = any(key in document for key in (*LIST_KEYS, *FINAL))
    if not wrapped and (parsed := messages_of(document)) is not None:
        return parsed
    if side == "output" and (parsed := _reply_messages(document, depth)):
        return parsed
    system = next((instructions_in(document[key]) for key in SYSTEM_KEYS if document.get(key)), [])
    listed: list[Message] = []
    for key in LIST_KEYS:
        listed += _messages(decode_json(document.get(key)), side, depth + 1) if document.get(key) else []
        # A history is followed by the present question under another key; any other list is the whole conversation.
        if listed and key not in ("chat_history", "history"):
            break
    messages = listed + _question_messages(document, listed, side, depth)
    if side == "output" and listed and listed[-1]["role"] == "user":
        stated = (document[key] for key in ("raw", "final_output") if isinstance(document.get(key), str))
        messages += [text_message(text, side) for text in stated][:1]
    if not messages:
        messages = _wrapped_messages(document, side, depth)
    elif not system:
        system = _config_instructions(document)
    if system and messages and messages[0]["role"] in INSTRUCTING:
        system = [message for message in system if message.get("content") != messages[0].get("content")]
    # An input of instructions alone is kept; an output of them is none.
    return system + messages if messages or side == "input" else []


def _question_messages(document: dict[str, Any], listed: list[Message], side: Side, depth: int) -> list[Message]:
    """The question beside a history: a chain's state and Cohere's first API say it under a key of its own."""
    if side == "output" or (listed and listed[-1]["role"] == "user" and "chat_history" not in document):
        return []
    for key in QUESTION_KEYS:
        value = decode_json(document.get(key))
        if isinstance(value, dict | list) and not listed and (messages := _messages(value, side, depth + 1)):
            return messages
        history = any(document.get(name) for name in ("chat_history", "history", *SYSTEM_KEYS))
        if (
            isinstance(value, str)
            and value
            and (history or key in ("prompt", "input", "contents"))
            and not (listed and not history)
        ):
            return [text_message(value, side)]
    if not listed and isinstance(text := document.get("contents"), str) and text:
        return [text_message(text, side)]
    return []


def _reply_messages(document: dict[str, Any], depth: int) -> list[Message]:
    if isinstance(history := either_case(document, AUTOMATIC), list) and history:
        before = {key: value for key, value in document.items() if value is not history}
        return _from_list(history, "input", depth + 1) + _reply_messages(before, depth)
    for key in ANSWER_KEYS:
        value = decode_json(document.get(key))
        # Alternatives of one reply: the first is the answer.
        if key in FINAL and isinstance(value, list) and value:
            first = value[0]
            text = [text_message(first, "output")] if isinstance(first, str) else []
            return _messages(first if isinstance(first, list) else [first], "output", depth + 1) or text
        if isinstance(value, dict | list) and value and (messages := _messages(value, "output", depth + 1)):
            return messages
    return []


def _config_instructions(document: dict[str, Any]) -> list[Message]:
    """Instructions in the configuration of a request, where Google's SDK and ADK put them."""
    for key in ("config", "generation_config", "params", "options"):
        inner = decode_object(document.get(key))
        if stated := next((inner[name] for name in SYSTEM_KEYS if inner.get(name)), None):
            return instructions_in(stated)
    return []


def _wrapped_messages(document: dict[str, Any], side: Side, depth: int) -> list[Message]:
    """The messages of what stands alone in an object, or under a key that only wraps."""
    given = {key: value for key, value in document.items() if value not in (None, "", [], {})}
    # A lone key is only a wrapper, whatever its name; among several only names that wrap are followed.
    keys = (
        [*given] if len(given) == 1 else [key for key in (*NESTING_KEYS, *QUESTION_KEYS, *ANSWER_KEYS) if key in given]
    )
    for key in keys:
        value = decode_json(given[key])
        if isinstance(value, dict | list) and (messages := _messages(value, side, depth + 1)):
            return messages
    # Under a name that nobody knows only what has roles is taken for messages.
    for value in map(decode_json, given.values()):
        named = value if isinstance(value, list) else [value]
        if all(isinstance(one, dict) and "role" in one for one in named):
            messages = _messages(value, side, depth + 1)
            if any(text_of(one) or one.get("tool_calls") for one in messages):
                return messages
    return []
