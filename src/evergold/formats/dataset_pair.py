"""The pair of dataset files in a folder, as an extraction that runs again and again sees it.

What is known is skipped, what is half there is completed, what still lacks something is tried again, and what a person edited
is left alone. Lines that do not change are copied byte for byte; new rows wait in temporary files, so that memory does not
grow with their number. Both files are replaced together or not at all, and a lock keeps a second extraction out.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, NamedTuple

from evergold.errors import BadInput, Conflict
from evergold.formats.atomic import FileSet, recover
from evergold.formats.dataset_ab import FILE_A, FILE_B, UNVALIDATED, Row, dump_row, parse_row, read_rows, row_a, row_b
from evergold.machine import lock, make_folder, open_file
from evergold.model.case import Case, is_blank
from evergold.model.values import content_hash
from evergold.storage import RemotePath, open_read

EXTRACTED_HASH = "extractedHash"
_LOCK = ".evergold-extract.lock"


class RowOutcome(StrEnum):
    NEW = "new"
    COMPLETED = "completed"
    RESOLVED = "resolved"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Known:
    """What the files say of a case: which of them have it, what it lacks, whether a person edited it."""

    in_a: bool = False
    in_b: bool = False
    needs_query: bool = False
    needs_base: bool = False
    edited: bool = False


class PairLines(NamedTuple):
    """The rows of one case, as bytes for the two files."""

    a: bytes
    b: bytes


def lines_of(case: Case) -> PairLines:
    return PairLines(stamped_line(row_a(case)), stamped_line(row_b(case)))


class DatasetPair:
    """`full` forgets what is there. Use it inside `locked`."""

    def __init__(self, folder: Path, full: bool = False) -> None:
        self.path_a = folder / f"{FILE_A}.{UNVALIDATED}"
        self.path_b = folder / f"{FILE_B}.{UNVALIDATED}"
        self.full = full
        self.known: dict[str, Known] = {}
        self._replaced: dict[str, PairLines] = {}
        self._changed = full
        recover(folder)
        # Taken before the files are read: what changes after it is a conflict at commit.
        self._states = [_state(path) for path in (self.path_a, self.path_b)]
        if not full:
            self._load()
        self._added: dict[Path, IO[bytes]] = {}
        for path in (self.path_a, self.path_b):
            self._added[path] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`

    def wants(self, case_id: str) -> bool:
        """Whether an extraction could add something."""
        known = self.known.get(case_id, Known())
        return not (known.in_a and known.in_b) or (not known.edited and (known.needs_query or known.needs_base))

    def is_edited(self, case_id: str) -> bool:
        return self.known.get(case_id, Known()).edited

    def put(self, case: Case, lines: PairLines | None = None) -> RowOutcome:
        """Take a case in: as a new row, as the half that is missing, or in the place of a row that lacked more.

        `lines` are its rows, where somebody has made them already.
        """
        before = self.known.get(case.id, Known())
        lines = lines or lines_of(case)
        if not before.in_a:
            self._added[self.path_a].write(lines.a)
        if not before.in_b:
            self._added[self.path_b].write(lines.b)
        # The needs stay as they were read, so that the same case put twice in one run resolves both times.
        self.known[case.id] = replace(before, in_a=True, in_b=True)
        # Whether the case now has something that its row still lacked.
        resolved = not before.edited and (
            (before.needs_query and not is_blank(case.input)) or (before.needs_base and not is_blank(case.base_commit))
        )
        if resolved:
            # Held in memory: rows that lacked something are few beside those that are copied.
            self._replaced[case.id] = lines
        if not before.in_a and not before.in_b:
            outcome = RowOutcome.NEW
        elif resolved:
            outcome = RowOutcome.RESOLVED
        else:
            outcome = RowOutcome.UNCHANGED if before.in_a and before.in_b else RowOutcome.COMPLETED
        self._changed = self._changed or outcome is not RowOutcome.UNCHANGED
        return outcome

    def commit(self) -> None:
        """Replace both files together; with nothing new, nothing is written."""
        # An extraction that found nothing leaves the files and their times alone.
        if not self._changed and self.path_a.is_file() and self.path_b.is_file():
            return
        if self._states != [_state(path) for path in (self.path_a, self.path_b)]:
            raise Conflict(f"somebody else wrote {self.path_a} meanwhile; extract again")
        with FileSet() as files:
            for side, path in enumerate((self.path_a, self.path_b)):
                out = files.open(path)
                if path.is_file() and not self.full:
                    with open_read(path) as lines:
                        for line in filter(bytes.strip, lines):
                            replaced = self._replaced.get(parse_row(line)["caseId"])
                            ended = line if line.endswith(b"\n") else line + b"\n"
                            out.write(replaced[side] if replaced else ended)
                self._added[path].seek(0)
                shutil.copyfileobj(self._added[path], out)

    def close(self) -> None:
        for spool in self._added.values():
            spool.close()

    def _load(self) -> None:
        """A corrupt line or a case listed twice stops everything before anything is written."""
        for path in (self.path_a, self.path_b):
            for number, row in read_rows(path) if path.is_file() else ():
                before = self.known.get(row["caseId"], Known())
                of_a = path == self.path_a
                # Twice in one file is a mistake; once in each is the pair.
                if before.in_a if of_a else before.in_b:
                    raise BadInput(f"{path}:{number}: case {row['caseId']!r} is listed twice; remove one of the lines")
                self.known[row["caseId"]] = Known(
                    in_a=before.in_a or of_a,
                    in_b=before.in_b or not of_a,
                    needs_query=before.needs_query or bool(row.get("needsQuery")),
                    needs_base=before.needs_base or bool(row.get("needsBaseCommit")),
                    edited=before.edited or is_edited(row),
                )


@contextmanager
def lock_pair(folder: Path) -> Iterator[None]:
    """Hold the folder for one extraction; a second one is refused at once. A store has no locks: `commit` compares instead."""
    if isinstance(folder, RemotePath):
        yield
        return
    make_folder(folder)
    with open_file(folder / _LOCK, "ab") as handle:
        try:
            lock(handle, wait=False)
        except BlockingIOError as problem:
            raise Conflict(f"another extraction is writing into {str(folder)!r}; wait for it to end") from problem
        yield


def _state(path: Path) -> str:
    """What tells one content of an object from the next; files of this machine are locked instead."""
    return path.state() if isinstance(path, RemotePath) else ""


def stamped_line(row: Row) -> bytes:
    """The row with a hash of itself, by which a later run sees whether a person edited it."""
    return dump_row(row | {EXTRACTED_HASH: content_hash(row)})


def is_edited(row: Row) -> bool:
    """Whether the row says something else than when it was written. A row that was never stamped tells nothing."""
    stamp = row.get(EXTRACTED_HASH)
    rest = {name: value for name, value in row.items() if name != EXTRACTED_HASH}
    return stamp is not None and bool(stamp != content_hash(rest))
