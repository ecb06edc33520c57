"""Our exports, read by the packages they are made for: what their users see is what the cases say.

The packages live in an environment of their own (`tests/peers`), installed from its lock file on first use. `make peers`
runs these tests and fails where a package cannot be installed; without it, they are skipped with that reason.
"""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from evergold import plugins
from evergold.model.case import Answer, Case, CaseKind, Context, EntryType, Provenance
from evergold.model.faults import Rejected
from evergold.model.tool_calls import ExpectedTool, ToolCall
from tests.uv import the_uv

pytestmark = pytest.mark.release
PEERS = Path(__file__).parents[1] / "peers"
HOME = PEERS.parents[1] / ".venv" / "peers"
REQUIRED = os.environ.get("EVERGOLD_PEERS") == "required"
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_DISABLE_DOTENV": "1",
    "RAGAS_DO_NOT_TRACK": "true",
    "HF_HUB_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "DO_NOT_TRACK": "1",
}
"""No telemetry, no download: what the packages are asked here needs neither."""
TOOL = {
    "type": "function",
    "function": {"name": "route", "description": "…", "parameters": {"type": "object", "properties": {}}},
}
TALK = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "When is the fair?"},
    {"role": "assistant", "content": "Which one?"},
    {"role": "user", "content": "The one in Málaga"},
)
CASES = [
    Case(
        id="qa-1",
        dataset="d",
        kind=CaseKind.QA,
        input='Wann war es? 東京 \u2028 \\ "quoted"',
        expected="2026-01-02",
        output="2026-01-02T00:00:00Z",
        contexts=(Context(text="Am 2026-01-02.", source="a.txt"), Context(text="1e5", source="b.txt")),
        tags=("dates", "ñ"),
        metadata={"split": "train", "day": "2025-11-04", "version": "1.10"},
        provenance=Provenance(source="otlp", trace_id="t1"),
    ),
    Case(
        id="talk-1",
        dataset="d",
        entry_type=EntryType.CORRECTION,
        input="The one in Málaga",
        messages=TALK,
        output="In May.",
        expected="In August.",
        revised=Answer(text="In August."),
    ),
    Case(
        id="task-1",
        dataset="d",
        kind=CaseKind.TASK,
        name="Route",
        input="Route from Lima to Cusco",
        expected="By bus",
        tools=(TOOL,),
        tool_calls=(ToolCall(name="route", args={"to": "Cusco"}),),
        expected_tools=(ExpectedTool(name="route", args={"from": "Lima", "to": "Cusco"}),),
    ),
    Case(id="2026-01-03", dataset="d", name="Route", entry_type=EntryType.FAILURE, input="null", output="1e400"),
]
REFERRED = CASES[:3]
BY_ID = {case.id: case for case in CASES}


@pytest.fixture(scope="session")
def peers() -> Path:
    """The interpreter of the environment that has the packages, made from its lock file."""
    with (PEERS / "pyproject.toml").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of several test processes installs
        command = [the_uv(), "sync", "--quiet", "--locked", "--project", str(PEERS)]
        environment = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(HOME)}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        _not_installed(f"the packages of {PEERS}/uv.lock", done.stderr)
    return HOME / "bin" / "python"


def _not_installed(what: str, said: str) -> None:
    reason = f"{what} could not be installed (is a package registry reachable?): {' '.join(said.split())[-500:]}"
    pytest.fail(reason) if REQUIRED else pytest.skip(reason)


def exported(name: str, folder: Path, cases: list[Case] = CASES) -> Path:
    chosen = plugins.load("formats", name)
    path = folder / f"cases{chosen.suffix or '-folder'}"
    unfit: list[Rejected] = []
    written = chosen.write(iter(cases), path, rejected=unfit)
    assert written + len(unfit) == len(cases) and all("no reference" in item.reason for item in unfit), unfit
    return path


def seen_by(peers: Path, loader: str, path: Path, verb: str = "load") -> Any:
    """What the package shows of an exported file, or what it scores when it runs."""
    folder = path.parent / "home"
    folder.mkdir()
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    }
    done = subprocess.run(
        [peers, "-W", "ignore", PEERS / f"{verb}_{loader}.py", path, folder],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env=environment | QUIET | {"HOME": str(folder)},
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_datasets_loads_the_folder_split_by_split(peers: Path, tmp_path: Path) -> None:
    splits = seen_by(peers, "hf", exported("hf", tmp_path))
    assert {name: [row["id"] for row in rows] for name, rows in splits.items()} == {
        "train": ["qa-1"],
        "test": ["talk-1", "task-1", "2026-01-03"],
    }
    for row in (row for rows in splits.values() for row in rows):
        case = BY_ID[row["id"]]
        assert (row["input"], row["expected"], row["output"]) == (case.input, case.expected, case.output)
        assert (row["kind"], row["entry_type"], row["tags"]) == (case.kind, case.entry_type, list(case.tags))
        assert row["contexts"] == [context.text for context in case.contexts]
        assert json.loads(row["evergold"]).get("metadata", {}) == case.metadata


def test_datasets_loads_instances_and_its_parquet_comes_back(peers: Path, tmp_path: Path) -> None:
    patch = "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -3 +3 @@\n-x\n+y\n"
    given = {"repo": "a/b", "base_commit": "1" * 40, "problem_statement": "y, not x", "patch": patch, "test_patch": ""}
    listed = [{"instance_id": "one", "FAIL_TO_PASS": '["t"]'}, {"instance_id": "two", "hints_text": "none"}]
    source = tmp_path / "instances.jsonl"
    source.write_text("".join(json.dumps(given | more) + "\n" for more in listed))
    chosen = plugins.load("formats", "swe-bench")
    cases = list(chosen.read(source))
    rows = seen_by(peers, "swe", exported("swe-bench", tmp_path, cases))
    assert [(row["instance_id"], json.loads(row["FAIL_TO_PASS"])) for row in rows] == [("one", ["t"]), ("two", [])]
    assert list(chosen.read(tmp_path / "home" / "instances.parquet")) == cases


def test_inspect_gets_ids_conversations_and_targets(peers: Path, tmp_path: Path) -> None:
    samples = {sample["id"]: sample for sample in seen_by(peers, "inspect", exported("inspect", tmp_path))}
    assert samples.keys() == {case.id for case in REFERRED}
    for id, case in ((case.id, case) for case in REFERRED):
        assert samples[id]["target"] == case.expected
        assert {**samples[id]["metadata"], "evergold": None} == {**case.metadata, "evergold": None}
    assert samples["qa-1"]["input"] == BY_ID["qa-1"].input
    assert [(message["role"], message["content"]) for message in samples["talk-1"]["input"]] == [
        (message["role"], message["content"]) for message in TALK
    ]


def test_inspect_gets_calls_results_and_pictures(peers: Path, tmp_path: Path) -> None:
    called = {"id": "1", "type": "function", "function": {"name": "route", "arguments": '{"to": "Cusco"}'}}
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    talk = (
        {"role": "user", "content": [{"type": "text", "text": "Where is this?"}, picture]},
        {"role": "assistant", "content": None, "tool_calls": [called]},
        {"role": "tool", "tool_call_id": "1", "content": "Cusco"},
        {"role": "user", "content": "And how do I get there?"},
    )
    case = Case(id="c", dataset="d", input="And how do I get there?", messages=talk, expected="By bus")
    (sample,) = seen_by(peers, "inspect", exported("inspect", tmp_path, [case]))
    asked, call, result, last = sample["input"]
    assert [(part["type"], part.get("image")) for part in asked["content"]] == [
        ("text", None),
        ("image", "data:image/png;base64,AA=="),
    ]
    assert [(one["id"], one["function"], one["arguments"]) for one in call["tool_calls"]] == [
        ("1", "route", {"to": "Cusco"})
    ]
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "1", "Cusco")
    assert (last["role"], last["content"]) == ("user", "And how do I get there?")
    assert list(plugins.load("formats", "inspect").read(tmp_path / "cases.inspect.jsonl")) == [case]


def test_deepeval_gets_answers_contexts_and_tool_calls(peers: Path, tmp_path: Path) -> None:
    goldens = seen_by(peers, "deepeval", exported("deepeval", tmp_path))
    for golden, case in zip(goldens, CASES, strict=True):
        assert (golden["input"], golden["expected_output"], golden["actual_output"], golden["name"]) == (
            case.input,
            case.expected,
            case.output,
            case.name,
        )
        assert (golden["retrieval_context"] or []) == [context.text for context in case.contexts]
        for name, calls in (("tools_called", case.tool_calls), ("expected_tools", case.expected_tools)):
            assert [(call["name"], call["input_parameters"]) for call in golden[name] or []] == [
                (call.name, call.args) for call in calls or ()
            ]
        assert {**golden["additional_metadata"], "evergold": None} == {**case.metadata, "evergold": None}


def test_ragas_gets_answers_references_and_contexts(peers: Path, tmp_path: Path) -> None:
    samples = seen_by(peers, "ragas", exported("ragas", tmp_path))
    for sample, case in zip(samples, CASES, strict=True):
        assert (sample["user_input"], sample["reference"], sample["response"]) == (
            case.input,
            case.expected,
            case.output,
        )
        assert sample["retrieved_contexts"] == [context.text for context in case.contexts]


def test_pydantic_evals_gets_one_named_case_each(peers: Path, tmp_path: Path) -> None:
    cases = {case["name"]: case for case in seen_by(peers, "pydantic_evals", exported("pydantic-evals", tmp_path))}
    assert cases.keys() == BY_ID.keys()
    for id, case in BY_ID.items():
        assert (cases[id]["inputs"], cases[id]["expected_output"]) == (case.input, case.expected)
        assert {**cases[id]["metadata"], "evergold": None} == {**case.metadata, "evergold": None}


def test_openai_accepts_every_conversation_and_tool(peers: Path, tmp_path: Path) -> None:
    answered = REFERRED
    lines = seen_by(peers, "openai", exported("openai-ft", tmp_path, CASES))
    assert [line["messages"][-1]["content"] for line in lines] == ["2026-01-02", "In August.", None]
    (call,) = lines[2]["messages"][-1]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"from": "Lima", "to": "Cusco"}
    assert [line["messages"][:-1] for line in lines] == [_asked(case) for case in answered]
    assert [line["tools"] for line in lines] == [list(case.tools) for case in answered]


def test_openai_accepts_preferences(peers: Path, tmp_path: Path) -> None:
    failed = BY_ID["qa-1"].model_copy(update={"entry_type": EntryType.FAILURE})
    corrected = [BY_ID["talk-1"], failed]
    for line, case in zip(seen_by(peers, "openai", exported("dpo", tmp_path, corrected)), corrected, strict=True):
        assert line["messages"] == _asked(case)
        assert line["preferred_output"] == [{"role": "assistant", "content": case.expected}]
        assert line["non_preferred_output"] == [{"role": "assistant", "content": case.output}]


def test_openai_accepts_evals(peers: Path, tmp_path: Path) -> None:
    lines = seen_by(peers, "openai", exported("openai-evals", tmp_path))
    assert [(line["messages"], line["ideal"]) for line in lines] == [(_asked(case), case.expected) for case in REFERRED]


def _asked(case: Case) -> list[Mapping[str, Any]]:
    return list(case.messages) or [{"role": "user", "content": case.input}]


@pytest.fixture(scope="session")
def promptfoo() -> Path:
    """A folder with promptfoo's package and what its schema needs to run; its other dependencies are left out."""
    home, given = HOME.with_name("peers-promptfoo"), PEERS / "promptfoo"
    version = json.loads((given / "package.json").read_bytes())["config"]["promptfoo"]
    with (given / "package.json").open("rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ready = home / f"ready-{version}"
        if not ready.exists():
            home.mkdir(parents=True, exist_ok=True)
            for name in ("package.json", "package-lock.json"):
                shutil.copy(given / name, home)
            _npm(home, "ci", "--no-audit", "--no-fund", "--ignore-scripts")
            _npm(home, "pack", f"promptfoo@{version}")
            archive, target = home / f"promptfoo-{version}.tgz", home / "node_modules" / "promptfoo"
            target.mkdir()
            subprocess.run(["tar", "-xzf", archive, "-C", target, "--strip-components", "1"], check=True)
            ready.touch()
    return home


def _npm(home: Path, *arguments: str) -> None:
    done = subprocess.run(
        ["npm", *arguments, "--loglevel=error"], cwd=home, capture_output=True, text=True, check=False
    )
    if done.returncode:
        _not_installed(f"the packages of {PEERS}/promptfoo", f"npm {arguments[0]}: {done.stderr}")


def test_promptfoo_accepts_the_tests(promptfoo: Path, tmp_path: Path) -> None:
    path = exported("promptfoo", tmp_path)
    loader = PEERS / "promptfoo" / "load.cjs"
    done = subprocess.run(["node", loader, path, promptfoo], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for test, case in zip(json.loads(done.stdout), REFERRED, strict=True):
        assert test["vars"]["input"] == case.input
        assert test["assert"] == [{"type": "icontains", "value": case.expected}]
        assert test.get("options", {}).get("tools", []) == list(case.tools)
        assert json.loads(test["vars"].get("messages", "[]")) == list(case.messages)
        assert test.get("description") == case.name
        assert test["vars"].get("context", "") == "\n\n".join(str(context.text) for context in case.contexts)
        assert {**test["metadata"], "evergold": None} == {**case.metadata, "evergold": None}


def test_mlflow_evaluates_and_stores_the_records(peers: Path, tmp_path: Path) -> None:
    seen = seen_by(peers, "mlflow", exported("mlflow", tmp_path))
    for rows in (seen["evaluated"], seen["stored"]):
        for row, case in zip(rows, CASES, strict=True):
            assert row["inputs"] == {"question": case.input}
            assert row["outputs"] == case.output
            assert (row["expectations"] or {}).get("expected_response") == case.expected
    assert [row["source"] for row in seen["stored"]] == [{"dataset": "d", "id": case.id} for case in CASES]
