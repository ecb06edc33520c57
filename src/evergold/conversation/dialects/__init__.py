"""Dialects of messages: how each provider and framework spells one. One file each.

`part` reads one part of a message's content and `as_chat` a message that is no plain `{"role", "content"}`, as one or more
that are; both give None for what is not theirs. The first that knows it decides, so the most exact stand first.
"""

from evergold.conversation.dialects import (
    anthropic,
    autogen,
    bedrock,
    cohere,
    genkit,
    google,
    haystack,
    langchain,
    llama_index,
    openai_chat,
    openai_responses,
    otel_parts,
    pydantic_ai,
    semantic_kernel,
    smolagents,
    vercel_ai,
)

# `{"type": "text"}` is known to most of them: the order only matters where shapes overlap (`tool_call`, `image`).
PARTS = (
    otel_parts.part,
    openai_chat.part,
    anthropic.part,
    vercel_ai.part,
    openai_responses.part,
    bedrock.part,
    haystack.part,
    genkit.part,
    google.part,
    llama_index.part,
    semantic_kernel.part,
    cohere.part,
)
CHATS = (
    smolagents.as_chat,
    llama_index.as_chat,
    pydantic_ai.as_chat,
    autogen.as_chat,
    langchain.as_chat,
    semantic_kernel.as_chat,
    haystack.as_chat,
    cohere.as_chat,
    google.as_chat,
    openai_chat.as_chat,
)
