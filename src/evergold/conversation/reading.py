"""Messages in a document of any shape: lists of messages, requests and replies of every provider, states of chains."""

from collections.abc import Iterable
from typing import Any, Literal

from evergold.conversation.chat import messages_of, pieces_of
from evergold.conversation.dialects import openai_responses
from evergold.conversation.dialects.google import either
from evergold.conversation.nested_json import decoded
from evergold.conversation.printed import unprinted
from evergold.conversation.shape import INSTRUCTING, Message, Piece, messages_of_pieces
from evergold.conversation.tools import is_offer

Side = Literal["input", "output"]

DEEPEST = 10
SYSTEM = (
    *("system", "system_instruction", "systemInstruction", "system_instructions", "instructions", "system_prompt"),
    *("preamble", "systemPrompt"),
)
LISTS = ("messages", "contents", "chat_history", "history", "conversation", "new_messages", "all_messages")
ASKED = ("input", "prompt", "message", "query", "question", "user_input", "inputs", "request", "llm_request", "prompts")
ANSWERED = (
    *(
        "choices",
        "candidates",
        "generations",
        "replies",
        "output",
        "outputs",
        "message",
        "response",
        "result",
        "update",
    ),
    *("content", "completion", "answer", "text", "output_text", "final_output", "llm_response", "raw", "generation"),
    *("return_values", "results"),
)
NESTED = ("kwargs", "config", "args", "body", "invocation_params", "data", "state", "values", "node", "value")
AUTOMATIC = (
    "automatic_function_calling_history"  # Google's client calls functions itself, and lists what was said so far
)
FINAL = frozenset({"choices", "candidates", "generations", "replies"})


def messages_in(value: Any, side: Side) -> list[Message]:
    """The messages in a value, canonical; none where it holds no message. A bare text is none either."""
    return _messages(decoded(value), side, 0)


def text_message(text: str, side: Side) -> Message:
    return {"role": "user" if side == "input" else "assistant", "content": text}


def instructions_in(value: Any) -> list[Message]:
    """System instructions: a text, parts, or an object of parts, as one system message."""
    document = decoded(value)
    if isinstance(document, list) and document and all(isinstance(item, dict) and "role" in item for item in document):
        return [message | {"role": "system"} for message in _from_list(document, "input", 0)]
    if isinstance(document, dict) and isinstance(document.get("parts"), list):
        document = document["parts"]
    return messages_of_pieces("system", pieces_of(document))


def _messages(document: Any, side: Side, depth: int) -> list[Message]:
    if depth > DEEPEST:
        return []
    if isinstance(document, list):
        return _from_list(document, side, depth)
    if isinstance(document, dict):
        return _from_document(document, side, depth)
    return []


def _from_list(items: list[Any], side: Side, depth: int) -> list[Message]:
    items = [unprinted(decoded(item)) for item in items]
    items = [item for item in items if not is_offer(item)]
    if not items:
        return []
    # LangChain accepts `("human", "text")` tuples, which JSON writes as lists.
    if all(map(_is_pair, items)):
        items = [{"role": role, "content": text} for role, text in items]
    if isinstance(items[0], list):
        return _from_list(items[0], side, depth + 1)  # a batch: the first is the one that was asked
    if openai_responses.is_item_list(items):
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
        made = openai_responses.part(item) if isinstance(item, dict) and "role" not in item else None
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
    wrapped = any(key in document for key in (*LISTS, *FINAL))
    if not wrapped and (parsed := messages_of(document)) is not None:
        return parsed
    if side == "output" and (parsed := _answered(document, depth)):
        return parsed
    system = next((instructions_in(document[key]) for key in SYSTEM if document.get(key)), [])
    listed: list[Message] = []
    for key in LISTS:
        listed += _messages(decoded(document.get(key)), side, depth + 1) if document.get(key) else []
        # A history is followed by the present question under another key; any other list is the whole conversation.
        if listed and key not in ("chat_history", "history"):
            break
    asked = _asked(document, listed, side, depth)
    messages = listed + asked
    if not messages:
        messages = _inside(document, side, depth)
    elif not system:
        system = _configured(document)
    if system and messages and messages[0]["role"] in INSTRUCTING:
        system = [message for message in system if message.get("content") != messages[0].get("content")]
    # An input of instructions alone is kept; an output of them is none.
    return system + messages if messages or side == "input" else []


def _asked(document: dict[str, Any], listed: list[Message], side: Side, depth: int) -> list[Message]:
    """The question beside a history: a chain's state and Cohere's first API say it under a key of its own."""
    if side == "output" or (listed and listed[-1]["role"] == "user" and "chat_history" not in document):
        return []
    for key in ASKED:
        value = decoded(document.get(key))
        if isinstance(value, dict | list) and not listed and (messages := _messages(value, side, depth + 1)):
            return messages
        history = any(document.get(name) for name in ("chat_history", "history", *SYSTEM))
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


def _answered(document: dict[str, Any], depth: int) -> list[Message]:
    if isinstance(history := either(document, AUTOMATIC), list) and history:
        before = {key: value for key, value in document.items() if value is not history}
        return _from_list(history, "input", depth + 1) + _answered(before, depth)
    for key in ANSWERED:
        value = decoded(document.get(key))
        # Alternatives of one reply: the first is the answer.
        if key in FINAL and isinstance(value, list) and value:
            first = value[0]
            return _messages(first if isinstance(first, list) else [first], "output", depth + 1) or _texts(value)
        if isinstance(value, dict | list) and value and (messages := _messages(value, "output", depth + 1)):
            return messages
    return []


def _texts(value: list[Any]) -> list[Message]:
    return [text_message(value[0], "output")] if isinstance(value[0], str) else []


def _configured(document: dict[str, Any]) -> list[Message]:
    """Instructions in the configuration of a request, where Google's SDK and ADK put them."""
    for key in ("config", "generation_config", "params", "options"):
        inner = decoded(document.get(key))
        if isinstance(inner, dict):
            for name in SYSTEM:
                if inner.get(name):
                    return instructions_in(inner[name])
    return []


def _inside(document: dict[str, Any], side: Side, depth: int) -> list[Message]:
    """The messages of what stands alone in an object, or under a key that only wraps."""
    given = {key: value for key, value in document.items() if value not in (None, "", [], {})}
    # A lone key is only a wrapper, whatever its name; among several only names that wrap are followed.
    keys = [*given] if len(given) == 1 else [key for key in (*NESTED, *ASKED, *ANSWERED) if key in given]
    for key in keys:
        value = decoded(given[key])
        if isinstance(value, dict | list) and (messages := _messages(value, side, depth + 1)):
            return messages
    return []
