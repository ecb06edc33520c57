"""Benchmark datasets in folders: every YAML file below is one, called by its stem.

A file that cannot be used is listed with what is wrong, never left out in silence. Two files of one stem are both
unusable until one is renamed, because a run names a dataset by its stem. The samples shipped with the package are
found like any other; a file of the user's own by the same name takes a sample's place.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evergold.errors import BadInput
from evergold.formats.task_files import TaskFile, check_tasks
from evergold.formats.yaml_documents import Unreadable, bytes_of
from evergold.model.case import Case

SAMPLES = Path(__file__).parent.parent / "samples" / "benchmarks"
SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class DatasetFile:
    """A dataset file as found: usable, or with its problems."""

    name: str
    path: Path
    file: TaskFile | None
    problems: tuple[str, ...] = ()
    sample: bool = False

    def cases(self) -> list[Case]:
        if self.file is None:
            more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
            raise BadInput(f"dataset {self.name!r} cannot be used: {self.problems[0]}{more}", problems=self.problems)
        return [task.case(self.name) for task in self.file.tasks]


def read_file(path: Path, root: Path | None = None, *, sample: bool = False) -> DatasetFile:
    """One file, with problems spelled `file:line: what`."""
    shown = str(path.relative_to(root) if root else path)
    try:
        checked = check_tasks(bytes_of(path))
    except (OSError, Unreadable) as problem:
        why = problem.strerror if isinstance(problem, OSError) else problem
        return DatasetFile(path.stem, path, None, (f"{shown}: {why}",), sample)
    problems = tuple(f"{shown}:{problem.line}: {problem.message}" for problem in checked.problems)
    return DatasetFile(path.stem, path, checked.file, problems, sample)


def discover(folder: Path | None, samples: Path | None = SAMPLES, only: str | None = None) -> dict[str, DatasetFile]:
    """Every dataset by name, or `only` that of one name. Raises `BadInput` when the folder of the settings is missing."""
    if folder is not None and not folder.is_dir():
        raise BadInput(f"benchmark.datasets_dir is {str(folder)!r}, which is not a folder")
    result = _in_folder(samples, only, sample=True) if samples else {}
    # Files of the user come second, so that they replace a sample of their name.
    return {**result, **(_in_folder(folder, only, sample=False) if folder else {})}


@dataclass(frozen=True)
class FileCheck:
    """How many files and tasks were read, and one line for each problem."""

    files: int
    tasks: int
    problems: list[str]


def check_files(path: Path) -> FileCheck:
    """Check every YAML file below a folder, or one file."""
    entries = discover(path, None) if path.is_dir() else {path.stem: read_file(path)}
    return FileCheck(
        files=len(entries),
        tasks=sum(len(entry.file.tasks) for entry in entries.values() if entry.file),
        problems=[problem for entry in entries.values() for problem in entry.problems],
    )


def _in_folder(folder: Path, only: str | None, *, sample: bool) -> dict[str, DatasetFile]:
    results: dict[str, DatasetFile] = {}
    for path in _files(folder):
        if only not in (None, path.stem):
            continue
        entry = read_file(path, folder, sample=sample)
        other = results.get(entry.name)
        if other is not None:
            same = f"two datasets are called {entry.name!r}: {other.path.relative_to(folder)} and "
            # Both files are unusable: which of the two a run means cannot be known.
            entry = DatasetFile(entry.name, path, None, (f"{same}{path.relative_to(folder)}; rename one",), sample)
        results[entry.name] = entry
    return results


def _files(folder: Path) -> Iterator[Path]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield Path(parent) / name
