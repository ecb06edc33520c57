"""Scoring files: counts of everything, the JSON of the contract, a page and a comparison."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.bench.retrieval_run import ScoringQuery, score_retrieval, write_per_case
from evergold.cli import invoke as run
from evergold.errors import BadInput, NotFound
from tests.repos import GitRepo


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def golden(case: str, *ranges: tuple[str, int, int], **more: Any) -> dict[str, Any]:
    found = [
        {"path": path, "startLine": start, "endLine": end, "sources": ["golden_diff"]} for path, start, end in ranges
    ]
    return {"caseId": case, "lineRanges": found, **more}


def predicted(case: str, *ranges: tuple[str, int, int]) -> dict[str, Any]:
    return {
        "caseId": case,
        "ranges": [{"path": path, "startLine": start, "endLine": end} for path, start, end in ranges],
    }


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    return write(
        tmp_path / "gold.jsonl",
        golden("1", ("a.py", 1, 10), repository="r"),
        golden("2", ("a.py", 1, 10), ("b.py", 1, 10), repository="s"),
        golden("3", ("c.go", 5, 5), repository="s"),
        golden("4", ("d.go", 5, 5), repository="s"),
        golden("5"),
    )


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return write(
        tmp_path / "answers.jsonl",
        predicted("1", ("a.py", 1, 10)),
        predicted("2", ("a.py", 6, 15)),
        predicted("3"),
        predicted("9", ("a.py", 1, 1)),
        predicted("1", ("x.py", 1, 1)),
        predicted("5", ("x.py", 1, 1)),
        "{broken",
        {"caseId": "7", "ranges": [{"path": "a", "startLine": 5, "endLine": 2}]},
    )


def test_every_case_is_accounted_for(gold: Path, answers: Path) -> None:
    figures = score_retrieval(gold, answers)[0]
    assert (figures["n"], figures["abstained"], figures["missing"], figures["not_applicable"]) == (4, 1, 1, 1)
    assert (figures["extra_cases"], figures["missing_cases"], figures["duplicates"]) == (["9", "7"], ["4"], ["1"])
    assert len(figures["problems"]) == 3
    macro, micro = figures["line"]["macro"], figures["line"]["micro"]
    assert macro["precision"]["value"] == pytest.approx((1 + 0.5) / 2)
    assert macro["recall"]["value"] == pytest.approx((1 + 0.25 + 0 + 0) / 4)
    assert micro["precision"]["value"] == pytest.approx(15 / 20)
    assert micro["recall"]["value"] == pytest.approx(15 / 32)
    assert macro["recall"]["low"] <= macro["recall"]["value"] <= macro["recall"]["high"]
    assert figures["file"]["acc@1"]["value"] == 0.25
    assert {"acc@1", "acc@3", "acc@5", "acc@10", "hit@1", "mrr", "ndcg@10", "macro", "micro"} <= figures["file"].keys()
    assert {"100", "300", "500", "2000", "area"} == figures["budget"].keys()
    assert figures["slices"]["language"]["Python"]["n"] == 2
    assert "lower bound" in figures["note"]


def test_paths_alone_are_scored_by_files_alone(gold: Path, tmp_path: Path) -> None:
    answers = write(tmp_path / "p.jsonl", {"caseId": "1", "paths": ["x.py", "a.py"]}, {"caseId": "2", "paths": []})
    figures = score_retrieval(gold, answers)[0]
    assert (figures["line"], figures["budget"], figures["n"]) == (None, None, 4)
    assert figures["file"]["mrr"]["value"] == 0.125


def test_gold_of_paths(tmp_path: Path) -> None:
    gold = write(
        tmp_path / "a.jsonl", {"caseId": "1", "filePaths": [{"path": "a.py", "sources": ["review_merge_diff"]}]}
    )
    figures = score_retrieval(gold, write(tmp_path / "p.jsonl", predicted("1", ("a.py", 1, 2))))[0]
    assert figures["line"] is None and figures["file"]["macro"]["precision"]["value"] == 1.0


def test_a_second_file_is_compared_case_by_case(gold: Path, answers: Path, tmp_path: Path) -> None:
    better = write(tmp_path / "b.jsonl", *(predicted(case, ("a.py", 1, 10), ("b.py", 1, 10)) for case in "1234"))
    difference = score_retrieval(gold, answers, better)[0]["compare"]["line_recall"]
    assert difference["value"] == pytest.approx(0.75 / 4) and difference["n"] == 4


def test_single_cases_go_to_a_file(gold: Path, answers: Path, tmp_path: Path) -> None:
    assert write_per_case(score_retrieval(gold, answers)[1], tmp_path / "per.jsonl") == 4
    rows = [json.loads(line) for line in (tmp_path / "per.jsonl").read_text().splitlines()]
    assert rows[0] == {
        "caseId": "1",
        "line": {"precision": 1.0, "recall": 1.0, "f1": 1.0},
        "file": {"precision": 1.0, "recall": 1.0, "f1": 1.0},
    }
    assert rows[2]["line"] == {"precision": None, "recall": 0.0, "f1": 0.0}


def test_bad_gold_is_refused(tmp_path: Path, answers: Path) -> None:
    twice = write(tmp_path / "g.jsonl", golden("1"), golden("1"))
    with pytest.raises(BadInput, match=r"g\.jsonl:2: case '1' is listed twice"):
        score_retrieval(twice, answers)
    with pytest.raises(BadInput, match="neither filePaths"):
        score_retrieval(write(tmp_path / "h.jsonl", {"caseId": "1"}), answers)
    for entry, reason in (
        ({"path": "a.py", "startLine": 5}, "endLine None must be whole numbers"),
        ({"path": "a.py", "startLine": 5, "endLine": 2}, "endLine 2 is before startLine 5"),
        ({"path": "a.py", "startLine": 0, "endLine": 2}, "before the first line"),
        ({"startLine": 1, "endLine": 2}, "path None is not a text"),
        ("a.py:1-2", "is not an object"),
    ):
        with pytest.raises(BadInput, match=rf"i\.jsonl:2: .*{reason}"):
            score_retrieval(write(tmp_path / "i.jsonl", golden("1"), {"caseId": "2", "lineRanges": [entry]}), answers)
    with pytest.raises(BadInput, match="has no path"):
        score_retrieval(write(tmp_path / "j.jsonl", {"caseId": "1", "filePaths": ["a.py"]}), answers)
    with pytest.raises(NotFound, match="no file"):
        score_retrieval(tmp_path / "none", answers)


def test_the_verb(gold: Path, answers: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "report.html"
    assert (
        run(
            [
                "score-retrieval",
                str(gold),
                str(answers),
                "--json",
                "--html",
                str(page),
                "--per-case",
                str(tmp_path / "c"),
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["n"] == 4
    text = page.read_text()
    assert "<svg" in text and "http" not in text.replace("http-equiv", "")
    assert run(["score-retrieval", str(gold), str(answers), str(answers)]) == 0
    shown = capsys.readouterr()
    assert "4 cases scored" in shown.out and "macro recall" in shown.out and "predicted twice" in shown.err


def test_a_repository_adds_tokens_symbols_and_ranges_outside(tmp_path: Path) -> None:
    made = GitRepo(tmp_path / "repo")
    commit = made.commit({"a.py": "def f():\n    return 1\n"})
    gold = write(
        tmp_path / "g.jsonl",
        golden("1", ("a.py", 1, 2), baseCommit=commit),
        golden("2", ("a.py", 1, 1), baseCommit="0" * 40),
    )
    answers = write(tmp_path / "p.jsonl", predicted("1", ("a.py", 2, 9)))
    figures = score_retrieval(gold, answers, query=ScoringQuery(repo_dir=made.path))[0]
    assert figures["tokens"]["1000"]["value"] == 0.5
    assert (figures["symbol"]["macro"]["recall"]["value"], figures["symbol_n"]) == (1.0, 1)
    assert [problem.split(": ", 1)[1] for problem in figures["problems"]] == [
        "a.py:2-9: the file has 2 lines",
        f"commit {'0' * 40} is not in the repository",
    ]


def test_predictions_of_which_none_can_be_read_are_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = tmp_path / "dataset_b_line_ranges.validated.jsonl"
    lines = [{"path": "a.py", "startLine": 1, "endLine": 2, "sources": ["golden_diff"]}]
    row = {"workspaceId": "w", "taskId": "t", "flowId": "f", "caseId": "c", "caseIndex": 0, "query": "q"}
    gold.write_text(json.dumps(row | {"baseCommit": "a" * 40, "lineRanges": lines}) + "\n")
    answers = tmp_path / "answers.jsonl"
    answers.write_text('{"caseId": "c", "files": ["a.py"]}\nnot json\n')
    assert run(["score-retrieval", str(gold), str(answers)]) == 2
    assert "no prediction can be read" in capsys.readouterr().err
    answers.write_text('{"caseId": "c", "ranges": []}\n')
    assert run(["score-retrieval", str(gold), str(answers)]) == 0
    assert "1 abstained" in capsys.readouterr().out


def test_six_figures_are_shown_and_all_on_request(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    gold = write(tmp_path / "g.jsonl", golden("1", ("a.py", 1, 4)))
    answers = write(tmp_path / "p.jsonl", predicted("1", ("a.py", 2, 9)))

    def lines_of(*options: str) -> list[str]:
        assert run(["score-retrieval", str(gold), str(answers), *options]) == 0
        return capsys.readouterr().out.splitlines()

    few, every = lines_of(), lines_of("--all")
    more = next(line for line in few if "more figures: --all shows them" in line)
    assert len(every) == len(few) - 1 + int(more.split()[0])
