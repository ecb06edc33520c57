"""Chat messages in every spelling the conventions use, and the one text each stands for.

An evaluation case wants *the question* and *the answer*. So a list of messages stands for the text of its
last user message on the way in and of its last assistant message on the way out; the whole list stays in
the span's attributes. A reply that only calls tools stands for those calls, as JSON.

`conversation.reader` reads messages of any shape, whole; intake asks every span for two texts alone, and reading all of its
messages for them takes half as long again (measured on the recorded exchanges). So the usual shapes are read here from the
end, and only the others there.
"""

from typing import Any

import orjson

from evergold.conversation.message import as_json
from evergold.conversation.message import text_of as whole_text
from evergold.conversation.reader import messages_in

USER_ROLES = frozenset({"user", "human"})
REPLY_ROLES = frozenset({"assistant", "ai", "model"})
PAIRED = (*sorted(USER_ROLES), *sorted(REPLY_ROLES), "system", "tool")
TEXT_KEYS = ("content", "text", "input_text", "output_text")
WRAPPERS = (
    ("messages", "prompt", "input", "inputs", "question", "query", "text", "content", "task"),
    (
        *("choices", "messages", "output", "outputs", "answer", "response", "result", "text", "content"),
        *("generations", "update", "raw", "final_output"),
    ),
)
RESULTS = ("raw", "final_output")  # how agent frameworks name the text of a finished run, beside tasks, usage and steps
TASKS = ("task", "question", "query")  # how they name what a run is to do, beside flags and limits
CONTENTS = ("content", "parts", "contents", "text")
CALLS = ("tool_calls", "toolCalls")
CALL_TYPES = ("tool_call", "tool_use", "tool-call", "function_call")
SPEAKERS = ("human", "ai", "system", "tool")
AROUND = frozenset({"tags", "metadata", "kwargs", "config"})  # what a tracer of chains writes beside inputs and outputs
WRAPPED_IN = ("message", "kwargs", "data", "prompt", "completion")  # where a message may stand inside an object
WRAPPED = frozenset(WRAPPED_IN)
INPUT, OUTPUT = 0, 1


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
    if value is None or value == "":
        return None
    document = parse_json(value)
    if document == []:
        return None
    text = _plain_text(document, side)
    if text is not None:
        return text
    text = _unwrap_text(document, side)
    if text is None and isinstance(document, dict | list):
        text = _from_messages(document, side)
    if text is not None:
        return text or (None if side == OUTPUT else "")
    # Messages without any text (a sender that leaves contents out) are no question: better none than their JSON.
    if isinstance(document, list) and all(map(_is_hollow, document)):
        return None
    return value if isinstance(value, str) else as_json(document)


def _plain_text(document: Any, side: int) -> str | None:
    """The text of a list whose last message is of the wanted role and has one text: what most spans hold, in a third of the time.

    `_unwrap_text` gives the same, and the text of every other document.
    """
    if type(document) is not list or not all(type(item) is dict for item in document):
        return None
    last = document[-1]
    role = last.get("role")
    wanted = REPLY_ROLES if side == OUTPUT else USER_ROLES
    if type(role) is not str or role not in wanted or not WRAPPED.isdisjoint(last):
        return None
    content = last.get("content") or last.get("parts")
    if type(content) is list and len(content) == 1 and type(part := content[0]) is dict:
        is_text = part.get("type") == "text" and "modality" not in part and "message_content" not in part
        content = part.get("content" if "content" in part else "text") if is_text else None
        return content if type(content) is str and content else None
    return content if type(content) is str and content[:1] != "[" else None


def _from_messages(document: Any, side: int) -> str | None:
    """The text of the messages of a document whose shape is rarer: Google's, Bedrock's, a chain's state."""
    messages = messages_in(document, "output" if side == OUTPUT else "input")
    # A reply without text or calls, as a call that failed leaves it, and a request that is written down as a result.
    if side == OUTPUT and messages and not any(map(_answers, messages)):
        return ""
    for message in reversed(messages):
        if message["role"] == ("assistant" if side == OUTPUT else "user") and (text := whole_text(message)):
            return text
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    if side == OUTPUT and calls:
        return as_json([{"name": call["name"], "arguments": parse_json(call["arguments"])} for call in calls])
    return next((text for message in reversed(messages) if (text := whole_text(message))), None)


def _answers(message: dict[str, Any]) -> bool:
    return message["role"] not in (*USER_ROLES, "system", "developer") and bool(
        message.get("content") or message.get("tool_calls") or message.get("extra", {}).get("reasoning")
    )


def _unwrap_text(document: Any, side: int) -> str | None:
    if isinstance(document, str):
        return document
    if isinstance(document, list):
        # A list of objects is a list of messages; of one that gives no text, the object itself may wrap the text.
        if document and len(_dicts(document)) == len(document):
            result = _text_of_side(document, side)
            return result if result is not None or len(document) > 1 else _from_object(document[0], side)
        if document and all(map(_is_pair, document)):
            return _text_of_side([{"role": role, "content": text} for role, text in document], side)
        only = document[0] if len(document) == 1 else None
        return _unwrap_text(only, side) if isinstance(only, (str, list)) else None
    if isinstance(document, dict):
        return _from_object(document, side)
    return None


def _from_object(document: dict[str, Any], side: int) -> str | None:
    if role_of(document):
        return _text_of_side([document], side)
    given = {key: value for key, value in document.items() if value not in (None, "", [], {})}
    # Tracers that decorate functions write their arguments so; a single argument is the question.
    if given and given.keys() <= {"args", "kwargs"}:
        (only, *more) = given.values()
        return None if more else _unwrap_text(only, side) or as_json(only)
    inner = given.get("outputs" if side == OUTPUT else "inputs")
    # Tracers of chains write inputs and outputs side by side, with tags and config around them.
    if inner is not None and len(given) > 1 and given.keys() - AROUND <= {"inputs", "outputs"}:
        return _unwrap_text(inner, side)
    return _wrapped_text(given, side)


def _wrapped_text(document: dict[str, Any], side: int) -> str | None:
    """What stands under a telling key: a list of messages, or a text beside nothing or the parameters of a model call."""
    for key in WRAPPERS[side]:
        inner = document.get(key)
        if isinstance(inner, list):
            text = _unwrap_text(inner, side)
            if text is not None:
                return text
        elif isinstance(inner, str) and _stands_alone(document, key):
            return inner
        elif isinstance(inner, dict) and len(document) == 1:
            return _unwrap_text(inner, side)
    return None


def _stands_alone(document: dict[str, Any], key: str) -> bool:
    """Whether the text under a key is the whole question or answer: nothing beside it could be part of it."""
    if len(document) == 1 or key in ("prompt", "messages") or "model" in document:
        return True
    return key in (*RESULTS, *TASKS) and not any(
        isinstance(value, str) for name, value in document.items() if name != key
    )


def _is_pair(item: Any) -> bool:
    """A message written as who speaks and what they say."""
    return isinstance(item, list) and len(item) == 2 and isinstance(item[1], str) and item[0] in PAIRED


def _is_hollow(item: Any) -> bool:
    """A message that names its speaker and says nothing, as a sender writes that leaves out what it cannot spell."""
    if not isinstance(item, dict) or not role_of(item):
        return False
    inner = _inner(item)
    return not any(inner.get(key) for key in (*CONTENTS, *CALLS))


def _text_of_side(messages: list[dict[str, Any]], side: int) -> str | None:
    wanted = REPLY_ROLES if side == OUTPUT else USER_ROLES
    unsaid = False
    for message in reversed(messages):
        role = role_of(message)
        if role in wanted and (text := text_of(message)):
            return text
        # A question of which the sender left out the text, or a picture alone: an earlier question was answered already.
        if side == INPUT and unsaid and role in REPLY_ROLES and text_of(message) and not tool_calls_of(message):
            return ""
        unsaid = unsaid or (role in wanted and not _brings_results(message))
    # No message of the wanted role: a lone system text or a message without a role still says something.
    unasked = [one for one in messages if side == INPUT or role_of(one) not in (*USER_ROLES, "system")]
    fallback = next((text for message in reversed(unasked) if (text := text_of(message))), None)
    if side == OUTPUT:
        calls = [call for message in messages for call in tool_calls_of(message)]
        return as_json(calls) if calls else fallback
    return fallback


def _brings_results(message: dict[str, Any]) -> bool:
    """Whether a message of the user is what tools gave back, as Anthropic, Bedrock and Google write it."""
    inner = _inner(message)
    parts = [part for key in ("parts", "content") for part in _dicts(inner.get(key))]
    named = (str(name).lower() for part in parts for name in (*part, part.get("type")))
    return any(name.endswith(("result", "response")) for name in named)


def role_of(message: dict[str, Any]) -> str:
    """Who speaks, lower case; empty when the object does not look like a message."""
    inner = _inner(message)
    role = inner.get("role")
    if not role:
        kind = inner.get("type")
        if kind not in SPEAKERS:
            kind = message.get("type")
        # LangChain names the speaker by `type`; a choice of OpenAI is always the assistant's.
        role = kind if kind in SPEAKERS else "assistant" if inner is not message and "choice" in message else ""
    return str(role).lower()


def text_of(message: dict[str, Any]) -> str:
    """The text of one message, its parts joined by blank lines; pictures, calls and tool results are no text."""
    inner = _inner(message)
    for key in CONTENTS:
        content = inner.get(key)
        if content and (text := _parts_text(content)):
            return text
    return ""


def _parts_text(content: Any) -> str:
    if isinstance(content, str):
        # Some senders write the parts of a message as JSON text.
        if content[:2] != "[{" or '"type"' not in content:
            return content
        parts = parse_json(content)
        if not isinstance(parts, list) or not all(isinstance(part, dict) and "type" in part for part in parts):
            return content
        content = parts
    if not isinstance(content, list):
        return ""
    texts = []
    for part in content:
        text = part if isinstance(part, str) else _part_text(part) if isinstance(part, dict) else None
        if text:
            texts.append(text)
    return "\n\n".join(texts) if len(texts) != 1 else texts[0]


def _part_text(part: dict[str, Any]) -> str | None:
    wrapped = part.get("message_content")  # OpenInference puts each part of a message into an object of its own
    part = wrapped if isinstance(wrapped, dict) else part
    kind = str(part.get("type") or "text")
    # `modality` marks media in OpenTelemetry's parts, which are no text of the message.
    if "text" not in kind or "modality" in part:
        return None
    for key in TEXT_KEYS:
        text = part.get(key)
        if isinstance(text, str):
            return text
    return None


def tool_calls_of(message: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls a message makes, as `{"name", "arguments"}`, in any of the spellings."""
    inner = _inner(message)
    parts = [part for key in ("parts", "content") for part in _dicts(inner.get(key))]
    calls = [part for part in [inner, *parts] if _is_call(part)]
    calls += [call for key in CALLS for call in _dicts(inner.get(key))]
    return [_call(call) for call in calls]


def _is_call(part: dict[str, Any]) -> bool:
    return part.get("type") in CALL_TYPES or ("toolName" in part and ("input" in part or "args" in part))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    wrapped = call.get("tool_call")
    call = wrapped if isinstance(wrapped, dict) else call
    function = call.get("function") if isinstance(call.get("function"), dict) else call
    assert isinstance(function, dict)
    name = next((function[key] for key in ("name", "toolName", "function_name") if function.get(key)), None)
    arguments: Any = next(
        (function[key] for key in ("arguments", "input", "args") if function.get(key) is not None), {}
    )
    return {"name": name, "arguments": parse_json(arguments)}


def _inner(message: dict[str, Any]) -> dict[str, Any]:
    if not WRAPPED.isdisjoint(message):
        # Beside a role only `message` and `kwargs` can wrap a message; `data` or `prompt` are then fields of its own.
        for key in WRAPPED_IN[:2] if "role" in message else WRAPPED_IN:
            inner = message.get(key)
            if isinstance(inner, dict):
                return inner
    return message


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
