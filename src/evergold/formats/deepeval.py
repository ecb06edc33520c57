"""DeepEval goldens: one JSON array of objects, with the keys its own loader looks for.

`EvaluationDataset.add_goldens_from_json_file` reads `expected_output` and its kin; files that spell them `expectedOutput`, as
DeepEval's web service does, are read here too. So are the JSON lines that DeepEval saves, where the texts of a context stand in
one, with `|` between them.

DeepEval keeps single-turn and multi-turn goldens apart and refuses a file that mixes them. So every case is a single-turn
golden here, and those with earlier turns are written once more as conversational goldens (`deepeval_turns.py`) to a file
beside it. Either file gives the whole cases back.
"""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from io import BufferedReader, UnsupportedOperation
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

import msgspec
import orjson

from evergold.errors import BadInput
from evergold.formats.atomic import FileSet
from evergold.formats.carrying import (
    metadata_of,
    rebuilt,
    shown_reference,
    unread_of,
    with_edited_reference,
    with_edits,
)
from evergold.formats.deepeval_turns import beside, conversational, is_conversation, read_conversation
from evergold.formats.joining import JoinedArray, Joining
from evergold.formats.lines import Record, first_record, one_case, read_lines
from evergold.model.case import Case
from evergold.model.rejected import Rejected
from evergold.model.tool_calls import ToolCall
from evergold.storage import open_read

HELD = {"input", "output", "expected", "name"}
_KNOWN = (
    "expected_output",
    "actual_output",
    "retrieval_context",
    "tools_called",
    "expected_tools",
    "additional_metadata",
)
DELIMITER = "|"  # between the texts of a context, where DeepEval writes them as one
_TELLING = (
    b'"expected_output"',
    b'"actual_output"',
    b'"expectedOutput"',
    b'"actualOutput"',
    b'"scenario"',
)

_decode_array = msgspec.json.Decoder(list[msgspec.Raw]).decode


class DeepEval:
    suffix: ClassVar[str] = ".deepeval.json"
    joining: ClassVar[Joining] = JoinedArray
    expresses: ClassVar[frozenset[str]] = frozenset({"messages", "turn", "tool_calls", "expected_tools", "contexts"})

    def accepts(self, head: bytes) -> bool:
        start = head.removeprefix(BOM_UTF8).lstrip()
        if start[:1] == b"{":
            return {"input", "actual_output", "expected_output"} <= first_record(head).keys()
        return start[:1] == b"[" and any(key in start for key in _TELLING)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Write every case as a golden; a second file appears only where cases have several turns."""
        with FileSet() as files:
            goldens, turns = _Array(files, path), _Array(files, beside(path))
            for case in cases:
                goldens.add(record_of(case))
                if is_conversation(case):
                    turns.add(conversational(case))
            # An empty array is a file that DeepEval loads; an empty file is none.
            if not goldens.close(even_empty=True) or not turns.close():
                beside(path).unlink(missing_ok=True)  # of an earlier export
        return goldens.count

    def may_write(self, path: Path) -> tuple[Path, ...]:
        """The goldens, and those of several turns where there are any."""
        return path, beside(path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        """One golden after the other; an array is mapped into memory, not copied and decoded whole."""
        with open_read(path) as handle:
            # `peek` may give more or less than asked, and consumes nothing: the array below is read from the start.
            if handle.peek(64)[:64].removeprefix(BOM_UTF8).lstrip()[:1] == b"{" and _in_lines(path):
                yield from read_lines(path, case_of)
                return
            try:
                mapped = _content(handle)
                start = len(BOM_UTF8) if bytes(mapped[: len(BOM_UTF8)]) == BOM_UTF8 else 0
                records = _decode_array(mapped[start:])
            # A subclass of ValueError, so it stands before the general case.
            except msgspec.ValidationError:
                raise BadInput(f"{path}: expected an array of goldens, got something else") from None
            except (ValueError, RecursionError) as problem:
                raise BadInput(f"{path}: not JSON: {problem}") from problem
        for number, raw in enumerate(records, 1):
            yield one_case(bytes(raw), f"{path.name}[{number}]", case_of)


class _Array:
    """A JSON array in a file, written one record at a time; the file is opened with its first record."""

    def __init__(self, files: FileSet, path: Path) -> None:
        self._files, self._path = files, path
        self._out: BinaryIO | None = None
        self.count = 0

    def add(self, record: Record) -> None:
        self._out = self._out or self._files.open(self._path)
        self._out.write(b",\n" if self.count else b"[\n")
        self._out.write(orjson.dumps(record))
        self.count += 1

    def close(self, *, even_empty: bool = False) -> int:
        if self._out is not None:
            self._out.write(b"\n]\n")
        elif even_empty:
            self._files.open(self._path).write(b"[]\n")
        return self.count


def _content(handle: BufferedReader) -> memoryview:
    """All of a file: mapped where it is a plain one of this machine, read where it is packed or in a store."""
    try:
        return memoryview(mmap(handle.fileno(), 0, access=ACCESS_READ))
    except UnsupportedOperation:
        return memoryview(handle.read())


def _in_lines(path: Path) -> bool:
    with open_read(path) as handle:
        return "input" in first_record(handle.readline())


def record_of(case: Case) -> Record:
    texts = [context.text for context in case.contexts if context.text is not None]
    record: Record = {
        "input": case.input,
        "expected_output": shown_reference(case),
        "actual_output": case.output,
        "name": case.name,
        "retrieval_context": texts or None,
        "tools_called": [{"name": call.name, "input_parameters": call.args} for call in case.tool_calls] or None,
        "expected_tools": [{"name": call.name, "input_parameters": call.args} for call in _expected(case)] or None,
        "additional_metadata": metadata_of(case, HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def _expected(case: Case) -> Iterator[ToolCall]:
    """Concrete calls that meet what is expected; one that only a pattern describes has none."""
    for expected in case.expected_calls() or ():
        if (call := expected.example()) is not None:
            yield call


def case_of(record: Record) -> Case:
    if record.get("scenario"):
        return read_conversation(record)
    held = {
        "input": record["input"],
        "expected": _either(record, "expected_output"),
        "output": _either(record, "actual_output"),
        "name": record.get("name"),
    }
    shown = _shown(record)
    known = (
        "input",
        "name",
        *map(_camel, _KNOWN),
        *_KNOWN,
        *(() if _either(record, "retrieval_context") else ("context",)),
    )
    case = rebuilt(held, _either(record, "additional_metadata"), guessed=shown, unread=unread_of(record, *known))
    return with_edited_reference(with_edits(case, shown, _shown(record_of(case))), held["expected"])


def _shown(record: Record) -> Record:
    texts = _either(record, "retrieval_context") or record.get("context") or []
    if isinstance(texts, str):
        texts = texts.split(DELIMITER)
    return {
        "contexts": [{"text": text} for text in texts],
        "tool_calls": [_call(call) for call in _either(record, "tools_called") or []],
        "expected_tools": [_call(call) for call in _either(record, "expected_tools") or []] or None,
    }


def _call(call: Record) -> Record:
    return {"name": call["name"], "args": _either(call, "input_parameters") or {}}


def _either(record: Record, key: str) -> Any:
    """A value by its key, or by the same key in camel case."""
    return record.get(key, record.get(_camel(key)))


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(map(str.capitalize, rest))
