"""Objects in a store as paths: names, reading, listing, writing whole."""

import os
import pickle
from pathlib import Path

import pytest

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.formats.atomic import FileSet
from evergold.storage import RemotePath, find_matching, location, make_relative, normal, open_read
from tests.storage.conftest import BUCKET, stored, unfinished

ROOT = f"s3://{BUCKET}"


def test_names_work_as_on_any_path() -> None:
    path = location("s3://b/day=1/x.jsonl.gz")
    assert isinstance(path, RemotePath)
    assert (str(path), path.name, path.suffix, str(path.parent)) == (
        "s3://b/day=1/x.jsonl.gz",
        "x.jsonl.gz",
        ".gz",
        "s3://b/day=1",
    )
    assert str(path.parent / "y") == "s3://b/day=1/y"
    assert str(path.with_name("z")) == "s3://b/day=1/z"
    assert Path("/here") / path == path
    assert pickle.loads(pickle.dumps(path)) == path
    assert str(path.relative_to(location("s3://b"))) == "day=1/x.jsonl.gz"
    assert str(normal(path.parent / "../y")) == str(path.parent / "../y") == "s3://b/y"
    assert make_relative(path, location("s3://b/other")) == "../day=1/x.jsonl.gz"
    assert make_relative(path, Path("/here")) == str(path)
    assert location("file:///tmp/x") == Path("/tmp/x")


def test_what_only_a_disk_can_do_is_refused_in_one_line() -> None:
    path = location("s3://b/x")
    with pytest.raises(BadInput, match="a path of this machine is needed"):
        os.stat(path)
    with pytest.raises(BadInput, match="nothing is written in place"):
        path.open("a")


def test_a_store_whose_client_is_missing_says_what_to_install() -> None:
    with pytest.raises(Unavailable, match=r"pip install 'evergold\[az\]'"):
        location("az://b/x").exists()
    with pytest.raises(BadInput, match="nosuch://b/x"):
        location("nosuch://b/x").exists()


def test_objects_are_written_whole_and_read_back(s3: str) -> None:
    with FileSet() as files:
        files.open(f"{ROOT}/a/x.jsonl.gz").write(b"one\n")
        files.open(f"{ROOT}/a/y.jsonl").write(b"two\n" * 3_000_000)
        assert stored() == set()
    assert stored() == {"a/x.jsonl.gz", "a/y.jsonl"}
    with open_read(location(f"{ROOT}/a/x.jsonl.gz")) as handle:
        assert handle.read() == b"one\n"
    with location(f"{ROOT}/a/y.jsonl").open("rb") as handle:
        handle.seek(-4, os.SEEK_END)
        assert handle.read() == b"two\n"
    folder = location(f"{ROOT}/a")
    assert folder.is_dir() and not folder.is_file()
    assert [path.name for path in folder.iterdir()] == ["x.jsonl.gz", "y.jsonl"]
    assert location(f"{ROOT}/a/y.jsonl").stat().st_size == 12_000_000


def test_an_error_on_the_way_leaves_nothing_in_the_store(s3: str) -> None:
    with pytest.raises(ZeroDivisionError), FileSet() as files:
        files.open(f"{ROOT}/x").write(b"0" * (60 << 20))  # more than one part
        raise ZeroDivisionError
    assert (stored(), unfinished()) == (set(), 0)


def test_globs_list_what_they_match(s3: str, tmp_path: Path) -> None:
    for name in ("d=1/a.jsonl", "d=2/a.jsonl", "d=2/b.txt"):
        location(f"{ROOT}/{name}").write_bytes(b"x")
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    for root in (ROOT, str(tmp_path)):
        files = find_matching(f"{root}/d=*/*.jsonl")
        assert [str(path).removeprefix(f"{root}/") for path in files] == ["d=1/a.jsonl", "d=2/a.jsonl"]
        with pytest.raises(NotFound, match="no file matches"):
            find_matching(f"{root}/*.csv")


def test_an_object_can_be_removed(s3: str) -> None:
    path = location(f"{ROOT}/x")
    path.write_text("x")
    path.unlink()
    path.unlink(missing_ok=True)
    assert not path.exists()
