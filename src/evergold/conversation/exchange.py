"""An exchange: what one span says about one call of a model, or about the conversation that runs through it."""

from dataclasses import dataclass, field
from typing import Any

from evergold.conversation.shape import Message
from evergold.model.trace import Span

Attributes = dict[str, Any]


@dataclass(slots=True)
class Exchange:
    """Messages in canonical shape. `output` may begin with the messages of `input`, as the states of chains do."""

    input: list[Message] = field(default_factory=list)
    output: list[Message] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    parameters: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.input or self.output)


@dataclass(slots=True)
class SpanView:
    """A span as a convention looks at it."""

    span: Span
    attributes: Attributes
    events: list[Attributes]

    @classmethod
    def of(cls, span: Span) -> "SpanView":
        attributes, events = span.metadata.get("attributes"), span.metadata.get("events")
        return cls(
            span,
            attributes if isinstance(attributes, dict) else {},
            [event for event in events if isinstance(event, dict)] if isinstance(events, list) else [],
        )
