"""Datasets of a run: YAML files from folders, datasets of the store, and frozen versions of them."""

from collections.abc import Sequence
from dataclasses import replace

from evergold.bench.datasets import DatasetFile, discover, read_file
from evergold.build.split_cases import read_split, read_version
from evergold.build.versions import locate_build
from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.model.build import Frozen, dataset_hash
from evergold.model.case import Candidates, Case, ways_to_confirm
from evergold.model.run import BenchmarkDataset
from evergold.model.tool_schemas import PackedCases
from evergold.settings import Settings
from evergold.storage import location
from evergold.store import Store
from evergold.store.case.builds import get_build, list_builds
from evergold.store.case.cases import CaseFilter, candidates_beside, dataset_names, iterate_cases


class BenchDatasets:
    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store

    def list(self) -> "list[BenchmarkDataset]":
        """Every dataset, the broken ones with their problems, and every frozen version."""
        files = {entry.name: _describe_file(entry) for entry in self._files().values()}
        with self._store.db.read() as connection:
            counts, builds = dataset_names(connection), list_builds(connection)
            waiting = {name: candidates_beside(connection, CaseFilter(dataset=name)) for name in counts}
        hidden = {name: (f"the {one.origin} of the same name is run in its place",) for name, one in files.items()}
        stored = [
            BenchmarkDataset(
                name=name,
                title=name,
                origin="store",
                tasks=count,
                candidates=waiting[name],
                problems=hidden.get(name, ()),
            )
            for name, count in counts.items()
        ]
        frozen = [
            BenchmarkDataset(
                name=build.name,
                title=f"{build.dataset}, frozen as {build.version}",
                origin="build",
                tasks=build.cases,
                content_hash=build.content_hash,
            )
            for build in builds
        ]
        return sorted([*files.values(), *stored, *frozen], key=lambda dataset: dataset.name)

    def freeze(
        self,
        name: str,
        *,
        limit: int | None = None,
        local: bool = False,
        dataset_type: str | None = None,
        cases: Sequence[Case] | None = None,
        candidates: Candidates = Candidates.EXCLUDE,
    ) -> Frozen:
        """The cases of a dataset as they are now, or as `NAME@VERSION` froze them. `local`: a path is a name too.

        `cases` are taken as they are, under that name.
        """
        if cases is not None:
            return _freeze_cases(name, cases, limit)
        path = location(name)
        # Files are checked before names: a path given on the command line must not be hidden by a dataset.
        if local and dataset_type is not None:
            return read_split(path, dataset_type).take_first(limit)
        if local and path.suffix in (".yaml", ".yml") and path.is_file():
            return _freeze_cases(path.stem, read_file(path).cases(), limit)
        files = discover(self._settings.benchmark_datasets_dir, only=name)
        # A file of the folder hides a stored dataset of its name; the list says so.
        if name in files:
            return _freeze_cases(name, files[name].cases(), limit)
        if "@" in name:  # `DATASET@VERSION` or `DATASET@VERSION:SPLIT`
            dataset, _, rest = name.rpartition("@")
            version, _, split = rest.partition(":")
            try:
                path = locate_build(self._store.read(get_build, dataset, version))
            except NotFound as problem:
                raise BadInput(problem.message) from problem
            return read_version(dataset, path, split or None).take_first(limit)
        with self._store.db.read() as connection:
            # Packed: a run over 10,000 long cases would otherwise hold them all as objects.
            wanted = CaseFilter(dataset=name, candidates=candidates)
            held = PackedCases(iterate_cases(connection, wanted))
            left_out = candidates_beside(connection, wanted)
            stored = dataset_names(connection)
        if left_out and not held:
            raise BadInput(f"dataset {name!r} has no golden case yet; {ways_to_confirm(left_out)}")
        if not held:
            raise BadInput(describe_unknown("dataset", name, sorted({*self._files(), *stored})))
        return replace(_freeze_cases(name, held, limit), candidates_left_out=left_out)

    def _files(self) -> dict[str, DatasetFile]:
        return discover(self._settings.benchmark_datasets_dir)


def _freeze_cases(name: str, cases: Sequence[Case], limit: int | None) -> Frozen:
    chosen = cases[:limit]
    content = dataset_hash(chosen)
    return Frozen(name, content.removeprefix("sha256:")[:12], content, chosen)


def _describe_file(entry: DatasetFile) -> BenchmarkDataset:
    origin = "sample" if entry.sample else "file"
    if entry.file is None:
        return BenchmarkDataset(name=entry.name, title=entry.name, origin=origin, tasks=0, problems=entry.problems)
    cases = entry.cases()
    levels = [case.difficulty.value for case in cases if case.difficulty]
    return BenchmarkDataset(
        name=entry.name,
        title=entry.file.name,
        description=entry.file.description,
        origin=origin,
        tasks=len(cases),
        content_hash=dataset_hash(cases),
        difficulties={level: levels.count(level) for level in ("easy", "medium", "hard") if level in levels},
    )
