"""The plan of a run counts what the request of each case holds."""

import json
from typing import Any

from evergold.bench.plan import plan_run
from evergold.model.build import Frozen
from evergold.model.case import Case
from evergold.model.run import Plan, RunSpec
from tests.builders import a_case

TOOLS: Any = [
    {"type": "function", "function": {"name": f"tool_{n}", "description": "Looks something up. " * 5, "parameters": {}}}
    for n in range(15)
]
HISTORY: Any = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Where is my parcel?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "1", "type": "function", "function": {"name": "tool_1", "arguments": "7" * 400}}],
    },
    {"role": "tool", "tool_call_id": "1", "content": "On its way. " * 30},
    {"role": "user", "content": "And when does it come?"},
]


def planned(*cases: Case, trials: int = 1) -> Plan:
    spec = RunSpec(dataset="live", model="openai/m", metrics=("exact_match",), trials=trials)
    return plan_run(spec, Frozen("live", "v1", "sha256:0", cases), [], lambda plugin: plugin)


def test_tools_history_and_calls_are_counted_as_they_are_sent() -> None:
    bare, whole = a_case("a"), a_case("b", tools=TOOLS, messages=HISTORY)
    request = len(json.dumps([TOOLS, HISTORY]))
    # Keys and quotes of messages are not counted, so the estimate stays somewhat below the request.
    assert 0.8 * request < 4 * planned(whole).input_tokens <= request
    assert planned(bare, whole).input_tokens == planned(whole).input_tokens + planned(bare).input_tokens
    assert planned(whole, trials=3).input_tokens >= 3 * planned(whole).input_tokens
