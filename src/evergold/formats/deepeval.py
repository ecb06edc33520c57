"""DeepEval goldens: one JSON array of camelCase objects."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.carrying import metadata_of, rebuilt
from evergold.formats.lines import Record, attempted
from evergold.model.case import Case
from evergold.model.rejected import Rejected

HELD = {"input", "output", "expected", "name"}


class DeepEval:
    suffix: ClassVar[str] = ".deepeval.json"

    def accepts(self, head: bytes) -> bool:
        start = head.lstrip()[:4096]
        return start[:1] == b"[" and (b'"expectedOutput"' in start or b'"actualOutput"' in start)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        count = 0
        with FileSet() as files:
            out = files.open(path)
            for count, case in enumerate(cases, 1):
                out.write(b"[\n" if count == 1 else b",\n")
                out.write(orjson.dumps(record_of(case)))
            out.write(b"\n]\n" if count else b"[]\n")
        return count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        try:
            records = orjson.loads(path.read_bytes())
        except orjson.JSONDecodeError as problem:
            raise BadInput(f"{path}: not JSON: {problem}") from problem
        if not isinstance(records, list):
            raise BadInput(f"{path}: expected an array of goldens, got {type(records).__name__}")
        for number, record in enumerate(records, 1):
            yield attempted(record, f"{path.name}[{number}]", case_of)


def record_of(case: Case) -> Record:
    texts = [context.text for context in case.contexts if context.text is not None]
    record: Record = {
        "input": case.input,
        "expectedOutput": case.expected,
        "actualOutput": case.output,
        "name": case.name,
        "retrievalContext": texts or None,
        "toolsCalled": [{"name": call.name, "inputParameters": call.args} for call in case.tool_calls] or None,
        "expectedTools": [{"name": call.name, "inputParameters": call.args} for call in case.expected_tools] or None,
        "additionalMetadata": metadata_of(case, HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def case_of(record: Record) -> Case:
    held = {
        "input": record["input"],
        "expected": record.get("expectedOutput"),
        "output": record.get("actualOutput"),
        "name": record.get("name"),
    }
    texts = record.get("retrievalContext") or record.get("context") or []
    guessed = {
        "contexts": [{"text": text} for text in texts],
        "tool_calls": [_call(call) for call in record.get("toolsCalled") or []],
        "expected_tools": [_call(call) for call in record.get("expectedTools") or []],
    }
    return rebuilt(held, record.get("additionalMetadata"), guessed=guessed)


def _call(call: Record) -> Record:
    return {"name": call["name"], "args": call.get("inputParameters") or {}}
