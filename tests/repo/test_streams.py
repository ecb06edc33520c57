"""Output of git in pieces: where a piece ends changes nothing, and an end that comes too early is an error."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.repo.git import GitObject, parse_answer, reason_of
from evergold.repo.history import parse_diffs, parse_log
from tests.rows import each_row

IDS = [f"{number:040x}" for number in range(1, 6)]
DIFF_LINES = st.sampled_from([b"diff --git a/f b/f", b"@@ -1 +1 @@", b"-a", b"+b", b" " + IDS[0].encode(), b"+"])


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    """Data cut at these positions; no piece is empty, as no read of a pipe is."""
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    return (data[start:end] for start, end in itertools.pairwise(edges))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(DIFF_LINES, max_size=4), min_size=1, max_size=5), st.lists(st.integers(0, 2000), max_size=12))
def test_diffs_are_cut_at_their_ids_wherever_a_piece_ends(bodies: list[list[bytes]], cuts: list[int]) -> None:
    ids = IDS[: len(bodies)]
    texts = [b"".join(line + b"\n" for line in body) for body in bodies]
    data = b"".join(id.encode() + b"\n" + text for id, text in zip(ids, texts, strict=True))
    parsed = list(parse_diffs(pieces(data, cuts), ids))
    assert [id for id, _ in parsed] == ids
    assert [text for _, text in parsed] == texts


def test_a_stream_that_ends_before_an_id_names_it() -> None:
    with pytest.raises(BadInput, match=f"ended before commit {IDS[1]}.*git fsck"):
        list(parse_diffs(iter([IDS[0].encode() + b"\n"]), IDS[:2]))


COMMITS = st.lists(
    st.tuples(st.sampled_from(["First", "Fix\n\nBody\n", "", "Grüße"]), st.integers(0, 2**31)), max_size=5
)


@settings(max_examples=60, deadline=None)
@given(COMMITS, st.lists(st.integers(0, 2000), max_size=12), st.booleans())
def test_a_log_is_read_wherever_a_piece_ends(
    listed: list[tuple[str, int]], cuts: list[int], ended_by_nul: bool
) -> None:
    records = [f"{IDS[0]}\0{IDS[1]} {IDS[2]}\0{time}\0{time}\0Ada\0{message}" for message, time in listed]
    data = "\0".join(records).encode() + (b"\0" if ended_by_nul and records else b"")
    parsed = list(parse_log(pieces(data, cuts)))
    expected = listed if ended_by_nul or not listed or listed[-1][0] else listed[:-1]
    assert [(commit.message, int(commit.authored.timestamp())) for commit in parsed] == expected
    assert all(commit.parents == (IDS[1], IDS[2]) and commit.author == "Ada" for commit in parsed)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"{IDS[0]} blob 12\n".encode(), GitObject(IDS[0], "blob", 12)),
        (b"HEAD:no such file missing\n", None),
        (b"abc ambiguous\n", None),
    ],
)
def test_an_answer_of_cat_file(tmp_path: Path, line: bytes, expected: GitObject | None) -> None:
    assert parse_answer(line, tmp_path) == expected


def test_a_cat_file_that_ended_says_where(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="git cat-file ended while reading"):
        parse_answer(b"", tmp_path)


@each_row(
    ("stderr", "expected"),
    [
        (b"fatal: not a git repository\nmore\n", "not a git repository"),
        (b"error: pathspec\n", "pathspec"),
        (b"", "exit code 128"),
    ],
)
def test_the_reason_of_a_failure_is_gits_first_line(stderr: bytes, expected: str) -> None:
    assert reason_of(CompletedProcess(["git"], 128, b"", stderr)) == expected
