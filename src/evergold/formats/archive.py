"""A backup as one file: a zip whose last member lists every other one with its size and SHA-256.

The list carries a hash of itself, so that each byte of an archive is covered. A zip ends with its directory: an archive that was
cut off is recognised before anything of it is read.
"""

import hashlib
import json
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, BinaryIO

from pydantic import BaseModel, Field, ValidationError

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.machine import make_folder, open_file
from evergold.model.values import content_hash

FORMAT = 1
LIST = "backup.json"
_BLOCK = 1 << 20
# zlib's fastest level: time counts for more than size in a backup.
_FASTEST = 1

Advance = Callable[[int], None]


class ArchivePart(BaseModel, frozen=True):
    """One member of an archive."""

    name: str
    bytes: int
    sha256: str


class ArchiveList(BaseModel, frozen=True):
    """What is in an archive; `contents` is described by whoever wrote it."""

    format: int
    parts: list[ArchivePart]
    # The key in the file stays `about`: archives that exist must be read.
    contents: dict[str, Any] = Field(alias="about")
    hash: str

    @classmethod
    def of(cls, parts: list[ArchivePart], contents: Mapping[str, Any]) -> "ArchiveList":
        content = {"format": FORMAT, "parts": [part.model_dump() for part in parts], "about": dict(contents)}
        return cls.model_validate({**content, "hash": content_hash(content)})


class ArchiveWriter:
    """Adds files to an archive, hashing each as it is read."""

    def __init__(self, handle: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(handle, "w", zipfile.ZIP_DEFLATED, compresslevel=_FASTEST)
        self._parts: dict[str, ArchivePart] = {}

    def add(self, name: str, path: Path, advance: Advance = lambda _: None) -> None:
        """Add a file under a name; a second one of the same name is left out."""
        if name in self._parts:
            return
        digest, size = hashlib.sha256(), 0
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_DEFLATED
        # The size is not known before the file is read, so room for 64-bit sizes is always made.
        with path.open("rb") as source, self._zip.open(info, "w", force_zip64=True) as member:
            while block := source.read(_BLOCK):
                digest.update(block)
                member.write(block)
                size += len(block)
                advance(len(block))
        self._parts[name] = ArchivePart(name=name, bytes=size, sha256=digest.hexdigest())

    def finish(self, contents: Mapping[str, Any]) -> ArchiveList:
        listed = ArchiveList.of(list(self._parts.values()), contents)
        self._zip.writestr(LIST, listed.model_dump_json(indent=1, by_alias=True))
        self._zip.close()
        return listed


def is_archive(path: Path) -> bool:
    """Whether a file looks like an archive of ours, whole or not."""
    try:
        with _zip(path) as opened:
            return LIST in opened.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


def read_list(path: Path) -> ArchiveList:
    with _open_archive(path) as opened:
        return _list_of(path, opened)


def verify(path: Path, advance: Advance = lambda _: None) -> ArchiveList:
    """Read every part and compare it with the list."""
    with _open_archive(path) as opened:
        listed = _list_of(path, opened)
        for part in listed.parts:
            _read(path, opened, part, None, advance)
    return listed


def extract(path: Path, folder: Path, advance: Advance = lambda _: None) -> ArchiveList:
    """Write every part under `folder`, each compared with the list while it is read."""
    with _open_archive(path) as opened:
        listed = _list_of(path, opened)
        for part in listed.parts:
            target = folder / part.name
            make_folder(target.parent)
            with open_file(target, "xb") as written:
                _read(path, opened, part, written, advance)
    return listed


@contextmanager
def _zip(path: Path) -> Iterator[zipfile.ZipFile]:
    with path.open("rb") as handle, zipfile.ZipFile(handle) as opened:
        yield opened


@contextmanager
def _open_archive(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with _zip(path) as opened:
            yield opened
    # A file missing elsewhere, such as the folder that is extracted into, is not a missing backup.
    except FileNotFoundError as problem:
        if problem.filename not in (None, str(path)):
            raise
        raise NotFound(f"no backup at {str(path)!r}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError) as problem:
        raise BadInput(f"{str(path)!r} is no whole backup: {problem}; use another copy of it") from None
    except OSError as problem:
        where = f" ({problem.filename})" if problem.filename else ""
        raise Unavailable(f"{problem.strerror or problem}{where} while {str(path)!r} was read") from problem


def _list_of(path: Path, opened: zipfile.ZipFile) -> ArchiveList:
    if LIST not in opened.namelist():
        raise BadInput(f"{str(path)!r} is a zip, but no backup of Evergold: it has no {LIST}")
    raw = opened.read(LIST)
    try:
        # The format is looked at before anything else: a list of a later format may well not validate.
        version = json.loads(raw).get("format")
        if version != FORMAT:
            raise BadInput(
                f"{str(path)!r} has format {version}, this program reads format {FORMAT}; "
                "restore it with the version of evergold that wrote it, or a newer one"
            )
        listed = ArchiveList.model_validate_json(raw)
    except (ValidationError, ValueError, AttributeError):
        raise BadInput(f"{str(path)!r} is damaged: its list cannot be read; use another copy of it") from None
    if listed.hash != content_hash(listed.model_dump(exclude={"hash"}, by_alias=True)):
        raise BadInput(f"{str(path)!r} is damaged: its list does not match its own hash; use another copy of it")
    for part in listed.parts:
        name = PurePosixPath(part.name)
        # A manipulated archive must not write outside of the folder; backslash and colon are separators on Windows.
        if name.is_absolute() or ".." in name.parts or "\\" in part.name or ":" in part.name.partition("/")[0]:
            raise BadInput(f"{str(path)!r} names a part {part.name!r}, which lies outside; nothing of it is used")
    held, named = Counter(opened.namelist()), Counter([LIST, *(part.name for part in listed.parts)])
    if missing := sorted((named - held).elements()):
        raise BadInput(f"{str(path)!r} is damaged: {missing[0]!r} is missing; use another copy of it")
    # A member that is not listed, or stands there twice, is no part of the backup: another reader may take it for one.
    if extra := sorted((held - named).elements()):
        raise BadInput(f"{str(path)!r} holds {extra[0]!r}, which its list does not name; nothing of it is used")
    return listed


def _read(path: Path, opened: zipfile.ZipFile, part: ArchivePart, target: IO[bytes] | None, advance: Advance) -> None:
    digest, size = hashlib.sha256(), 0
    with opened.open(part.name) as member:
        # One block past the listed size is enough to know that it is wrong: a zip bomb is not read to its end.
        while size <= part.bytes and (block := member.read(_BLOCK)):
            digest.update(block)
            size += len(block)
            if target is not None:
                target.write(block)
            advance(len(block))
    if (size, digest.hexdigest()) != (part.bytes, part.sha256):
        raise BadInput(f"{str(path)!r} is damaged: {part.name!r} does not match its hash; use another copy of it")
