"""The Vercel AI SDK: parts named `tool-call` and `tool-result`, and the parts of its UI messages."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, result_piece, text_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    kind = part.get("type")
    if not isinstance(kind, str):
        return None
    # UI messages hold several model calls in one; a step ends the message before it.
    if kind == "step-start":
        return [Piece("step")]
    if kind == "tool-call":
        return [call_piece(part.get("toolName"), _either(part, "input", "args"), part.get("toolCallId"))]
    if kind == "tool-result":
        content, failed = _output(_either(part, "output", "result"))
        failed = failed or bool(part.get("isError"))
        return [result_piece(content, part.get("toolCallId"), part.get("toolName"), failed=failed)]
    if kind == "tool-error":
        return [result_piece(part.get("error"), part.get("toolCallId"), part.get("toolName"), failed=True)]
    if kind == "tool-invocation" and isinstance(made := part.get("toolInvocation"), dict):
        return _made(made, made.get("toolName"), "args", "result")
    if (kind.startswith("tool-") or kind == "dynamic-tool") and "toolCallId" in part:
        return _made(part, part.get("toolName") or kind.removeprefix("tool-"), "input", "output")
    if kind == "reasoning" and isinstance(text := part.get("text", part.get("reasoning")), str):
        return [Piece("reasoning", text)]
    if kind in ("image", "file"):
        return _media(part)
    return None


def _either(part: dict[str, Any], *keys: str) -> Any:
    return next((part[key] for key in keys if part.get(key) is not None), None)


def _output(output: Any) -> tuple[Any, bool]:
    """What a tool gave, out of the object that names its type; whether it is an error."""
    if isinstance(output, dict) and output.keys() >= {"type", "value"}:
        kind, value = str(output["type"]), output["value"]
        if kind == "content" and isinstance(value, list):
            return [item for item in value if isinstance(item, dict)], False
        return value, kind.startswith("error")
    return output, False


def _made(made: dict[str, Any], name: Any, given: str, gave: str) -> list[Piece]:
    """A call of a UI message, and its result where it has one."""
    ident = made.get("toolCallId")
    pieces = [call_piece(name, made.get(given), ident)]
    if made.get("errorText"):
        pieces.append(result_piece(made["errorText"], ident, name, failed=True))
    elif made.get(gave) is not None:
        pieces.append(result_piece(made[gave], ident, name))
    return pieces


def _media(part: dict[str, Any]) -> list[Piece] | None:
    kind = str(_either(part, "mediaType", "mimeType") or ("image/png" if part["type"] == "image" else ""))
    data = _either(part, "image", "url", "data")
    if isinstance(data, str) and kind.startswith("image"):
        return [image_piece(data_url(kind, data))]
    return [text_piece(part["text"])] if isinstance(part.get("text"), str) else [Piece("content", part)]
