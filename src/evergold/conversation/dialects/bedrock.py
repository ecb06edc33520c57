"""Amazon Bedrock's Converse, and Strands: content blocks without a type; the key they hold names it."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, data_url, image_piece, result_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    # Parts with a type are of other dialects; Converse never writes one.
    if "type" in part:
        return None
    if isinstance(call := part.get("toolUse"), dict):
        return [call_piece(call.get("name"), call.get("input"), call.get("toolUseId"))]
    if isinstance(result := part.get("toolResult"), dict):
        failed = result.get("status") == "error"
        return [result_piece(_result(result.get("content")), result.get("toolUseId"), failed=failed)]
    if isinstance(reasoning := part.get("reasoningContent"), dict):
        text = reasoning.get("reasoningText")
        return [Piece("reasoning", text.get("text") if isinstance(text, dict) else text or "[redacted]")]
    if isinstance(image := part.get("image"), dict) and isinstance(source := image.get("source"), dict):
        location = source.get("s3Location")
        data = location.get("uri") if isinstance(location, dict) else source.get("bytes")
        url = data if isinstance(location, dict) else data_url(f"image/{image.get('format', 'png')}", data)
        return [image_piece(str(url))]
    if "document" in part or "video" in part or "guardContent" in part:
        return [Piece("content", part)]
    return [] if "cachePoint" in part else None


def _result(content: Any) -> Any:
    """Blocks of a result: a lone text or JSON block is what it holds."""
    if isinstance(content, list) and all(isinstance(block, dict) for block in content):
        parts = [block.get("json", block.get("text", block)) for block in content]
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(item, str) for item in parts):
            return [{"type": "text", "text": item} for item in parts]
        return parts
    return content
