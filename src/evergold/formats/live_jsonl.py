"""The live export: one line per case with the keys people's offline tests read.

`id, trace_id, entry_type, input, output, expected_output, metadata, created_at`, plus `tags`. What these keys cannot hold
travels under the key `case`, only where there is something to hold, so that a file read back gives the same case.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.carrying import MOVING
from evergold.formats.lines import first_record, read_lines, write_lines
from evergold.model.case import Case
from evergold.model.rejected import Rejected

OWN = {"id", "entry_type", "input", "output", "expected", "metadata", "tags", "provenance", "created_at"} | MOVING


class LiveJsonl:
    suffix: ClassVar[str] = ".jsonl"

    def accepts(self, head: bytes) -> bool:
        return {"entry_type", "expected_output"} <= first_record(head).keys()

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines(map(line_of, cases), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, case_of)


def line_of(case: Case) -> dict[str, Any]:
    more = case.model_dump(mode="json", exclude=OWN, exclude_defaults=True)
    provenance = case.provenance.model_dump(mode="json", exclude_defaults=True, exclude={"trace_id"})
    if provenance:
        more["provenance"] = provenance
    line = {
        "id": case.id,
        "trace_id": case.provenance.trace_id,
        "entry_type": case.entry_type,
        "input": case.input,
        "output": case.output,
        "expected_output": case.expected,
        "metadata": case.metadata,
        "created_at": case.created_at,
        "tags": case.tags,
    }
    return line | {"case": more} if more else line


def case_of(line: dict[str, Any]) -> Case:
    more = dict(line.get("case") or {})
    provenance = dict(more.pop("provenance", {}), trace_id=line.get("trace_id"))
    return Case.model_validate(
        more
        | {
            "id": str(line["id"]),
            "entry_type": line["entry_type"],
            "input": line["input"],
            "output": line.get("output"),
            "expected": line.get("expected_output"),
            "metadata": line.get("metadata") or {},
            "created_at": line.get("created_at"),
            "tags": tuple(line.get("tags") or ()),
            "provenance": provenance,
        }
    )
