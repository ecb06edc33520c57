"""A case as a person reads it: the conversation line by line, the answer, and the reference with who stands behind it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import orjson

from evergold.model.case import Case

AS_CONVERSATION = ("messages", "turn")
IN_CONVERSATION = frozenset({"messages", "turn", "tool_calls", "approved", "revised"})
INDENT = "  "


def lines_of(case: Case) -> Iterator[str]:
    """Yield the lines that show a case: one for each plain field, and a block for conversation and reference."""
    stored = case.model_dump(mode="json", exclude_defaults=True)
    for name, value in stored.items():
        if name not in IN_CONVERSATION:
            yield f"{name}: {_shown(value)}"
    for name in AS_CONVERSATION:
        if messages := getattr(case, name):
            yield f"{name}:"
            yield from _conversation(messages)
    reference = case.reference()
    if reference is None:
        yield "reference: none yet"
        return
    yield f"reference ({reference.origin.value}):"
    for call in reference.tool_calls or ():
        yield f"{INDENT}calls {call.name}({_shown(call.args)})"
    yield from _block(reference.text or "")


def _conversation(messages: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for message in messages:
        role = message.get("role", "unknown")
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            yield f"{INDENT}{role} calls {function.get('name', 'unknown')}({function.get('arguments', '')})"
        if content := message.get("content"):
            first, *rest = _shown(content).splitlines() or [""]
            yield f"{INDENT}{role}: {first}"
            yield from _block("\n".join(rest), INDENT * 2)


def _block(text: str, indent: str = INDENT) -> Iterator[str]:
    yield from (f"{indent}{line}" for line in text.splitlines())


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()
