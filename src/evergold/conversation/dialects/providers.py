"""Dialects of providers: how the API of each spells messages, parts, calls and results."""

from typing import Any

from evergold.conversation.message import (
    Piece,
    as_text,
    call_of,
    call_piece,
    data_url,
    image_piece,
    result_piece,
    text_piece,
)


class OpenAIChat:
    """OpenAI's chat completions, and everything that speaks them: Ollama, Groq, Mistral, LiteLLM, vLLM, DeepSeek."""

    TEXTS = frozenset({"text", "input_text", "output_text", "summary_text", "refusal"})

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        """`text`, `image_url`, `input_audio`, `file` and the Responses API's names for the same."""
        kind = str(part.get("type"))
        if kind in OpenAIChat.TEXTS:
            text = next((part[key] for key in ("text", "content", "refusal") if isinstance(part.get(key), str)), None)
            if isinstance(inner := part.get("text"), dict) and isinstance(inner.get("value"), str):
                text = inner["value"]  # the Assistants API
            return None if text is None else [text_piece(text)]
        if kind in ("image_url", "input_image"):
            picture = part.get("image_url", part.get("url"))
            if isinstance(picture, str):
                return [image_piece(picture)]
            return [Piece("content", part)] if isinstance(picture, dict) else None
        return [Piece("content", part)] if kind in ("input_audio", "file", "input_file", "audio") else None

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        """A choice of a reply, or a reply of Ollama: the message with the reason why it ended. Pictures of Ollama."""
        if isinstance(item.get("images"), list) and "role" in item:
            pictures = [image_piece(data_url("image/png", picture)).value for picture in item["images"]]
            rest = {key: value for key, value in item.items() if key != "images"}
            return [rest | {"content": [{"type": "text", "text": item.get("content") or ""}, *pictures]}]
        message = item.get("message", item.get("delta"))
        if isinstance(message, dict) and (
            "finish_reason" in item or "done" in item or "index" in item or "choice" in item
        ):
            ended = {"finish_reason": item["finish_reason"]} if item.get("finish_reason") else {}
            return [{"role": "assistant", **message, **ended}]
        if isinstance(item.get("text"), str) and "finish_reason" in item and "role" not in item:
            return [{"role": "assistant", "content": item["text"], "finish_reason": item["finish_reason"]}]
        return None


class OpenAIResponses:
    """OpenAI's Responses API and Agents SDK: a list of items, in which calls and their outputs stand beside messages."""

    CALLS = frozenset({"function_call", "custom_tool_call", "mcp_call", "computer_call", "local_shell_call"})
    RESULTS = frozenset(
        {"function_call_output", "custom_tool_call_output", "computer_call_output", "local_shell_call_output"}
    )
    HOSTED = frozenset({"web_search_call", "file_search_call", "code_interpreter_call", "image_generation_call"})
    ITEMS = CALLS | RESULTS | HOSTED | {"reasoning", "message", "item_reference", "mcp_list_tools"}

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        """An item that is no message. What a hosted tool did is a call with its result."""
        kind = str(part.get("type"))
        ident = part.get("call_id") or part.get("id")
        if kind in OpenAIResponses.CALLS:
            arguments = next((part[key] for key in ("arguments", "input", "action") if part.get(key) is not None), None)
            pieces = [call_piece(part.get("name") or kind.removesuffix("_call"), arguments, ident)]
            if kind == "mcp_call" and part.get("output") is not None:
                pieces.append(result_piece(part["output"], ident, part.get("name"), failed=bool(part.get("error"))))
            return pieces
        if kind in OpenAIResponses.RESULTS:
            return [result_piece(part.get("output"), ident, part.get("name"))]
        if kind in OpenAIResponses.HOSTED:
            name = kind.removesuffix("_call")
            keys = ("type", "id", "status", "results", "result", "outputs")
            arguments = part.get("action") or {key: value for key, value in part.items() if key not in keys}
            result = next((part[key] for key in ("results", "result", "outputs") if part.get(key) is not None), None)
            return [call_piece(name, arguments, ident), result_piece(result, ident, name)]
        if kind == "reasoning" and ("summary" in part or "encrypted_content" in part):
            summary = part.get("summary") or part.get("content") or []
            texts = [item.get("text") if isinstance(item, dict) else item for item in summary]
            return [Piece("reasoning", "\n\n".join(as_text(text) for text in texts if text))]
        return None

    @staticmethod
    def is_item_list(items: list[Any]) -> bool:
        """Whether a list holds items that are no messages, which have to be put together to messages."""
        kinds = [item.get("type") for item in items if isinstance(item, dict) and "role" not in item]
        return any(isinstance(kind, str) and kind in OpenAIResponses.ITEMS and kind != "message" for kind in kinds)


class Anthropic:
    """Anthropic's messages: content blocks, in which a user's message brings the results of tools."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        kind = part.get("type")
        if not isinstance(kind, str):
            return None
        if kind in ("tool_use", "server_tool_use", "mcp_tool_use"):
            return [call_piece(part.get("name"), part.get("input"), part.get("id"))]
        # `web_search_tool_result` and other server tools end the same way.
        if kind.endswith("tool_result") and ("tool_use_id" in part or "content" in part):
            return [result_piece(part.get("content"), part.get("tool_use_id"), failed=bool(part.get("is_error")))]
        if kind == "thinking":
            return [Piece("reasoning", part.get("thinking") or part.get("content") or part.get("text"))]
        if kind == "redacted_thinking":
            return [Piece("reasoning", "[redacted]")]
        if kind == "image" and isinstance(source := part.get("source"), dict):
            data = source.get("url") or source.get("data")
            return [image_piece(data_url(source.get("media_type"), data))] if data else [Piece("content", part)]
        return [Piece("content", part)] if kind == "document" and "source" in part else None


class Google:
    """Google: Vertex AI, Gemini and ADK. Parts have no type; the key they hold names it, in either spelling."""

    KEYS = frozenset(
        (
            *("text", "thought", "thought_signature", "thoughtSignature", "video_metadata", "media_resolution"),
            *(
                "code_execution_result",
                "executable_code",
                "file_data",
                "function_call",
                "function_response",
                "inline_data",
            ),
            *("meta", "cache_control", "cachePoint", "metadata"),
        )
    )

    @staticmethod
    def either_case(fields: dict[str, Any], name: str) -> Any:
        """The value under `like_this` or `likeThis`."""
        head, *rest = name.split("_")
        return fields.get(name, fields.get(head + "".join(word.title() for word in rest)))

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        if "type" in part:
            return None
        call, response = Google.either_case(part, "function_call"), Google.either_case(part, "function_response")
        if isinstance(call, dict):
            return [call_piece(call.get("name"), call.get("args", call.get("arguments")), call.get("id"))]
        if isinstance(response, dict):
            return [result_piece(response.get("response"), response.get("id"), response.get("name"))]
        data, file = Google.either_case(part, "inline_data"), Google.either_case(part, "file_data")
        if isinstance(data, dict):
            return [Google._media(Google.either_case(data, "mime_type"), data.get("data"))]
        if isinstance(file, dict):
            return [Google._media(Google.either_case(file, "mime_type"), Google.either_case(file, "file_uri"))]
        code, outcome = Google.either_case(part, "executable_code"), Google.either_case(part, "code_execution_result")
        if isinstance(code, dict):
            return [call_piece("code_execution", code)]
        if isinstance(outcome, dict):
            return [result_piece(outcome.get("output"), name="code_execution")]
        # `{"text": …}` is also how others write a part with keys of their own; only Google's keys beside it make it
        # Google's.
        if isinstance(text := part.get("text"), str) and part.keys() <= Google.KEYS:
            return [Piece("reasoning", text) if part.get("thought") is True else text_piece(text)]
        return None

    @staticmethod
    def _media(kind: Any, data: Any) -> Piece:
        if isinstance(data, str) and str(kind or "").startswith("image"):
            return image_piece(data if "://" in data[:16] else data_url(str(kind), data))
        return Piece("content", {"type": "file", "file": {"mime_type": kind, "data": data}})

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        """A candidate of a reply, an event of ADK, or a `Content` without a role, which is the user's."""
        content = item.get("content")
        if "role" not in item and isinstance(content, dict) and isinstance(content.get("parts"), list):
            author = str(item.get("author") or "")
            role = content.get("role") or ("user" if author == "user" else "model")
            ended = Google.either_case(item, "finish_reason")
            more = {"finish_reason": ended} if ended else {}
            return [
                {"role": role, "parts": content["parts"], **more}
                | ({"name": author} if author not in ("", "user") else {})
            ]
        return None


class Bedrock:
    """Amazon Bedrock's Converse, and Strands: content blocks without a type; the key they hold names it."""

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        # Parts with a type are of other dialects; Converse never writes one.
        if "type" in part:
            return None
        if isinstance(call := part.get("toolUse"), dict):
            return [call_piece(call.get("name"), call.get("input"), call.get("toolUseId"))]
        if isinstance(result := part.get("toolResult"), dict):
            failed = result.get("status") == "error"
            return [result_piece(Bedrock._result(result.get("content")), result.get("toolUseId"), failed=failed)]
        if isinstance(reasoning := part.get("reasoningContent"), dict):
            text = reasoning.get("reasoningText")
            return [Piece("reasoning", text.get("text") if isinstance(text, dict) else text or "[redacted]")]
        if isinstance(image := part.get("image"), dict) and isinstance(source := image.get("source"), dict):
            location = source.get("s3Location")
            data = location.get("uri") if isinstance(location, dict) else source.get("bytes")
            url = data if isinstance(location, dict) else data_url(f"image/{image.get('format', 'png')}", data)
            return [image_piece(str(url))]
        if "document" in part or "video" in part or "guardContent" in part:
            return [Piece("content", part)]
        return [] if "cachePoint" in part else None

    @staticmethod
    def _result(content: Any) -> Any:
        """Blocks of a result: a lone text or JSON block is what it holds."""
        if isinstance(content, list) and all(isinstance(block, dict) for block in content):
            parts = [block.get("json", block.get("text", block)) for block in content]
            if len(parts) == 1:
                return parts[0]
            if all(isinstance(item, str) for item in parts):
                return [{"type": "text", "text": item} for item in parts]
            return parts
        return content


class Cohere:
    """Cohere: `message` instead of `content` in the first version of its API, results beside the calls they answer."""

    SPEAKERS = frozenset({"USER", "CHATBOT", "SYSTEM", "TOOL"})

    @staticmethod
    def read_part(part: dict[str, Any]) -> list[Piece] | None:
        """A document that a tool's message brings."""
        if part.get("type") == "document" and isinstance(part.get("document"), dict):
            data = part["document"].get("data", part["document"])
            return (
                [Piece("content", {"type": "text", "text": data})]
                if isinstance(data, str)
                else [Piece("content", part)]
            )
        if part.keys() == {"call", "outputs"} and (call := call_of(part["call"])) is not None:
            return [result_piece(part["outputs"], call["id"], call["function"]["name"])]
        return None

    @staticmethod
    def read_message(item: dict[str, Any]) -> list[dict[str, Any]] | None:
        if str(item.get("role")) in Cohere.SPEAKERS and ("message" in item or "tool_results" in item):
            results = item.get("tool_results") or []
            content = results if results else item.get("message")
            rest = {key: value for key, value in item.items() if key not in ("message", "tool_results")}
            return [rest | {"content": content}]
        # The second API says its reasoning before calls in a field of its own, where others have the content.
        if (
            isinstance(plan := item.get("tool_plan"), str)
            and item.get("role") == "assistant"
            and not item.get("content")
        ):
            return [{key: value for key, value in item.items() if key != "tool_plan"} | {"content": plan}]
        return None
