"""Dialects of messages: how each provider and framework spells one.

A dialect is a class with one or both of two static methods: `read_part` reads one part of a message's content, `read_message`
a message that is no plain `{"role", "content"}`, as one or more that are. Both give None for what is not theirs. To add one,
write its class in `providers.py` or `frameworks.py` and list its methods here.
"""

from evergold.conversation.dialects.frameworks import (
    AutoGen,
    Genkit,
    Haystack,
    LangChain,
    LlamaIndex,
    OtelParts,
    PydanticAI,
    SemanticKernel,
    SmolAgents,
    VercelAI,
)
from evergold.conversation.dialects.providers import Anthropic, Bedrock, Cohere, Google, OpenAIChat, OpenAIResponses

# The first that knows a part or a message decides, so the most exact stand first. `{"type": "text"}` is known to most of
# them: the order only matters where shapes overlap (`tool_call`, `image`), and is not the same for parts and messages.
PART_READERS = (
    OtelParts.read_part,
    OpenAIChat.read_part,
    Anthropic.read_part,
    VercelAI.read_part,
    OpenAIResponses.read_part,
    Bedrock.read_part,
    Haystack.read_part,
    Genkit.read_part,
    Google.read_part,
    LlamaIndex.read_part,
    SemanticKernel.read_part,
    Cohere.read_part,
)
MESSAGE_READERS = (
    SmolAgents.read_message,
    LlamaIndex.read_message,
    PydanticAI.read_message,
    AutoGen.read_message,
    LangChain.read_message,
    SemanticKernel.read_message,
    Haystack.read_message,
    Cohere.read_message,
    Google.read_message,
    OpenAIChat.read_message,
)
