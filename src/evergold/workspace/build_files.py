"""The files of stored builds: where they are, and the cases that only they know.

The records of a RAG build are never stored one by one, and its files may be written over by a later version: then the earlier
one is still known by its manifest, but nothing can be read of it any more.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson

from evergold.build import manifest as manifests
from evergold.build.compare import build_records
from evergold.build.manifest import SCHEMA_FILE
from evergold.errors import Conflict, NotFound, Refused
from evergold.model.build import Build, Manifest
from evergold.model.case import Provenance
from evergold.model.values import hash_bytes
from evergold.storage import RemotePath, location
from evergold.store.case.builds import BuildStep
from evergold.workspace.bench_splits import case_of_line

FROZEN_ONLY = "in builds only"


@dataclass(frozen=True)
class CaseStanding:
    """Where a case comes from and what it says."""

    provenance: Provenance
    rev: str
    status: str


def located(build: Build) -> Path:
    """Where the files of a build are; refused where those of another one have taken their place."""
    if build.location is None:
        raise NotFound(f"where the files of {build.dataset} {build.version} are is not known; build it again")
    path = location(build.location)
    there = manifests.read(path)
    # A later build may have been written over the files. Their hash tells, not the name of the folder.
    if there.content_hash != build.content_hash:
        raise Conflict(
            f"the files of {build.dataset} {build.version} are gone: {path} holds {there.version} with other content; "
            "write each version to a place of its own"
        )
    return path


@dataclass(frozen=True)
class BuildFiles:
    """The files of a build: its manifest first. Below `root` they refer to each other by the same paths wherever it lies."""

    root: Path
    manifest: Path
    files: tuple[Path, ...]

    def names(self) -> dict[str, Path]:
        """Each file by its path below the root."""
        return {path.relative_to(self.root).as_posix(): path for path in self.files}


def files_of(build: Build) -> BuildFiles:
    """Find the files of a build: those that its manifest lists, and the manifest itself."""
    there = located(build).resolve()
    if isinstance(there, RemotePath):
        raise Refused(f"its files are in an object store ({there}) and stay there")
    folder = there if there.is_dir() else there.parent
    manifest_path = folder / "manifest.json" if there == folder else there
    manifest = Manifest.model_validate(build.manifest)
    paths = [manifests.locate(folder, manifest, name).resolve() for name in listed_files(manifest)]
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise NotFound(f"{build.dataset} {build.version} lacks {', '.join(missing)} in {folder}")
    stated = getattr(manifest, "project_root", None)
    above = [(folder / stated).resolve()] if isinstance(stated, str) else []
    # The smallest folder that holds everything the manifest refers to: copied whole, its relative paths stay true.
    root = Path(os.path.commonpath([str(folder), *(str(path.parent) for path in paths), *map(str, above)]))
    return BuildFiles(root, manifest_path, (manifest_path, *paths))


def listed_files(manifest: Manifest) -> list[str]:
    """The paths of every file that a manifest lists."""
    extra = manifest.model_extra or {}
    listed = [entry.path for entry in manifest.splits.values()]
    listed += [extra[part]["path"] for part in ("excluded_cases", "rejected_records") if extra.get(part)]
    if extra.get("schema") == manifests.CASE_SCHEMA:
        listed.append(SCHEMA_FILE)
    return listed


def frozen_only(builds: Sequence[Build], case_id: str) -> tuple[list[BuildStep], CaseStanding]:
    """The versions that hold the case, oldest first, and what the newest of them says of it."""
    steps: list[BuildStep] = []
    provenance = Provenance(source="rag")
    for build in builds:
        result = _find(build, case_id)
        if result is not None:
            split, line = result
            case = case_of_line(split, line)
            rev = case.rev() if case else hash_bytes(line)
            steps.append(BuildStep(version=build.version, split=split, rev=rev, created_at=build.created_at))
            # RAG records name their document in the metadata; the store has no row of them to ask.
            document = (orjson.loads(line).get("metadata") or {}).get("document")
            provenance = Provenance(source="rag", document=document if isinstance(document, str) else None)
    if not steps:
        raise NotFound(f"no case {case_id!r} in the store, nor in the files of {len(builds)} builds")
    return steps, CaseStanding(provenance, steps[-1].rev, FROZEN_ONLY)


def _find(build: Build, case_id: str) -> tuple[str, bytes] | None:
    try:
        path = located(build)
    except (NotFound, Conflict):
        return None
    records = build_records(path, manifests.read(path))
    return next(((location.split, line) for one, location, line in records if one == case_id), None)
