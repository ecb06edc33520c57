"""The live export: one line per case with the keys people's offline tests read.

`id, trace_id, entry_type, input, output, expected_output, metadata, created_at`, plus `tags`. What these keys cannot hold
travels in its metadata under the key `evergold`, only where there is something to hold, so that a file read back gives
the same case: there are no further keys.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.carrying import KEY, MOVING, unread_of
from evergold.formats.lines import first_record, read_lines, write_lines
from evergold.model.case import Case
from evergold.model.rejected import Rejected

KEYS = ("id", "trace_id", "entry_type", "input", "output", "expected_output", "metadata", "created_at", "tags")
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
    metadata = case.metadata
    if KEY in metadata:
        more["metadata"], metadata = metadata, {}
    return {
        "id": case.id,
        "trace_id": case.provenance.trace_id,
        "entry_type": case.entry_type,
        "input": case.input,
        "output": case.output,
        "expected_output": case.expected,
        "metadata": metadata | ({KEY: more} if more else {}),
        "created_at": case.created_at,
        "tags": case.tags,
    }


def case_of(line: dict[str, Any]) -> Case:
    metadata = dict(line.get("metadata") or {})
    more = dict(metadata.pop(KEY, None) or {})
    metadata = more.pop("metadata", metadata)
    provenance = dict(more.pop("provenance", {}), trace_id=line.get("trace_id"))
    if unread := unread_of(line, *KEYS):
        more["extra"] = {**more.get("extra", {}), **unread}
    return Case.model_validate(
        more
        | {
            "id": str(line["id"]),
            "entry_type": line["entry_type"],
            "input": line["input"],
            "output": line.get("output"),
            "expected": line.get("expected_output"),
            "metadata": metadata,
            "created_at": line.get("created_at"),
            "tags": tuple(line.get("tags") or ()),
            "provenance": provenance,
        }
    )
