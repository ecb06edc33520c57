"""OpenAI's three shapes, each conversation and tool checked by the published types of the SDK."""

import json
import sys
from pathlib import Path
from typing import Any

from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from pydantic import TypeAdapter

conversation = TypeAdapter(list[ChatCompletionMessageParam])
tools = TypeAdapter(list[ChatCompletionToolParam])


def checked(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    conversation.validate_python(messages)
    return messages


def shown(record: dict[str, Any]) -> dict[str, Any]:
    given = record.get("input", record)
    offered = given.get("tools", []) if isinstance(given, dict) else []
    tools.validate_python(offered)
    asked = given["messages"] if isinstance(given, dict) else given
    answers = {name: checked(record[name]) for name in ("preferred_output", "non_preferred_output") if name in record}
    return {"messages": checked(asked), "tools": offered, "ideal": record.get("ideal"), **answers}


lines = Path(sys.argv[1]).read_text(encoding="utf-8").split("\n")
json.dump([shown(json.loads(line)) for line in lines if line], sys.stdout)
