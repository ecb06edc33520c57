"""Our exports, run by the packages they are made for: the reference passes, another answer fails.

Each peer runs offline: Inspect with its mock model, DeepEval and promptfoo with their deterministic metrics. How they are
installed, and when these tests are skipped: `test_real_packages.py`.
"""

import json
import os
import platform
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from evergold import plugins
from evergold.model.case import Case
from evergold.model.tool_calls import ToolCall
from tests.formats.openai_rules import problems_of
from tests.formats.test_real_packages import CASES, HOME, PEERS, REQUIRED, TOOL, _npm, exported, peers, seen_by

__all__ = ["peers"]
pytestmark = pytest.mark.release

ROUTE = {
    "type": "function",
    "function": {
        "name": "route",
        "description": "Finds a route.",
        "parameters": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]},
    },
}
CALL = {"id": "c1", "type": "function", "function": {"name": "route", "arguments": '{"to":"Cusco"}'}}
ANSWERED = Case(
    id="tool-1",
    dataset="d",
    input="How do I get to {{ Cusco }}?",
    output="Take bus {{ 12 }}.",
    messages=(
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "How do I get to {{ Cusco }}?"},
    ),
    turn=(
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "bus 12"},
        {"role": "assistant", "content": "Take bus {{ 12 }}."},
    ),
    tools=(ROUTE,),
    tool_calls=(ToolCall(name="route", args={"to": "Cusco"}, id="c1", result="bus 12"),),
)
ONLY_CALLS = ANSWERED.model_copy(
    update={"id": "calls-1", "input": "Route!", "messages": (), "output": None, "turn": ANSWERED.turn[:1]}
)
WITH_TOOLS = [*CASES[:3], ANSWERED]


def test_inspect_scores_the_reference_right_and_gets_the_tools(peers: Path, tmp_path: Path) -> None:
    seen = seen_by(peers, "inspect", exported("inspect", tmp_path, WITH_TOOLS), verb="run")
    assert {id: sample["score"] for id, sample in seen["right"].items()} == {case.id: "C" for case in WITH_TOOLS}
    assert {id: sample["score"] for id, sample in seen["wrong"].items()} == {case.id: "I" for case in WITH_TOOLS}
    assert seen["right"]["tool-1"]["offered"] == ["route"]
    assert seen["right"]["tool-1"]["results"] == ["bus 12"]


def test_deepeval_scores_texts_calls_and_conversations(peers: Path, tmp_path: Path) -> None:
    seen = seen_by(peers, "deepeval", exported("deepeval", tmp_path, WITH_TOOLS), verb="run")
    passes = {"right": 1.0, "wrong": 0.0}
    assert seen["texts"] == [passes] * 4
    assert seen["tools"] == [{}, {}, passes, passes]
    assert seen["conversations"] == [passes] * 2
    last = [(turn["role"], turn["content"], turn["tools_called"]) for turn in seen["turns"][1]][-2:]
    called = {"name": "route", "input_parameters": {"to": "Cusco"}, "output": "bus 12"}
    assert [(role, content) for role, content, _ in last] == [("assistant", ""), ("assistant", "Take bus {{ 12 }}.")]
    assert last[0][2][0].items() >= called.items()


def test_the_conversational_file_of_deepeval_gives_the_same_cases_back(tmp_path: Path) -> None:
    exported("deepeval", tmp_path, WITH_TOOLS)
    read = plugins.load("formats", "deepeval").read
    assert list(read(tmp_path / "cases.turns.deepeval.json")) == [CASES[1], ANSWERED]
    assert list(read(tmp_path / "cases.deepeval.json")) == WITH_TOOLS
    exported("deepeval", tmp_path, CASES[:1])
    assert not (tmp_path / "cases.turns.deepeval.json").exists()  # none of an earlier export stays


def test_openai_would_take_every_line(tmp_path: Path) -> None:
    lines = exported("openai-ft", tmp_path, [*WITH_TOOLS, ONLY_CALLS]).read_bytes().decode().split("\n")[:-1]
    assert len(lines) == 5
    assert [problems_of(line) for line in lines] == [[]] * 5


@pytest.fixture(scope="session")
def whole_promptfoo() -> list[str]:
    """The command that runs promptfoo: its whole package, and a Node.js that is new enough for it."""
    home, given = HOME.with_name("peers-promptfoo-whole"), PEERS / "promptfoo"
    config = json.loads((given / "package.json").read_bytes())["config"]
    ready = home / f"ready-{config['promptfoo']}-{config['node']}"
    if not ready.exists():
        if not REQUIRED:
            pytest.skip("promptfoo's whole package is not installed; `make peers` installs it")
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        machine = {"x86_64": "x64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
        runtime = f"node-{platform.system().lower()}-{machine}@{config['node']}"
        _npm(home, "install", f"promptfoo@{config['promptfoo']}", runtime, "--ignore-scripts", "--no-audit")
        ready.touch()
    (node,) = (home / "node_modules").glob("node-*/bin/node")
    return [str(node), str(home / "node_modules/promptfoo/dist/src/entrypoint.js")]


def _evaluated(command: list[str], tests: Path, folder: Path, answer: str) -> list[dict[str, Any]]:
    """Run promptfoo on exported tests, with the provider of `tests/peers/promptfoo`."""
    prompt, out = folder / "prompt.txt", folder / f"{answer}.json"
    prompt.write_text("{{ messages or input }}")
    provider = f"file://{PEERS / 'promptfoo' / 'provider.cjs'}"
    quiet = {"PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": str(folder)}
    options = ["--no-cache", "--no-write", "--no-table", "--no-progress-bar", "-o", str(out)]
    done = subprocess.run(
        [*command, "eval", "-c", str(tests), "-p", f"file://{prompt}", "-r", provider, *options],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=os.environ | quiet | {"EVERGOLD_ANSWER": answer},
    )
    assert out.exists(), done.stdout[-2000:] + done.stderr[-2000:]
    results = json.loads(out.read_bytes())["results"]["results"]
    return sorted(results, key=lambda result: int(result["testIdx"]))


def test_promptfoo_passes_the_reference_and_fails_another_answer(whole_promptfoo: list[str], tmp_path: Path) -> None:
    tests = exported("promptfoo", tmp_path, [*WITH_TOOLS, ONLY_CALLS])
    right = _evaluated(whole_promptfoo, tests, tmp_path, "right")
    assert [result["success"] for result in right] == [True] * 5, [result.get("error") for result in right]
    wrong = _evaluated(whole_promptfoo, tests, tmp_path, "wrong")
    assert [result["success"] for result in wrong] == [False] * 5
    asked = [result["response"]["metadata"] for result in right]
    assert json.loads(asked[3]["prompt"]) == list(ANSWERED.messages)
    assert [seen["tools"] for seen in asked] == [[], [], [TOOL], [ROUTE], [ROUTE]]
