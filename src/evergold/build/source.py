"""Open offline records: a file here, or an object in a store (`s3://…`, `gs://…`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from evergold.errors import BadInput, NotFound
from evergold.formats.rows import PARQUET, open_rows
from evergold.storage import RemotePath, location
from evergold.storage.packing import GZIP, ZSTD

PACKED = (GZIP, ZSTD, PARQUET)


class State(NamedTuple):
    """What tells one content of a source from the next without reading it."""

    size: int
    stamp: str


def open_source(name: str) -> BinaryIO:
    """The bytes of a file or object, seekable; a worker on another machine opens it the same way."""
    return cast(BinaryIO, location(name).open("rb"))


def state_of(name: str) -> State:
    """Size and time of the last change; raises NotFound when nothing is there."""
    path = location(name)
    if path.exists() and not path.is_file():
        if path.is_dir():
            raise BadInput(f"{name} is a folder; name the JSONL file of the offline dataset in it")
        raise BadInput(f"{name} is no file with an end; a build reads its source more than once: write it to a file")
    if not path.exists():
        raise NotFound(f"no offline dataset at {name}; give --offline-dataset FILE, or generate one first")
    status = path.stat()
    # An object store has no modification time of such precision; its entity tag changes with the content.
    return State(status.st_size, path.state() if isinstance(path, RemotePath) else str(status.st_mtime_ns))


def is_packed(name: str) -> bool:
    """Whether the records must be unpacked before they can be read from any offset."""
    with open_source(name) as source:
        return source.read(len(PARQUET)).startswith(PACKED)


@contextmanager
def plain_lines(name: str, scratch: Path) -> Iterator[Path]:
    """A copy of a packed file or a table as plain lines, in a folder that the caller removes."""
    copy = scratch / "offline_dataset.jsonl"
    with open_rows(location(name)) as lines, copy.open("wb") as out:
        out.writelines(lines)
    yield copy
