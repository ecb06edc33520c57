"""Packed files: what was written is read back, and one that breaks off is an error."""

import base64
import gzip
import random
import subprocess
import sys
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet, write_bytes
from evergold.storage import compression, open_read
from evergold.storage.compression import LONGEST_RECORD, unpack_stream

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
    with unpack_stream(path.open("rb"), "x") as handle:
        assert handle.read() == b"".join(parts)


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


BOMB = """
import os, sys
from pathlib import Path
def largest():  # of this process; what getrusage gives includes the process that started it
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
from evergold.cli import invoke
from evergold.formats.tables import arrow
import zstandard
arrow(); invoke(["ingest", "plain.jsonl"])
for name in sys.argv[1:]:
    if os.fork() == 0:  # what one file leaves behind is no help for the next
        before = largest()
        print(name, invoke(["ingest", name]), largest() - before, flush=True)
        os._exit(0)
    os.wait()
"""
RECORD_MB = LONGEST_RECORD >> 20
SPARE_MB = 64
LIBRARIES_MB = 8  # that pyarrow loads at the first file


def _write_bombs(folder: Path) -> list[str]:
    import pyarrow
    from pyarrow import parquet

    text = "x" * (150 << 20)
    line = f'{{"id": "a", "input": "{text}", "output": "y"}}\n'.encode()
    (folder / "plain.jsonl").write_bytes(b'{"id": "b", "input": "x", "output": "y"}\n')
    (folder / "bomb.gz").write_bytes(gzip.compress(line, 1))
    (folder / "bomb.zst").write_bytes(PACK[".zst"](line))
    (folder / "bomb.many").write_bytes(PACK[".zst"](line[:-1]) * 3)
    once = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * 12_000, pyarrow.int32()), pyarrow.array([text[: 1 << 20]])
    )
    nulls, ends = 20_000_000, pyarrow.int32()
    shapes = {
        "cell": pyarrow.array([text]),
        "repeats": pyarrow.ListArray.from_arrays(pyarrow.array([0, 12_000], ends), once),
        "nothing": pyarrow.ListArray.from_arrays(
            pyarrow.array([0, nulls], ends), pyarrow.nulls(nulls, pyarrow.int64())
        ),
        "fixed": pyarrow.array([None], pyarrow.binary(1 << 26)),
    }
    for name, column in shapes.items():
        table = pyarrow.table({"id": ["a"], "input": ["x"], "output": ["y"], "more": column})
        parquet.write_table(table, folder / f"bomb.{name}", compression="zstd")
    return sorted(path.name for path in folder.glob("bomb.*"))


def test_a_small_file_that_unpacks_to_much_takes_no_more_memory_than_a_record(tmp_path: Path) -> None:
    names = _write_bombs(tmp_path)
    assert max((tmp_path / name).stat().st_size for name in names) < 1 << 20
    words = [sys.executable, "-c", BOMB, *names]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    results = [line.split() for line in ran.stdout.splitlines() if line.startswith("bomb.")]
    assert [(name, code) for name, code, _ in results] == [(name, "2") for name in names], ran.stdout
    assert ran.stderr.count("unpacks to") == len(names)
    assert max(int(grew) for _, _, grew in results) <= RECORD_MB + SPARE_MB, results


READS = """
import sys
from evergold.cli import invoke
from evergold.formats.tables import arrow
def largest():
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1]) // 1024
arrow(); invoke(["ingest", "first.parquet"])
before = largest()
code = invoke(["ingest", "x.parquet"])
print(code, largest() - before)
"""


@pytest.mark.parametrize("dictionary", [True, False])
def test_a_row_as_long_as_a_record_is_ingested_in_little_more_memory_than_one(tmp_path: Path, dictionary: bool) -> None:
    import pyarrow
    from pyarrow import parquet

    text = base64.b64encode(random.Random(1).randbytes(LONGEST_RECORD * 23 // 32)).decode()
    for name, one in (("first", "z"), ("x", text)):
        table = pyarrow.table({"id": [name], "input": [one], "output": ["y"]})
        parquet.write_table(table, tmp_path / f"{name}.parquet", compression="zstd", use_dictionary=dictionary)
    words = [sys.executable, "-c", READS]
    ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    code, grew = ran.stdout.split()[-2:]
    assert (code, ran.stdout.count("ingested: 1 traces")) == ("0", 2)
    assert int(grew) <= RECORD_MB + SPARE_MB + LIBRARIES_MB


def test_a_frame_that_asks_for_a_large_window_is_refused(tmp_path: Path) -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=27, enable_ldm=True)
    path = tmp_path / "x.zst"
    writer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    path.write_bytes(writer.compress(b"data" * 1000) + writer.flush())
    with pytest.raises(BadInput, match="not a whole zstd file"):
        read(path)


@pytest.mark.parametrize("ending", [".gz", ".zst"])
def test_lines_and_documents_of_people_are_read_whatever_their_size(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compression, "LONGEST_RECORD", 1 << 16)
    long = base64.b64encode(random.Random(5).randbytes(1 << 17))
    path = tmp_path / f"x{ending}"
    path.write_bytes(PACK[ending](b"[" + long + b"]\n" + b"second\n"))
    with open_read(path) as handle:
        assert list(handle) == [b"[" + long + b"]\n", b"second\n"]
    path.write_bytes(PACK[ending](b"a line that repeats itself\n" * 100_000))
    with open_read(path) as handle:
        assert sum(1 for _ in handle) == 100_000
