"""Taking cases out of files that were written from them: the working copies of builds. And what still waits on the disk.

A build is frozen, so a line taken out of it is said: the folder gains a note with the count, and checking the build
against its manifest will find the difference. What was erased is not written down again.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

import orjson

from evergold.formats.atomic import FileSet
from evergold.formats.lines import object_in
from evergold.machine import lock
from evergold.model.build import without_tags

NOTE, MANIFEST = "ERASED.json", "manifest.json"
ID_KEYS = ("id", "case_id", "caseId", "task_id")


def erase_lines(folder: Path, case_ids: Collection[str], tags: Collection[str] = ()) -> int:
    """Rewrite each JSONL file of the folder without these cases, and its manifest without these tags; how many lines went."""
    wanted = set(case_ids)
    gone: dict[str, int] = {}
    with FileSet() as files:
        for path in sorted(folder.rglob("*.jsonl")):
            lines = path.read_bytes().splitlines(keepends=True)
            kept = [line for line in lines if not _names(object_in(line), ID_KEYS, wanted)]
            if len(kept) < len(lines):
                files.open(path).writelines(kept)
                gone[path.relative_to(folder).as_posix()] = len(lines) - len(kept)
        manifest = object_in((folder / MANIFEST).read_bytes()) if (folder / MANIFEST).is_file() else {}
        if (kept_of := without_tags(manifest, tags)) != manifest:
            files.open(folder / MANIFEST).write(
                orjson.dumps(kept_of, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
            )
        if gone:
            files.open(folder / NOTE).write(orjson.dumps({"erased_lines": gone}, option=orjson.OPT_APPEND_NEWLINE))
    return sum(gone.values())


def erase_spooled(folder: Path, user: str) -> int:
    """Take what a user's traces and words left in the spool out of it; returns how many records went.

    A file that a process is writing stays: it is that process's to deliver, and erasing again finds what it delivered.
    """
    gone = 0
    for path in sorted(folder.rglob("*.jsonl")):
        with path.open("rb+") as handle:
            try:
                # The SDK holds this lock while it appends; waiting for it could take as long as the app runs.
                lock(handle, wait=False)
            except BlockingIOError:
                continue
            lines = handle.readlines()
            rows = [object_in(line) for line in lines]
            # Texts only: an id that is missing would make every record without a trace theirs.
            theirs = {row["id"] for row in rows if row.get("user_id") == user and isinstance(row.get("id"), str)}
            kept = [
                line
                for line, row in zip(lines, rows, strict=True)
                if row.get("user_id") != user and row.get("author") != user and not _names(row, ("trace_id",), theirs)
            ]
            if len(kept) < len(lines):
                # In place and not by a rename: another process may have the file open, and would go on writing to it.
                handle.seek(0)
                handle.truncate()
                handle.writelines(kept)
                gone += len(lines) - len(kept)
    return gone


def _names(row: dict[str, Any], keys: Iterable[str], ids: Collection[str]) -> bool:
    """Whether a row names one of these ids; a value that is no text names nothing."""
    return any(isinstance(row.get(key), str) and row[key] in ids for key in keys)
