"""A conversation: what a model was asked, what it then did, and what it had at hand. Pure values.

One canonical message shape, whatever the convention it arrived in: OpenAI chat. A message has `role` (system, user,
assistant, tool, or one nobody knows, kept as it came), `content` (text, parts, or null), and where they apply
`tool_calls` (`id`, `type: function`, `function: {name, arguments}` with arguments as JSON text), `tool_call_id`, `name`.
What that shape has no key for stays under `extra` of its message: `reasoning`, `finish_reason`, `failed` (of a tool's
result), and every key nobody knows. An export that others read leaves `extra` out.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel, Field

from evergold.model.case import Context
from evergold.model.nesting import Values


class Conversation(BaseModel, frozen=True, extra="forbid"):
    """Everything a trace says about one exchange with a model.

    `messages` ends with the last user message; `turn` is what the assistant did after it: calls, results, texts, the
    answer last; `after` is what follows the turn where the messages go on (a closing thanks that nobody answered).
    `parameters` has the model and what it was called with, prompt name and version. `problems` names what keeps the
    conversation from being replayed (a text that was cut, a lost result).
    """

    messages: tuple[Values, ...] = ()
    turn: tuple[Values, ...] = ()
    after: tuple[Values, ...] = ()
    tools: tuple[Values, ...] = ()
    contexts: tuple[Context, ...] = ()
    parameters: Values = Field(default_factory=dict)
    problems: tuple[str, ...] = ()


def plain_messages(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages as other programs read them: without `extra`, which is ours."""
    return [{key: value for key, value in message.items() if key != "extra"} for message in messages]
