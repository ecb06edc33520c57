"""DeepEval goldens: one JSON array of objects, with the keys its own loader looks for.

`EvaluationDataset.add_goldens_from_json_file` reads `expected_output` and its kin; files that spell them `expectedOutput`, as
DeepEval's web service does, are read here too.
"""

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
_TELLING = (b'"expected_output"', b'"actual_output"', b'"expectedOutput"', b'"actualOutput"')


class DeepEval:
    suffix: ClassVar[str] = ".deepeval.json"

    def accepts(self, head: bytes) -> bool:
        start = head.lstrip()[:4096]
        return start[:1] == b"[" and any(key in start for key in _TELLING)

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
        "expected_output": case.expected,
        "actual_output": case.output,
        "name": case.name,
        "retrieval_context": texts or None,
        "tools_called": [{"name": call.name, "input_parameters": call.args} for call in case.tool_calls] or None,
        "expected_tools": [{"name": call.name, "input_parameters": call.args} for call in case.expected_tools] or None,
        "additional_metadata": metadata_of(case, HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def case_of(record: Record) -> Case:
    held = {
        "input": record["input"],
        "expected": _either(record, "expected_output"),
        "output": _either(record, "actual_output"),
        "name": record.get("name"),
    }
    texts = _either(record, "retrieval_context") or record.get("context") or []
    guessed = {
        "contexts": [{"text": text} for text in texts],
        "tool_calls": [_call(call) for call in _either(record, "tools_called") or []],
        "expected_tools": [_call(call) for call in _either(record, "expected_tools") or []],
    }
    return rebuilt(held, _either(record, "additional_metadata"), guessed=guessed)


def _call(call: Record) -> Record:
    return {"name": call["name"], "args": _either(call, "input_parameters") or {}}


def _either(record: Record, key: str) -> Any:
    """A value by its key, or by the same key in camel case."""
    first, *rest = key.split("_")
    return record.get(key, record.get(first + "".join(map(str.capitalize, rest))))
