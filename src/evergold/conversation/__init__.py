"""Conversations out of traces, whatever convention their spans follow: `conversation_of` is the door.

A span's convention decides where messages stand (`conventions.py`), the provider or framework how they are spelled
(`dialects.py`). Everything ends as a `Conversation` of the model, in OpenAI's chat shape.
"""

from evergold.conversation.assembly import conversation_of
from evergold.conversation.message import text_of

__all__ = ["conversation_of", "text_of"]
