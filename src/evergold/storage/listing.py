"""What a store lists: the entries of a folder, and the names that a glob matches.

fsspec's own glob leaves out every folder that it could not list. With credentials that end halfway a part of the files would be
taken for all of them, so folders are listed here, and an error ends the listing.
"""

from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Any

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
    return dict(_below(file_system, "/".join(parts[:fixed]), parts[fixed:]))


def _below(file_system: Any, folder: str, parts: Sequence[str]) -> Iterator[tuple[str, bool]]:
    first, rest = parts[0], parts[1:]
    if first == ANY_DEPTH and rest:
        yield from _below(file_system, folder, rest)
    for name, is_folder in entries_of(file_system, folder).items():
        if first == ANY_DEPTH:
            if not rest:
                yield name, is_folder
            if is_folder:
                yield from _below(file_system, name, parts)
        elif fnmatchcase(name.rsplit("/", 1)[-1], first):
            if not rest:
                yield name, is_folder
            elif is_folder:
                yield from _below(file_system, name, rest)
