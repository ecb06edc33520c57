"""`evergold extract`: the verbs, their summaries and exit codes, and the way into the store."""

import json
from pathlib import Path

import pytest

from evergold.cli import invoke as run
from tests.repos import GitRepo, numbered
from tests.sidekick_db import SidekickDb


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "shop.git")
    base = made.commit({"f.py": numbered(20)}, "Start of the shop")
    made.branch("side/feat")
    made.commit({"f.py": numbered(20, l7="seven")}, "Seven is a word now")
    made.git("tag", "work", "HEAD")
    made.switch("main")
    made.git("tag", "base", base)
    return made


@pytest.fixture
def db(made: GitRepo, tmp_path: Path) -> SidekickDb:
    db = SidekickDb(tmp_path / "db", repo_dir=str(made.path))
    db.task()
    db.flow()
    db.action("tool_call.bulk_search_repository", {"searches": []}, "f.py\n7:line 7\n")
    db.approval(made.diff("base", "work"))
    return db


def from_database(db: SidekickDb, out: Path) -> list[str]:
    return ["extract", "sidekick", "--workspace-id", "ws", "--sidekick-db", str(db.path), "--out-dir", str(out)]


def test_a_history(made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    args = ["extract", "git", "--repo", str(made.path), "--revision", "work", "--out-dir", str(out)]
    assert run(args) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("1 new, 0 known") and "root commit" in shown
    assert run([*args, "--json", "--since", "base"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["known"], summary["new"], len(summary["files"])) == (1, 0, 2)
    row = json.loads((out / "dataset_b_line_ranges.unvalidated.jsonl").read_text())
    assert (row["repository"], row["query"]) == ("shop", "Seven is a word now")
    assert run(["extract", "git", "--repo", str(tmp_path / "none"), "--out-dir", str(out)]) == 2
    assert run(["extract", "git", "--repo", str(made.path), "--revision", "nope", "--out-dir", str(out)]) == 2
    assert "names no commit" in capsys.readouterr().err


def test_a_database_into_files_and_store(db: SidekickDb, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shared = ["--home", str(tmp_path / "home")]
    args = from_database(db, tmp_path / "out")
    assert run([*shared, *args, "--into-store"]) == 0
    shown = capsys.readouterr().out
    assert "1 new" in shown and "1 cases need a query" in shown
    assert run([*shared, "cases", "list", "--dataset", "context", "--json"]) == 0
    (case,) = json.loads(capsys.readouterr().out)["cases"]
    assert case["extra"]["evidence"]["tool_calls"][0]["name"] == "bulk_search_repository"
    assert case["base_commit"] and case["ranges"][0]["text_hash"]
    assert "evidence" not in (tmp_path / "out" / "dataset_a_file_paths.unvalidated.jsonl").read_text()
    assert run([*shared, "import", str(tmp_path / "out" / "dataset_a_file_paths.unvalidated.jsonl")]) == 0


def test_what_could_not_be_read_is_told_and_changes_the_exit_code(
    db: SidekickDb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    db.action("x", b"{broken")
    args = from_database(db, tmp_path / "out")
    assert run(args) == 1
    assert "action_params is not JSON" in capsys.readouterr().err
    assert run(["extract", "sidekick", "--workspace-id", "no", "--sidekick-db", str(db.path)]) == 2
    assert "it has: ws" in capsys.readouterr().err
