"""Rows proved again: every way in which one goes stale is found and named."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from evergold.extract.history import HistoryQuery, HistoryRules
from evergold.extract.run import Extraction, check_rows, extract_history
from tests.repos import GitRepo, numbered


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(20), "old.py": numbered(30)}, "Start of it all")
    made.commit({"f.py": numbered(20, l3="three") + "end\n"}, "Change the third line")
    made.commit({"old.py": None, "new.py": numbered(30, l9="nine"), "fresh.py": "x\n"}, "Rename old to new")
    return made


def extracted(made: GitRepo, tmp_path: Path) -> Path:
    extract_history(HistoryQuery(made.path), Extraction(tmp_path / "out"), HistoryRules())
    return tmp_path / "out" / "dataset_b_line_ranges.unvalidated.jsonl"


def changed(file: Path, /, **entry: Any) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    rows[-1] |= entry.pop("row", {})
    rows[-1]["lineRanges"][0] |= entry
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))


def test_what_was_extracted_proves(made: GitRepo, tmp_path: Path) -> None:
    path = extracted(made, tmp_path)
    result = check_rows(path, made.path)
    assert (result.rows, result.proved, result.stale, result.unproved_ranges) == (2, 2, {}, 0)
    assert check_rows(path.with_name("dataset_a_file_paths.unvalidated.jsonl"), made.path).proved == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"textHash": "sha256:0"}, "the text of these lines is another one"),
        ({"blobSha": "0" * 40}, "the file is another one"),
        ({"endLine": 900, "textHash": None}, "the file has only 20 lines"),
        ({"path": "gone.py"}, "the file is not in commit"),
        ({"row": {"baseCommit": "1" * 40}}, "commit 1111.* is not in the repository"),
    ],
)
def test_a_stale_row_says_why(made: GitRepo, tmp_path: Path, change: dict[str, Any], reason: str) -> None:
    path = extracted(made, tmp_path)
    changed(path, **change)
    result = check_rows(path, made.path)
    assert result.proved == 1
    ((found, *_),) = result.stale.values()
    assert re.search(reason, found)


def test_an_open_row_is_not_wrong_and_secondary_entries_may_be_elsewhere(made: GitRepo, tmp_path: Path) -> None:
    path = extracted(made, tmp_path)
    changed(path, row={"baseCommit": "", "needsBaseCommit": True})
    assert list(check_rows(path, made.path).open.values()) == ["it has no base commit"]
    path = extracted(made, tmp_path / "again")
    changed(path, path="made/by/agent.py", sources=["tool_call_result"])
    result = check_rows(path, made.path)
    assert (result.stale, result.not_at_base) == ({}, 1)


def test_the_verb(made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = extracted(made, tmp_path)
    assert run(["check", str(path), "--repo", str(made.path)]) == 0
    assert "2 rows: 2 proved, 0 stale" in capsys.readouterr().out
    changed(path, textHash="sha256:0")
    assert run(["check", str(path), "--repo", str(made.path), "--json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["stale"]) == 1
    assert run(["check", str(path), "--repo", str(tmp_path / "none")]) == 2
