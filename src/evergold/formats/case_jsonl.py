"""Whole cases, one a line, in Evergold's own words: the format of backups and of moving between stores."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.carrying import MOVING
from evergold.formats.lines import first_record, read_lines, write_lines
from evergold.model.case import Case
from evergold.model.rejected import Rejected


class CaseLines:
    suffix: ClassVar[str] = ".cases.jsonl"

    def accepts(self, head: bytes) -> bool:
        return {"id", "dataset", "kind", "input"} <= first_record(head).keys()

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines((case.model_dump(mode="json", exclude=MOVING) for case in cases), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, Case.model_validate)
