"""Message-level agreement with what real packages export: each says the same five messages, in its own words."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.conversation import conversation_of, text_of
from evergold.conversation.nested_json import decoded
from evergold.settings import Settings
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace

FILES = sorted((Path(__file__).parent / "recorded").glob("*.json"))
SAID: list[tuple[str, str, list[Any]]] = [
    ("system", "You report the weather.", []),
    ("user", "What is the weather in Lima?", []),
    ("assistant", "", [("get_weather", {"city": "Lima"})]),
    ("tool", "21 degrees", []),
    ("assistant", "It is 21 degrees in Lima.", []),
]


def plain(message: dict[str, Any]) -> tuple[str, str, list[Any]]:
    made = [call["function"] for call in message.get("tool_calls", ())]
    return message["role"], text_of(message), [(call["name"], decoded(call["arguments"])) for call in made]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_message_is_in_the_conversation(path: Path, tmp_path: Path) -> None:
    with Workspace.open(Settings(home=tmp_path, checks_builtin="false")) as workspace:
        assert not workspace.intake.ingest([path], source="otlp").problems
        listed, _ = workspace.intake.page(TraceFilter(), limit=10)
        read = [conversation_of(workspace.intake.get(trace.id)) for trace in listed]
    whole = max(([*one.messages, *one.turn, *one.after] for one in read), key=len)
    assert [plain(message) for message in whole] == SAID


def test_the_files_hold_nothing_but_the_exchange() -> None:
    assert len(FILES) >= 10
    for path in FILES:
        spans = json.loads(path.read_text(encoding="utf-8"))["resourceSpans"][0]["scopeSpans"][0]["spans"]
        assert spans and "127.0.0.1" not in path.read_text(encoding="utf-8")
