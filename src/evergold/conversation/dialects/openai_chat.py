"""OpenAI's chat completions, and everything that speaks them: Ollama, Groq, Mistral, LiteLLM, vLLM, DeepSeek."""

from typing import Any

from evergold.conversation.shape import Piece, data_url, image_piece, text_piece

TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "refusal"})


def part(part: dict[str, Any]) -> list[Piece] | None:
    """`text`, `image_url`, `input_audio`, `file` and the Responses API's names for the same."""
    kind = str(part.get("type"))
    if kind in TEXTS:
        text = next((part[key] for key in ("text", "content", "refusal") if isinstance(part.get(key), str)), None)
        if isinstance(inner := part.get("text"), dict) and isinstance(inner.get("value"), str):
            text = inner["value"]  # the Assistants API
        return None if text is None else [text_piece(text)]
    if kind in ("image_url", "input_image"):
        picture = part.get("image_url", part.get("url"))
        if isinstance(picture, str):
            return [image_piece(picture)]
        return [Piece("content", part)] if isinstance(picture, dict) else None
    return [Piece("content", part)] if kind in ("input_audio", "file", "input_file", "audio") else None


def as_chat(item: dict[str, Any]) -> list[dict[str, Any]] | None:
    """A choice of a reply, or a reply of Ollama: the message with the reason why it ended. Pictures of Ollama."""
    if isinstance(item.get("images"), list) and "role" in item:
        pictures = [image_piece(data_url("image/png", picture)).value for picture in item["images"]]
        rest = {key: value for key, value in item.items() if key != "images"}
        return [rest | {"content": [{"type": "text", "text": item.get("content") or ""}, *pictures]}]
    message = item.get("message", item.get("delta"))
    if isinstance(message, dict) and ("finish_reason" in item or "done" in item or "index" in item or "choice" in item):
        ended = {"finish_reason": item["finish_reason"]} if item.get("finish_reason") else {}
        return [{"role": "assistant", **message, **ended}]
    if isinstance(item.get("text"), str) and "finish_reason" in item and "role" not in item:
        return [{"role": "assistant", "content": item["text"], "finish_reason": item["finish_reason"]}]
    return None
