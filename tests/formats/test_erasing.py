"""Taking cases out of builds, and what a user left out of the spool."""

import json
from pathlib import Path
from typing import Any

from evergold.formats.erasure import NOTE, erase_lines, erase_spooled
from evergold.machine import lock


def lines(path: Path, *rows: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def rows(path: Path) -> list[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_of_a_case_leave_every_file_and_are_counted(tmp_path: Path) -> None:
    one = lines(tmp_path / "train.jsonl", {"id": "a"}, {"id": "b"}, {"case_id": "a"})
    two = lines(tmp_path / "deep/test.jsonl", {"task_id": "a"}, {"caseId": "c"})
    assert erase_lines(tmp_path, ["a"]) == 3
    assert (rows(one), rows(two)) == ([{"id": "b"}], [{"caseId": "c"}])
    assert rows(tmp_path / NOTE) == [{"erased_lines": {"deep/test.jsonl": 1, "train.jsonl": 2}}]


def test_a_file_without_the_case_is_not_touched(tmp_path: Path) -> None:
    path = lines(tmp_path / "train.jsonl", {"id": "b"})
    before = path.stat().st_ino
    assert erase_lines(tmp_path, ["a"]) == 0
    assert path.stat().st_ino == before and not (tmp_path / NOTE).exists()


def test_lines_that_are_no_objects_or_have_odd_ids_stay(tmp_path: Path) -> None:
    path = lines(tmp_path / "train.jsonl", "not json\n", "[1]\n", {"id": ["a"]}, {"id": {"x": 1}}, {"id": "a"})
    assert erase_lines(tmp_path, ["a"]) == 1
    assert len(path.read_text().splitlines()) == 4


def test_tags_that_name_a_person_leave_the_manifest(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"tags": {"jo": 1, "de": 2}, "version": "1"}')
    erase_lines(tmp_path, [], ["jo"])
    assert json.loads((tmp_path / "manifest.json").read_text()) == {"tags": {"de": 2}, "version": "1"}


def test_a_users_traces_and_what_belongs_to_them_leave_the_spool(tmp_path: Path) -> None:
    path = lines(
        tmp_path / "spool.jsonl",
        {"type": "trace", "id": "t1", "user_id": "jo"},
        {"type": "score", "trace_id": "t1"},
        {"type": "correction", "trace_id": "t2", "author": "jo"},
        {"type": "trace", "id": "t2", "user_id": "al"},
        {"type": "score", "trace_id": "t2"},
    )
    assert erase_spooled(tmp_path, "jo") == 3
    assert [row.get("id") or row["trace_id"] for row in rows(path)] == ["t2", "t2"]


def test_a_record_without_an_id_takes_no_others_with_it(tmp_path: Path) -> None:
    path = lines(tmp_path / "spool.jsonl", {"user_id": "jo"}, {"id": ["x"], "user_id": "jo"}, {"id": "t2"}, "broken\n")
    assert erase_spooled(tmp_path, "jo") == 2
    assert path.read_text() == '{"id": "t2"}\nbroken\n'


def test_a_file_that_a_process_writes_is_left_to_it(tmp_path: Path) -> None:
    path = lines(tmp_path / "spool.jsonl", {"id": "t1", "user_id": "jo"})
    with path.open("ab") as writer:
        lock(writer)
        assert erase_spooled(tmp_path, "jo") == 0
    assert erase_spooled(tmp_path, "jo") == 1
