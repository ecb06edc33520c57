"""The files of a workspace beside its database: which ones belong into a backup, and where they go when it is restored."""

import hashlib
import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from evergold.errors import BadInput, EvergoldError
from evergold.model.build import Build
from evergold.settings import Settings
from evergold.workspace.build_files import files_of
from evergold.workspace.naming import file_name

BUILDS, SETTINGS, SPOOL = "builds", "settings", "spool"
RESTORED_SETTINGS = "restored-settings"


@dataclass
class WorkspaceFiles:
    """Files by their names in an archive, the builds among them, and the builds whose files are gone."""

    files: dict[str, Path] = field(default_factory=dict)
    builds: list[dict[str, str]] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def collect(settings: Settings, builds: Iterable[Build]) -> WorkspaceFiles:
    files = WorkspaceFiles()
    for build in builds:
        _add_build(files, build)
    for path in _settings_files(settings):
        files.files[f"{SETTINGS}/{path.name}"] = path
    # The spool holds records that the SDK could not deliver yet: acknowledged by nobody else.
    spool = settings.home / SPOOL
    for path in sorted(spool.rglob("*.jsonl")):
        files.files[f"{SPOOL}/{path.relative_to(spool).as_posix()}"] = path
    return files


def _add_build(collected: WorkspaceFiles, build: Build) -> None:
    try:
        result = files_of(build)
    except EvergoldError as problem:
        collected.missing.append(f"{build.dataset} {build.version}: {problem.message}")
        return
    prefix = f"{BUILDS}/{file_name(build.dataset)}/{build.version}"
    collected.files |= {f"{prefix}/{name}": path for name, path in result.names().items()}
    location = Path(build.location or "").resolve().relative_to(result.root)
    entry = {"dataset": build.dataset, "version": build.version, "path": prefix, "location": location.as_posix()}
    collected.builds.append(entry)


def _settings_files(settings: Settings) -> list[Path]:
    """The settings file, and the files of policies and checks that the settings name."""
    named = [Path(name) for name in (*settings.curation_policies, *settings.checks_files)]
    return [path for path in ([settings.file] if settings.file else []) + named if path.is_file()]


def restore_builds(home: Path, scratch: Path, builds: Iterable[dict[str, str]]) -> dict[tuple[str, str], str]:
    """Copy the files of builds into the workspace; return where each build is from now on.

    A folder that is there and differs is another build's, to which the database still refers: then a free name is taken.
    """
    locations: dict[tuple[str, str], str] = {}
    for build in builds:
        source, target = (scratch / build["path"]).resolve(), (home / build["path"]).resolve()
        manifest = (source / build["location"]).resolve()
        # Paths in an archive come from a file of unknown origin; `..` in one must not lead outside.
        if not (source.is_relative_to(scratch.resolve()) and manifest.is_relative_to(source)):
            raise BadInput(f"the backup puts a build at {build['path']!r}, outside the workspace; nothing was restored")
        number = 1
        while target.exists() and not _same(source, target):
            number += 1
            target = target.with_name(f"{source.name}-restored{number}")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            # Renamed, not copied: scratch lies on the same disk, and a half-copied build is never seen.
            os.rename(source, target)
        locations[build["dataset"], build["version"]] = str((target / build["location"]).resolve())
    return locations


def _same(first: Path, second: Path) -> bool:
    return second.is_dir() and _hashes(first) == _hashes(second)


def _hashes(folder: Path) -> dict[str, str]:
    folders = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as handle:
                folders[path.relative_to(folder).as_posix()] = hashlib.file_digest(handle, "sha256").hexdigest()
    return folders


def build_folders(home: Path) -> set[Path]:
    """The folders of builds in a workspace: one for each dataset and version."""
    return {path.resolve() for path in (home / BUILDS).glob("*/*") if path.is_dir()}


def remove_unused(before: set[Path], locations: Iterable[str]) -> None:
    """Remove the folders of builds that only the database before referred to."""
    used = [Path(location) for location in locations]
    # Folders that appeared during the restore are not in `before`, so they are never removed.
    for folder in before:
        if not any(folder_used.is_relative_to(folder) for folder_used in used):
            shutil.rmtree(folder, ignore_errors=True)


def restore_rest(home: Path, scratch: Path) -> None:
    """Put settings beside the database, where they change nothing by themselves, and undelivered records into the spool."""
    if (scratch / SETTINGS).is_dir():
        # Not over the settings in force: they may name other databases or keys than those of the backup.
        shutil.copytree(scratch / SETTINGS, home / RESTORED_SETTINGS, dirs_exist_ok=True)
    for path in sorted((scratch / SPOOL).rglob("*.jsonl")):
        target = home / SPOOL / path.relative_to(scratch / SPOOL)
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            os.rename(path, target)
