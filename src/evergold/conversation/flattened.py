"""Lists that were flattened into attributes: `prefix.0.message.role`, `prefix.0.message.content`, …"""

from typing import Any

from evergold.model.nesting import MOST_LEVELS


def unflattened(attributes: dict[str, Any], prefix: str) -> list[Any]:
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
    listed = _listed(tree)
    return listed if isinstance(listed, list) else []


def _listed(node: Any) -> Any:
    if not isinstance(node, dict):
        return node
    if node and all(key.isdecimal() for key in node):
        return [_listed(node[key]) for key in sorted(node, key=_by_number)]
    return {key: _listed(value) for key, value in node.items()}


def _by_number(digits: str) -> tuple[int, str]:
    """Sorts numbers of any length by their value; `int` refuses thousands of digits."""
    bare = digits.lstrip("0")
    return len(bare), bare


def filled(items: list[Any], roles: tuple[str, ...], text: str | None) -> list[Any]:
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
