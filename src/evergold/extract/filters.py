"""Choose the commits of a history that make a case, and the files of a commit that count.

A commit that touches a hundred files, a revert or a refreshed lock file says nothing about what a task needed. Each rule can be
set; whatever a rule leaves out is counted under its reason.
"""

import re
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from evergold.extract.diff import FileDiff

VENDORED = ("vendor/*", "*/vendor/*", "third_party/*", "*/third_party/*", "node_modules/*", "*/node_modules/*")
GENERATED = (
    "*.min.js",
    "*.min.css",
    "*.map",
    "*_pb2.py",
    "*_pb2_grpc.py",
    "*.pb.go",
    "*.generated.*",
    "*.snap",
    "*/__snapshots__/*",
    "dist/*",
    "*/dist/*",
)
LOCK_FILES = (
    "*.lock",
    "*package-lock.json",
    "*npm-shrinkwrap.json",
    "*pnpm-lock.yaml",
    "*go.sum",
    "*Package.resolved",
    "*.lockfile",
)
# Git's own wording, and the conventional-commit form `revert: …`.
_REVERT = re.compile(r"(?:Revert|Reapply) \"|revert(?:s|ed)?\b[:(]|This reverts commit ", re.IGNORECASE)


@dataclass(frozen=True)
class HistoryRules:
    """`exclude` are globs over whole paths; a commit that touches more than `max_files` others is a bulk change."""

    max_files: int = 20
    exclude: tuple[str, ...] = field(default=(*VENDORED, *GENERATED, *LOCK_FILES))
    keep_reverts: bool = False
    min_words: int = 3
    repository: str = ""

    def is_excluded(self, path: str) -> bool:
        return _matches_any(path, self.exclude)


def is_revert(message: str) -> bool:
    return _REVERT.search(message) is not None


def counted_files(files: list[FileDiff], rules: HistoryRules) -> list[FileDiff]:
    """The files that say something about the task; a file counts under its new name."""
    # A file moved out of vendor/ is real work; one moved into it is not.
    return [file for file in files if not rules.is_excluded(file.new_path or file.path)]


# The same paths come again in thousands of commits.
@lru_cache(maxsize=65536)
def _matches_any(path: str, globs: tuple[str, ...]) -> bool:
    return any(fnmatchcase(path, glob) for glob in globs)
