"""Where offline records are read from: a file here, or an object store that fsspec knows (`s3://…`, `gs://…`)."""

from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from evergold.errors import BadInput, NotFound, Unavailable

GZIP = b"\x1f\x8b"


class State(NamedTuple):
    """What tells one content of a source from the next without reading it."""

    size: int
    stamp: str


def is_url(location: str) -> bool:
    return "://" in location


def open_source(location: str) -> BinaryIO:
    """The bytes of a file or object, seekable; a worker on another machine opens it the same way."""
    if not is_url(location):
        return Path(location).open("rb")
    file_system, path = _remote(location)
    opened: BinaryIO = file_system.open(path, "rb")
    return opened


def state_of(location: str) -> State:
    """Size and time of the last change; raises NotFound when nothing is there."""
    missing = f"no offline dataset at {location}; give --offline-dataset FILE, or generate one first"
    if not is_url(location):
        path = Path(location)
        if path.exists() and not path.is_file():
            if path.is_dir():
                raise BadInput(f"{location} is a folder; name the JSONL file of the offline dataset in it")
            raise BadInput(
                f"{location} is no file with an end; a build reads its source more than once: write it to a file"
            )
        if not path.is_file():
            raise NotFound(missing)
        result = path.stat()
        with path.open("rb") as source:
            if source.read(len(GZIP)) == GZIP:
                raise BadInput(f"{location} is compressed; unpack it first: gunzip -k {path.name}")
        return State(result.st_size, str(result.st_mtime_ns))
    file_system, path_there = _remote(location)
    try:
        info = file_system.info(path_there)
    except FileNotFoundError:
        raise NotFound(missing) from None
    stamp = next((str(info[key]) for key in ("ETag", "etag", "LastModified", "mtime", "created") if key in info), "")
    return State(int(info["size"]), stamp)


def _remote(location: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Unavailable(f"{location} needs the extra: pip install 'evergold[cluster]'") from None
    try:
        file_system, path = url_to_fs(location)
    except (ImportError, ValueError) as problem:
        raise Unavailable(f"cannot open {location}: {problem}") from problem
    return file_system, path
