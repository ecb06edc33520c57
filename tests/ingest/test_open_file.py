"""Files of traces: unpacked, without a byte order mark, read by the source that knows them."""

import gzip
import json
from io import BytesIO
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.ingest.files import Lines
from evergold.model.faults import Rejected
from evergold.model.operations import KEPT_PROBLEMS, IngestReport
from evergold.model.trace import Trace
from evergold.seams import Source
from evergold.sources import jsonl
from evergold.sources.jsonl import describe_head
from tests.rows import each_row

NATIVE = json.dumps({"id": "t1", "input": "Hi"}).encode()
SPAN = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "n"}
OTLP = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}).encode()


def read(data: bytes, source: str | None = None, unit: str | None = None) -> list[Any]:
    sources: dict[str, Source] = {}
    seen: list[int] = []
    records = list(Lines(BytesIO(data), "f", unit).read_by(source, sources, seen.append))
    assert len(sources) == 1 and (sum(seen) > 0 or not data)
    return records


@each_row(
    "data",
    [
        NATIVE,
        b"\xef\xbb\xbf" + NATIVE,
        gzip.compress(NATIVE),
        gzip.compress(b"\xef\xbb\xbf" + NATIVE),
        NATIVE + b"\n\n",
    ],
    ids=["plain", "with a mark of byte order", "packed", "packed with the mark", "empty lines at the end"],
)
def test_lines_are_read_however_they_are_packed(data: bytes) -> None:
    (trace,) = read(data)
    assert trace.id == "t1"


def chat(question: str = "Hi", **fields: Any) -> dict[str, Any]:
    return fields | {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": "Hello"}]}


@each_row(
    "data",
    [
        b'id,input,output,cost,tags\nt1,Hi,Hello,0.5,"[""a""]"\n',
        b'[{"id": "t1", "input": "Hi", "output": "Hello", "cost": 0.5, "tags": ["a"]}]',
        b'[\n {\n  "id": "t1", "input": "Hi", "output": "Hello",\n  "cost": 0.5, "tags": ["a"]\n }\n]',
    ],
    ids=["table", "list", "indented list"],
)
def test_traces_are_read_from_tables_and_lists(data: bytes) -> None:
    (trace,) = read(data)
    assert (trace.id, trace.input, trace.output, trace.cost, trace.tags) == ("t1", "Hi", "Hello", 0.5, ("a",))


def test_a_text_of_a_table_stays_a_text() -> None:
    (trace,) = read(b'id,input,output\nt1,Total?,"{""total"": 5}"\n')
    assert trace.output == '{"total": 5}'


HALF = chat("Hi \ud83d")


@each_row(
    "document",
    [
        [chat()],
        [chat(), chat("Yes")],
        chat(),
        {"conversations": [chat(id="a"), chat("Yes", id="b")]},
        {"data": [chat(id="a")]},
    ],
    ids=["list of one", "list", "chat", "conversations", "data"],
)
def test_chats_are_read_however_their_file_is_laid_out(document: Any) -> None:
    several = document if isinstance(document, list) else document.get("conversations", [document])
    for indent in (None, 1, 4):
        read_in = [one for one in read(json.dumps(document, indent=indent).encode()) if isinstance(one, Trace)]
        assert [trace.input for trace in read_in] == ["Hi", "Yes"][: len(several)], indent


@each_row(
    "data",
    [
        json.dumps({"id": "t1", "input": "Hi \ud83d"}).encode(),
        json.dumps(HALF).encode(),
        json.dumps([HALF], indent=1).encode(),
    ],
    ids=["native line", "line of a chat", "document"],
)
def test_half_a_character_costs_only_itself(data: bytes) -> None:
    trace = next(record for record in read(data) if getattr(record, "input", None))
    assert "Hi \ufffd" in trace.input


def test_a_source_is_chosen_by_what_it_accepts_or_by_name() -> None:
    assert read(OTLP)[0].trace_id == "1" * 32
    (refused,) = read(OTLP, "native")
    assert isinstance(refused, Rejected)


@each_row(
    ("data", "told"),
    [(b"", "is empty"), (b" \n\n", "is empty"), (b"[ ]", "an empty list"), (b"[\n]\n", "an empty list")],
)
def test_a_file_that_holds_nothing_is_told(data: bytes, told: str) -> None:
    (note,) = Lines(BytesIO(data), "f").read_by(None, {}, lambda _: None)
    assert isinstance(note, Rejected) and note.is_note and told in note.reason


@each_row(
    ("data", "looks"),
    [
        (b"just words", "it looks like text"),
        (b"<xml/>", "it looks like XML"),
        (b"\x00\x01", "it looks like a binary file"),
        (b"[1, 2]", "JSON values of type int"),
        (b"PK\x03,\rval\x00\n", "it looks like a binary file"),
        (
            b"prompt,answer\na,b\n",
            "a table with the columns prompt, answer; .* misses id, input, output; .*evergold import",
        ),
    ],
)
def test_a_file_that_nobody_knows_says_what_it_looks_like(data: bytes, looks: str) -> None:
    with pytest.raises(
        BadInput, match=rf"f: none of the known formats \(.*native.*\): .*{looks}.*; name one with --source"
    ):
        read(data)


def test_objects_that_are_no_traces_are_refused_once_with_the_nearest_reader() -> None:
    lines = b'{"run_type": "llm", "outputs": 1}\n' * 3
    (refused,) = read(lines)
    assert refused.where == "f" and "none of its 3 lines is a trace" in refused.reason
    assert "the nearest reader is langsmith, which misses inputs, trace_id" in refused.reason
    first, second = read(NATIVE + b"\n" + lines[:34])
    assert first.id == "t1" and second.where == "f:2"


def test_a_log_of_turns_is_cut_as_asked() -> None:
    chat = {"messages": [{"role": role, "content": role} for role in ("user", "assistant") * 2], "reward": 1, "id": "x"}
    data = json.dumps(chat).encode()
    assert (len(read(data)), len(read(data, unit="turn"))) == (1, 2)


def test_a_report_counts_everything_and_keeps_the_first_problems() -> None:
    report, other = IngestReport(traces=1), IngestReport(traces=2, spans=3)
    for number in range(KEPT_PROBLEMS + 5):
        other.reject(f"problem {number}")
    report.reject(Rejected(where="f:1", reason="not JSON"))
    report.add(other)
    assert (report.traces, report.spans, report.rejected) == (3, 3, KEPT_PROBLEMS + 6)
    assert len(report.problems) == KEPT_PROBLEMS and report.problems[:2] == ["f:1: not JSON", "problem 0"]
    assert report.counts()["duplicates"] == 0 and "problems" not in report.counts()


@pytest.mark.parametrize(
    "data",
    [
        NATIVE + b"\n" + b'{"id": "' + b"x" * 5000 + b'"}\n',
        b'{"id": "t1",\n' + b'"input": "x",\n' * 500 + b'"output": "y"}',
        b"[" * 5000,
        b"[\n" + b" \n" * 5000,
    ],
    ids=["a line", "a document of many lines", "no line end", "a document that never comes"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "packed"])
def test_what_would_fill_the_memory_is_refused(data: bytes, pack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jsonl, "LONGEST_DOCUMENT", 4096)
    with pytest.raises(BadInput, match="is longer than 4,096 bytes; write one record a line"):
        read(pack(data), "native" if data.startswith(NATIVE) else "langfuse")


def test_lines_and_documents_up_to_that_length_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    line = json.dumps({"id": "t1", "input": "x" * 1000}).encode() + b"\n"
    monkeypatch.setattr(jsonl, "LONGEST_DOCUMENT", len(line))
    assert [record.id for record in read(line + NATIVE)] == ["t1", "t1"]


def test_json_whose_head_does_not_parse_is_described_by_its_keys() -> None:
    looks = describe_head(b'{"7": {"messages": [{"role": "user", "content": "hel')
    assert "JSON objects with 7, messages, role, content; the nearest reader is agent-log" in looks
    assert "do not parse" in looks
