"""Whole cases, one a line, in Evergold's own words: the format of backups and of moving between stores.

The split files of a frozen dataset are such lines too: each with the revision of its case, which must be right, and perhaps
a canary on top, which is no case.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.lines import Record, first_record, numbered_lines, one_case, write_lines
from evergold.formats.parts import JoinedLines, Joining
from evergold.formats.records import MOVING
from evergold.model.case import Case, written_case
from evergold.model.faults import Rejected

CANARY = "canary"


class CaseLines:
    suffix: ClassVar[str] = ".cases.jsonl"
    joining: ClassVar[Joining] = JoinedLines

    def accepts(self, head: bytes) -> bool:
        first = first_record(head)
        return {"id", "dataset", "kind", "input"} <= first.keys() or first.keys() == {CANARY}

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines((case.model_dump(mode="json", exclude=MOVING) for case in cases), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        for number, line in numbered_lines(path):
            if not (number == 1 and first_record(line).keys() == {CANARY}):
                yield one_case(line, f"{path.name}:{number}", _case_of)


def _case_of(record: Record) -> Case:
    pinned = record.pop("rev", None)
    case = written_case(record)
    if pinned is not None and pinned != case.rev():
        raise ValueError(f"its content gives {case.rev()}, the line says {pinned}: it was changed after it was frozen")
    return case
