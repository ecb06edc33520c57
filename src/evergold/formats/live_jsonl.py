"""The live export: one line per case with the keys people's offline tests read.

`id, trace_id, entry_type, input, output, expected_output, metadata, created_at`, plus `tags`. What these keys cannot hold
travels under the key `case`, only where there is something to hold, so that a file read back gives the same case.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import orjson
from pydantic import ValidationError

from evergold.formats.atomic import FileSet
from evergold.model.case import BOOKKEEPING, Case
from evergold.model.rejected import Rejected

OWN = {"id", "entry_type", "input", "output", "expected", "metadata", "tags", "provenance"} | BOOKKEEPING


class LiveJsonl:
    suffix: ClassVar[str] = ".jsonl"

    def accepts(self, head: bytes) -> bool:
        return b'"entry_type"' in head.split(b"\n", 1)[0]

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        count = 0
        with FileSet() as files:
            out = files.open(path)
            for case in cases:
                out.write(orjson.dumps(line_of(case), option=orjson.OPT_APPEND_NEWLINE))
                count += 1
        return count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        with path.open("rb") as handle:
            for number, line in enumerate(handle, 1):
                if not line.strip():
                    continue
                try:
                    yield case_of(orjson.loads(line))
                except (orjson.JSONDecodeError, ValidationError, KeyError, TypeError) as problem:
                    yield Rejected(where=f"{path.name}:{number}", reason=str(problem).splitlines()[0])


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
