"""`evergold extract claude-code|codex|atif`: the verbs, their summaries, their files, and a second run."""

import json
from pathlib import Path

import pytest

from evergold.cli import invoke as run
from tests.agent_logs import ClaudeLog
from tests.repos import GitRepo, numbered

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "agent_sessions"


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "shop")
    made.commit({"f.py": numbered(20)}, "Start of the shop")
    return made


def worked(log: ClaudeLog, line: int) -> str:
    log.ask(f"Please write line {line} in words")
    log.read("f.py", line, 3)
    log.edit("f.py", f"line {line}\n", "in words\n")
    return log.commit(f"Line {line} in words")


def test_sessions_into_files_and_store(repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = ClaudeLog(repo, tmp_path / "logs" / "one.jsonl")
    first = worked(log, 3)
    out = tmp_path / "out"
    home = ["--home", str(tmp_path / "home")]
    args = ["extract", "claude-code", "--project", str(log.path.parent), "--out-dir", str(out)]
    assert run([*home, *args, "--into-store"]) == 0
    assert capsys.readouterr().out.startswith("1 new, 0 known")
    second = worked(ClaudeLog(repo, tmp_path / "logs" / "two.jsonl", "two"), 9)
    assert run([*args, "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["new"], summary["known"]) == (1, 1)
    rows = [json.loads(line) for line in (out / "dataset_b_line_ranges.unvalidated.jsonl").read_text().splitlines()]
    assert [row["caseId"] for row in rows] == [first, second]
    assert (rows[0]["query"], rows[0]["source"]) == ("Please write line 3 in words", "claude-code")
    assert run([*home, "cases", "list", "--dataset", "context", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert [call["name"] for call in case["extra"]["evidence"]["tool_calls"]] == ["Read", "Edit", "Bash"]
    assert "in words" in case["extra"]["evidence"]["diff"]
    for name in ("dataset_a_file_paths", "dataset_b_line_ranges"):
        assert run(["check", str(out / f"{name}.unvalidated.jsonl"), "--repo", str(repo.path)]) == 0


def test_codex_and_atif(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = repo.commit({"f.py": numbered(20, l2="two")}, "Line two in words")
    logs = tmp_path / "codex" / "sessions" / "2026"
    logs.mkdir(parents=True)
    for name, target in (("codex.jsonl", logs / "rollout.jsonl"), ("atif.json", tmp_path / "trajectory.json")):
        text = (EXAMPLES / name).read_text().replace("COMMIT", commit[:7]).replace("app.txt", "f.py")
        target.write_text(text.replace("two", "line 2"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    for arguments in (["codex"], ["atif", str(tmp_path / "trajectory.json")]):
        out = tmp_path / arguments[0]
        args = ["extract", *arguments, "--repo-dir", str(repo.path), "--out-dir", str(out), "--json"]
        assert run(args) == 0
        assert json.loads(capsys.readouterr().out)["new"] == 1
        assert run(args) == 0
        assert json.loads(capsys.readouterr().out)["known"] == 1
        (row,) = map(json.loads, (out / "dataset_b_line_ranges.unvalidated.jsonl").read_text().splitlines())
        assert (row["caseId"], row["source"]) == (commit, arguments[0]) and "digit" in row["query"]
    (logs / "packed.jsonl.zst").write_bytes(b"(")
    assert run(["extract", "codex", "--repo-dir", str(repo.path), "--out-dir", str(tmp_path / "codex")]) == 1
    assert "it is compressed" in capsys.readouterr().err
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "nothing"))
    assert run(["extract", "codex"]) == 2 and "set CODEX_HOME" in capsys.readouterr().err
    assert run(["extract", "atif", str(tmp_path / "none.json")]) == 2


def test_what_cannot_run_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["extract", "claude-code", "--project", str(tmp_path / "no")]) == 2
    assert "no folder" in capsys.readouterr().err
    assert run(["extract", "claude-code", "--project", str(tmp_path)]) == 2
    assert "no log file in it" in capsys.readouterr().err


def test_a_session_elsewhere_needs_its_repository(
    repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ClaudeLog(repo, tmp_path / "logs" / "one.jsonl")
    worked(log, 3)
    log.path.write_text(log.path.read_text().replace(str(repo.path), "/home/ada/shop"))
    args = ["extract", "claude-code", "--project", str(log.path.parent), "--out-dir", str(tmp_path / "out")]
    assert run(args) == 0
    assert "give the repository with --repo-dir" in capsys.readouterr().out
    assert run([*args, "--repo-dir", str(repo.path)]) == 0
    assert capsys.readouterr().out.startswith("1 new")
    assert run([*args, "--repo-dir", str(tmp_path)]) == 2


def test_sessions_of_another_repository_are_left_out(
    repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = ClaudeLog(repo, tmp_path / "logs" / "one.jsonl")
    worked(log, 3)
    other = GitRepo(tmp_path / "other")
    other.commit({"f.py": numbered(20)}, "Start of another")
    args = ["extract", "claude-code", "--project", str(log.path.parent), "--out-dir", str(tmp_path / "out")]
    assert run([*args, "--repo-dir", str(other.path)]) == 0
    assert "session of another repository" in capsys.readouterr().out
