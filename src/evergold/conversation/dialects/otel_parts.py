"""OpenTelemetry's message parts: `{"type": "text", "content"}`, `tool_call`, `tool_call_response`, `reasoning`."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, result_piece, text_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    kind = part.get("type")
    if kind == "text" and isinstance(text := part.get("content"), str):
        return [text_piece(text)]
    if kind in ("tool_call", "server_tool_call"):
        inner = part.get("tool_call") if isinstance(part.get("tool_call"), dict) else None
        call = (
            inner or part.get("server_tool_call") if isinstance(part.get("server_tool_call"), dict) else inner or part
        )
        assert isinstance(call, dict)
        arguments = next((call[key] for key in ("arguments", "args", "input") if call.get(key) is not None), None)
        function = call.get("function")
        if isinstance(function, dict):
            call = call | function
            arguments = function.get("arguments")
        return [call_piece(call.get("name"), arguments, part.get("id") or call.get("id"))]
    if kind in ("tool_call_response", "server_tool_call_response"):
        keys = ("response", "result", "content", "output", "server_tool_call_response")
        result = next((part[key] for key in keys if part.get(key) is not None), None)
        return [result_piece(result, part.get("id"), part.get("name"), failed=bool(part.get("is_error")))]
    if kind in ("reasoning", "thinking") and "summary" not in part:
        return [Piece("reasoning", part.get("content") or part.get("text"))]
    if kind == "blob" or (kind == "binary" and "content" in part):
        media = str(part.get("mime_type") or part.get("media_type") or "")
        data = part.get("content", part.get("data"))
        if part.get("modality") == "image" or media.startswith("image"):
            return [image_piece(data_url(media, data))]
        return [Piece("content", part)]
    if kind in ("uri", "image-url") and (part.get("modality") == "image" or kind == "image-url"):
        return [image_piece(str(part.get("uri") or part.get("url")))]
    return [Piece("content", part)] if kind in ("uri", "file", "blob") and "modality" in part else None
