"""The canonical message: OpenAI's chat shape, the pieces it is put together from, and the texts that values were written as.

What the shape has no key for stays under `extra` of its message: the model's reasoning (`reasoning`), a tool's failure
(`failed`), the reason why the answer ended (`finish_reason`), and every key nobody knows.

Instrumentation writes values as texts, which are decoded here:

- JSON: documents are written as texts, and texts of documents as texts again.
- Flattened lists: `prefix.0.message.role`, `prefix.0.message.content`, … are attributes of one list.
- Printed objects: `StopEvent(result=AgentOutput(response=…'It is open.'…))`. Python prints a dataclass or a model as a call
  with named arguments, and a member of an enumeration as `<Role.USER: 'user'>`.
"""

import ast
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import orjson

from evergold.model.limits import MOST_LEVELS

DEEPEST_JSON = 8  # times a text is read as JSON that holds a text that is JSON …
JSON_STARTS = ("{", "[", '"')
PRINTED_OBJECT = re.compile(r"\s*[A-Za-z_][\w.]*\([A-Za-z_]\w*=")
PRINTED_NEXT = re.compile(r"\)([A-Za-z_]\w*\([A-Za-z_]\w*=)")
MOST_COMPARED = 60  # characters that are compared: printed forms are often cut
FEWEST_COMPARED = 12
LONGEST_PRINTED = 200_000  # characters that are parsed
PRINTED_AS = "printed_as"  # the name of the class, beside the fields of a printed object
PRINTED_TEXT = (
    r"""'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)"""  # one that does not end goes on to the end: no second look
)
PRINTED_MEMBER = re.compile(rf"({PRINTED_TEXT})|<[\w.]+: ({PRINTED_TEXT}|-?\d+)>|<[^<>]*>", re.DOTALL)


def decode_json(value: Any) -> Any:
    """Decode a text that holds a JSON document, again where the document is such a text; anything else as it is."""
    for _ in range(DEEPEST_JSON):
        if not isinstance(value, str) or value.lstrip()[:1] not in JSON_STARTS:
            return value
        try:
            inner = orjson.loads(value)
        except orjson.JSONDecodeError:
            return value
        # `"plain"` in quotes is a text that was dumped once; a document that decodes to a bare text is left alone.
        if isinstance(inner, str) and inner.lstrip()[:1] not in JSON_STARTS:
            return value if value[:1] != '"' else inner
        value = inner
    return value


def decode_object(value: Any) -> dict[str, Any]:
    """Decode an object; anything that is none is an empty one."""
    parsed = decode_json(value)
    return parsed if isinstance(parsed, dict) else {}


def decode_list(value: Any) -> list[Any]:
    """Decode a list; a single object is a list of one, anything else an empty one."""
    parsed = decode_json(value)
    return parsed if isinstance(parsed, list) else [parsed] if isinstance(parsed, dict) else []


def as_json(value: Any) -> str:
    """JSON of any value; what the fast writer refuses (numbers over 64 bits, deep nesting) goes the slow way."""
    try:
        return orjson.dumps(value, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
    except TypeError:
        return json.dumps(value, default=str, ensure_ascii=False)


def as_text(value: Any) -> str:
    """A text as it is, nothing as the empty text, anything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else as_json(value)


def unflatten(attributes: dict[str, Any], prefix: str) -> list[Any]:
    """The list of objects that the attributes below `prefix` were before flattening."""
    tree: dict[str, Any] = {}
    start = prefix + "."
    for key, value in attributes.items():
        if key.startswith(start):
            node = tree
            *path, leaf = key[len(start) :].split(".")
            if len(path) > MOST_LEVELS:
                continue  # no list of messages; the tree below is read recursively
            for step in path:
                # A text may stand where another key has objects (`a.0` and `a.0.b`): the text stays.
                inner = node.setdefault(step, {})
                node = inner if isinstance(inner, dict) else {}
            node[leaf] = value
    listed = _nest_lists(tree)
    return listed if isinstance(listed, list) else []


def _nest_lists(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_nest_lists(node[key]) for key in sorted(node, key=_by_number)]
    return {key: _nest_lists(value) for key, value in node.items()}


def _by_number(digits: str) -> tuple[int, str]:
    """Sorts numbers of any length by their value; `int` refuses thousands of digits."""
    bare = digits.lstrip("0")
    return len(bare), bare


def is_numbered(prefix: str, names: Iterable[str]) -> bool:
    """Whether any name is that of a thing in the flattened list `prefix`, whichever number it has."""
    start = prefix + "."
    return any(name.startswith(start) and name[len(start) : len(start) + 1].isdecimal() for name in names)


def names_of_side(names: Iterable[str], side: Literal["input", "output"]) -> tuple[str, ...]:
    """The attributes that say by their last word what a span was given or gave, whoever named them: `acme.step.input`.

    Words that any program uses (`result`, `arguments`) count below a word of agents (`acme.tool.result`), behind the others.
    """
    sure, likely = SIDE_WORDS[side]
    ranked: tuple[list[str], list[str]] = [], []
    for name in names:
        *path, word = NAME_BREAK.split(name)
        texts = bool(path) and word in TEXT_ENDS and path[-1] in WORDS_OF_SIDES
        word = path.pop() if texts else word
        weak = word in likely and (texts or not AGENT_WORDS.isdisjoint(path))
        if (weak or word in sure) and FOREIGN_WORDS.isdisjoint(path):
            ranked[weak].append(name)
    return (*ranked[0], *ranked[1])


def fill_last_message(items: list[Any], roles: tuple[str, ...], text: str | None) -> list[Any]:
    """The list with `text` in the last message of these roles, where that says nothing.

    Spans stored by earlier versions hold the question and the answer only as their input and output.
    """
    for item in reversed(items) if text else ():
        message = item.get("message", item) if isinstance(item, dict) else None
        if isinstance(message, dict) and message.get("role") in roles:
            if not any(message.get(key) for key in ("content", "contents", "tool_calls", "parts")):
                message["content"] = text
            return items
    return items


def prints(printed: str | None, text: str) -> bool:
    """Whether a printed object quotes a text, or as much of its beginning as was printed before it was cut."""
    if not printed or not text.strip() or not PRINTED_OBJECT.match(printed):
        return False
    beginning = repr(text)[:-1][:MOST_COMPARED]
    if beginning in printed:
        return True
    shown = printed.rstrip(".… ")
    return shown != printed and any(
        shown.endswith(beginning[:size]) for size in range(len(beginning), FEWEST_COMPARED - 1, -1)
    )


def final_output(text: str) -> str | None:
    """What a stream of printed objects gave in the end: its last object states an output and nothing else."""
    starts = [begun.start(1) for begun in PRINTED_NEXT.finditer(text)] if PRINTED_OBJECT.match(text) else []
    last = parse_printed(text[starts[-1] :]) if starts else None
    given = last.get("output") if isinstance(last, dict) and len(last) == 2 else None
    return given if isinstance(given, str) else None


def repeats_error(text: str | None, errors: Iterable[str]) -> bool:
    """Whether a text is one of these errors, or what an error (`type: message`) says."""
    bare = (text or "").strip()
    return bool(bare) and any(error == bare or error.endswith(f": {bare}") for error in errors)


def parse_printed(value: Any) -> Any:
    """The fields of a printed object, objects inside it too; anything else as it is, a cut or unknown form included."""
    if not isinstance(value, str) or len(value) > LONGEST_PRINTED or not PRINTED_OBJECT.match(value):
        return value
    written = PRINTED_MEMBER.sub(lambda part: part[1] or part[2] or "None", value)
    try:
        return _printed_value(ast.parse(written.strip(), mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value


def _printed_value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        fields = {one.arg: _printed_value(one.value) for one in node.keywords if one.arg}
        return fields | {PRINTED_AS: name} if fields else [_printed_value(one) for one in node.args]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_printed_value(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_printed_value(key)): _printed_value(value) for key, value in pairs if key is not None}
    return node.id if isinstance(node, ast.Name) else ast.literal_eval(node)


Message = dict[str, Any]

NAME_BREAK = re.compile(r"[.:/]")
# Words that mean a side of a span wherever they stand, and those that any program uses.
SIDE_WORDS = {
    "input": (
        frozenset(("input", "inputs", "input_text", "input_messages", "user_input", "prompt", "question", "messages")),
        frozenset(("arguments", "args", "payload", "request")),
    ),
    "output": (
        frozenset(("output", "outputs", "output_text", "output_messages", "final_output", "answer", "completion")),
        frozenset(("result", "response", "reply")),
    ),
}
WORDS_OF_SIDES = frozenset().union(*(words for pair in SIDE_WORDS.values() for words in pair))
TEXT_ENDS = frozenset(("text", "content", "messages"))
AGENT_WORDS = frozenset(
    (
        *("tool", "function_tool", "function", "agent", "llm", "model", "ai", "gen_ai", "chat", "chain", "turn"),
        *("task", "workflow", "operation", "generation"),
    )
)
# Properties of the app, parts of figures, machines and protocols, which may carry anything.
FOREIGN_WORDS = frozenset(
    (
        *("metadata", "properties", "context", "settings", "details", "usage_details", "device", "host", "browser"),
        *("db", "http", "rpc", "url", "messaging", "mcp", "cicd"),
    )
)

ROLES = {
    **dict.fromkeys(("user", "human", "humanmessage", "humanmessagechunk", "enduser", "customer"), "user"),
    **dict.fromkeys(("assistant", "ai", "model", "chatbot", "bot", "aimessage", "aimessagechunk", "gpt"), "assistant"),
    **dict.fromkeys(("tool-call", "tool_call", "outgoing", "outbound"), "assistant"),
    **dict.fromkeys(("incoming", "inbound"), "user"),
    **dict.fromkeys(("system", "systemmessage", "systemmessagechunk", "system_prompt"), "system"),
    **dict.fromkeys(
        ("tool", "function", "toolmessage", "toolmessagechunk", "functionmessage", "tool-response"), "tool"
    ),
    **dict.fromkeys(("tool_response", "tool_result", "ipython", "observation"), "tool"),
    "developer": "developer",
}
KNOWN_ROLES = frozenset(ROLES.values())
CHOICE = "gen_ai.choice"
INSTRUCTING = frozenset({"system", "developer"})
CALL_NAMES = ("name", "tool_name", "toolName", "function_name", "functionName", "FunctionName", "Name")
CALL_ARGUMENTS = (
    *("arguments", "args", "input", "parameters", "tool_kwargs", "tool_input", "toolInput", "kwargs", "tool_args"),
    *("Arguments", "function_arguments"),
)
CALL_IDENTS = (
    "id",
    "tool_call_id",
    "toolCallId",
    "call_id",
    "callId",
    "toolUseId",
    "tool_use_id",
    "ref",
    "Id",
    "tool_id",
)
CALL_HOLDERS = frozenset(CALL_ARGUMENTS)
CALL_WRAPPERS = ("tool_call", "toolCall", "function", "functionCall", "function_call")


class Piece(NamedTuple):
    """A part of a message: content (a canonical part), a call, a result (a tool message), reasoning, or a step's end."""

    kind: Literal["content", "call", "result", "reasoning", "step"]
    value: Any = None


# Models write it before the answer; one that was told to begin with it writes only its end, on a line of its own.
THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>(.*?)(?:</\1>\s*|\Z)|(.*\n)</think>\s*?\n\s*", re.DOTALL)


def split_thinking(text: str) -> tuple[str, str]:
    """The thinking at the start of an answer, empty where there is none, and the answer."""
    if not ("<" in text[:20] or "\n</think>" in text):
        return "", text
    match = THINKING.match(text)
    return ((match[2] or match[3] or "").strip(), text[match.end() :]) if match else ("", text)


def role_named(name: Any) -> str:
    """The canonical role for a name in any spelling; a role nobody knows is kept as it came."""
    if isinstance(name, dict):
        name = name.get("Label") or name.get("label") or name.get("value") or ""
    text = str(name)
    plain = text.rpartition(".")[2].strip().lower()  # enumerations print themselves as `MessageRole.USER`
    return ROLES.get(plain, text)


def text_piece(text: str) -> Piece:
    return Piece("content", {"type": "text", "text": text})


def image_piece(url: str, **more: Any) -> Piece:
    return Piece("content", {"type": "image_url", "image_url": {"url": url, **more}})


def data_url(media_type: str | None, data: Any) -> str:
    text = str(data)
    return (
        # Already a URL: only bare base64 needs the head.
        text if text.startswith(("data:", "http://", "https://")) else f"data:{media_type or 'image/png'};base64,{text}"
    )


def call_piece(name: Any, arguments: Any, ident: Any = None) -> Piece:
    return Piece("call", tool_call(name, arguments, ident))


def tool_call(name: Any, arguments: Any, ident: Any = None) -> dict[str, Any]:
    """A call in canonical shape; the id of a call that came without one is filled in where calls meet their results."""
    return {
        "id": str(ident) if ident not in (None, "") else None,
        "type": "function",
        "function": {"name": str(name or ""), "arguments": arguments_text(arguments)},
    }


def arguments_text(arguments: Any) -> str:
    """Arguments as JSON text. A text stays as the model wrote it, unless it is the JSON of a text that is JSON."""
    if arguments is None or arguments == "":
        return "{}"
    if not isinstance(arguments, str):
        return as_json(arguments)
    # Instrumentation that dumps arguments twice gives `"{\"a\": 1}"`.
    if arguments.lstrip()[:1] == '"':
        inner = decode_json(arguments)
        return inner if isinstance(inner, str) else as_json(inner)
    return arguments


def result_piece(content: Any, ident: Any = None, name: Any = None, *, failed: bool = False) -> Piece:
    return Piece("result", tool_message(content, ident, name, failed=failed))


def tool_message(content: Any, ident: Any = None, name: Any = None, *, failed: bool = False) -> Message:
    """A tool's result; one that is neither text nor parts becomes JSON text."""
    message: Message = {"role": "tool", "content": result_content(content)}
    if ident not in (None, ""):
        message["tool_call_id"] = str(ident)
    if name not in (None, ""):
        message["name"] = str(name)
    if failed:
        message["extra"] = {"failed": True}
    return message


AI_SDK_OUTPUTS = frozenset({"text", "json", "error-text", "error-json", "content"})


def result_content(content: Any) -> Any:
    """A result's content: text parts as text, other parts as they are, any other value as JSON text."""
    output = decode_object(content) if str(content)[:20].lstrip()[:7] in ('{"type"', "{'type'") else {}
    if output.keys() == {"type", "value"} and output["type"] in AI_SDK_OUTPUTS:
        return result_content(output["value"])
    if isinstance(content, list) and content and all(isinstance(part, dict) for part in content):
        if all(("type" in part or len(part) == 1) and isinstance(part.get("text"), str) for part in content):
            parts = [{"type": "text", "text": part["text"]} for part in content]
            return parts[0]["text"] if len(parts) == 1 else parts
        if all(part.get("type") in ("text", "image_url") for part in content):
            return content
    return as_text(content)


def content_of(parts: list[dict[str, Any]]) -> Any:
    """Parts as a message's content: one text part is that text, none is null."""
    if not parts:
        return None
    return parts[0]["text"] if len(parts) == 1 and parts[0].keys() == {"type", "text"} else parts


def messages_of_pieces(role: str, pieces: Iterable[Piece], extra: dict[str, Any] | None = None) -> list[Message]:
    """Messages from the pieces of one: results become tool messages, and what follows them a message of its own.

    Calls made side by side stay in one message, also where each stands next to its result.
    """
    built: list[Message] = []
    parts: list[dict[str, Any]] = []
    calls: list[dict[str, Any]] = []
    results: list[Message] = []
    reasoning: list[str] = []

    def flush() -> None:
        if parts or calls or reasoning:
            built.append(_message(role, parts, calls, reasoning))
        built.extend(results)
        for pile in (parts, calls, results, reasoning):
            pile.clear()

    for piece in pieces:
        # Text behind a result is said after it: it begins a new message.
        if piece.kind == "step" or (results and piece.kind in ("content", "reasoning")):
            flush()
        if piece.kind == "content":
            parts.append(piece.value)
        elif piece.kind == "call":
            calls.append(piece.value)
        elif piece.kind == "result":
            results.append(piece.value)
        elif piece.kind == "reasoning" and piece.value:
            reasoning.append(piece.value)
    flush()
    if extra:
        # `finish_reason` and the like belong to the last thing that the role said, not to a tool's message behind it.
        own = next((message for message in reversed(built) if message["role"] == role), built[-1] if built else None)
        if own is not None:
            own["extra"] = own.get("extra", {}) | extra
    return built


def _message(role: str, parts: list[Any], calls: list[Any], reasoning: list[str]) -> Message:
    # Some senders name the tool as who calls it.
    message: Message = {"role": "assistant" if calls and role == "tool" else role, "content": content_of(list(parts))}
    if calls:
        message["tool_calls"] = list(calls)
    if reasoning:
        message["extra"] = {"reasoning": "\n\n".join(reasoning)}
    return message


def count_asked(names: Sequence[str]) -> int:
    """Of message events of one call, how many were sent: the choices at the end answer, or the assistant's last message."""
    asked = len(names)
    while asked and names[asked - 1] == CHOICE:
        asked -= 1
    return asked - (asked == len(names) and asked > 1 and names[-1] == "gen_ai.assistant.message")


def text_of(message: Message) -> str:
    """The text of a message, its parts joined by blank lines; pictures and calls are no text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = [part.get("text") for part in content if isinstance(part, dict)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def first_of(fields: dict[str, Any], keys: tuple[str, ...]) -> Any:
    """The first of these that is there and is not null."""
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def call_of(call: Any) -> dict[str, Any] | None:
    """A call in canonical shape; None for what names no tool."""
    call = decode_json(call)
    if not isinstance(call, dict):
        return None
    ident = first_of(call, CALL_IDENTS)
    inner = call
    # `{"function_call": {"function": {…}}}`: wrappers nest, and a loop of them in a document must end.
    for _ in range(3):
        wrapped = next(
            (decode_json(inner[key]) for key in CALL_WRAPPERS if isinstance(decode_json(inner.get(key)), dict)), None
        )
        if wrapped is None:
            break
        inner = wrapped
        ident = ident if ident is not None else first_of(inner, CALL_IDENTS)
    name = first_of(inner, CALL_NAMES)
    if name is None and isinstance(inner.get("function"), str) and not CALL_HOLDERS.isdisjoint(inner):
        name = inner["function"]
    if name is None:
        return None
    # Semantic Kernel names a function by plug-in and function; models see both joined by a dash.
    plugin = inner.get("plugin_name") or inner.get("PluginName")
    if plugin and inner.get("function_name", inner.get("FunctionName")):
        name = inner.get("name") or f"{plugin}-{first_of(inner, ('function_name', 'FunctionName'))}"
    return tool_call(name, first_of(inner, CALL_ARGUMENTS), ident)


def lists_calls(items: Sequence[Any]) -> bool:
    """Whether every item of a numbered list is a call of one reply, and no reply of its own."""
    return bool(items) and all(isinstance(one, dict) and one.keys() == {"function_call"} for one in items)


def calls_in(calls: Any) -> list[dict[str, Any]]:
    """The calls of a list (or its JSON, or an object of one); what is none is left out."""
    listed = decode_json(calls)
    if isinstance(listed, dict):
        listed = [listed]
    return [call for item in listed if (call := call_of(item)) is not None] if isinstance(listed, list) else []
