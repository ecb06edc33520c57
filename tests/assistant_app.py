"""The assistant of `tests/assistant.py` as an app with tools of its own: its answers are articles that it looks for and reads.

It is instrumented with OpenTelemetry alone; `replay.tool` leaves its tools as they are outside of a replay. As a program it
reads `{"messages": [...]}` from its input and prints its answer, as a `command:` target does.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from opentelemetry import trace

from evergold import replay
from tests.assistant import FOLDER, AssistantTurn, read_turns

REAL_CALLS: list[str] = []
"""The tools that ran for real in this process."""

Message = dict[str, Any]


@cache
def script() -> Sequence[AssistantTurn]:
    return read_turns(FOLDER / "turns.txt")


@replay.tool
def find_article(question: str, turn: int) -> dict[str, Any]:
    """Find the article for a question that is this turn of a conversation."""
    REAL_CALLS.append("find_article")
    return {"article": next(one.id for one in script() if one.message == question and one.id.endswith(f"-{turn}"))}


@replay.tool
def read_article(id: str) -> str:
    """Read the text of an article."""
    REAL_CALLS.append("read_article")
    return next(one.answer for one in script() if one.id == id)


def answer(messages: list[Message]) -> str:
    """Answer the last message: two calls of tools, one after the other."""
    return Conversation(messages).answer()


def hasty_answer(messages: list[Message]) -> str:
    """Answer as a changed app that reads a draft instead of the article."""
    return Conversation(messages, article_of="{}-draft".format).answer()


class Conversation:
    """One turn of the app, with a span for the agent, each request of its model and each tool."""

    def __init__(
        self,
        messages: list[Message],
        session: str = "",
        tracer: trace.Tracer | None = None,
        article_of: Callable[[str], str] = str,
    ) -> None:
        self._questions = [message["content"] for message in messages if message["role"] == "user"]
        self._sent = [_message(message["role"], _text(message["content"])) for message in messages]
        self._session = session
        self._tracer = tracer or trace.get_tracer("assistant")
        self._article_of = article_of

    def answer(self) -> str:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": self._session}
        with self._tracer.start_as_current_span("invoke_agent assistant", attributes=attributes):
            chosen = self._use(find_article, question=self._questions[-1], turn=len(self._questions))
            text: str = self._use(read_article, id=self._article_of(chosen["article"]))
            self._request(_text(text))
            return text

    def _use(self, tool: Callable[..., Any], **args: Any) -> Any:
        """Call a tool as the model asked for it, and send its result with the next request."""
        name, call_id = tool.__name__, f"call-{len(self._sent)}"
        self._request({"type": "tool_call", "id": call_id, "name": name, "arguments": args})
        with self._tracer.start_as_current_span(f"execute_tool {name}") as span:
            result = tool(**args)
            span.set_attributes({"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name})
            span.set_attributes({"gen_ai.tool.call.id": call_id, "gen_ai.tool.call.arguments": json.dumps(args)})
            span.set_attribute("gen_ai.tool.call.result", result if isinstance(result, str) else json.dumps(result))
        self._sent.append(_message("tool", {"type": "tool_call_response", "id": call_id, "response": result}))
        return result

    def _request(self, reply: Message) -> None:
        """Trace a request to the model; the model of this app is its script."""
        attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "small-1"}
        with self._tracer.start_as_current_span("chat small-1", attributes=attributes) as span:
            span.set_attribute("gen_ai.input.messages", json.dumps(self._sent))
            self._sent.append(_message("assistant", reply))
            span.set_attribute("gen_ai.output.messages", json.dumps(self._sent[-1:]))


def _message(role: str, part: Message) -> Message:
    return {"role": role, "parts": [part]}


def _text(text: str) -> Message:
    return {"type": "text", "content": text}


if __name__ == "__main__":
    print(answer(json.load(sys.stdin)["messages"]))
