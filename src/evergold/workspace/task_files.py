"""The facade of benchmark files: check YAML datasets, print their JSON Schema."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evergold.bench.datasets import discover, read_file
from evergold.formats.task_files import json_schema


@dataclass(frozen=True)
class FileCheck:
    """How many files and tasks were read, and one line for each problem."""

    files: int
    tasks: int
    problems: list[str]


class TaskFileChecks:
    """Checks of benchmark files."""

    def lint(self, path: Path) -> FileCheck:
        """Check every YAML file below a folder, or one file."""
        entries = discover(path, None) if path.is_dir() else {path.stem: read_file(path)}
        return FileCheck(
            files=len(entries),
            tasks=sum(len(entry.file.tasks) for entry in entries.values() if entry.file),
            problems=[problem for entry in entries.values() for problem in entry.problems],
        )

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a dataset file, for editors."""
        return json_schema()
