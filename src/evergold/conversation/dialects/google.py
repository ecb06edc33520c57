"""Google: Vertex AI, Gemini and ADK. Parts have no type; the key they hold names it, in either spelling."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, result_piece, text_piece


def either(fields: dict[str, Any], name: str) -> Any:
    """The value under `like_this` or `likeThis`."""
    head, *rest = name.split("_")
    return fields.get(name, fields.get(head + "".join(word.title() for word in rest)))


def part(part: dict[str, Any]) -> list[Piece] | None:
    if "type" in part:
        return None
    call, response = either(part, "function_call"), either(part, "function_response")
    if isinstance(call, dict):
        return [call_piece(call.get("name"), call.get("args", call.get("arguments")), call.get("id"))]
    if isinstance(response, dict):
        return [result_piece(response.get("response"), response.get("id"), response.get("name"))]
    data, file = either(part, "inline_data"), either(part, "file_data")
    if isinstance(data, dict):
        return [_media(either(data, "mime_type"), data.get("data"))]
    if isinstance(file, dict):
        return [_media(either(file, "mime_type"), either(file, "file_uri"))]
    code, outcome = either(part, "executable_code"), either(part, "code_execution_result")
    if isinstance(code, dict):
        return [call_piece("code_execution", code)]
    if isinstance(outcome, dict):
        return [result_piece(outcome.get("output"), name="code_execution")]
    # `{"text": …}` is also how others write a part with keys of their own; only Google's keys beside it make it
    # Google's.
    if isinstance(text := part.get("text"), str) and part.keys() <= KEYS:
        return [Piece("reasoning", text) if part.get("thought") is True else text_piece(text)]
    return None


KEYS = {
    *("text", "thought", "thought_signature", "thoughtSignature", "video_metadata", "media_resolution"),
    *("code_execution_result", "executable_code", "file_data", "function_call", "function_response", "inline_data"),
    *("meta", "cache_control", "cachePoint", "metadata"),
}


def _media(kind: Any, data: Any) -> Piece:
    if isinstance(data, str) and str(kind or "").startswith("image"):
        return image_piece(data if "://" in data[:16] else data_url(str(kind), data))
    return Piece("content", {"type": "file", "file": {"mime_type": kind, "data": data}})


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """A candidate of a reply, an event of ADK, or a `Content` without a role, which is the user's."""
    content = item.get("content")
    if "role" not in item and isinstance(content, dict) and isinstance(content.get("parts"), list):
        author = str(item.get("author") or "")
        role = content.get("role") or ("user" if author == "user" else "model")
        ended = either(item, "finish_reason")
        more = {"finish_reason": ended} if ended else {}
        return [
            {"role": role, "parts": content["parts"], **more} | ({"name": author} if author not in ("", "user") else {})
        ]
    return None
