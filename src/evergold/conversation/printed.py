"""Objects that a framework prints where a value belongs: `StopEvent(result=AgentOutput(response=…'It is open.'…))`.

Python prints a dataclass or a model as a call with named arguments, and a member of an enumeration as `<Role.USER: 'user'>`.
"""

import ast
import re
from typing import Any

OBJECT = re.compile(r"\s*[A-Za-z_][\w.]*\([A-Za-z_]\w*=")
MOST = 60  # characters that are compared: printed forms are often cut
FEWEST = 12
LONGEST = 200_000  # characters that are parsed
PRINTED_AS = "printed_as"  # the name of the class, beside the fields of a printed object
TEXT = (
    r"""'(?:[^'\\]|\\.)*(?:'|\Z)|"(?:[^"\\]|\\.)*(?:"|\Z)"""  # one that does not end goes on to the end: no second look
)
MEMBER = re.compile(rf"({TEXT})|<[\w.]+: ({TEXT}|-?\d+)>|<[^<>]*>", re.DOTALL)


def prints(printed: str | None, text: str) -> bool:
    """Whether a printed object quotes a text, or as much of its beginning as was printed before it was cut."""
    if not printed or not text.strip() or not OBJECT.match(printed):
        return False
    beginning = repr(text)[:-1][:MOST]
    if beginning in printed:
        return True
    shown = printed.rstrip(".… ")
    return shown != printed and any(shown.endswith(beginning[:size]) for size in range(len(beginning), FEWEST - 1, -1))


def unprinted(value: Any) -> Any:
    """The fields of a printed object, objects inside it too; anything else as it is, a cut or unknown form included."""
    if not isinstance(value, str) or len(value) > LONGEST or not OBJECT.match(value):
        return value
    written = MEMBER.sub(lambda part: part[1] or part[2] or "None", value)
    try:
        return _value(ast.parse(written.strip(), mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return value


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        fields = {one.arg: _value(one.value) for one in node.keywords if one.arg}
        return fields | {PRINTED_AS: name} if fields else [_value(one) for one in node.args]
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return [_value(one) for one in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {str(_value(key)): _value(value) for key, value in pairs if key is not None}
    if isinstance(node, ast.Name):
        return node.id
    return ast.literal_eval(node)
