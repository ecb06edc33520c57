"""Instances of SWE-bench in and out, and the task folders of Harbor."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from evergold.cli import invoke as run
from evergold.model.case import Case, ReviewState
from evergold.model.review import CaseKey
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.repos import GitRepo, numbered

TEST_PATCH = (
    "diff --git a/test_f.py b/test_f.py\nnew file mode 100644\n--- /dev/null\n+++ b/test_f.py\n@@ -0,0 +1 @@\n+x = 1\n"
)


@pytest.fixture
def repo(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit({"f.py": numbered(20), "old.py": numbered(5)}, "Start of it all")
    made.git("tag", "base")
    made.commit(
        {"f.py": numbered(20, l7="seven"), "old.py": None, "new.py": "x = 1\n"}, "Seven is a word and no number"
    )
    return made


def instance(repo: GitRepo, **more: Any) -> dict[str, Any]:
    return {
        "instance_id": "ada__shop-1",
        "repo": "ada/shop",
        "base_commit": repo.git("rev-parse", "base").strip(),
        "problem_statement": "Seven should be a word",
        "hints_text": "look at line seven",
        "created_at": "2026-01-02T03:00:00Z",
        "patch": repo.diff("base", "HEAD").decode(),
        "test_patch": TEST_PATCH,
        "version": "1.0",
        "FAIL_TO_PASS": '["test_f.py::test_seven"]',
        "PASS_TO_PASS": "[]",
        **more,
    }


def write(folder: Path, *records: dict[str, Any]) -> Path:
    path = folder / "instances.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def stored(folder: Path, name: str = "ada__shop-1") -> Case:
    with Workspace.open(Settings(home=folder / "home")) as workspace:
        return workspace.review.case(CaseKey(dataset="context", id=name)).case


def evergold(folder: Path, *args: object) -> int:
    return run(["--home", str(folder / "home"), *map(str, args)])


def test_an_instance_is_a_case_with_the_gold_of_its_patch(repo: GitRepo, tmp_path: Path) -> None:
    assert evergold(tmp_path, "import", write(tmp_path, instance(repo))) == 0
    case = stored(tmp_path)
    assert case.input == "Seven should be a word" and case.provenance.repository == "ada/shop"
    assert [path.path for path in case.paths] == ["f.py", "new.py", "old.py"]
    assert [(one.path, one.start, one.end) for one in case.ranges] == [("f.py", 7, 7), ("old.py", 1, 5)]
    tests = case.metadata["tests"]
    assert (tests["patch"], tests["files"]) == (TEST_PATCH, ["test_f.py"]) and tests["fail_to_pass"] == [
        "test_f.py::test_seven"
    ]
    assert case.extra["version"] == "1.0" and "baseVerified" not in case.metadata


def test_with_a_repository_the_base_is_proved_or_named(
    repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = instance(repo, instance_id="wrong", base_commit=repo.git("rev-parse", "HEAD").strip())
    elsewhere = instance(repo, instance_id="elsewhere", base_commit="f" * 40)
    file = write(tmp_path, instance(repo), wrong, elsewhere)
    assert evergold(tmp_path, "import", file, "--repo", repo.path) == 1
    assert "'wrong': its base is disproved: the approved diff does not apply" in capsys.readouterr().err
    case = stored(tmp_path)
    assert case.metadata["baseVerified"] and all(one.text_hash for one in case.ranges)
    for name in ("wrong", "elsewhere"):
        other = stored(tmp_path, name)
        assert "baseVerified" not in other.metadata and other.review is ReviewState.UNVALIDATED


def test_a_row_that_says_it_was_proved_is_proved_again(repo: GitRepo, tmp_path: Path) -> None:
    assert evergold(tmp_path, "import", write(tmp_path, instance(repo)), "--repo", repo.path) == 0
    assert stored(tmp_path).metadata["baseVerified"] is True
    assert evergold(tmp_path, "export", "context", "--format", "swe-bench", "--out", tmp_path / "out.jsonl") == 0
    row = json.loads((tmp_path / "out.jsonl").read_text())
    file = write(tmp_path, {**row, "base_commit": repo.git("rev-parse", "HEAD").strip()})
    assert evergold(tmp_path, "import", file, "--repo", repo.path) == 1
    assert "baseVerified" not in stored(tmp_path).metadata
    assert evergold(tmp_path, "import", file, "--repo", tmp_path / "no-repository") == 2


def test_a_bad_patch_is_rejected_and_the_rest_read(
    repo: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = [instance(repo, instance_id=f"bad-{n}", patch=patch) for n, patch in enumerate(["", "@@ -1 +1 @@\n-x\n+y\n"])]
    assert evergold(tmp_path, "import", write(tmp_path, *bad, instance(repo, PASS_TO_PASS=["a", "b"]))) == 1
    shown = capsys.readouterr()
    assert shown.err.count("patch: ") == 2 and "1 added" in shown.out
    assert stored(tmp_path).metadata["tests"]["pass_to_pass"] == ["a", "b"]


def test_there_and_back(repo: GitRepo, tmp_path: Path) -> None:
    given = instance(repo)
    out = tmp_path / "out.swe.jsonl"
    assert evergold(tmp_path, "import", write(tmp_path, given), "--repo", repo.path) == 0
    assert evergold(tmp_path, "export", "context", "--format", "swe-bench", "--out", out) == 0
    (line,) = out.read_text().splitlines()
    record = json.loads(line)
    assert {name: record[name] for name in given} == given
    before = stored(tmp_path)
    assert evergold(tmp_path, "import", out) == 0
    assert stored(tmp_path) == before
    # Somebody who edits the patch means it: the gold follows.
    record["patch"] = (
        record["patch"].replace("-line 7\n+seven\n", " line 7\n").replace("@@ -4,7 +4,7 @@", "@@ -4,7 +4,7 @@")
    )
    assert evergold(tmp_path, "import", write(tmp_path, record | {"FAIL_TO_PASS": '["it\'s one"]'})) == 0
    assert stored(tmp_path).metadata["tests"] == before.metadata["tests"] | {"fail_to_pass": ["it's one"]}
    edited = record | {"patch": "diff --git a/f.py b/f.py\n--- a/f.py\n+++ b/f.py\n@@ -9 +9 @@\n-line 9\n+nine\n"}
    assert evergold(tmp_path, "import", write(tmp_path, edited)) == 0
    assert [(one.path, one.start) for one in stored(tmp_path).ranges] == [("f.py", 9)]


def test_a_case_of_git_history_is_an_instance_too(
    repo: GitRepo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ("extract", "git", "--repo", repo.path, "--into-store", "--out-dir", tmp_path / "rows")
    assert evergold(tmp_path, *args) == 0
    out = tmp_path / "out.swe.jsonl"
    assert evergold(tmp_path, "export", "context", "--format", "swe-bench", "--out", out) == 0
    assert not out.read_text() and "no patch of it is known" in capsys.readouterr().err
    monkeypatch.setenv("EVERGOLD_REVIEW_REPO_DIR", str(repo.path))
    assert evergold(tmp_path, "export", "context", "--format", "swe-bench", "--out", out) == 0
    record = json.loads(out.read_text())
    assert record["base_commit"] == repo.git("rev-parse", "base").strip() and "+seven" in record["patch"]


@pytest.mark.parametrize("tested", [True, False])
def test_a_task_folder_of_harbor_works(tested: bool, repo: GitRepo, tmp_path: Path) -> None:
    """Its solution earns the reward and doing nothing does not; the container's folders are folders of the test."""
    command = "python3 -c 'import new' && grep -q seven f.py && test -f test_f.py && true"
    more: dict[str, Any] = {"test_cmd": command, "FAIL_TO_PASS": "[]"} if tested else {"test_patch": ""}
    tasks = tmp_path / "tasks"
    assert evergold(tmp_path, "import", write(tmp_path, instance(repo, **more))) == 0
    assert evergold(tmp_path, "export", "context", "--format", "harbor", "--out", tasks) == 0
    (task,) = tasks.iterdir()
    assert "Seven should be a word" in (task / "instruction.md").read_text()
    assert tomllib.loads((task / "task.toml").read_text())["metadata"]["case_id"] == "ada__shop-1"
    assert "https://github.com/ada/shop.git" in (task / "environment" / "Dockerfile").read_text()
    rewards = []
    for solved in (False, True):
        root = tmp_path / f"root-{solved}"
        for name in ("app", "logs/verifier"):
            (root / name).mkdir(parents=True)
        repo.git("clone", "-q", str(repo.path), str(root / "testbed"))
        subprocess.run(["git", "-C", str(root / "testbed"), "checkout", "-q", "base"], check=True)
        for script in ["solution/solve.sh"] * solved + ["tests/test.sh"]:
            text = (task / script).read_text()
            for name in ("/testbed", "/app", "/logs", "/tests", "/solution"):
                here = task / name[1:] if name in ("/tests", "/solution") else root / name[1:]
                text = text.replace(f" {name}", f" {here}").replace(f'"{name}', f'"{here}')
            subprocess.run(["bash", "-c", text], cwd=root, check=False, env={"PATH": os.environ["PATH"]})
        rewards.append(float((root / "logs" / "verifier" / "reward.txt").read_text()))
    assert rewards == [0, 1]
    assert evergold(tmp_path, "import", tasks, "--format", "harbor") == 0
