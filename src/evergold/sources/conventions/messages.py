"""The question and the answer in a value of any shape, each as one text.

A list of messages stands for the text of its last user message on the way in and of its last assistant message on the way out;
the whole list stays in the span's attributes. A reply that only calls tools stands for those calls, as JSON.

Messages are read by `conversation.reader`, as those of a case are, but from the end and only as far as needed: a span often
sends the whole history.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from evergold.conversation.dialects import TASK_BEGINS, is_item_list
from evergold.conversation.message import INSTRUCTING, Message, as_json, calls_in, decode_json, lists_calls, text_of
from evergold.conversation.reader import WRAPPED_IN, messages_in, messages_of, pieces_of

# Keys of an object that hold its text where nothing beside them could be part of it.
TEXT_KEYS = (
    ("messages", "prompt", "new_message", "input", "inputs", "question", "query", "text", "content", "task"),
    (
        "choices",
        "messages",
        "output",
        "outputs",
        "answer",
        "response",
        "result",
        "text",
        "content",
        "raw",
        "object",  # a document; a text under it is the kind of a provider's reply
        "final_output",
    ),
)
# A lone text under such a name is what was asked: frameworks name it after the parameter of their own function.
ASKING = re.compile(r"(?:^|_)(?:message|msg|query|question|prompt|input|task|request)(?:_(?:text|str|bundle))?$")
DEEPEST_ARGUMENTS = 5
RESULTS = ("raw", "final_output")  # how agent frameworks name the text of a finished run, beside tasks, usage and steps
TASKS = ("task", "question", "query")  # how they name what a run is to do, beside flags and limits
# What a chain hands on beside its answer: what was asked, and what was retrieved for it.
GIVEN = frozenset(
    {"input", "question", "query", "context", "contexts", "documents", "source_documents", "chat_history"}
    | {"sources", "source_nodes", "metadata", "is_dummy_stream"}
)
AROUND = frozenset({"tags", "metadata", "kwargs", "config"})  # what a tracer of chains writes beside inputs and outputs
SPEAKER = frozenset({"role", "id", "index", "name", "finish_reason"})  # of a message of which nothing else was sent
INPUT, OUTPUT = 0, 1
ROLES = ("user", "assistant")


def parse_json(value: Any) -> Any:
    """The JSON document a text holds, or the value as it is."""
    # Most texts are no JSON; the first character spares parsing them.
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
    return value


def input_text(value: Any) -> str | None:
    """The question in `value`: a text, a message list, an object that wraps either; else the value as JSON.

    Empty where the last message of the user has no text.
    """
    return _read_meaning(value, INPUT)


def output_text(value: Any) -> str | None:
    """The answer in `value`, found the same way."""
    return _read_meaning(value, OUTPUT)


def _read_meaning(value: Any, side: int) -> str | None:
    document = parse_json(value)
    # A sender that writes every value as JSON writes documents, which are texts, as JSON again.
    if isinstance(document, str) and document is not value:
        document = parse_json(document)
    if document is None or document == "" or document == []:
        return None
    if isinstance(document, str):
        return document
    if isinstance(document, dict) and document.keys() == {"type", "value"} and isinstance(document["type"], str):
        return _read_meaning(document["value"], side)
    text = _find_text(document, side) if isinstance(document, dict | list) else None
    if text is not None:
        # Messages without any content (a sender that leaves contents out) say nothing; a picture alone is a question.
        shows = side == INPUT and not text and any(one.get("content") for one in messages_in(document, "input"))
        return text or ("" if shows else None)
    return value if isinstance(value, str) else as_json(value)


def _find_text(document: Any, side: int) -> str | None:
    """The text of a document; empty where its messages have none, None where it holds neither messages nor a known text."""
    if isinstance(document, str):
        return document
    if isinstance(document, list):
        if (text := _plain_text(document, side)) is not None:
            return text
        if len(document) == 1 and isinstance(document[0], str):
            return str(document[0])
    elif not isinstance(document, dict):
        return None
    elif (text := _wrapped_text(document, side)) is not None:
        return text
    if (text := _text_of_side(_read_backwards(document, side), side)) is not None:
        return text
    return _text_of_parts(document, side) if isinstance(document, list) else None


def _text_of_parts(document: list[Any], side: int) -> str | None:
    """The text of a list of parts, alternatives, or calls, which name no speaker."""
    items = [_inner(item) for item in document]
    if items and all(isinstance(item, dict) and item.keys() <= SPEAKER for item in items):
        return ""
    if side == OUTPUT and (lists_calls(items) or all(isinstance(item, dict) and "toolName" in item for item in items)):
        return _calls_as_json([call["function"] for call in calls_in(items)])
    typed = any(isinstance(item, dict) and "type" in item for item in items)
    # Texts of a question are its parts, those of a reply alternatives.
    whole = typed or (side == INPUT and all(isinstance(item, str) for item in items))
    pieces = pieces_of(items if whole else items[-1:])
    texts = [piece.value.get("text") for piece in pieces if piece.kind == "content"]
    return "\n\n".join(texts) if texts and all(isinstance(one, str) for one in texts) else None


def _inner(item: Any) -> Any:
    """What a flattened list wraps its only object in: `llm.choices.0.completion.text`."""
    held = next(iter(item.items())) if isinstance(item, dict) and len(item) == 1 else ("", None)
    return held[1] if held[0] in WRAPPED_IN and isinstance(held[1], dict) else item


def _calls_as_json(calls: Iterable[dict[str, Any]]) -> str:
    return as_json([{"name": call["name"], "arguments": decode_json(call["arguments"])} for call in calls])


def _plain_text(items: list[Any], side: int) -> str | None:
    """The text of a list whose last message is of the wanted role and has one text: what most spans hold."""
    last = items[-1]
    if type(last) is dict and len(last) == 1:
        last = last.get("message")
    if type(last) is not dict or last.get("role") != ROLES[side] or "message" in last or "kwargs" in last:
        return None
    content = last.get("content") or last.get("parts")
    if type(content) is list and len(content) == 1 and type(part := content[0]) is dict:
        if part.get("type") != "text" or "modality" in part or "message_content" in part:
            return None
        content = part.get("content" if "content" in part else "text")
        return content if type(content) is str and content and not content.startswith(TASK_BEGINS) else None
    return content if type(content) is str and content[:1] != "[" and not content.startswith(TASK_BEGINS) else None


def _read_backwards(document: Any, side: int) -> Iterable[Message]:
    """The messages of a document, the last first, each read when it is asked for where the list allows it."""
    named = isinstance(document, list) and all(isinstance(item, dict) and "role" in item for item in document)
    if not named or is_item_list(document):
        return reversed(messages_in(document, "output" if side == OUTPUT else "input"))
    return (message for item in reversed(document) for message in reversed(messages_of(item) or []))


def _text_of_side(messages: Iterable[Message], side: int) -> str | None:
    seen: list[Message] = []
    unsaid = False
    for message in messages:
        role, text = message["role"], text_of(message)
        if role == ROLES[side] and text:
            return text
        # A question of which the sender left out the text, or a picture alone: an earlier question was answered already.
        if side == INPUT and unsaid and role == "assistant" and text and not message.get("tool_calls"):
            return ""
        unsaid = unsaid or role == "user"
        # The answer before a question is none to it; words of the user at the very end were not answered.
        if side == OUTPUT and role == "user" and any(one["role"] != "user" for one in seen):
            break
        seen.append(message)
    if side == OUTPUT:
        calls = [call["function"] for message in reversed(seen) for call in message.get("tool_calls", ())]
        if calls:
            return _calls_as_json(calls)
        # The output of a tool's own span is its message; in a conversation it is no answer.
        alone = all(one["role"] == "tool" for one in seen)
        others = [one for one in seen if alone or one["role"] not in (*INSTRUCTING, "user", "tool")]
        return next((text for one in others if (text := text_of(one))), "" if seen else None)
    # No message of the user: a lone system text or a message of an unknown role still says something.
    return next((text for one in seen if (text := text_of(one))), "" if seen else None)


def _wrapped_text(document: dict[str, Any], side: int) -> str | None:
    """What stands under a telling key of an object: a text beside nothing, or beside what cannot be part of it."""
    if "role" in document:
        return None
    given = {key: value for key, value in document.items() if value not in (None, "", [], {})}
    if side and not given and len(document) > 1 and document.get("text") == "":
        return ""  # what a run was to give, which ended before it gave anything
    # Tracers that decorate functions write their arguments so; a single argument is the question.
    if given and given.keys() <= {"args", "kwargs"}:
        (only, *more) = given.values()
        return None if more else _find_text(only, side) or as_json(only)
    inner = given.get("outputs" if side == OUTPUT else "inputs")
    # Tracers of chains write inputs and outputs side by side, with tags and config around them.
    if inner is not None and len(given) > 1 and given.keys() - AROUND <= {"inputs", "outputs"}:
        # A chain that is streamed names its input before it has one.
        return _find_text(inner, side) if not isinstance(inner, dict) or any(inner.values()) else ""
    # The messages of a run beside its result may lack the last answer.
    for key in (*(RESULTS if side == OUTPUT else ()), *TEXT_KEYS[side]):
        inner = given.get(key)
        if key in RESULTS and isinstance(inner, str) and isinstance(given.get("messages"), list):
            return inner
        if (
            isinstance(inner, str)
            and key != "object"
            and (_stands_alone(given, key) or (side and given.keys() - {key} <= GIVEN))
        ):
            return inner
        if isinstance(inner, list | dict) and (key == "messages" or len(given) == 1):
            text = _find_text(inner, side)
            # What stands beside empty fields is the whole answer: `{"text": "", "object": {…}}`.
            return as_json(inner) if text is None and side == OUTPUT and len(document) > 1 else text
    return _only_question(given) if side == INPUT else None


def _only_question(given: dict[str, Any]) -> str | None:
    """The one text that an object of arguments holds, however deep and often, under names of questions."""
    texts = {text if ASKING.search(name) else None for name, text in _named_texts("", given, 0)}
    return texts.pop() if len(texts) == 1 else None


def _named_texts(name: str, value: Any, depth: int) -> Iterator[tuple[str, str | None]]:
    """Every text in an object with the key it stands under; None for a list, which may say more. Numbers say nothing."""
    if isinstance(value, dict) and depth < DEEPEST_ARGUMENTS:
        for key, inner in value.items():
            yield from _named_texts(key, inner, depth + 1)
    elif value is not None and not isinstance(value, int | float):
        yield name, value if isinstance(value, str) else None


def _stands_alone(document: dict[str, Any], key: str) -> bool:
    """Whether the text under a key is the whole question or answer: nothing beside it could be part of it."""
    if len(document) == 1 or key in ("prompt", "messages") or "model" in document:
        return True
    return key in (*RESULTS, *TASKS) and not any(
        isinstance(value, str) for name, value in document.items() if name != key
    )
