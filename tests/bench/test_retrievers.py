"""The baseline retrievers on a small real repository, and a whole run with them."""

import json
from pathlib import Path

import pytest

from evergold import plugins
from evergold.bench.retrievers import words_of
from evergold.cli import invoke as run
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


def test_passages_are_ranked_by_static_vectors(made: GitRepo) -> None:
    refunds = "".join(f"refund_{number} = order.total\n" for number in range(30))
    made.commit({"shop/long.py": numbered(40) + refunds}, "Add refunds")
    retriever: Retriever = plugins.load("retrievers", "embedding")
    commit = made.git("rev-parse", "HEAD").strip()
    best = retriever.retrieve("Refund the total of an order", made.path, commit)
    assert (best.paths[0], best.ranges[0].start, best.ranges[0].end) == ("shop/long.py", 41, 70)
    assert "logo.bin" not in best.paths
    assert retriever.retrieve("Voucher of a basket", made.path, commit).paths[0] == "shop/basket.py"


def test_baselines_are_run_side_by_side_and_compared(
    made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    args = ["--home", str(tmp_path / "home"), "run", "context", "--model", "retriever:bm25|grep|embedding"]
    assert run([*args, "--repo", str(made.path), "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    models = ["retriever:bm25", "retriever:grep", "retriever:embedding"]
    assert [side["run"]["spec"]["model"] for side in shown["runs"]] == models
    assert [one["first"] for one in shown["comparisons"]] == [shown["runs"][0]["run"]["id"]] * 2
    assert run([*args, "--repo", str(made.path)]) == 0
    table = capsys.readouterr().out
    assert "metric\tbm25\tgrep\tembedding" in table and "line_recall" in table
    assert run([*args, "--repo", str(made.path), "--fail-under", "line_recall=0.1"]) == 2
    capsys.readouterr()
    assert run(args) == 2
    assert "retriever:bm25 needs a repository; name it with --repo PATH" in capsys.readouterr().err
    (tmp_path / "evergold.toml").write_text(f'[review]\nrepo_dir = "{made.path}"\n')
    monkeypatch.chdir(tmp_path)
    assert run(args) == 0


def test_words_take_identifiers_apart() -> None:
    assert words_of("Fix the parseHTTPHeader of add_voucher") == ["parse", "httpheader", "voucher"]


def test_a_run_in_one_command(made: GitRepo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made.commit({"notes.txt": numbered(30, l3="three")}, "wip")
    home = ["--home", str(tmp_path / "home")]
    for target, least in (("retriever:oracle", 1.0), ("retriever:bm25", 0.5)):
        assert run([*home, "run", "context", "--target", target, "--repo", str(made.path), "--json"]) == 0
        said = capsys.readouterr()
        shown = json.loads(said.out)
        assert ("cases were extracted" in said.err) == (target == "retriever:oracle")
        assert shown["run"]["status"] == "completed" and shown["run"]["failed"] == 0, shown
        means = {row["metric"]: row["value"] for row in shown["means"]}
        assert means["line_recall"] >= least and means["file_mrr"] > 0
    args = ["run", "context", "--target", "retriever:bm25", "--metric", "line_recall"]
    assert run([*home, *args]) != 0
    assert "--repo" in capsys.readouterr().err
