"""Taking cases out of files that were written from them: the working copies of builds.

A build is frozen, so a line taken out of it is said: the folder gains a note with the count, and checking the build
against its manifest will find the difference. What was erased is not written down again.
"""

from collections.abc import Collection
from pathlib import Path

import orjson

from evergold.formats.atomic import FileSet

NOTE = "ERASED.json"
ID_KEYS = ("id", "case_id", "caseId", "task_id")


def erase_lines(folder: Path, case_ids: Collection[str]) -> int:
    """Rewrite each JSONL file of the folder without these cases; returns how many lines went."""
    wanted = set(case_ids)
    gone: dict[str, int] = {}
    with FileSet() as files:
        for path in sorted(folder.rglob("*.jsonl")):
            lines = path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not _is_of(line, wanted)]
            if len(kept) < len(lines):
                files.open(path).writelines(kept)
                gone[path.relative_to(folder).as_posix()] = len(lines) - len(kept)
        if gone:
            files.open(folder / NOTE).write(orjson.dumps({"erased_lines": gone}, option=orjson.OPT_APPEND_NEWLINE))
    return sum(gone.values())


def _is_of(line: bytes, case_ids: Collection[str]) -> bool:
    try:
        row = orjson.loads(line)
    except orjson.JSONDecodeError:
        return False
    return isinstance(row, dict) and any(row.get(key) in case_ids for key in ID_KEYS)
