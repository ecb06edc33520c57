"""Scripted servers that speak Anthropic's Messages and Google's generateContent, for the real clients of both."""

from typing import Any

from starlette.routing import Route

from tests.openai_server import Body, Reply, ScriptedServer


class AnthropicServer(ScriptedServer):
    """`POST /v1/messages`."""

    @property
    def url(self) -> str:
        return super().url.removesuffix("/v1")

    def _routes(self) -> list[Route]:
        return [Route("/v1/messages", self._complete, methods=["POST"])]

    def _completion(self, body: Body, reply: Reply) -> Body:
        reasons = {"stop": "tool_use" if reply.tool_calls else "end_turn", "length": "max_tokens"}
        content: list[Body] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [
            {"type": "tool_use", "id": f"toolu_{i}", "name": name, "input": arguments}
            for i, (name, arguments) in enumerate(reply.tool_calls)
        ]
        sent, made = reply.usage or (0, 0)
        return {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body["model"],
            "content": content,
            "stop_reason": reasons.get(reply.finish_reason, reply.finish_reason),
            "stop_sequence": None,
            "usage": {"input_tokens": sent, "output_tokens": made},
        }


class GoogleServer(ScriptedServer):
    """`POST /v1/models/MODEL:generateContent`, or with another version of the API."""

    @property
    def url(self) -> str:
        return super().url.removesuffix("/v1")

    def _routes(self) -> list[Route]:
        return [Route("/{version}/models/{call}", self._complete, methods=["POST"])]

    def _completion(self, body: Body, reply: Reply) -> Body:
        parts: list[Body] = [{"text": reply.text}] if reply.text else []
        parts += [{"functionCall": {"name": name, "args": arguments}} for name, arguments in reply.tool_calls]
        sent, made = reply.usage or (0, 0)
        counted = {"promptTokenCount": sent, "candidatesTokenCount": made, "totalTokenCount": sent + made}
        reasons = {"stop": "STOP", "length": "MAX_TOKENS", "content_filter": "SAFETY"}
        finish = reasons.get(reply.finish_reason, reply.finish_reason)
        candidate = {"content": {"role": "model", "parts": parts}, "finishReason": finish, "index": 0}
        return {"candidates": [candidate], "usageMetadata": counted, "modelVersion": "scripted", "responseId": "r1"}


def texts_of(body: Body) -> str:
    """All text a request of either protocol holds, for a test to look into."""

    def walk(value: Any) -> list[str]:
        if isinstance(value, str):
            return [value]
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [text for item in items for text in walk(item)]

    return "\n".join(walk(body))
