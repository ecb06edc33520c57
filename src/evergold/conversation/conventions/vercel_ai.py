"""The Vercel AI SDK: the prompt as JSON, the answer in pieces (text, calls, object, reasoning)."""

from evergold.conversation.calls import calls_in
from evergold.conversation.exchange import Attributes, Exchange, SpanView
from evergold.conversation.reading import messages_in, text_message
from evergold.conversation.shape import Message, Piece, messages_of_pieces, text_piece
from evergold.conversation.tools import tools_in

SETTINGS = "ai.settings."
CONTEXT = "ai.settings.context."  # what the app passes along, no setting of the model


def read(view: SpanView) -> Exchange:
    attributes = view.attributes
    asked = messages_in(attributes.get("ai.prompt.messages"), "input") or messages_in(
        attributes.get("ai.prompt"), "input"
    )
    if not asked and isinstance(prompt := attributes.get("ai.prompt"), str) and prompt[:1] not in ("{", "["):
        asked = [text_message(prompt, "input")]
    exchange = Exchange(asked, _answered(attributes))
    exchange.tools = tools_in(attributes.get("ai.prompt.tools"))
    exchange.parameters = {
        key.removeprefix(SETTINGS): value
        for key, value in attributes.items()
        if key.startswith(SETTINGS) and not key.startswith(CONTEXT)
    }
    return exchange


def _answered(attributes: Attributes) -> list[Message]:
    pieces = []
    if reasoning := attributes.get("ai.response.reasoning"):
        pieces.append(Piece("reasoning", str(reasoning)))
    text = attributes.get("ai.response.text") or attributes.get("ai.response.object")
    if isinstance(text, str) and text:
        pieces.append(text_piece(text))
    pieces += [Piece("call", call) for call in calls_in(attributes.get("ai.response.toolCalls"))]
    ended = attributes.get("ai.response.finishReason")
    return messages_of_pieces("assistant", pieces, {"finish_reason": ended} if ended else None)
