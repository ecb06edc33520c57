"""A conversation: what a model was asked, what it then did, and what it had at hand. Pure values.

One canonical message shape, whatever the convention it arrived in: OpenAI chat. A message has `role` (system, user,
assistant, tool, or one nobody knows, kept as it came), `content` (text, parts, or null), and where they apply
`tool_calls` (`id`, `type: function`, `function: {name, arguments}` with arguments as JSON text), `tool_call_id`, `name`.
"""

from pydantic import BaseModel, Field

from evergold.model.case import Context
from evergold.model.nesting import Values


class Conversation(BaseModel, frozen=True, extra="forbid"):
    """Everything a trace says about one exchange with a model.

    `messages` ends with the last user message; `turn` is what the assistant did after it: calls, results, texts, the
    answer last. `problems` names what keeps the conversation from being replayed (a text that was cut, a lost result).
    """

    messages: tuple[Values, ...] = ()
    turn: tuple[Values, ...] = ()
    tools: tuple[Values, ...] = ()
    contexts: tuple[Context, ...] = ()
    parameters: Values = Field(default_factory=dict)
    problems: tuple[str, ...] = ()
