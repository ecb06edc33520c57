"""The parser against two independent witnesses: the files themselves, and unidiff."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unidiff.patch import PatchSet

from evergold.extract.diff import FileDiff, parse_diff
from evergold.extract.ranges import merge, spans_of
from tests.repos import GitRepo

LINES = st.sampled_from(
    [b"a", b"b", b"", b"-x", b"+y", b"--- a/f", b"@@ -1 +1 @@", b"c\r", b"\\ no", b"diff --git a/f b/f"]
)
CONTENT = st.tuples(st.lists(LINES, max_size=14), st.booleans()).map(
    lambda pair: b"\n".join(pair[0]) + (b"\n" if pair[1] else b"")
)
FILES = st.dictionaries(st.sampled_from(["f", "g h.txt", "a b/x", "é"]), CONTENT, max_size=3)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> GitRepo:
    return GitRepo(tmp_path_factory.mktemp("repo"))


def tree_of(repo: GitRepo, files: dict[str, bytes]) -> str:
    """A tree without a work tree or an index: three git calls, whatever the files are."""
    entries = b""
    for name, content in files.items():
        blob = repo.git("hash-object", "-w", "--stdin", input=content).strip()
        entries += f"100644 {blob}\t{name}\0".encode()
    repo.git("read-tree", "--empty")
    repo.git_bytes("update-index", "-z", "--index-info", input=entries)
    return repo.git("write-tree").strip()


def split(content: bytes) -> list[bytes]:
    return [line + b"\n" for line in content.split(b"\n")[:-1]] + [rest for rest in content.split(b"\n")[-1:] if rest]


def rebuilt(file: FileDiff, old: list[bytes]) -> list[bytes]:
    """The new file, from the old one and the changes alone."""
    new: list[bytes] = []
    at = 1
    for hunk in file.hunks:
        shown = dict(enumerate(hunk.new_lines(), start=hunk.new_start))
        for old_line, removed, new_line, added in hunk.changes:
            new += old[at - 1 : old_line - 1]
            new += [shown[number] for number in range(new_line, new_line + added)]
            at = old_line + removed
    return new + old[at - 1 :]


def base_texts(file: FileDiff) -> dict[int, bytes]:
    """The base lines that the diff itself shows, by number."""
    return {number: text for hunk in file.hunks for number, text in enumerate(hunk.old_lines(), start=hunk.old_start)}


@given(before=FILES, after=FILES, context=st.sampled_from([0, 1, 3]))
@settings(max_examples=60)
def test_changes_rebuild_the_new_file_and_texts_are_those_of_the_old(
    repo: GitRepo, before: dict[str, bytes], after: dict[str, bytes], context: int
) -> None:
    diff = repo.diff("--text", "--no-renames", f"-U{context}", tree_of(repo, before), tree_of(repo, after))
    files = {file.path: file for file in parse_diff(diff)}
    assert files.keys() == {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
    for name, file in files.items():
        old = split(before.get(name, b""))
        assert rebuilt(file, old) == split(after.get(name, b""))
        assert all(old[number - 1] == text for number, text in base_texts(file).items())
        for start, end in spans_of(file, line_count=len(old)):
            assert 1 <= start <= end <= len(old)
        parted = replace(file, hunks=[part for hunk in file.hunks for part in hunk.split_changes()])
        assert [hunk.changes[0] for hunk in parted.hunks] == [item for hunk in file.hunks for item in hunk.changes]
        assert spans_of(parted, line_count=len(old)) == spans_of(file, line_count=len(old))
        assert base_texts(parted).items() <= base_texts(file).items()
        if context:
            assert spans_of(file) == spans_of(parted) == spans_of(file, line_count=len(old))


@given(before=CONTENT, after=CONTENT)
@settings(max_examples=60)
def test_hunks_are_those_unidiff_finds(repo: GitRepo, before: bytes, after: bytes) -> None:
    before, after = before.replace(b"\r", b""), after.replace(b"\r", b"")  # unidiff takes a lone CR for a line end
    diff = repo.diff("--text", tree_of(repo, {"f": before}), tree_of(repo, {"f": after}))
    ours = [(tuple(hunk[:4]), hunk.changes) for file in parse_diff(diff) for hunk in file.hunks]
    theirs = [hunk for file in PatchSet(diff.decode()) for hunk in file]
    assert [head for head, _ in ours] == [
        (hunk.source_start, hunk.source_length, hunk.target_start, hunk.target_length) for hunk in theirs
    ]
    for (_, changes), hunk in zip(ours, theirs, strict=True):
        removed = {number for change in changes for number in range(change.old_line, change.old_line + change.removed)}
        added = {number for change in changes for number in range(change.new_line, change.new_line + change.added)}
        assert removed == {line.source_line_no for line in hunk if line.is_removed}
        assert added == {line.target_line_no for line in hunk if line.is_added}


@given(st.lists(st.tuples(st.integers(1, 60), st.integers(0, 9)).map(lambda pair: (pair[0], sum(pair)))))
def test_merging_keeps_the_lines_and_leaves_gaps_between_spans(spans: list[tuple[int, int]]) -> None:
    merged = merge(spans)
    lines = {line for start, end in spans for line in range(start, end + 1)}
    assert {line for start, end in merged for line in range(start, end + 1)} == lines
    assert all(one[1] + 1 < other[0] for one, other in pairwise(merged))
