"""Genkit: parts of one key (`text`, `toolRequest`, `toolResponse`, `media`)."""

from typing import Any

from evergold.conversation.shape import Piece, call_piece, image_piece, result_piece


def part(part: dict[str, Any]) -> list[Piece] | None:
    if isinstance(call := part.get("toolRequest"), dict):
        return [call_piece(call.get("name"), call.get("input"), call.get("ref"))]
    if isinstance(result := part.get("toolResponse"), dict):
        return [result_piece(result.get("output"), result.get("ref"), result.get("name"))]
    if isinstance(media := part.get("media"), dict):
        return [image_piece(str(media.get("url")))]
    return None
