"""Golden lines: the base side of a diff, by example."""

from pathlib import Path

import pytest

from evergold.extract.diff import parse_diff
from evergold.extract.ranges import HunkContext, Side, Span, merge, spans_of, text_hash
from evergold.model.values import hash_bytes
from tests.repos import GitRepo, numbered

OLD = numbered(40)


def spans(tmp_path: Path, old: str, new: str, *options: str, **how: object) -> list[Span]:
    repo = GitRepo(tmp_path)
    repo.commit({"f": old})
    repo.commit({"f": new})
    (file,) = parse_diff(repo.diff(*options, "HEAD~1", "HEAD"))
    return spans_of(file, **how)  # type: ignore[arg-type]


def without(*numbers: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, 41) if number not in numbers)


def inserted_after(number: int) -> str:
    return "".join(f"line {at}\n" + ("new\n" * 3 if at == number else "") for at in range(1, 41))


def test_the_example_of_the_contract_keeps_old_lines_only() -> None:
    body = "".join([" c\n"] * 3 + ["-x\n"] * 3 + [" c\n"] * 3)
    (file,) = parse_diff(f"--- a/f\n+++ b/f\n@@ -27,9 +30,6 @@\n{body}")
    assert spans_of(file) == [(30, 32)]
    assert spans_of(file, context=HunkContext.KEEP) == [(27, 35)]
    assert spans_of(file, side=Side.HEAD, context=HunkContext.KEEP) == [(30, 35)]


@pytest.mark.parametrize("context", ["-U0", "-U1", "-U3"])
@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (numbered(40, l5="five"), [(5, 5)]),
        (numbered(40, l5="five", l6="six", l8="eight"), [(5, 6), (8, 8)]),
        (without(10, 11), [(10, 11)]),
        (inserted_after(20), [(20, 21)]),
        (inserted_after(40), [(40, 40)]),
        ("new\n" + OLD, [(1, 1)]),
        ("", [(1, 40)]),
    ],
    ids=["one line", "near lines", "removed", "inserted", "at the end", "at the start", "emptied"],
)
def test_base_lines(tmp_path: Path, context: str, new: str, expected: list[Span]) -> None:
    assert spans(tmp_path, OLD, new, context, line_count=40) == expected


def test_filling_an_empty_file_touches_no_base_line(tmp_path: Path) -> None:
    assert spans(tmp_path, "", "new\n") == []


def test_head_side_mirrors_the_base_side(tmp_path: Path) -> None:
    assert spans(tmp_path, OLD, inserted_after(20), side=Side.HEAD) == [(21, 23)]
    assert spans(tmp_path / "other", OLD, without(10, 11), side=Side.HEAD) == [(9, 10)]


def test_added_files_have_no_base_lines_and_deleted_ones_no_head_lines(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"old": numbered(3), "keep": "x\n"})
    repo.commit({"old": None, "new": "a\nb\n"})
    files = {file.path: file for file in parse_diff(repo.diff("--no-renames", "HEAD~1", "HEAD"))}
    assert (spans_of(files["new"]), spans_of(files["new"], side=Side.HEAD)) == ([], [(1, 2)])
    assert (spans_of(files["old"]), spans_of(files["old"], side=Side.HEAD)) == ([(1, 3)], [])


def test_submodules_have_no_lines() -> None:
    diff = (
        "diff --git a/lib b/lib\nindex 1111111..2222222 160000\n--- a/lib\n+++ b/lib\n"
        "@@ -1 +1 @@\n-Subproject commit 1111111\n+Subproject commit 2222222\n"
    )
    assert spans_of(parse_diff(diff)[0]) == []


def test_adjacent_spans_become_one() -> None:
    assert merge([(5, 7), (1, 2), (8, 9), (3, 3), (20, 30), (22, 23)]) == [(1, 3), (5, 9), (20, 30)]


def test_the_hash_of_a_range_is_that_of_its_bytes(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"f": "one\r\ntwo\nthree"})
    repo.commit({"f": "one\r\nTWO\nTHREE"})
    (file,) = parse_diff(repo.diff("HEAD~1", "HEAD"))
    assert text_hash(line for hunk in file.hunks for line in hunk.old_lines()) == hash_bytes(b"one\r\ntwo\nthree")
