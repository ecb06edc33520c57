"""The pair of dataset files of an extraction that runs again and again."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from evergold.errors import BadInput, Conflict
from evergold.formats.dataset_pair import EXTRACTED_HASH, DatasetPair, RowOutcome, is_edited, lock_pair, stamped_line
from evergold.model.case import Case, LineRange, RankedPath


def context(id: str = "c1", **more: Any) -> Case:
    fields = {"kind": "context", "input": "find it", "base_commit": "abc", **more}
    return Case.model_validate(
        {"id": id, "paths": [RankedPath(path="a.py")], "ranges": [LineRange(path="a.py", start=1, end=2)], **fields}
    )


def extracted(folder: Path, *cases: Case, full: bool = False) -> list[RowOutcome]:
    with lock_pair(folder):
        pair = DatasetPair(folder, full)
        try:
            outcomes = [pair.put(case) for case in cases if pair.wants(case.id)]
            pair.commit()
        finally:
            pair.close()
    return outcomes


def rows(folder: Path, side: str) -> list[dict[str, Any]]:
    (path,) = folder.glob(f"dataset_{side}_*.jsonl")
    return [orjson.loads(line) for line in path.read_bytes().splitlines()]


def test_a_case_is_written_to_both_files_once(tmp_path: Path) -> None:
    assert extracted(tmp_path, context("c1"), context("c2")) == [RowOutcome.NEW, RowOutcome.NEW]
    assert (
        [row["caseId"] for row in rows(tmp_path, "a")] == [row["caseId"] for row in rows(tmp_path, "b")] == ["c1", "c2"]
    )
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.jsonl")}
    assert extracted(tmp_path, context("c1"), context("c2")) == []
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.jsonl")}


def test_what_lacked_something_is_resolved_when_it_is_known(tmp_path: Path) -> None:
    extracted(tmp_path, context(base_commit=None), context("c2"))
    assert extracted(tmp_path, context(base_commit=None), context("c2")) == [RowOutcome.UNCHANGED]
    assert extracted(tmp_path, context()) == [RowOutcome.RESOLVED]
    assert [(row["caseId"], row["baseCommit"]) for row in rows(tmp_path, "a")] == [("c1", "abc"), ("c2", "abc")]


def test_half_a_pair_is_completed_and_other_lines_are_copied_byte_for_byte(tmp_path: Path) -> None:
    extracted(tmp_path, context("c1"), context("c2"))
    (path,) = tmp_path.glob("dataset_b_*.jsonl")
    first, second = path.read_bytes().splitlines()
    path.write_bytes(b"  " + first)
    assert extracted(tmp_path, context("c1"), context("c2")) == [RowOutcome.COMPLETED]
    assert path.read_bytes() == b"  " + first + b"\n" + second + b"\n"


def test_a_row_that_a_person_edited_is_left_alone(tmp_path: Path) -> None:
    extracted(tmp_path, context(base_commit=None))
    for path in tmp_path.glob("*.jsonl"):
        path.write_bytes(path.read_bytes().replace(b"find it", b"my words"))
    with lock_pair(tmp_path):
        pair = DatasetPair(tmp_path)
        assert pair.is_edited("c1") and not pair.wants("c1") and not pair.is_edited("c9") and pair.wants("c9")
        pair.close()
    assert extracted(tmp_path, context()) == [] and rows(tmp_path, "a")[0]["query"] == "my words"


def test_a_full_extraction_forgets_what_is_there(tmp_path: Path) -> None:
    extracted(tmp_path, context("old"))
    assert extracted(tmp_path, context("new"), full=True) == [RowOutcome.NEW]
    assert [row["caseId"] for row in rows(tmp_path, "a")] == ["new"]


def test_a_second_extraction_is_refused_at_once(tmp_path: Path) -> None:
    with lock_pair(tmp_path), pytest.raises(Conflict, match="another extraction is writing"), lock_pair(tmp_path):
        pass


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        (b"{broken\n", "not JSON"),
        (b'{"caseId": "c1"}\n' * 2, "is listed twice"),
        (b'{"caseId": ""}\n', "caseId is missing"),
    ],
)
def test_a_corrupt_file_stops_everything_before_anything_is_written(tmp_path: Path, lines: bytes, problem: str) -> None:
    extracted(tmp_path, context())
    (path,) = tmp_path.glob("dataset_a_*.jsonl")
    path.write_bytes(lines)
    with pytest.raises(BadInput, match=problem):
        extracted(tmp_path, context("c2"))
    assert path.read_bytes() == lines


def test_a_stamp_tells_whether_a_row_was_edited() -> None:
    row = orjson.loads(stamped_line({"caseId": "c1", "query": "q"}))
    assert not is_edited(row) and is_edited({**row, "query": "other"}) and is_edited({**row, "more": 1})
    assert not is_edited({name: value for name, value in row.items() if name != EXTRACTED_HASH})
