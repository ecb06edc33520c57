"""Runs of OpenHands, SWE-agent and aider, from the files they leave to the commits their work became."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from tests.repos import GitRepo, numbered

ASKED = "Write the third line as a word"
NEW = "three is the third word"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(20), "g.py": numbered(9)}, "Start of it all")
    return made


def squash(repo: GitRepo) -> str:
    """What a person makes of the work: another subject, a number, and nothing of the agent's."""
    repo.minutes += 4000
    return repo.commit({"f.py": numbered(20, l3=NEW)}, "Words for numbers (#12)")


def rows_of(repo: GitRepo, out: Path, *args: str) -> list[dict[str, Any]]:
    assert run(["extract", *args, "--repo-dir", str(repo.path), "--out-dir", str(out)]) == 0
    rows = [json.loads(line) for line in (out / "dataset_b_line_ranges.unvalidated.jsonl").read_text().splitlines()]
    assert run(["check", str(out / "dataset_b_line_ranges.unvalidated.jsonl"), "--repo", str(repo.path)]) == 0
    return rows


def shown(row: dict[str, Any], source: str) -> list[tuple[str, int, int]]:
    return [(r["path"], r["startLine"], r["endLine"]) for r in row["lineRanges"] if source in r["sources"]]


def openhands_events() -> list[dict[str, Any]]:
    """Events of a conversation as versions before 1.0 write them: actions, and observations that name their cause."""
    view = "Here's the result of running `cat -n` on /workspace/repo/f.py:\n" + "".join(
        f"{number:>6}\tline {number}\n" for number in range(2, 6)
    )
    metadata = {"tool_call_id": "c1", "function_name": "str_replace_editor"}
    edit = {"tool_call_id": "c2", "function_name": "str_replace_editor"}
    where = {"path": "/workspace/repo/f.py"}
    return [
        {
            "id": 1,
            "timestamp": "2026-01-02T03:00:05",
            "source": "user",
            "action": "message",
            "args": {"content": ASKED},
        },
        {"id": 2, "source": "agent", "action": "read", "args": where, "tool_call_metadata": metadata},
        {
            "id": 3,
            "source": "agent",
            "observation": "read",
            "cause": 2,
            "content": view,
            "tool_call_metadata": metadata,
        },
        {
            "id": 4,
            "source": "agent",
            "action": "edit",
            "args": {**where, "command": "str_replace", "old_str": "line 3\n", "new_str": f"{NEW}\n"},
            "tool_call_metadata": edit,
        },
        {
            "id": 5,
            "source": "agent",
            "observation": "edit",
            "cause": 4,
            "content": "edited",
            "tool_call_metadata": edit,
        },
        {"id": 6, "source": "agent", "action": "finish", "args": {"final_thought": "Done."}},
    ]


def write_openhands_trajectory(folder: Path) -> Path:
    path = folder / "trajectory.json"
    path.write_text(json.dumps(openhands_events()))
    return path


def write_openhands_output(folder: Path) -> Path:
    """A line for each instance, as its evaluation writes them; this one edited with commands alone."""
    asked, finish = openhands_events()[0], openhands_events()[-1]
    patch = f"diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -3 +3 @@\n-line 3\n+{NEW}\n"
    other = {"instance_id": "other", "history": [asked], "test_result": {"git_patch": ""}}
    own = {"instance_id": "own", "history": [asked, finish], "test_result": {"git_patch": patch}}
    path = folder / "output.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in (other, own)))
    return path


def write_openhands_conversation(folder: Path) -> Path:
    """A folder with a file for each event, as version 1 keeps a conversation."""
    where, events = {"path": "/workspace/repo/f.py"}, folder / "conversation" / "events"
    events.mkdir(parents=True)
    edit = {"command": "str_replace", "old_str": "line 3", "new_str": NEW, "kind": "FileEditorAction"}
    text = [{"type": "text", "text": "The file has been edited."}]
    listed: list[dict[str, Any]] = [
        {
            "kind": "MessageEvent",
            "source": "user",
            "timestamp": "2026-01-02T03:00:05",
            "llm_message": {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        },
        {
            "kind": "ActionEvent",
            "source": "agent",
            "tool_name": "file_editor",
            "tool_call_id": "1",
            "action": where | edit,
        },
        {"kind": "ObservationEvent", "source": "environment", "tool_call_id": "1", "observation": {"content": text}},
    ]
    for number, event in enumerate(listed):
        (events / f"event-{number:05}-x.json").write_text(json.dumps(event))
    state = {"workspace": {"working_dir": "/workspace/repo"}}
    (events.parent / "base_state.json").write_text(json.dumps(state))
    return events.parent


@pytest.mark.parametrize(
    "write",
    [write_openhands_trajectory, write_openhands_output, write_openhands_conversation],
    ids=lambda one: one.__name__,
)
def test_openhands(write: Any, repo: GitRepo, tmp_path: Path) -> None:
    log, commit = write(tmp_path), squash(repo)
    (row,) = rows_of(repo, tmp_path / "out", "openhands", str(log))
    assert (row["caseId"], row["query"]) == (commit, ASKED)
    assert shown(row, "golden_diff") == [("f.py", 3, 3)]
    if write is write_openhands_trajectory:
        assert shown(row, "tool_call_result") == [("f.py", 2, 5)]


def write_swe_agent(folder: Path, with_calls: bool) -> Path:
    """A trajectory with function calls, or one of a small agent that writes scripts in fences."""
    command = "sed -n '2,4p' /testbed/f.py"
    output = "line 2\nline 3\nline 4\n"
    if with_calls:
        call = {
            "id": "c1",
            "type": "function",
            "function": {"name": "bash", "arguments": json.dumps({"command": command})},
        }
        talk: list[dict[str, Any]] = [
            {"role": "assistant", "content": "I look.", "tool_calls": [call]},
            {"role": "tool", "content": output, "tool_call_ids": ["c1"], "tool_call_id": "c1"},
        ]
    else:
        talk = [
            {"role": "assistant", "content": f"I look.\n\n```bash\n{command}\n```"},
            {"role": "user", "content": output},
        ]
    messages = [{"role": "system", "content": "You fix things."}, {"role": "user", "content": ASKED}, *talk]
    patch = f"diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -3 +3 @@\n-line 3\n+{NEW}\n"
    key = "history" if with_calls else "messages"
    document = {key: messages, "trajectory": [], "info": {"submission": patch, "exit_status": "submitted"}}
    path = folder / "own__repo-1.traj"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("with_calls", [True, False])
def test_swe_agent(with_calls: bool, repo: GitRepo, tmp_path: Path) -> None:
    log, commit = write_swe_agent(tmp_path, with_calls), squash(repo)
    (row,) = rows_of(repo, tmp_path / "out", "swe-agent", str(log))
    assert (row["caseId"], row["query"], row["metadata"]["sessions"]) == (commit, ASKED, ["own__repo-1"])
    assert shown(row, "tool_call_result") == [("f.py", 2, 4)]


AIDER = """
# aider chat started at 2026-01-02 05:00:00

> Aider v0.86.0  
> Git repo: .git with 2 files  
> Added f.py to the chat.  

#### /add g.py  

#### Write the third line as a word  

I change it.

f.py
```python
<<<<<<< SEARCH
line 3
=======
three is the third word
>>>>>>> REPLACE
```

g.py
```python
<<<<<<< SEARCH
line 99
=======
nothing of this
>>>>>>> REPLACE
```

> Applied edit to f.py  
> Commit {commit} refactor: a word for three  

# aider chat started at 2026-01-03 05:00:00

#### ok  
"""  # noqa: W291


@pytest.mark.parametrize("kept", [True, False], ids=["its own commit", "squashed since"])
def test_aider(kept: bool, repo: GitRepo, tmp_path: Path) -> None:
    commit = squash(repo)
    log = tmp_path / ".aider.chat.history.md"
    log.write_text(AIDER.format(commit=commit[:7] if kept else "abcdef0"))
    (row,) = rows_of(repo, tmp_path / "out", "aider", str(log))
    assert (row["caseId"], row["query"]) == (commit, ASKED)
    assert shown(row, "golden_diff") == [("f.py", 3, 3)]
    assert [path["path"] for path in row["metadata"] and row["lineRanges"]] == ["f.py"]


@pytest.mark.parametrize("agent", ["openhands", "swe-agent", "aider"])
def test_what_is_no_log_says_so(agent: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", agent, str(tmp_path / "none"), "--out-dir", str(tmp_path / "out")]) == 2
    assert "none" in capsys.readouterr().err
    broken = tmp_path / "log.traj"
    broken.write_text("neither this nor that {")
    assert run(["extract", agent, str(broken), "--repo-dir", ".", "--out-dir", str(tmp_path / "out")]) == 1
    assert "log.traj" in capsys.readouterr().err
