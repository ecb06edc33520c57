"""Golden and prediction files: what cannot be used is counted and named with its line."""

import json
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, NotFound
from evergold.formats.dataset_ab import golden_rows, range_of, read_predictions
from tests.rows import each_row


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def place(path: Any = "a.py", start: Any = 1, end: Any = 2) -> dict[str, Any]:
    return {"path": path, "startLine": start, "endLine": end}


@each_row(
    ("entry", "expected"),
    [
        (place(), ("a.py", 1, 2)),
        (place(start=5, end=5), ("a.py", 5, 5)),
        ("a.py", "'a.py' is not an object"),
        (place(path=""), "path '' is not a text"),
        (place(path=None), "path None is not a text"),
        (place(start="1"), "a.py: startLine '1' and endLine 2 must be whole numbers"),
        (place(start=True), "a.py: startLine True and endLine 2 must be whole numbers"),
        (place(end=2.0), "a.py: startLine 1 and endLine 2.0 must be whole numbers"),
        (place(start=0), "a.py: startLine 0 is before the first line"),
        (place(start=3), "a.py: endLine 2 is before startLine 3"),
    ],
)
def test_a_range_is_read_or_its_fault_is_named(entry: Any, expected: Any) -> None:
    assert range_of(entry) == expected


def test_golden_rows_of_either_dataset_are_read(tmp_path: Path) -> None:
    gold = lines(
        tmp_path / "gold.jsonl",
        {"caseId": "1", "lineRanges": [place()]},
        "\n",
        {"caseId": "2", "filePaths": [{"path": "a.py"}]},
    )
    assert [row["caseId"] for row in golden_rows(gold)] == ["1", "2"]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ({"caseId": "1"}, "neither filePaths"),
        ({"caseId": "1", "lineRanges": None}, "neither filePaths"),
        ({"caseId": "1", "lineRanges": [place(), place(end=0)]}, "endLine 0 is before startLine 1"),
        ({"caseId": "1", "filePaths": [{"path": 5}]}, "has no path"),
        ({"caseId": "1", "filePaths": ["a.py"]}, "'a.py' has no path"),
        ({"caseId": ""}, "caseId is missing"),
        ("[1]\n", "expected an object, got list"),
        ("{\n", "not JSON"),
    ],
)
def test_a_wrong_golden_row_stops_everything(row: Any, problem: str, tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", {"caseId": "0", "lineRanges": []}, row)
    with pytest.raises(BadInput, match=rf"gold.jsonl:2: .*{problem}.*mend or remove the line"):
        list(golden_rows(gold))


def test_a_case_that_is_golden_twice_is_refused(tmp_path: Path) -> None:
    gold = lines(tmp_path / "gold.jsonl", *[{"caseId": "1", "filePaths": []}] * 2)
    with pytest.raises(BadInput, match="case '1' is listed twice"):
        list(golden_rows(gold))


def test_predictions_are_kept_and_every_fault_is_named(tmp_path: Path) -> None:
    file = lines(
        tmp_path / "p.jsonl",
        {"caseId": "1", "ranges": [place(), place(start=0)]},
        {"caseId": "1", "ranges": []},
        {"caseId": "2", "paths": ["a.py", 5]},
        {"caseId": "3", "ranges": []},
        {"caseId": "4", "ranges": [place(end=0)]},
        {"caseId": "5"},
        "broken\n",
    )
    predictions = read_predictions(file)
    rows = predictions.rows
    assert rows["1"].ranges == [("a.py", 1, 2)] and predictions.duplicates == ["1"]
    assert (rows["2"].paths, rows["2"].has_lines) == (["a.py"], False)
    assert [rows[name].abstained for name in "12345"] == [False, False, True, False, False]
    assert len(predictions.problems) == 5
    assert predictions.problems[-1].startswith("p.jsonl:7: not JSON")


def test_a_file_without_one_prediction_is_refused_with_the_shape_of_a_line(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no prediction can be read.*a line is"):
        read_predictions(lines(tmp_path / "p.jsonl", {"caseId": "1", "ranges": "a.py"}))


def test_files_of_a_glob_are_read_together_and_a_missing_one_is_named(tmp_path: Path) -> None:
    for name in "ab":
        lines(tmp_path / f"{name}.jsonl", {"caseId": name, "paths": ["x"]})
    assert read_predictions(tmp_path / "*.jsonl").rows.keys() == {"a", "b"}
    with pytest.raises(NotFound, match="no file"):
        read_predictions(tmp_path / "missing.jsonl")
