"""Packed files: what was written is read back, and one that breaks off is an error."""

import gzip
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet, write_bytes
from evergold.storage import open_read

PACK = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def read(path: Path) -> bytes:
    with open_read(path) as handle:
        return handle.read()


@given(parts=st.lists(st.binary(max_size=300), min_size=1, max_size=4), ending=st.sampled_from([".gz", ".zst"]))
def test_members_behind_each_other_are_one_file(
    tmp_path_factory: pytest.TempPathFactory, parts: list[bytes], ending: str
) -> None:
    path = tmp_path_factory.mktemp("packed") / f"x{ending}"
    path.write_bytes(b"".join(PACK[ending](part) for part in parts))
    assert read(path) == b"".join(parts)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_name_says_how_a_file_is_written(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"lines.jsonl{ending}"
    write_bytes(path, b'{"a": 1}\n' * 1000)
    assert len(path.read_bytes()) < 500
    assert read(path) == b'{"a": 1}\n' * 1000


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_file_that_breaks_off_is_an_error(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "lines.jsonl"
    whole = PACK[ending](bytes(range(256)) * 50)
    for size in (5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(BadInput, match="not a whole"):
            read(path)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_a_packed_file_that_is_given_up_leaves_nothing(tmp_path: Path, ending: str) -> None:
    with pytest.raises(ZeroDivisionError), FileSet() as files:
        files.open(tmp_path / f"x{ending}").write(b"data")
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
