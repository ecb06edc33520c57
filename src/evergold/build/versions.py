"""Datasets and their versions: what there is, frozen builds of it, their files, and how two of them differ.

The records of a RAG build are never stored one by one, and its files may be written over by a later version: then the earlier
one is still known by its manifest, but nothing can be read of it any more.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from evergold.build import manifest as manifests
from evergold.build.compare import build_records, compare, diff, sample
from evergold.build.groups import parse_shares, settle_groups
from evergold.build.manifest import SCHEMA_FILE
from evergold.build.snapshot import SnapshotSpec, draft
from evergold.build.spec import RagSpec
from evergold.build.split_cases import case_of_line
from evergold.errors import BadInput, Conflict, NotFound, Refused
from evergold.formats.atomic import FileSet
from evergold.machine import make_folder
from evergold.model.build import (
    Build,
    BuildBrief,
    BuildDiff,
    BuildFiles,
    BuildStep,
    Comparison,
    DatasetSummary,
    Lineage,
    Manifest,
    Sample,
)
from evergold.model.case import Candidates, Case, Provenance
from evergold.model.values import hash_bytes
from evergold.settings import Settings
from evergold.storage import RemotePath, file_name, location
from evergold.store import Store
from evergold.store.case.builds import (
    builds_with,
    dataset_counts,
    get_build,
    list_builds,
    placements,
    put_build,
    replace_build,
    require_dataset,
    runs_with,
)
from evergold.store.case.cases import CaseFilter, case_filter, find_case, iterate_cases

if TYPE_CHECKING:
    from sqlalchemy import Connection


def locate_build(build: Build) -> Path:
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


def files_of(build: Build) -> BuildFiles:
    """Find the files of a build: those that its manifest lists, and the manifest itself."""
    if isinstance(there := locate_build(build).resolve(), RemotePath):
        raise Refused(f"its files are in an object store ({there}) and stay there")
    manifest = Manifest.model_validate(build.manifest)
    folder, manifest_path, *paths = _paths_of(there, manifest)
    missing = [path.name for path in paths if not path.is_file()]
    if missing:
        raise NotFound(f"{build.dataset} {build.version} lacks {', '.join(missing)} in {folder}")
    stated = getattr(manifest, "project_root", None)
    above = [(folder / stated).resolve()] if isinstance(stated, str) else []
    # The smallest folder that holds everything the manifest refers to: copied whole, its relative paths stay true.
    root = Path(os.path.commonpath([str(folder), *(str(path.parent) for path in paths), *map(str, above)]))
    return BuildFiles(root, manifest_path, (manifest_path, *paths))


def _paths_of(located: Path, manifest: Manifest) -> list[Path]:
    """The folder of a build that was located, its manifest, and every file that the manifest lists."""
    folder = located if located.is_dir() else located.parent
    first = folder / "manifest.json" if located == folder else located
    extra = manifest.model_extra or {}
    listed = [entry.path for entry in manifest.splits.values()]
    listed += [extra[part]["path"] for part in ("excluded_cases", "rejected_records") if extra.get(part)]
    if manifests.holds_cases(manifest):
        listed.append(SCHEMA_FILE)
    return [folder, first, *(manifests.locate(folder, manifest, name).resolve() for name in listed)]


def find_in_builds(builds: Sequence[Build], case_id: str) -> tuple[list[BuildStep], Provenance]:
    """The versions that hold the case, oldest first, and where the newest of them says that it comes from."""
    steps: list[BuildStep] = []
    provenance = Provenance(source="rag")
    for build in builds:
        try:
            path = locate_build(build)
        except (NotFound, Conflict):
            continue
        records = build_records(path, manifests.read(path))
        if result := next(((there.split, line) for one, there, line in records if one == case_id), None):
            split, line = result
            case = case_of_line(split, line)
            rev = case.rev() if case else hash_bytes(line)
            steps.append(BuildStep(version=build.version, split=split, rev=rev, created_at=build.created_at))
            # RAG records name their document in the metadata; the store has no row of them to ask.
            document = (orjson.loads(line).get("metadata") or {}).get("document")
            provenance = Provenance(source="rag", document=document if isinstance(document, str) else None)
    if not steps:
        raise NotFound(f"no case {case_id!r} in the store, nor in the files of {len(builds)} builds")
    return steps, provenance


_NUMBER = re.compile(r"v(\d+)")


class Builds:
    """Stored datasets, frozen."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store

    def versions(self, dataset: str | None = None) -> list[Build]:
        return self._store.read(list_builds, dataset)

    def get(self, dataset: str, version: str) -> Build:
        return self._store.read(get_build, dataset, version)

    def datasets(self) -> list[DatasetSummary]:
        """Each dataset with its counts and its versions."""
        with self._store.db.read() as connection:
            rows, builds = dataset_counts(connection), list_builds(connection)
        results: dict[str, DatasetSummary] = {}
        for row in rows:
            entry = results.setdefault(row["dataset"], DatasetSummary(dataset=row["dataset"]))
            for part in ("kind", "entry_type", "review", "status"):
                counts = getattr(entry, part)
                counts[row[part]] = counts.get(row[part], 0) + row["cases"]
            # Only active cases that are no candidates are the size; the others are listed in the parts.
            entry.cases += row["cases"] if row["status"] == "active" and row["entry_type"] != "candidate" else 0
        for build in builds:
            entry = results.setdefault(build.dataset, DatasetSummary(dataset=build.dataset))
            brief = BuildBrief(version=build.version, content_hash=build.content_hash, cases=build.cases)
            entry.builds.append(brief)
        return [results[name] for name in sorted(results)]

    def next_version(self, dataset: str) -> str:
        # Versions like v2.1 count by their first number.
        numbers = [int(match[1]) for build in self.versions(dataset) if (match := _NUMBER.match(build.version))]
        return f"v{max(numbers, default=0) + 1}"

    def folder_of(self, dataset: str, version: str) -> Path:
        """Where a build goes when nobody says where."""
        manifests.require_version(version)
        return self._settings.home / "builds" / file_name(dataset) / version

    def freeze_as(
        self, dataset: str, version: str | None = None, out: Path | None = None, **options: Any
    ) -> tuple[Build, Path]:
        """Freeze a dataset with the options that are given (not None); return the build and its manifest's path."""
        spec = self.spec_of(dataset, version, out, **options)
        return self.freeze(spec), spec.manifest

    def spec_of(
        self, dataset: str, version: str | None = None, out: Path | None = None, **options: Any
    ) -> SnapshotSpec:
        """Say what to freeze, with the options that are given (not None).

        `shares` may be written as on the command line: `train=0.7,test=0.3`.
        """
        chosen = version or self.next_version(dataset)
        given = {name: value for name, value in options.items() if value is not None}
        if isinstance(shares := given.pop("shares", None), str):
            shares = parse_shares(shares) if shares else None
        if shares:
            given["shares"] = shares
        return SnapshotSpec(dataset, chosen, out or self.folder_of(dataset, chosen), **given)

    def freeze(self, spec: SnapshotSpec, checkpoint: Callable[[], None] = lambda: None) -> Build:
        """Freeze a dataset as it is now. Its newest build so far is the parent; groups stay where earlier builds had them.

        `checkpoint` is called between cases and before anything is written; an error of it leaves the build out whole.
        """
        spec.require_sane()
        wanted = case_filter(spec.dataset, spec.filters)
        if spec.leaves_candidates:  # the manifest counts them as left out
            wanted = wanted.model_copy(update={"candidates": Candidates.INCLUDE})
        with self._store.db.read() as connection:
            require_dataset(connection, spec.dataset)
            # A version that is built again has the same parent as the first time, whatever came after it.
            earlier = _list_before(spec.version, list_builds(connection, spec.dataset))
            parent = earlier[-1] if earlier else None
            earlier_splits = placements(connection, spec.dataset, [one.version for one in earlier], list(spec.shares))
            # Cases that were withdrawn since still say where their group was, so all states are read.
            every = CaseFilter(dataset=spec.dataset, status=None, candidates=Candidates.INCLUDE)
            everything = iterate_cases(connection, every) if earlier_splits else ()
            groups = settle_groups(_check_between(everything, checkpoint), earlier_splits, spec.group_by)
            frozen = draft(spec, _check_between(iterate_cases(connection, wanted), checkpoint), parent, groups)
        checkpoint()
        build = _describe(spec, frozen.manifest, spec.out, parent.version if parent else None)
        if spec.out.is_relative_to(self._settings.home):
            make_folder(spec.out, private=True)  # with PostgreSQL nobody may have made the workspace folder yet
        with FileSet() as files:
            for path, content in frozen.files.items():
                files.open(path).write(content)

            # The write is alone in the database, so files and rows change together or not at all.
            def remember(connection: "Connection") -> None:
                """Files and store agree: a version that is another one in the store leaves the files as they are."""
                checkpoint()
                put_build(connection, build, frozen.rows)
                files.commit()

            self._store.db.write(remember)
        return self.get(spec.dataset, spec.version)

    def register(self, spec: RagSpec, manifest: Manifest) -> Build:
        """Remember a RAG build, so that its versions are listed, compared and run by name. Its files stay where they are."""
        with self._store.db.read() as connection:
            lower = [one for one in list_builds(connection, spec.dataset) if _order(one.version) < _order(spec.version)]
        parent = max((one.version for one in lower), key=_order, default=None)
        build = _describe(spec, manifest, spec.manifest, parent)
        self._store.write(replace_build, build)
        return self.get(spec.dataset, spec.version)

    def diff(self, before: str, after: str, dataset: str | None = None) -> BuildDiff:
        """Two builds, each a version of `dataset` or the path of a folder or manifest."""
        return diff(self._locate(before, dataset), self._locate(after, dataset))

    def sample(self, dataset: str, version: str, *, count: int, seed: int, split: str | None = None) -> Sample:
        """Records to read by eye; the same seed draws the same ones."""
        return sample(self._locate(version, dataset), count, seed, split)

    def compare(self, dataset: str, before: str, after: str) -> Comparison:
        """What two versions are made of, and how far they drifted apart."""
        return compare(self._locate(before, dataset), self._locate(after, dataset))

    def lineage(self, dataset: str, case_id: str) -> Lineage:
        """Of a case in the store, or of one that is in the files of a build alone, as those of RAG builds are."""
        with self._store.db.read() as connection:
            case: Case | None = find_case(connection, dataset, case_id)
            frozen, tried = builds_with(connection, dataset, case_id), list(runs_with(connection, dataset, case_id))
        if case is not None:
            provenance, rev, status = case.provenance, case.rev(), str(case.status)
        else:
            frozen, provenance = find_in_builds(self.versions(dataset), case_id)
            rev, status = frozen[-1].rev, "in builds only"
        return Lineage(
            dataset=dataset, case_id=case_id, provenance=provenance, rev=rev, status=status, builds=frozen, runs=tried
        )

    def files(self, dataset: str, version: str) -> dict[str, Path]:
        """The files of a build by name: those its manifest lists, inside its own folder, and the manifest itself."""
        manifest = Manifest.model_validate(self.get(dataset, version).manifest)
        folder, *paths = _paths_of(self._locate(version, dataset).resolve(), manifest)
        # A manifest may list files outside its folder (a RAG build does); those are not served.
        return {path.name: path for path in paths if path.is_relative_to(folder) and path.is_file()}

    def file(self, dataset: str, version: str, name: str) -> Path:
        result = self.files(dataset, version)
        if name not in result:
            raise NotFound(f"{dataset} {version} has no file {name!r} (there are: {', '.join(result) or 'none'})")
        return result[name]

    def _locate(self, name: str, dataset: str | None) -> Path:
        # A folder on disk wins only if no dataset was named.
        if dataset is None and location(name).exists():
            return location(name)
        candidates = [build for build in self.versions(dataset) if build.version == name]
        if len(candidates) > 1:
            names = ", ".join(build.dataset for build in candidates)
            raise BadInput(f"several datasets have a {name}: {names}; say which with --dataset")
        if not candidates or candidates[0].location is None:
            raise NotFound(f"no build {name!r} of {dataset or 'any dataset'}, and no folder of that name")
        return locate_build(candidates[0])


def _describe(spec: SnapshotSpec | RagSpec, manifest: Manifest, where: Path, parent: str | None) -> Build:
    """A build made now, as the store remembers it."""
    return Build(
        dataset=spec.dataset,
        version=spec.version,
        content_hash=manifest.content_hash or "",
        created_at=datetime.now(UTC),
        location=str(where.resolve()),
        parent=parent,
        manifest=manifest.model_dump(mode="json"),
    )


def _check_between(cases: Iterable[Case], checkpoint: Callable[[], None]) -> Iterator[Case]:
    for case in cases:
        checkpoint()
        yield case


def _order(version: str) -> tuple[int, ...]:
    """v2 is before v2.1, and v9 before v10."""
    return tuple(int(part) for part in version.removeprefix("v").split("."))


def _list_before(version: str, builds: list[Build]) -> list[Build]:
    """The builds that came before this version: all of them if it is a new one."""
    names = [build.version for build in builds]
    return builds[: names.index(version)] if version in names else builds
