"""Clients of object stores: what they raise becomes one line, and URLs behave like paths."""

import os
from pathlib import Path

import pytest

from evergold.errors import BadInput, EvergoldError, NotFound, Unavailable
from evergold.storage import find_matching, is_url, location, make_relative, normal
from evergold.storage.remote import CREDENTIALS, RemotePath, store_of, translate_errors
from tests.rows import each_row

URL = "s3://bucket/folder/file.jsonl"


class NoCredentialsError(Exception):
    pass


@each_row(
    ("problem", "kind", "message"),
    [
        (FileNotFoundError("no key"), NotFound, "no key; check the bucket and the name"),
        (FileNotFoundError(), NotFound, "no such object"),
        (FileNotFoundError(URL.split("://")[1]), NotFound, f"{URL}: no such object"),
        (PermissionError("403"), Unavailable, f"403; {CREDENTIALS}"),
        (NoCredentialsError("Unable to locate"), Unavailable, CREDENTIALS),
        (ConnectionError("reset\n by peer"), Unavailable, "reset by peer; run the command again"),
        (RuntimeError(), Unavailable, "RuntimeError; run the command again"),
        (RuntimeError("x" * 500), Unavailable, "…; run the command again"),
        (BadInput("ours"), BadInput, "ours"),
    ],
)
def test_whatever_a_client_raises_is_one_line(problem: Exception, kind: type[EvergoldError], message: str) -> None:
    with pytest.raises(kind) as raised, translate_errors(URL):
        raise problem
    assert message in raised.value.message and "\n" not in raised.value.message


def test_an_unknown_scheme_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match="known are abfs, abfss, az"):
        store_of("nobody-has-this://bucket/x")


@each_row(("name", "url"), [("s3://b/x", True), ("file:///x", True), ("C:/x", False), ("/x", False), ("a:b", False)])
def test_a_url_is_known_by_its_scheme(name: str, url: bool) -> None:
    assert is_url(name) == url


def test_names_and_parents_of_an_object() -> None:
    path = location(URL)
    assert isinstance(path, RemotePath) and (path.name, path.suffix, str(path.parent)) == (
        "file.jsonl",
        ".jsonl",
        "s3://bucket/folder",
    )
    assert (
        str(path.with_name("x")) == "s3://bucket/folder/x" and str(path.parent / "a" / "b") == "s3://bucket/folder/a/b"
    )
    assert (path.root_of, path.key) == (("s3:", "bucket"), "/folder/file.jsonl")
    assert Path("/here") / path == path and path.is_absolute() and path.resolve() == path.absolute() == path
    assert location("file:///tmp/x") == Path("/tmp/x") and location(Path("x")) == Path("x")


def test_what_only_a_disk_can_do_is_refused_in_one_line() -> None:
    path = location(URL)
    with pytest.raises(BadInput, match="a path of this machine is needed"):
        os.fspath(path)
    with pytest.raises(BadInput, match="nothing is written in place"):
        path.open("w")


@each_row(
    ("path", "start", "expected"),
    [
        ("s3://b/x/y", "s3://b/x", "y"),
        ("s3://b/x", "s3://b/x/y", ".."),
        ("s3://b/x", "s3://other/x", "s3://b/x"),
        ("s3://b/x", "/tmp", "s3://b/x"),
        ("/tmp/x/y", "/tmp/z", "../x/y"),
        ("/tmp/x", "s3://b/x", "/tmp/x"),
    ],
)
def test_a_path_as_seen_from_a_folder(path: str, start: str, expected: str) -> None:
    assert make_relative(location(path), location(start)) == expected


@pytest.mark.parametrize(("path", "expected"), [("s3://b/x/../y/./z", "s3://b/y/z"), ("/tmp/a/../b", "/tmp/b")])
def test_dots_are_taken_out(path: str, expected: str) -> None:
    assert str(normal(location(path))) == expected


def test_a_glob_means_its_files_and_a_name_with_brackets_itself(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "[x].txt"):
        (tmp_path / name).touch()
    (tmp_path / "folder.txt").mkdir()
    assert [path.name for path in find_matching(tmp_path / "?.txt")] == ["a.txt", "b.txt"]
    assert find_matching(tmp_path / "[x].txt") == [tmp_path / "[x].txt"]
    assert find_matching(tmp_path / "missing") == [tmp_path / "missing"]
    with pytest.raises(NotFound, match="put quotes around a glob"):
        find_matching(tmp_path / "*.none")
