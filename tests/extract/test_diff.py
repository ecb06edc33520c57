"""The diff parser: every shape git writes, and every damaged one refused with its line."""

from pathlib import Path

import pytest

from evergold.errors import BadInput
from evergold.extract.diff import ChangeType, FileDiff, parse_diff
from tests.repos import GitRepo, numbered
from tests.rows import each_row

NASTY_PATHS = [
    "plain.txt",
    "with space.txt",
    "a b/c b/d.txt",
    "x b/x",
    "café.txt",
    'quo"te.txt',
    "tab\there.txt",
    "back\\slash.txt",
    "a/a.txt",
    "b/b.txt",
    " lead",
    "trail ",
    "new\nline.txt",
]


def one(diff: bytes | str) -> FileDiff:
    (file,) = parse_diff(diff)
    return file


@pytest.mark.parametrize(
    "options", [[], ["--no-prefix"], ["-R"], ["-c"]], ids=["default", "no-prefix", "reverse", "mnemonic"]
)
@pytest.mark.parametrize("change", ["modify", "add", "delete", "mode", "binary", "empty"])
def test_every_nasty_path_survives_every_kind_of_change(tmp_path: Path, options: list[str], change: str) -> None:
    repo = GitRepo(tmp_path)
    before = {"add": None, "empty": None, "binary": b"\0one"}.get(change, b"one\ntwo\n")
    after = {"delete": None, "empty": b"", "binary": b"\0two", "mode": before}.get(change, b"one\nTWO\n")
    repo.commit({path: before for path in NASTY_PATHS if before is not None} | {"other": "x"})
    repo.commit({path: after for path in NASTY_PATHS if (before, after) != (None, None)})
    if change == "mode":
        for path in NASTY_PATHS:
            (tmp_path / path).chmod(0o755)
        repo.commit()
    prefix = ["-c", "diff.mnemonicPrefix=true"] if options == ["-c"] else []
    flags = [] if options == ["-c"] else options
    files = parse_diff(repo.git_bytes(*prefix, "diff", *flags, "HEAD~1", "HEAD"))
    assert sorted(file.path for file in files) == sorted(NASTY_PATHS)
    expected = {
        "add": ChangeType.ADDED,
        "empty": ChangeType.ADDED,
        "delete": ChangeType.DELETED,
        "mode": ChangeType.MODE,
    }
    swapped = {ChangeType.ADDED: ChangeType.DELETED, ChangeType.DELETED: ChangeType.ADDED}
    kind = expected.get(change, ChangeType.MODIFIED)
    assert {file.type for file in files} == {swapped.get(kind, kind) if options == ["-R"] else kind}
    assert {file.binary for file in files} == {change == "binary"}


def test_renames_and_copies_name_both_sides(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"old name.txt": numbered(20), "source.txt": numbered(30, l3="three")})
    repo.commit(
        {
            "old name.txt": None,
            "b/new b/name.txt": numbered(20, l5="five"),
            "source.txt": numbered(30),
            "copy.txt": numbered(30, l3="three"),
        }
    )
    files = {file.new_path: file for file in parse_diff(repo.diff("-M", "-C", "HEAD~1", "HEAD"))}
    renamed = files["b/new b/name.txt"]
    assert (renamed.type, renamed.old_path) == (ChangeType.RENAMED, "old name.txt")
    assert [tuple(change) for change in renamed.hunks[0].changes] == [(5, 1, 5, 1)]
    assert (files["copy.txt"].type, files["copy.txt"].old_path) == (ChangeType.COPIED, "source.txt")


def test_pure_rename_has_no_hunks(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"a.txt": numbered(9)})
    repo.commit({"a.txt": None, "b.txt": numbered(9)})
    file = one(repo.diff("-M", "HEAD~1", "HEAD"))
    assert (file.old_path, file.new_path, file.type, file.hunks) == ("a.txt", "b.txt", ChangeType.RENAMED, [])


def test_a_path_that_is_not_utf8_keeps_gits_spelling(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    (tmp_path / "seed").write_text("x\n")
    blob = repo.git("hash-object", "-w", "seed").strip()
    repo.commit({"seed": "x\n"})
    repo.git_bytes("update-index", "--add", "-z", "--index-info", input=b"100644 " + blob.encode() + b"\tcaf\xe9.txt\0")
    assert one(repo.diff("--cached", "HEAD")).path == '"caf\\351.txt"'


def test_submodules_are_listed_and_marked(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    first = repo.commit({"a": "a\n"})
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{first},vendor/lib")
    repo.git("commit", "-q", "-m", "sub")
    second = repo.git("rev-parse", "HEAD").strip()
    repo.git("update-index", "--cacheinfo", f"160000,{second},vendor/lib")
    file = one(repo.diff("--cached", "HEAD"))
    assert (file.path, file.submodule) == ("vendor/lib", True)
    logged = one(b"Submodule vendor/my lib 1234567..89abcde:\n  > Fix\n")
    assert (logged.path, logged.submodule) == ("vendor/my lib", True)


def test_text_that_looks_like_a_header_stays_in_its_hunk() -> None:
    diff = (
        b"diff --git a/notes.sql b/notes.sql\nindex 1111111..2222222 100644\n--- a/notes.sql\n+++ b/notes.sql\n"
        b"@@ -1,3 +1,3 @@\n--- a/comment\n-@@ -1 +1 @@\n+++ b/comment\n+diff --git a/x b/x\n same\n"
        b"diff --git a/z b/z\nindex 1111111..2222222 100644\n--- a/z\n+++ b/z\n@@ -1 +1 @@\n-1\n+2\n"
    )
    assert [(file.path, file.hunks[0].changes[0]) for file in parse_diff(diff)] == [
        ("notes.sql", (1, 2, 1, 2)),
        ("z", (1, 1, 1, 1)),
    ]


def test_a_remark_about_a_missing_line_end_is_no_line() -> None:
    diff = b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\n-two\n\\ No newline at end of file\n+TWO\n\\ No newline at end of file\n"
    hunk = one(diff).hunks[0]
    assert hunk.changes == [(2, 1, 2, 1)]
    assert hunk.old_lines() == [b"one\n", b"two"]
    assert hunk.new_lines() == [b"one\n", b"TWO"]


def test_crlf_content_keeps_its_carriage_returns() -> None:
    hunk = one(b"--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n one\r\n-two\r\n+TWO\r\n").hunks[0]
    assert hunk.old_lines() == [b"one\r\n", b"two\r\n"]


def test_a_diff_that_was_stored_with_crlf_still_names_its_files() -> None:
    diff = b"diff --git a/f.c b/f.c\nindex 1..2 100644\n--- a/f.c\n+++ b/f.c\n@@ -1 +1 @@\n-1\n+2\n".replace(
        b"\n", b"\r\n"
    )
    file = one(diff)
    assert (file.old_path, file.new_path, file.new_mode) == ("f.c", "f.c", "100644")


def test_empty_context_lines_may_have_lost_their_space() -> None:
    assert one(b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n\n-x\n+y\n").hunks[0].changes == [(3, 1, 3, 1)]


def test_mail_and_log_text_around_files_is_passed_over() -> None:
    patch = (
        b"From 1234 Mon Sep 17 00:00:00 2001\nSubject: [PATCH] x\n\n---\n f | 2 +-\n\n"
        b"diff --git a/f b/f\nindex 1111111..2222222 100644\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n-- \n2.39.5\n\n"
    )
    log = b"commit 1234\n\n    message\n\n" + patch[patch.index(b"diff") : patch.index(b"-- \n")] + b"\ncommit 5678\n"
    assert one(patch).path == one(log).path == "f"


@each_row(
    ("diff", "line", "reason"),
    [
        (b"diff --cc f\nindex 1,2..3\n--- a/f\n+++ b/f\n@@@ -1,1 -1,1 +1,1 @@@\n", 1, "combined diff"),
        (b"@@ -1 +1 @@\n-1\n+2\n", 1, "before any file name"),
        (b"--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n one\n-two\n", 5, "cut off"),
        (b"diff --git a/f b/f\nindex 1..2\n--- a/f\n", 3, "only one of its two"),
        (b"diff --git a/f b/f\nindex 1..2\n--- a/f\n+++ b/f\n", 4, "no hunk"),
        (b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-1\n+2\n+3\n", 6, "more lines"),
        (b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n 1\n 2\n", 5, "more lines"),
        (b"--- a/f\n+++ b/f\n@@ -1,2 +1 @@\n 1\n+2\n", 5, "add up"),
        (b"--- a/f\n+++ b/f\n@@ -x +1 @@\n", 3, "not of the form"),
        (
            b"diff --git old/f newer/f\nindex 1..2\n--- old/f\n+++ newer/f\n@@ -1 +1 @@\n-1\n+2\n",
            1,
            "cannot tell which file",
        ),
        (b"diff --git a/f b/f\n--- a/g\n+++ b/h\n@@ -1 +1 @@\n-1\n+2\n", 1, "cannot tell which file"),
    ],
)
def test_a_damaged_diff_is_refused_with_its_line(diff: bytes, line: int, reason: str) -> None:
    with pytest.raises(BadInput, match=f"line {line} of the diff: .*{reason}"):
        parse_diff(diff)


def test_nothing_is_an_empty_diff() -> None:
    assert parse_diff("") == []


def test_any_cut_of_a_diff_is_refused_or_loses_whole_files_only(tmp_path: Path) -> None:
    repo = GitRepo(tmp_path)
    repo.commit({"a.txt": numbered(30), "b.txt": numbered(30)})
    repo.commit({"a.txt": numbered(30, l4="four", l25="x"), "b.txt": numbered(30, l15="y")})
    diff = repo.diff("HEAD~1", "HEAD")
    whole = {file.path: [hunk.changes for hunk in file.hunks] for file in parse_diff(diff)}
    lines = diff.splitlines(keepends=True)
    for count in range(len(lines)):
        try:
            files = parse_diff(b"".join(lines[:count]))
        except BadInput:
            continue
        for file in files:
            kept = [hunk.changes for hunk in file.hunks]
            assert kept == whole[file.path][: len(kept)]
