"""Backups as one file: what was written comes back, and every kind of damage is named."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from evergold.errors import BadInput, NotFound
from evergold.formats.archive import (
    LIST,
    ArchiveList,
    ArchivePart,
    ArchiveWriter,
    extract,
    is_archive,
    read_list,
    verify,
)


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"first" * 1000)
    (tmp_path / "b.txt").write_bytes(b"")
    with (tmp_path / "backup.zip").open("wb") as handle:
        writer = ArchiveWriter(handle)
        writer.add("db/a.txt", tmp_path / "a.txt")
        writer.add("b.txt", tmp_path / "b.txt")
        writer.add("b.txt", tmp_path / "a.txt")
        writer.finish({"version": "1"})
    return tmp_path / "backup.zip"


def rewritten(backup: Path, **members: bytes | None) -> Path:
    """The same zip with some members replaced, or taken out by None."""
    with zipfile.ZipFile(backup) as old:
        contents: dict[str, bytes | None] = {name: old.read(name) for name in old.namelist()}
    contents |= {name.replace("__", "/"): data for name, data in members.items()}
    with zipfile.ZipFile(backup, "w") as new:
        for name, data in contents.items():
            if data is not None:
                new.writestr(name, data)
    return backup


def listed(backup: Path, **changes: Any) -> bytes:
    with zipfile.ZipFile(backup) as opened:
        return json.dumps(json.loads(opened.read(LIST)) | changes).encode()


def test_what_was_added_comes_back_with_its_description(backup: Path, tmp_path: Path) -> None:
    contents = extract(backup, tmp_path / "out")
    assert (tmp_path / "out/db/a.txt").read_bytes() == b"first" * 1000
    assert (tmp_path / "out/b.txt").read_bytes() == b"", "the first of two equal names is kept"
    assert contents == verify(backup) == read_list(backup)
    assert (contents.contents, [part.bytes for part in contents.parts]) == ({"version": "1"}, [5000, 0])


def test_progress_counts_every_byte(backup: Path) -> None:
    seen: list[int] = []
    verify(backup, seen.append)
    assert sum(seen) == 5000


def test_a_file_that_exists_is_not_overwritten(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/b.txt").write_text("mine")
    with pytest.raises(Exception, match=r"[Ee]xists"):
        extract(backup, tmp_path / "out")
    assert (tmp_path / "out/b.txt").read_text() == "mine"


def test_an_archive_is_recognised_by_its_list(backup: Path, tmp_path: Path) -> None:
    assert is_archive(backup)
    assert not is_archive(rewritten(backup, **{LIST: None}))
    (tmp_path / "text").write_text("no zip")
    assert not is_archive(tmp_path / "text") and not is_archive(tmp_path / "missing")


def test_a_backup_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no backup at"):
        read_list(tmp_path / "missing.zip")


@pytest.mark.parametrize("size", [0, 10, 200])
def test_a_file_that_was_cut_off_is_no_whole_backup(backup: Path, size: int) -> None:
    backup.write_bytes(backup.read_bytes()[:size])
    with pytest.raises(BadInput, match="is no whole backup"):
        verify(backup)


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        ({"b.txt": b"other"}, "'b.txt' does not match its hash"),
        ({"db__a.txt": b"first" * 999}, "'db/a.txt' does not match its hash"),
        ({"b.txt": None}, "'b.txt' is missing"),
        ({LIST: None}, "no backup of Evergold"),
        ({LIST: b"not json"}, "its list cannot be read"),
        ({LIST: b"[]"}, "its list cannot be read"),
        ({LIST: b'{"format": 1}'}, "its list cannot be read"),
        ({LIST: b'{"format": 99}'}, "has format 99, this program reads format 1"),
    ],
)
def test_damage_is_named_with_what_to_do(backup: Path, members: dict[str, bytes | None], problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        verify(rewritten(backup, **members))


def test_a_changed_list_does_not_match_its_own_hash(backup: Path) -> None:
    with pytest.raises(BadInput, match="does not match its own hash"):
        verify(rewritten(backup, **{LIST: listed(backup, about={"version": "2"})}))


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up", "a\\b", "C:/x"])
def test_a_part_that_lies_outside_is_refused(backup: Path, name: str) -> None:
    evil = ArchiveList.of([ArchivePart(name=name, bytes=0, sha256="")], {})
    with pytest.raises(BadInput, match="which lies outside; nothing of it is used"):
        verify(rewritten(backup, **{LIST: evil.model_dump_json(by_alias=True).encode()}))


def test_what_the_list_does_not_name_is_refused(backup: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'settings/evil\.toml', which its list does not name"):
        extract(rewritten(backup, **{"settings__evil.toml": b"x = 1"}), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_second_member_of_a_listed_name_is_refused(backup: Path) -> None:
    with zipfile.ZipFile(backup, "a") as more:
        more.writestr("db/a.txt", b"another")
    with pytest.raises(BadInput, match="which its list does not name"):
        verify(backup)
