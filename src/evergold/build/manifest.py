"""The manifest: what a build holds, from what it was made, and the hashes that prove both.

Paths in it are relative to the project's root, as in the specification. `project_root` says where that is, seen from the
manifest, so that the whole folder can be moved and still be checked.
"""

import hashlib
import os
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import recover
from evergold.model.build import Manifest
from evergold.model.faults import first_fault
from evergold.model.values import content_hash
from evergold.storage import is_url, location, normal

CASE_SCHEMA = "evergold-case"
"""The schema of a frozen dataset: each line is a case."""
SEAL = "manifest_hash"
_VERSION = re.compile(r"v\d+(\.\d+)*")
_BLOCK = 1 << 20


def builder_version() -> str:
    return f"evergold {installed_version('evergold')}"


def require_version(version: str) -> str:
    if not _VERSION.fullmatch(version):
        raise BadInput(f"version {version!r} is not of the form v1, v2 or v2.1; write v and numbers")
    return version


def now_utc() -> datetime:
    """The time of a build; `SOURCE_DATE_EPOCH` fixes it, so that a build can be repeated to the byte."""
    # The variable of reproducible builds (reproducible-builds.org), in seconds since 1970.
    fixed = os.environ.get("SOURCE_DATE_EPOCH")
    if not fixed:
        return datetime.now(UTC)
    try:
        return datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError):
        raise BadInput(f"SOURCE_DATE_EPOCH is {fixed[:40]!r}; give the seconds since 1970 as a whole number") from None


def stamp(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def sealed(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest with the hash of all that it says, so that a changed field is found like a changed file."""
    return {**manifest, SEAL: seal_of(manifest)}


def seal_of(manifest: Mapping[str, Any]) -> str:
    return content_hash({name: value for name, value in manifest.items() if name != SEAL})


def encode(manifest: Mapping[str, Any]) -> bytes:
    return orjson.dumps(manifest, option=orjson.OPT_INDENT_2) + b"\n"


def files_hash(files: Mapping[str, str]) -> str:
    """One hash for a build: that of its files' names and hashes. Time and place of the build are no part of it."""
    return content_hash(dict(files))


def hash_file(path: Path) -> tuple[str, int]:
    """The sha256 of a file and its size."""
    digest = hashlib.sha256()
    size = 0
    # Unbuffered: blocks of a megabyte go straight into the hash.
    with path.open("rb", buffering=0) as source:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


def read(path: Path) -> Manifest:
    """A manifest from its file, or from the folder that holds it."""
    if path.is_dir():
        path = path / "manifest.json"
    # A build that was interrupted while its files took their names is finished or undone before anything is read.
    recover(path.parent)
    try:
        return Manifest.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise NotFound(f"no manifest at {path}; build one with `evergold build`") from None
    except ValidationError as problem:
        first = first_fault(problem, Manifest)
        raise BadInput(f"{path} is not a manifest: {first}") from None
    except OSError as problem:
        raise BadInput(f"cannot read {path}: {problem.strerror}") from problem


def read_whole(path: Path) -> Manifest:
    """A manifest that names at least one file: without one, everything could be said of it."""
    manifest = read(path)
    if not manifest.splits:
        raise BadInput(f"{path} lists no split, so there is nothing to look at; build it again with `evergold build`")
    return manifest


def locate(manifest_path: Path, manifest: Manifest, name: str) -> Path:
    """Where a file that the manifest names really is.

    A manifest of ours says where its root is; for any other, the nearest folder above it that has the file is taken.
    """
    folder = manifest_path.parent if manifest_path.is_file() else manifest_path
    # An absolute path or a URL was given that way and does not move with the folder.
    if is_url(name) or Path(name).is_absolute():
        return location(name)
    # Manifests of other tools name no root.
    root = getattr(manifest, "project_root", None)
    if isinstance(root, str):
        return normal(folder / root / name)
    for base in (folder, *folder.resolve().parents):
        if (base / name).exists():
            return base / name
    return folder / name
