"""`evergold extract`: the verbs, their summaries and exit codes, and the way into the store."""

import json
import sqlite3
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


@pytest.mark.parametrize(
    "verb",
    ["check FILE --repo REPO", "score-retrieval FILE FILE", "import FILE", "check FILE", "score-retrieval REPO REPO"],
)
def test_a_file_that_cannot_be_opened_is_one_line(
    verb: str, made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [word.replace("FILE", str(tmp_path / "no.jsonl")).replace("REPO", str(made.path)) for word in verb.split()]
    assert run(["--home", str(tmp_path / "home"), *words]) == 2
    shown = capsys.readouterr().err
    assert len(shown.splitlines()) == 1 and (str(tmp_path / "no.jsonl") in shown or str(made.path) in shown)


def test_a_shallow_clone_and_another_repository_are_named(
    made: GitRepo, db: SidekickDb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, clone = tmp_path / "out", tmp_path / "clone"
    assert run(["extract", "git", "--repo", str(made.path), "--revision", "work", "--out-dir", str(out)]) == 0
    made.switch("side/feat")
    made.git("clone", "-q", "--depth", "1", f"file://{made.path}", str(clone))
    other = GitRepo(tmp_path / "other")
    other.commit({"x.py": "x\n"}, "Something else")
    rows = str(out / "dataset_b_line_ranges.unvalidated.jsonl")
    for place, hint in ((clone, "git fetch --unshallow"), (other.path, "is not in the repository")):
        assert run(["check", rows, "--repo", str(place)]) == 1
        assert hint in capsys.readouterr().out
    assert run([*from_database(db, tmp_path / "shallow"), "--repo-dir", str(clone)]) == 0
    assert "git fetch --unshallow" in capsys.readouterr().out
    home = ["--home", str(tmp_path / "home")]
    assert run([*home, "import", rows]) == 0
    assert run([*home, "run", "context", "--model", "retriever:grep", "--repo", str(other.path)]) == 2
    assert run([*home, "runs", "list"]) == 0


def test_a_database_of_another_version_is_named(
    db: SidekickDb, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = from_database(db, tmp_path / "out")
    with sqlite3.connect(db.path) as connection:
        connection.execute("ALTER TABLE flow_actions RENAME COLUMN action_params TO arguments")
    assert run(args) == 2
    assert "lacks action_params: the database is of an unknown version" in capsys.readouterr().err
    with sqlite3.connect(db.path) as connection:
        connection.execute("DROP TABLE worktrees")
        connection.execute("ALTER TABLE flow_actions RENAME COLUMN arguments TO action_params")
    assert run(args) == 2
    assert "has no table 'worktrees'" in capsys.readouterr().err
