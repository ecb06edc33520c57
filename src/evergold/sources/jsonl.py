"""Files of JSON: native trace lines, and documents as people export them.

A native line is one object of `type` trace (the default), score, correction or reaction. An export is JSON of one object per
line, one array, or one object spread over many lines; or CSV.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from io import BytesIO
from itertools import chain
from typing import Any

import orjson
from pydantic import TypeAdapter, ValidationError

from evergold.conversation.message import decode_json
from evergold.errors import BadInput
from evergold.formats.lines import columns_of, object_in, read_table
from evergold.model.faults import Rejected
from evergold.model.trace import Record
from evergold.model.values import load_json
from evergold.seams import Incoming

RECORD: TypeAdapter[Incoming] = TypeAdapter(Record)
SHOWN = 2000
HELD_AS_JSON = frozenset(
    {"tags", "metadata", "scores", "spans", "messages", "tools", "contexts"}
)  # in cells of a table
LONGEST_DOCUMENT = 512 << 20  # bytes, of a line or of a whole file; decoding takes several times as much memory


class NativeLines:
    """Evergold's own lines, or a list or table of them. A bad one is rejected by name and the rest is read."""

    def accepts(self, head: bytes) -> bool:
        """A first line that is a JSON object none of the other formats claims: the fallback among sources."""
        text = head.lstrip()
        # Of a list and a table, the names that only traces have together.
        names = {name.decode() for name in KEY.findall(text[:4096])} if text[:1] == b"[" else set(columns_of(head))
        return text[:1] == b"{" or ("id" in names and not names.isdisjoint(("input", "messages")) and "output" in names)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        source = iter(lines)
        first = next((line for line in source if line.strip()), b"")
        table = bool(columns_of(first))
        if table or first.strip() == b"{" or first.lstrip()[:1] == b"[":
            # Rows, or one object or list, over many lines or in one.
            for part in read_documents(chain([first], source), name):
                if isinstance(part, Rejected):
                    yield part
                    continue
                where, value = part
                if table:
                    value = {key: decode_json(cell) if key in HELD_AS_JSON else cell for key, cell in value.items()}
                yield parse_value(value, where, first)
            return
        for number, line in enumerate(chain([first], source), 1):
            if line.strip():
                yield parse_line(line, f"{name}:{number}")


def parse_line(line: bytes, where: str) -> Incoming | Rejected:
    try:
        value = load_json(line)
    except orjson.JSONDecodeError as problem:
        return Rejected(where=where, reason=f"not JSON: {problem}", record=_short(line))
    return parse_value(value, where, line)


def parse_value(value: Any, where: str, written: bytes) -> Incoming | Rejected:
    if not isinstance(value, dict):
        return Rejected(where=where, reason=f"expected an object, got {type(value).__name__}", record=_short(written))
    return parse_record(value, where)


def parse_record(value: dict[str, Any], where: str) -> Incoming | Rejected:
    try:
        return RECORD.validate_python({"type": "trace"} | value)
    except ValidationError as problem:
        return Rejected.of(problem, where, Record, _show_value(value))


def _show_value(value: dict[str, Any]) -> str | None:
    """What arrived, where it can be written at all."""
    try:
        return _short(orjson.dumps(value, default=str))
    except orjson.JSONEncodeError:
        return None


def _short(line: bytes) -> str:
    return line[:SHOWN].decode("utf-8", "replace").strip()


# What each reader looks for. The one that misses least is named where no reader knows a file; a long name says more.
SIGNS = {
    "native": ("id", "input", "output"),
    "agent-log": ("messages", "role", "content"),
    "otlp": ("resourceSpans", "scopeSpans", "spans", "traceId", "spanId"),
    "langfuse": ("traceId", "observations", "type"),
    "langsmith": ("run_type", "inputs", "outputs", "trace_id"),
    "mlflow": ("info", "data", "spans"),
    "phoenix": ("context", "span_kind", "attributes"),
}
# Other names of what a reader looks for.
ALIASES = {"agent-log": ("simulations", "conversations", "conversation", "trajectory", "history", "turns")}
EMPTY = {b"": "the file is empty", b"[]": "the file holds an empty list"}


def describe_nothing(head: bytes) -> str | None:
    """Say that a file holds nothing; None where it holds something."""
    return EMPTY.get(b"".join(head.split()) if len(head) < 100 else head.strip())


BINARY = {
    b"PK\x03\x04": "a zip archive or an office document: unpack it, or save its sheet as CSV",
    b"SQLite format 3": "a database of SQLite: export its table as CSV or JSON lines",
    b"%PDF": "a PDF document",
    b"BZh": "a bzip2 archive: unpack it",
    b"\xfd7zXZ": "an xz archive: unpack it",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"ustar": "a tar archive: unpack it",
}
# The same for files of cases, by their formats.
CASE_SIGNS = {
    "parquet": ("question", "answer"),
    "case-jsonl": ("id", "dataset", "kind", "input"),
    "live-jsonl": ("input", "entry_type", "expected_output"),
    "openai-ft": ("messages",),
    "openai-evals": ("input", "ideal"),
    "dpo": ("prompt", "chosen", "rejected"),
    "inspect": ("input", "target"),
    "mlflow": ("inputs", "expectations"),
    "ragas": ("user_input", "reference"),
    "promptfoo": ("vars", "assert"),
    "deepeval": ("input", "actual_output", "expected_output"),
}
ALIKE = 80  # per cent: `span` and `spans`, not `text` and `context`
KEY = re.compile(rb'"([\w.-]{1,40})"\s*:')
CASES = frozenset({"expected_output", "expected", "ideal", "target", "reference", "ground_truth", "answer"})
LOGS = frozenset({"messages", "conversations", "role", "spans", "run_type", "mapping", "output", "response"})
LOGGED = frozenset({"session_id", "user_id", "model", "timestamp", "time", "cost", "latency_ms"})


def describe(documents: list[Any], signs: Mapping[str, tuple[str, ...]] = SIGNS) -> str:
    """Say what a file looks like that no reader knows: its keys, the nearest reader, and what that one misses."""
    first = next((one for one in documents if isinstance(one, dict)), None)
    if first is None:
        return f"it looks like JSON values of type {', '.join(sorted({type(one).__name__ for one in documents}))}"
    keys = {*first, *map(bytes.decode, KEY.findall((_show_value(first) or "").encode()))}
    shown = ", ".join(list(first)[:8]) + (", …" if len(first) > 8 else "")
    wanted = {name: (*looked, *ALIASES.get(name, ())) for name, looked in signs.items()}
    others = keys.difference(*wanted.values())
    met = {name: _match_names(names, keys, others) for name, names in wanted.items()}
    # A name that is written otherwise counts a little less.
    weights = {name: sum(len(sign) - (sign != key) / 2 for sign, key in met[name].items()) for name in signs}
    nearest = max(signs, key=lambda name: weights[name] / len("".join(signs[name])))
    misspelt = {sign: key for sign, key in met[nearest].items() if sign != key}
    missing = [name for name in signs[nearest] if name not in keys]
    text = f"it looks like JSON objects with {shown or 'no keys'}; the nearest reader is {nearest}"
    text += f", which misses {', '.join(missing)}" if missing else ""
    text += "".join(f"; {key!r} is unknown: did you mean {sign!r}?" for sign, key in misspelt.items())
    if signs is CASE_SIGNS:
        return text + ("; what was logged is traces: evergold ingest reads those" if keys & LOGS else "")
    if not CASES.isdisjoint(first) and LOGGED.isdisjoint(first):
        text += "; questions with their answers are cases: evergold import reads those"
    elif keys.isdisjoint(signs[nearest]) and not misspelt:
        text += (
            "; a log of chats needs messages with role and content, or rows with question, answer and a time or session"
        )
    return text


def _match_names(names: tuple[str, ...], keys: set[str], others: set[str]) -> dict[str, str]:
    """Each of the names that is among the keys, or almost one of the others, with its key."""
    from rapidfuzz import fuzz, process

    near = {name: process.extractOne(name, others, scorer=fuzz.ratio, score_cutoff=ALIKE) or ("",) for name in names}
    return {name: key for name in names if (key := name if name in keys else near[name][0])}


def describe_head(head: bytes, signs: Mapping[str, tuple[str, ...]] = SIGNS) -> str:
    """Say what the beginning of a file looks like, which should have been traces, or cases."""
    noun = "cases" if signs is CASE_SIGNS else "traces"
    known = next((name for sign, name in BINARY.items() if head.startswith(sign) or head[257:].startswith(sign)), None)
    if known or b"\x00" in head:
        return f"it looks like {known or 'a binary file'}; {noun} are JSON, JSON lines, CSV or Parquet"
    if columns := columns_of(head):
        return describe([dict.fromkeys(columns, "")], signs).replace("JSON objects with", "a table with the columns")
    text = head.lstrip()
    if text[:1] in (b"{", b"["):
        try:
            value = load_json(text.partition(b"\n")[0])
        except orjson.JSONDecodeError:
            try:
                value = load_json(text)
            except orjson.JSONDecodeError as problem:
                names = dict.fromkeys(map(bytes.decode, KEY.findall(text[:4096])), "")
                looks = describe([names], signs) if names else "it looks like JSON"
                return f"{looks}; its first {len(text):,} bytes do not parse: {problem}"
        return describe(value if isinstance(value, list) else [value], signs)
    kind = "XML" if text[:1] == b"<" else "text"
    return (
        f"it looks like {kind}; {noun} are JSON, JSON lines, CSV or Parquet: the nearest reader is {next(iter(signs))}"
    )


def read_documents(lines: Iterable[bytes], name: str) -> Iterator[tuple[str, Any] | Rejected]:
    """Each document with its place. A file whose first line is no document of its own is read as one document.

    A table is a document per row; a cell that is empty says nothing, and one that holds JSON is left to whoever reads it.
    """
    source = iter(lines)
    first = next((line for line in source if line.strip()), b"")
    if columns_of(first):
        for where, row in read_table(chain([first], source), name):
            yield Rejected(where=where, reason=row.message) if isinstance(row, BadInput) else (where, row)
        return
    try:
        load_json(first)
    except orjson.JSONDecodeError:
        text = b"".join(_limit_length(chain([first], source), name))
        broken = first.lstrip()[:2] == b'{"' and bool(object_in(text[len(first) :].lstrip().partition(b"\n")[0]))
        if not broken:
            yield from _parts(text, name) if text.strip() else ()
            return
        # One line of many that is cut, as the first of what a log was trimmed to.
        first, source = b"", BytesIO(text)
    for number, line in enumerate(chain([first] if first else [], source), 1):
        if line.strip():
            yield from _parts(line, f"{name}:{number}")


def _limit_length(lines: Iterable[bytes], name: str) -> Iterator[bytes]:
    """The lines of one document. A packed file of a few megabytes may hold more than any memory."""
    size = 0
    for line in lines:
        size += len(line)
        if size > LONGEST_DOCUMENT:
            raise too_long(name, "one document of JSON")
        yield line


def too_long(name: str, what: str) -> BadInput:
    return BadInput(
        f"{name}: {what} is longer than {LONGEST_DOCUMENT:,} bytes; write one record a line, or several files"
    )


def _parts(text: bytes, where: str) -> Iterator[tuple[str, Any] | Rejected]:
    try:
        value = load_json(text)
    except orjson.JSONDecodeError as problem:
        yield Rejected(where=where, reason=f"not JSON: {problem}", record=_short(text))
        return
    # Langfuse's interface wraps a page as `{"data": […], "meta": …}`.
    listed = value.get("data") if isinstance(value, dict) and isinstance(value.get("data"), list) else value
    if isinstance(listed, list):
        yield from ((f"{where}[{index}]", item) for index, item in enumerate(listed))
    else:
        yield where, value
