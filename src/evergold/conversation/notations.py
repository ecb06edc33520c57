"""Decode values that instrumentation wrote as texts: JSON inside JSON, flattened lists, printed Python objects.

- JSON: documents are written as texts, and texts of documents as texts again.
- Flattened lists: `prefix.0.message.role`, `prefix.0.message.content`, … are attributes of one list.
- Printed objects: `StopEvent(result=AgentOutput(response=…'It is open.'…))`. Python prints a dataclass or a model as a call
  with named arguments, and a member of an enumeration as `<Role.USER: 'user'>`.
"""

import ast
import json
import re
from typing import Any

import orjson

from evergold.model.nesting import MOST_LEVELS

DEEPEST_JSON = 8  # times a text is read as JSON that holds a text that is JSON …
JSON_STARTS = ("{", "[", '"')
PRINTED_OBJECT = re.compile(r"\s*[A-Za-z_][\w.]*\([A-Za-z_]\w*=")
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
    if isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)
