"""The library's door: `evergold.extract_cases(source)`, and the files as lists of cases."""

from pathlib import Path

import evergold
from evergold.extract.golden import Extracted
from evergold.sources.sidekick import SidekickSource
from tests.repos import GitRepo, numbered
from tests.sidekick_db import SidekickDb


def test_cases_of_a_source_and_back_from_files(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path / "repo")
    base = repo.commit({"f.py": numbered(9)})
    repo.branch("side/feat")
    repo.commit({"f.py": numbered(9, l3="three")})
    db = SidekickDb(tmp_path / "db")
    db.task()
    db.flow()
    db.query("Change the third line")
    db.approval(repo.diff(base, "HEAD"))
    repo.switch("main")
    found = list(evergold.extract_cases(SidekickSource("ws", db.path), repo_dir=repo.path))
    cases = [item.case for item in found if isinstance(item, Extracted)]
    assert [case.base_commit for case in cases] == [base]
    assert [
        item.case.base_commit
        for item in evergold.extract_cases(SidekickSource("ws", db.path))
        if isinstance(item, Extracted)
    ] == [None]
    a, b = tmp_path / "dataset_a_file_paths.jsonl", tmp_path / "dataset_b_line_ranges.jsonl"
    assert (evergold.write_dataset_a(a, cases), evergold.write_dataset_b(b, cases)) == (1, 1)
    assert [case.ranges for case in evergold.read_dataset_b(b)] == [case.ranges for case in cases]
    assert evergold.read_dataset_a(a) == evergold.read_dataset_b(b)
