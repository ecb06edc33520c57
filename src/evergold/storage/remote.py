"""An object in a store as a path: `s3://`, `gs://`, `az://`, `hf://` and whatever else fsspec knows.

A `RemotePath` is a `Path`, so that what takes a path takes an object too: names and parents work as on any path, reading and
listing go to the store. What only a disk can do (`os.fspath`, writing in place) is refused in one line. So are the errors of
the clients, which have no exception in common.

fsspec's own glob leaves out every folder that it could not list. With credentials that end halfway a part of the files would be
taken for all of them, so folders are listed here, and an error ends the listing.
"""

import io
import os
import posixpath
import re
import stat
from collections.abc import Generator, Iterator, Sequence
from configparser import ConfigParser
from configparser import Error as ConfigError
from contextlib import contextmanager, suppress
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import PosixPath
from typing import Any, BinaryIO, Never, Self, cast

from evergold.credentials import Secret, hide, learn_environment
from evergold.errors import BadInput, EvergoldError, NotFound, Unavailable
from evergold.storage.charset import ReadHandle

EXTRAS = {"s3": "s3", "s3a": "s3", "gs": "gs", "gcs": "gs", "az": "az", "abfs": "az", "abfss": "az", "hf": "hf"}
"""Which extra brings the client of a store."""


def store_of(url: str) -> tuple[Any, str]:
    """The client of the store and the name of the object there."""
    learn_environment()
    scheme = url.split("://", 1)[0]
    if EXTRAS.get(scheme) == "s3":
        # Have the keys in the profile files of AWS known, which its clients read by themselves.
        for variable, usual in (("SHARED_CREDENTIALS", "credentials"), ("CONFIG", "config")):
            profiles = ConfigParser(interpolation=None, strict=False)
            with suppress(OSError, ConfigError, UnicodeError):
                profiles.read(os.path.expanduser(os.environ.get(f"AWS_{variable}_FILE") or f"~/.aws/{usual}"))
            for profile in profiles.values():
                learn_environment(profile)
    install = f"pip install 'evergold[{EXTRAS.get(scheme, 'cluster')}]'"
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise Unavailable(f"{url} needs an extra: {install}") from None
    try:
        # fsspec caches listings for the life of the process; another writer's objects must be seen.
        file_system, path = url_to_fs(url, use_listings_cache=False)
        learn_environment({str(name): str(value) for name, value in file_system.storage_options.items()})
    except ImportError as problem:
        needed = install if scheme in EXTRAS else str(problem)
        raise Unavailable(f"{url} needs a package that is not installed: {needed}") from None
    except ValueError as problem:
        raise BadInput(f"{url}: {problem}; known are {', '.join(sorted(EXTRAS))} and what else fsspec lists") from None
    return file_system, path


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn whatever a store's client raises into one line of ours."""
    try:
        yield
    # Errors of ours pass: a nested call has already said it in one line.
    except EvergoldError:
        raise
    except FileNotFoundError as problem:
        # Some clients give the name alone, which says nothing of what is wrong.
        reason = _reason(problem)
        detail = "no such object" if url.endswith(reason) else reason
        raise NotFound(f"{url}: {detail}; check the bucket and the name") from problem
    except PermissionError as problem:
        raise Unavailable(f"{url}: {_reason(problem) or 'access denied'}; {CREDENTIALS}") from problem
    except Exception as problem:
        # botocore, google-auth and azure-identity name it so in the class or the message, and share no base class.
        hint = CREDENTIALS if "redential" in f"{type(problem).__name__}{problem}" else "run the command again"
        raise Unavailable(f"{url}: {_reason(problem) or type(problem).__name__}; {hint}") from problem


CREDENTIALS = "check the credentials (environment, profile file or machine role, as the store's own tools read them)"


def _reason(problem: BaseException) -> str:
    text = " ".join(hide(str(problem)).split())  # before it is cut: half a key would stay
    return text if len(text) <= 200 else text[:200] + "…"


MAGIC = frozenset("*?[")
ANY_DEPTH = "**"


def entries_of(file_system: Any, folder: str) -> dict[str, bool]:
    """The names in a folder, each with whether it is a folder itself; none where there is no such folder."""
    try:
        listed = file_system.ls(folder, detail=True)
    except FileNotFoundError:
        return {}
    # Some stores list the folder itself among its entries; a file is listed as itself.
    entries = {str(one["name"]).rstrip("/"): one["type"] == "directory" for one in listed}
    return {name: is_folder for name, is_folder in entries.items() if name != folder.rstrip("/")}


def matches(file_system: Any, pattern: str) -> dict[str, bool]:
    """The names that a glob matches, each with whether it is a folder; `**` stands for any number of folders."""
    parts = pattern.rstrip("/").split("/")
    fixed = next((number for number, part in enumerate(parts) if MAGIC.intersection(part)), len(parts) - 1)
    return dict(_list_below(file_system, "/".join(parts[:fixed]), parts[fixed:]))


def _list_below(file_system: Any, folder: str, parts: Sequence[str]) -> Iterator[tuple[str, bool]]:
    first, rest = parts[0], parts[1:]
    if first == ANY_DEPTH and rest:
        yield from _list_below(file_system, folder, rest)
    for name, is_folder in entries_of(file_system, folder).items():
        if first == ANY_DEPTH:
            if not rest:
                yield name, is_folder
            if is_folder:
                yield from _list_below(file_system, name, parts)
        elif fnmatchcase(name.rsplit("/", 1)[-1], first):
            if not rest:
                yield name, is_folder
            elif is_folder:
                yield from _list_below(file_system, name, rest)


URL = re.compile(r"[a-z][a-z0-9+.-]*://")
READ_BYTES = 1 << 20
# fsspec's file systems name this differently; the first that is there is taken.
STAMPS = ("ETag", "etag", "LastModified", "last_modified", "mtime", "created")


def is_url(name: str) -> bool:
    return URL.match(name) is not None


class RemotePath(PosixPath):
    """An object, or a folder of objects, in a store."""

    def __str__(self) -> str:
        parts = self.parts
        if not parts or not parts[0].endswith(":"):  # a part of an URL, as `relative_to` gives
            return "/".join(parts) or "."
        name = "/".join(parts[1:])
        # A config may name a file by `../`, which a store would take for a part of its name.
        return f"{parts[0]}//{posixpath.normpath(name) if '..' in parts else name}"

    def __repr__(self) -> str:
        return f"RemotePath({self.url!r})"

    # Without this, `open(path)` and others would take the URL for a file name and create folders called `s3:`.
    def __fspath__(self) -> Never:
        raise BadInput(f"{self} is in an object store; a path of this machine is needed here")

    def __rtruediv__(self, folder: Any) -> Self:
        """An URL is absolute: joined to a folder it stays what it is."""
        return self

    @property
    def url(self) -> str:
        return Secret(str(self))  # it may hold a login, and stands in the variables of tracebacks

    @property
    def root_of(self) -> tuple[str, ...]:
        """Store and bucket."""
        return self.parts[:2]

    @property
    def key(self) -> str:
        return "/" + "/".join(self.parts[2:])

    def is_absolute(self) -> bool:
        return True

    def absolute(self) -> Self:
        return self

    def resolve(self, strict: bool = False) -> Self:
        return self

    def expanduser(self) -> Self:
        return self

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        return self._info() is not None

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        return (self._info() or {}).get("type") == "file"

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        return (self._info() or {}).get("type") == "directory"

    def is_symlink(self) -> bool:
        return False

    def samefile(self, other_path: Any) -> bool:
        return bool(self == other_path)

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:
        """Do nothing: a store has no folders, only names with slashes."""

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        info = self._info()
        if info is None:
            raise FileNotFoundError(f"no object {self}")
        kind = stat.S_IFREG if info["type"] == "file" else stat.S_IFDIR
        # Only times that come as datetime are used; others are 0, as nothing here depends on them.
        changed = info.get("LastModified") or info.get("mtime") or 0
        seconds = int(changed.timestamp()) if isinstance(changed, datetime) else 0
        return os.stat_result((kind | 0o644, 0, 0, 1, 0, 0, int(info.get("size") or 0), seconds, seconds, seconds))

    def state(self) -> str:
        """What tells one content of the object from the next; empty where there is none."""
        info = self._info() or {}
        return next((str(info[name]) for name in STAMPS if info.get(name)), "")

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open the object for reading; it is fetched as it is read."""
        if mode not in ("r", "rb", "rt"):
            raise BadInput(
                f"{self} is in an object store, where nothing is written in place; give a path of this machine"
            )
        with translate_errors(self.url):
            file_system, path = store_of(self.url)
            handle = file_system.open(path, "rb")
        # Without a buffer each line read would be a request to the store.
        reader = io.BufferedReader(_Download(self.url, handle), READ_BYTES)
        return reader if mode == "rb" else io.TextIOWrapper(reader, encoding, errors, newline)

    def upload(self) -> "ObjectUpload":
        """Begin to write the object: it appears when the upload is completed."""
        with translate_errors(self.url):
            file_system, path = store_of(self.url)
            # `autocommit=False`: closing sends the last part, and only `commit` makes the object appear.
            return ObjectUpload(self.url, file_system.open(path, "wb", autocommit=False))

    def write_bytes(self, data: Any) -> int:
        """Replace the object as a whole."""
        upload = self.upload()
        try:
            count = upload.write(data)
            upload.send()
            upload.complete()
        finally:
            upload.discard()
        return count

    def write_text(
        self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> int:
        return self.write_bytes(data.encode(encoding or "utf-8", errors or "strict"))

    def unlink(self, missing_ok: bool = False) -> None:
        with translate_errors(self.url):
            file_system, path = store_of(self.url)
            if not missing_ok or file_system.exists(path):
                file_system.rm_file(path)

    def iterdir(self) -> Generator[Self, None, None]:
        with translate_errors(self.url):
            file_system, path = store_of(self.url)
            entries = entries_of(file_system, path)
        yield from (self._name_of(name) for name in sorted(entries))

    def glob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        return (path for path, _ in self._expand(f"{self.url.rstrip('/')}/{pattern}"))

    def rglob(self, pattern: str, **options: Any) -> Iterator[Self]:  # type: ignore[override]
        return self.glob(f"**/{pattern}")

    def expand(self) -> list[Self]:
        """The objects whose URLs this one matches as a glob."""
        return [path for path, is_folder in self._expand(self.url) if not is_folder]

    def _expand(self, pattern: str) -> list[tuple[Self, bool]]:
        """What a glob matches, in the order of the names, each with whether it is a folder."""
        with translate_errors(pattern):
            file_system, path = store_of(pattern)
            return [(self._name_of(name), is_folder) for name, is_folder in sorted(matches(file_system, path).items())]

    def _name_of(self, name: str) -> Self:
        # fsspec gives names without the scheme.
        return type(self)(f"{self.parts[0]}//{name.lstrip('/')}")

    def _info(self) -> dict[str, Any] | None:
        with translate_errors(self.url):
            file_system, path = store_of(self.url)
            try:
                return cast("dict[str, Any]", file_system.info(path))
            except FileNotFoundError:
                return None


class _Download(ReadHandle):
    """An object that is read; a connection that is lost is one line."""

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return int(self._handle.seek(offset, whence))

    def tell(self) -> int:
        return int(self._handle.tell())

    def readinto(self, buffer: Any) -> int:
        with translate_errors(self.name):
            data = self._handle.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


class ObjectUpload(io.RawIOBase):
    """An object that is written in parts. `complete` makes it appear, `discard` takes the parts back."""

    def __init__(self, url: str, handle: Any) -> None:
        self.name, self._handle = url, handle
        self._ended = False

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        with translate_errors(self.name):
            return int(self._handle.write(data))

    def tell(self) -> int:
        return int(self._handle.tell())

    def flush(self) -> None:
        """Do nothing: parts are sent when they are large enough."""

    def send(self) -> None:
        """Send what is left; the object does not exist yet."""
        with translate_errors(self.name):
            self._handle.close()

    def complete(self) -> None:
        with translate_errors(self.name):
            self._handle.commit()
        self._ended = True

    def discard(self) -> None:
        """Give the upload up. A store that cannot be reached forgets the parts by its own rules."""
        if self._ended:
            return
        self._ended = True
        with suppress(Exception):
            self._handle.closed = True  # otherwise the client sends what is left when the handle is collected
            self._handle.discard()

    def as_file(self) -> BinaryIO:
        return cast(BinaryIO, self)
