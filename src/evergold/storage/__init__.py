"""Where files are: on this machine, or in an object store that fsspec knows. One door for all that reads and writes files.

`location` makes a path of a name or URL, `find_matching` all the files of a glob, `open_read` opens and unpacks one.
Files are written by `formats.atomic.FileSet`, which takes both kinds of path.
"""

import glob
import os
import posixpath
import re
from pathlib import Path

from evergold.errors import NotFound
from evergold.model.values import hash_bytes
from evergold.storage.compression import open_read
from evergold.storage.remote import MAGIC, RemotePath, is_url

__all__ = ["RemotePath", "file_name", "find_matching", "is_url", "location", "make_relative", "normal", "open_read"]


def location(name: str | Path) -> Path:
    """The path that a name or URL means. `file://` is a path of this machine."""
    if isinstance(name, Path):
        return name
    if not is_url(name):
        return Path(name)
    return Path(name.removeprefix("file://")) if name.startswith("file://") else RemotePath(name)


def find_matching(name: str | Path) -> list[Path]:
    """The files that a name, URL or glob means, in the order of their names; a glob that nothing matches is an error."""
    path = location(name)
    # A file whose name really holds `[` or `*` is that file, not a glob.
    if not MAGIC.intersection(str(name)) or (not isinstance(path, RemotePath) and path.exists()):
        return [path]
    if isinstance(path, RemotePath):
        files: list[Path] = list(path.expand())
    else:
        files = [one for one in map(Path, sorted(glob.glob(str(path), recursive=True))) if not one.is_dir()]
    if not files:
        raise NotFound(f"no file matches {str(name)!r}; look at the folder, and put quotes around a glob")
    return files


def normal(path: Path) -> Path:
    """The path without `.` and `..`, which object stores do not know."""
    if isinstance(path, RemotePath):
        scheme, rest = path.url.split("://", 1)
        return RemotePath(f"{scheme}://{posixpath.normpath(rest)}")
    return Path(os.path.normpath(path))


def make_relative(path: Path, start: Path) -> str:
    """The path as seen from a folder; as it is where the two have nothing in common, as a store and a disk."""
    if isinstance(path, RemotePath) or isinstance(start, RemotePath):
        if isinstance(path, RemotePath) and isinstance(start, RemotePath) and path.root_of == start.root_of:
            return posixpath.relpath(path.key, start.key)
        return str(path)
    return Path(os.path.relpath(path, start)).as_posix()


# A leading dot would hide the file, and `..` would leave the folder.
ODD = re.compile(r"[^\w.-]|^\.")
LONGEST_NAME = 200  # bytes; file systems take 255


def file_name(dataset: str) -> str:
    """The name itself where it is a plain one; any other character is written out, and what is too long ends in a hash."""
    plain = ODD.sub(lambda match: "".join(f"%{byte:02X}" for byte in match[0].encode(errors="surrogatepass")), dataset)
    if len(plain.encode()) <= LONGEST_NAME:
        return plain
    return f"{plain.encode()[:100].decode(errors='ignore')}-{hash_bytes(dataset.encode(errors='surrogatepass'))[7:23]}"
