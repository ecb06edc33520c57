"""The baseline retrievers on a small real repository, and a whole run with them."""

import json
from pathlib import Path

import pytest

from evergold import plugins
from evergold.bench.retrievers import words_of
from evergold.cli import run
from evergold.seams import Retriever
from tests.repos import GitRepo, numbered


@pytest.fixture
def made(tmp_path: Path) -> GitRepo:
    made = GitRepo(tmp_path / "repo")
    made.commit(
        {
            "shop/basket.py": "class Basket:\n    def add_voucher(self, code):\n        return code\n",
            "shop/login.py": "def sign_in(user):\n    return user\n",
            "notes.txt": numbered(30),
            "logo.bin": b"\0voucher basket",
        },
        "Start of the shop",
    )
    made.commit(
        {"shop/basket.py": "class Basket:\n    def add_voucher(self, code):\n        return code.strip()\n"},
        "Strip the voucher code in the basket",
    )
    return made


@pytest.mark.parametrize("name", ["bm25", "grep", "paths"])
def test_the_file_about_the_task_comes_first(made: GitRepo, name: str) -> None:
    retriever: Retriever = plugins.load("retrievers", name)
    commit = made.git("rev-parse", "HEAD~1").strip()
    found = retriever.retrieve("Strip the voucher code in the basket", made.path, commit)
    assert found.paths[0] == "shop/basket.py"
    if name != "paths":
        assert (found.ranges[0].path, found.ranges[0].start) == ("shop/basket.py", 1)
    assert retriever.retrieve("zebra", made.path, commit).paths == ()


def test_words_take_identifiers_apart() -> None:
    assert words_of("Fix the parseHTTPHeader of add_voucher") == ["parse", "httpheader", "voucher"]


def test_a_run_in_one_command(made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = ["--home", str(tmp_path / "home")]
    assert (
        run([*home, "extract", "git", "--repo", str(made.path), "--out-dir", str(tmp_path / "out"), "--into-store"])
        == 0
    )
    capsys.readouterr()
    for target, least in (("retriever:oracle", 1.0), ("retriever:bm25", 0.5)):
        args = [
            *home,
            "run",
            "context",
            "--target",
            target,
            "--repo",
            str(made.path),
            "--metric",
            "line_recall,file_mrr",
            "--json",
        ]
        assert run(args) == 0
        shown = json.loads(capsys.readouterr().out)
        assert shown["run"]["status"] == "completed", shown
        assert {row["metric"]: row["value"] for row in shown["means"]}["line_recall"] >= least
    assert run([*home, "run", "context", "--target", "retriever:bm25", "--metric", "line_recall"]) != 0
    assert "--repo" in capsys.readouterr().err
