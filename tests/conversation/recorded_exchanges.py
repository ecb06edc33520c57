"""Recorded exchanges of real packages, read as conversations and compared message by message.

A message agrees when role, text and tool calls with their arguments are those of the exchange, in its order; messages that are
read and were not said count against it. How the exchanges were recorded: recorded/README.md.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from evergold.conversation import conversation_of, text_of
from evergold.conversation.message import decode_json
from evergold.settings import Settings
from evergold.store.trace.filter import TraceFilter
from evergold.workspace import Workspace

RECORDED = Path(__file__).parent / "recorded"
Plain = tuple[str, str, list[Any]]
SAID: list[Plain] = [
    ("system", "You report the weather.", []),
    ("user", "What is the weather in Lima?", []),
    ("assistant", "", [["get_weather", {"city": "Lima"}]]),
    ("tool", "21 degrees", []),
    ("assistant", "It is 21 degrees in Lima.", []),
]


class Agreement(NamedTuple):
    agreeing: int
    of: int


def exchanges() -> list[Path]:
    """The recorded exchanges, a file of spans each."""
    return sorted(path for path in RECORDED.glob("*.json") if not path.name.endswith(".said.json"))


def said_in(path: Path) -> list[Plain]:
    """The messages of an exchange: the same five, or those in the file beside it where a framework frames them."""
    own = path.with_suffix(".said.json")
    if not own.exists():
        return SAID
    return [(role, text, calls) for role, text, calls in json.loads(own.read_text(encoding="utf-8"))]


def read_from(path: Path) -> list[Plain]:
    """The longest conversation that is read from the spans of a file."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), checks_builtin="false")
        with Workspace.open(settings) as workspace:
            workspace.intake.ingest([path], source="otlp")
            listed, _ = workspace.intake.page(TraceFilter(), limit=10)
            read = [conversation_of(workspace.intake.get(trace.id)) for trace in listed]
    whole = max(([*one.messages, *one.turn, *one.after] for one in read), key=len, default=[])
    return [_plain(message) for message in whole]


def _plain(message: dict[str, Any]) -> Plain:
    made = [call["function"] for call in message.get("tool_calls", ())]
    calls = [[call["name"], decode_json(call["arguments"])] for call in made]
    return message["role"], text_of(message), calls


def agreement(said: Sequence[Plain], read: Sequence[Plain]) -> Agreement:
    """How many messages are the same in both, in order, of how many that stand in the longer one."""
    best = [0] * (len(read) + 1)
    for one in said:
        row = [0]
        for number, other in enumerate(read):
            row.append(best[number] + 1 if one == other else max(best[number + 1], row[number]))
        best = row
    return Agreement(best[-1], max(len(said), len(read)))
