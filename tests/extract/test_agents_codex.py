"""Sessions of the Codex CLI and trajectories in ATIF → cases, in the shapes those programs write."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.extract.agents.extraction import AgentExtraction
from evergold.extract.agents.session import Session
from evergold.extract.golden import Extracted
from evergold.extract.proof import prove_rows
from evergold.model.case import Case
from evergold.repo.git import Repo
from evergold.seams import FlowSource
from evergold.sources.agents.atif import AtifSource, read_trajectory
from evergold.sources.agents.claude_code import read_session
from evergold.sources.agents.codex import CodexSource, output_text, read_rollouts
from tests.repos import GitRepo, numbered
from tests.rows import each_row

ENVELOPE = """*** Begin Patch
*** Update File: f.py
@@ line 9
-line 10
+ten
+and more
 line 11
*** Add File: new.py
+hello
*** End Patch
"""


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(40), "g.py": numbered(9)}, "Start of it all")
    return made


class Rollout:
    """A log of Codex, line by line; the clock is the repository's."""

    def __init__(self, repo: GitRepo, path: Path) -> None:
        self.repo, self.path, self.calls = repo, path, 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def line(self, kind: str, **payload: Any) -> None:
        self.repo.minutes += 1
        time = datetime(2026, 1, 2, 3, tzinfo=UTC) + timedelta(seconds=self.repo.minutes)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"timestamp": time.isoformat(), "type": kind, "payload": payload}) + "\n")

    def meta(self, id: str, **more: Any) -> None:
        git = {"commit_hash": "0" * 40, "branch": "main"}
        self.line(
            "session_meta",
            id=id,
            cwd=str(self.repo.path),
            originator="codex_cli_rs",
            cli_version="0.9",
            git=git,
            **more,
        )

    def ran(self, output: Any, type: str = "function_call", **item: Any) -> None:
        self.calls += 1
        call_id = f"{self.path.stem}-{self.calls}"
        self.line("response_item", type=type, call_id=call_id, **item)
        answer = "custom_tool_call_output" if type == "custom_tool_call" else "function_call_output"
        self.line("response_item", type=answer, call_id=call_id, output=output)

    def exec(self, command: str, output: str, code: int = 0, **more: Any) -> None:
        heading = f"Chunk ID: abc\nWall time: 0.1 seconds\nProcess exited with code {code}\nOriginal token count: 9\nOutput:\n"
        self.ran(heading + output, name="exec_command", arguments=json.dumps({"cmd": command, **more}))


def cases_of(source: FlowSource, repo: GitRepo) -> list[Case]:
    with Repo.open(repo.path) as opened:
        extraction = AgentExtraction(opened)
        assert [item for flow in source.flows() for item in extraction.absorb(extraction.read(flow))] == []
        cases = [item.case for item in extraction.cases() if isinstance(item, Extracted)]
        assert not [proof for proof in prove_rows(cases, opened) if proof.stale or proof.not_at_base]
    return cases


def ranges(case: Case) -> list[tuple[str, int, int]]:
    return [(r.path, r.start, r.end) for r in case.ranges if "tool_call_result" in r.sources]


def test_a_rollout_with_its_sub_agent(repo: GitRepo, tmp_path: Path) -> None:
    log = Rollout(repo, tmp_path / "sessions" / "2026" / "01" / "rollout-a.jsonl")
    log.meta("thread-a", session_id="s-1")
    log.line("turn_context", cwd=str(repo.path), approval_policy="never", model="gpt-5")
    context = [{"type": "input_text", "text": "<environment_context>\n<cwd>/x</cwd>\n</environment_context>"}]
    log.line("response_item", type="message", role="user", content=context)
    asked = "Write ten as a word"
    log.line("response_item", type="message", role="user", content=[{"type": "input_text", "text": asked}])
    log.line("event_msg", type="user_message", message=asked)
    log.exec("sed -n '8,12p' f.py", numbered(12)[numbered(7).__len__() :])
    log.exec("cat missing.py", "cat: missing.py: No such file or directory\n", 1)
    log.ran(
        '{"output":"line 1\\nline 2\\n","metadata":{"exit_code":0}}',
        name="shell",
        arguments=json.dumps({"command": ["bash", "-lc", "head -2 g.py"], "workdir": str(repo.path)}),
    )
    log.ran(
        "Success. Updated the following files:\nM f.py", type="custom_tool_call", name="apply_patch", input=ENVELOPE
    )
    repo.write({"f.py": numbered(40).replace("line 10\n", "ten\nand more\n"), "new.py": "hello\n"})
    log.exec("nl -ba f.py | sed -n '20,22p'", "    20\tline 19\n    21\tline 20\n    22\tline 21\n")
    action = {"type": "exec", "command": ["tail", "-n", "2", "g.py"], "working_directory": str(repo.path)}
    log.ran("line 8\nline 9", type="local_shell_call", status="completed", action=action)
    agent = Rollout(repo, tmp_path / "sessions" / "2026" / "01" / "rollout-b.jsonl")
    agent.meta("thread-b", session_id="s-1", parent_thread_id="thread-a")
    agent.line("event_msg", type="user_message", message="You are a helper of another agent")
    agent.exec("rg -n 'line 5' g.py", "5:line 5\n")
    commit = repo.commit(message="Ten is a word")
    log.exec("git add -A && git commit -m 'Ten is a word'", f"[main {commit[:7]}] Ten is a word\n 2 files changed\n")
    (case,) = cases_of(CodexSource(tmp_path / "sessions"), repo)
    assert (case.id, case.input, case.provenance.source) == (commit, "Write ten as a word", "codex")
    assert ranges(case) == [("f.py", 8, 12), ("g.py", 1, 2), ("f.py", 19, 21), ("g.py", 8, 9), ("g.py", 5, 5)]


def test_the_first_versions_wrote_items_bare(repo: GitRepo, tmp_path: Path) -> None:
    lines: list[dict[str, Any]] = [
        {"id": "old", "timestamp": "2026-01-02T03:00:02Z", "instructions": None},
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Change line two, please"}]},
        {"record_type": "state"},
        {"type": "function_call", "name": "shell", "call_id": "c1", "arguments": '{"command":["cat","g.py"]}'},
        {"type": "function_call_output", "call_id": "c1", "output": json.dumps({"output": numbered(9)})},
    ]
    repo.write({"g.py": numbered(9, l2="two")})
    commit = repo.commit(message="Two")
    lines += [
        {
            "type": "function_call",
            "name": "shell",
            "call_id": "c2",
            "arguments": '{"command":["git","commit","-m","Two"]}',
        },
        {"type": "function_call_output", "call_id": "c2", "output": f"[main {commit[:7]}] Two"},
    ]
    path = tmp_path / "sessions" / "old.jsonl"
    path.parent.mkdir()
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (case,) = cases_of(CodexSource(path.parent), repo)
    assert (case.input, ranges(case)) == ("Change line two, please", [("g.py", 1, 9)])


@each_row(
    ("output", "expected"),
    [
        ("plain", ("plain", False)),
        ("Exit code: 2\nWall time: 1 seconds\nOutput:\nbad", ("bad", True)),
        ([{"type": "input_text", "text": "a"}, {"type": "input_image"}], ("a", False)),
        ('{"output": "x", "metadata": {"exit_code": 1}}', ("x", True)),
        ('{"not": "closed', ('{"not": "closed', False)),
        ({"content": "old"}, ("old", False)),
    ],
)
def test_outputs(output: Any, expected: tuple[str, bool]) -> None:
    assert output_text(output) == expected


def trajectory(repo: GitRepo, commit: str) -> dict[str, Any]:
    def step(number: int, source: str, message: Any, *calls: tuple[str, dict[str, Any], Any]) -> dict[str, Any]:
        made: dict[str, Any] = {"step_id": number, "source": source, "message": message}
        if calls:
            ids = [f"c{number}-{at}" for at in range(len(calls))]
            made["tool_calls"] = [
                {"tool_call_id": id, "function_name": name, "arguments": given}
                for id, (name, given, _) in zip(ids, calls, strict=True)
            ]
            results = [{"source_call_id": id, "content": out} for id, (_, _, out) in zip(ids, calls, strict=True)]
            made["observation"] = {"results": results}
        return made

    view = {"command": "view", "path": f"{repo.path}/f.py", "view_range": [3, 5]}
    return {
        "schema_version": "ATIF-v1.7",
        "session_id": "run-7",
        "agent": {"name": "some-agent", "version": "1", "extra": {"cwds": [str(repo.path)], "git_branches": ["main"]}},
        "steps": [
            step(1, "system", "You are an agent"),
            step(2, "user", [{"type": "text", "text": "Write four as a word"}]),
            step(3, "agent", "", ("str_replace_editor", view, "     3\tline 3\n     4\tline 4\n     5\tline 5")),
            step(
                4,
                "agent",
                "",
                (
                    "execute_bash",
                    {"command": "grep -n -C1 'line 7' g.py"},
                    [{"type": "text", "text": "6-line 6\n7:line 7\n8-line 8"}],
                ),
                ("Edit", {"file_path": f"{repo.path}/f.py", "old_string": "line 4\n", "new_string": "four\n\n"}, "ok"),
            ),
            step(5, "agent", "", ("read_file", {"path": "f.py", "start_line": 10, "end_line": 11}, "line 9\nline 10")),
            step(6, "agent", "", ("bash", {"command": "git commit -am Four"}, f"[main {commit[:7]}] Four")),
        ],
        "subagent_trajectories": [
            {"steps": [step(1, "user", "Help"), step(2, "agent", "", ("bash", {"command": "tail -1 g.py"}, "line 9"))]}
        ],
    }


def test_a_trajectory(repo: GitRepo, tmp_path: Path) -> None:
    repo.write({"f.py": numbered(40).replace("line 4\n", "four\n\n")})
    commit = repo.commit(message="Four")
    path = tmp_path / "trajectory.json"
    path.write_text(json.dumps(trajectory(repo, commit)))
    (case,) = cases_of(AtifSource([path]), repo)
    assert (case.id, case.input, case.provenance.flow_id) == (commit, "Write four as a word", "run-7")
    assert ranges(case) == [("g.py", 6, 9), ("f.py", 3, 5), ("f.py", 9, 10)]


NONSENSE: list[Any] = [None, 1, "x", [], {}, [1], [None], {"a": 1}, True, ["x", {"type": "text", "text": 3}]]
ODD_KEYS = [
    "type",
    "message",
    "content",
    "cwd",
    "sessionId",
    "timestamp",
    "toolUseResult",
    "data",
    "payload",
    "call_id",
    "name",
    "arguments",
    "input",
    "output",
    "action",
    "steps",
    "source",
    "tool_calls",
    "observation",
    "results",
    "operation",
    "summary",
    "git",
    "id",
    "session_id",
    "agent",
    "extra",
]
ODD_TYPES = [
    "user",
    "assistant",
    "progress",
    "summary",
    "queue-operation",
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "message",
    "function_call",
    "function_call_output",
    "user_message",
    "agent_progress",
    "tool_use",
    "agent",
    "system",
]
odd = st.recursive(
    st.sampled_from(NONSENSE),
    lambda inner: st.dictionaries(
        st.sampled_from(ODD_KEYS), inner | st.sampled_from(ODD_TYPES) | st.lists(inner, max_size=2)
    ),
    max_leaves=12,
)


@given(st.lists(odd, max_size=5))
def test_nonsense_is_read_without_a_crash(tmp_path_factory: pytest.TempPathFactory, lines: list[Any]) -> None:
    path = tmp_path_factory.mktemp("odd") / "log.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    for flow in (read_session([path]), read_rollouts([path])):
        Session.of(flow)
    path.write_text(json.dumps({"schema_version": "ATIF-v1.5", "steps": lines, "subagent_trajectories": lines}))
    Session.of(read_trajectory(path))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"schema_version": "ATIF-v1.7", "steps": [', "not a whole JSON document"),
        ("[]", "no trajectory"),
        ('{"schema_version": "ATIF-v9", "steps": []}', "ATIF-v1 and its minor versions"),
    ],
)
def test_what_is_no_trajectory_is_named(text: str, reason: str, repo: GitRepo, tmp_path: Path) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text)
    with Repo.open(repo.path) as opened:
        extraction = AgentExtraction(opened)
        said = [item.reason for flow in AtifSource([path]).flows() for item in extraction.absorb(extraction.read(flow))]
    assert str(path) in said[0] and reason in said[0]
