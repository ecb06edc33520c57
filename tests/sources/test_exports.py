"""Files other tools write, read into one workspace through the door a user has."""

import csv
import gzip
import json
import sys
from collections.abc import Iterator
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict

from evergold.errors import BadInput
from evergold.model.operations import IngestReport
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.otlp import TRACE, a_request, a_span, an_llm_span, json_body


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.open(Settings(home=tmp_path / "home")) as opened:
        yield opened


def ingest(workspace: Workspace, *documents: Any, indent: int | None = None) -> IngestReport:
    text = "\n".join(json.dumps(document, indent=indent) for document in documents)
    return workspace.intake.ingest([BytesIO(text.encode())])


GENERATION = {
    "id": "obs-2",
    "traceId": "lf-1",
    "type": "GENERATION",
    "name": "answer",
    "parentObservationId": "obs-1",
    "startTime": "2026-01-01T00:00:01.000Z",
    "endTime": "2026-01-01T00:00:02.000Z",
    "model": "gpt",
    "input": [{"role": "user", "content": "Why?"}],
    "output": {"role": "assistant", "content": "Because."},
    "usageDetails": {"input": 5, "output": 2, "total": 7},
    "level": "DEFAULT",
}
STEP = {"id": "obs-1", "traceId": "lf-1", "type": "SPAN", "name": "plan", "startTime": "2026-01-01T00:00:00Z"}
SCORE = {"id": "sc-1", "traceId": "lf-1", "name": "helpful", "value": 1, "source": "ANNOTATION", "comment": "good"}
LANGFUSE_TRACE = {
    "id": "lf-1",
    "timestamp": "2026-01-01T00:00:00.000Z",
    "name": "chat",
    "input": {"question": "Why?"},
    "output": "Because!",
    "sessionId": "s-9",
    "userId": "u-9",
    "tags": ["beta"],
    "metadata": {"plan": "pro"},
    "latency": 2.5,
    "htmlPath": "/x",
}


def check_langfuse(workspace: Workspace) -> None:
    trace = workspace.intake.get("lf-1")
    assert (trace.input, trace.output, trace.session_id, trace.user_id) == ("Why?", "Because!", "s-9", "u-9")
    assert trace.tags == ("beta",)
    assert (trace.metadata["plan"], trace.metadata["model"], trace.metadata["input_tokens"]) == ("pro", "gpt", 5)
    assert [(span.id, span.parent_id, span.kind) for span in trace.spans] == [
        ("lf-1", None, "chain"),
        ("obs-1", "lf-1", "span"),
        ("obs-2", "obs-1", "llm"),
    ]
    assert [(s.name, s.value, s.source, s.comment) for s in trace.scores] == [("helpful", 1.0, "human", "good")]


def test_a_langfuse_trace_of_the_interface(workspace: Workspace) -> None:
    whole = {**LANGFUSE_TRACE, "observations": [GENERATION, STEP], "scores": [SCORE]}
    report = ingest(workspace, {"data": [whole], "meta": {"page": 1}}, indent=2)
    assert (report.traces, report.spans, report.scores, report.rejected) == (1, 3, 1, 0)
    check_langfuse(workspace)
    again = ingest(workspace, whole)
    assert (again.traces, again.spans, again.scores, again.duplicates, again.rejected) == (0, 0, 0, 4, 0)


def test_langfuse_files_apart_in_snake_case_and_in_any_order(workspace: Workspace) -> None:
    def snake(record: dict[str, Any]) -> dict[str, Any]:
        return {"".join(f"_{c.lower()}" if c.isupper() else c for c in key): value for key, value in record.items()}

    report = ingest(workspace, snake({**SCORE, "observationId": None}))
    assert report.pending == 1
    ingest(workspace, snake(GENERATION), snake({**STEP, "statusMessage": None}))
    ingest(workspace, snake({**LANGFUSE_TRACE, "bookmarked": False}))
    check_langfuse(workspace)


def test_a_langfuse_score_without_a_number_is_named(workspace: Workspace) -> None:
    bad = {**SCORE, "value": None, "stringValue": "good", "observationId": None}
    report = ingest(workspace, bad, {**SCORE, "id": "sc-2", "value": 4}, {"parentObservationId": 1})
    assert report.rejected == 3
    assert report.problems[0].startswith("stdin:1: value: ") and report.problems[1].startswith("stdin:2: value: ")
    assert report.problems[2] == "stdin:3: neither a trace, an observation nor a score"


ENRICHED = [
    {
        "id": "e-1",
        "trace_id": "lf-2",
        "type": "AGENT",
        "parent_observation_id": "",
        "start_time": "2026-01-01 00:00:00.000000",
        "end_time": "2026-01-01 00:00:03.000000",
        "name": "plan",
        "level": "DEFAULT",
        "status_message": "",
        "input": '{"question": "Why?"}',
        "output": "Because.",
        "provided_model_name": "",
        "usage_details": {},
        "total_cost": 0,
        "user_id": "u-9",
        "session_id": "s-9",
        "trace_name": "chat",
        "tags": ["beta"],
        "metadata": {"plan": "pro"},
    },
    {
        "id": "e-2",
        "trace_id": "lf-2",
        "type": "GENERATION",
        "parent_observation_id": "e-1",
        "start_time": "2026-01-01 00:00:01.000000",
        "end_time": "2026-01-01 00:00:02.000000",
        "name": "call",
        "level": "DEFAULT",
        "status_message": "",
        "input": '[{"role": "user", "content": "A prompt about why"}]',
        "output": '{"role": "assistant", "content": "Hm."}',
        "provided_model_name": "gpt",
        "usage_details": {"input": 5, "output": 2},
        "total_cost": 0.25,
        "user_id": "u-9",
        "session_id": "s-9",
        "trace_name": "chat",
        "tags": ["beta"],
        "metadata": {},
    },
]


def as_csv(*records: dict[str, Any]) -> bytes:
    text = StringIO()
    table = csv.DictWriter(text, list(records[0]))
    table.writeheader()
    for record in records:
        table.writerow(
            {key: json.dumps(cell) if isinstance(cell, dict | list) else cell for key, cell in record.items()}
        )
    return text.getvalue().encode()


def as_lines(*records: dict[str, Any]) -> bytes:
    return "\n".join(map(json.dumps, records)).encode()


@pytest.mark.parametrize(
    "file",
    [as_lines(*ENRICHED), gzip.compress(as_lines(*ENRICHED)), b"\xef\xbb\xbf" + as_csv(*ENRICHED)],
    ids=["lines", "packed", "table"],
)
def test_langfuse_observations_that_tell_of_their_trace(workspace: Workspace, tmp_path: Path, file: bytes) -> None:
    path = tmp_path / "observations_v2"
    path.write_bytes(file)
    report = workspace.intake.ingest([path])
    assert (report.traces, report.spans, report.problems) == (1, 2, [])
    trace = workspace.intake.get("lf-2")
    assert (trace.name, trace.input, trace.output) == ("chat", "Why?", "Because.")
    assert (trace.session_id, trace.user_id, trace.tags) == ("s-9", "u-9", ("beta",))
    assert (trace.metadata["model"], trace.metadata["input_tokens"], trace.metadata["cost"]) == ("gpt", 5, 0.25)
    assert [(span.kind, span.parent_id) for span in trace.spans] == [("agent", None), ("llm", "e-1")]


def test_langfuse_scores_that_are_words_are_no_numbers(workspace: Workspace) -> None:
    """The number of a categorical score is the index of its category, and that of a text is always 0."""
    score = {
        "id": "w-1",
        "observation_id": None,
        "trace_id": "lf-1",
        "name": "tone",
        "value": 0,
        "source": "ANNOTATION",
    }
    report = ingest(
        workspace,
        {**score, "data_type": "CATEGORICAL", "string_value": "friendly"},
        {**score, "data_type": "TEXT", "string_value": "well done"},
        {**score, "data_type": "CATEGORICAL", "string_value": "pass"},
        {**score, "id": "w-2", "data_type": "BOOLEAN", "value": 1, "string_value": "True"},
        {**score, "trace_id": None, "session_id": "s", "data_type": "NUMERIC"},
    )
    assert (report.pending, report.rejected) == (2, 3)
    assert report.problems[0] == "stdin:1: value: the score 'friendly' is a word, not a number from 0 to 1"
    assert report.problems[2] == "stdin:5: trace_id: a score of no trace (of a session or a run) is not taken"
    ingest(workspace, LANGFUSE_TRACE)
    assert [(s.name, s.value) for s in workspace.intake.get("lf-1").scores] == [("tone", 1.0), ("tone", 1.0)]


@pytest.mark.parametrize(
    ("file", "said"),
    [
        (gzip.compress(as_lines(LANGFUSE_TRACE))[:-9], "not a whole gzip file"),
        (b"PAR1\x15\x04", "no Parquet file that can be read, behind row 0"),
        (b"\x00\x01 garbage", "none of the known formats"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line(workspace: Workspace, tmp_path: Path, file: bytes, said: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(file)
    with pytest.raises(BadInput, match=said):
        workspace.intake.ingest([path])


PHOENIX_SPAN: dict[str, Any] = {
    "name": "ChatCompletion",
    "context": {"trace_id": TRACE, "span_id": "a" * 16},
    "span_kind": "LLM",
    "parent_id": None,
    "start_time": "2026-01-01T00:00:00+00:00",
    "end_time": "2026-01-01T00:00:01+00:00",
    "status_code": "OK",
    "attributes": {
        "llm": {
            "model_name": "gpt",
            "token_count": {"prompt": 5, "completion": 2},
            "input_messages": [{"message": {"role": "user", "content": "Why?"}}],
            "output_messages": [{"message": {"role": "assistant", "content": "Because."}}],
        },
        "metadata": {"plan": "pro"},
        "session": {"id": "s-9"},
    },
    "events": [],
}
PHOENIX_ROW: dict[str, Any] = {
    "name": "ChatCompletion",
    "span_kind": "LLM",
    "parent_id": None,
    "start_time": 1767225600000,
    "end_time": 1767225601000,
    "status_code": "OK",
    "context.trace_id": TRACE,
    "context.span_id": "a" * 16,
    "attributes.llm.model_name": "gpt",
    "attributes.llm.token_count.prompt": 5,
    "attributes.llm.token_count.completion": 2,
    "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Why?"}],
    "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Because."}],
    "attributes.metadata": {"plan": "pro"},
    "attributes.session.id": "s-9",
    "attributes.input.value": None,
}
ANNOTATION = {
    "id": "x1",
    "span_id": "a" * 16,
    "name": "correct",
    "annotator_kind": "HUMAN",
    "result": {"score": 0.5, "label": "half", "explanation": "so so"},
}


@pytest.mark.parametrize("span", [PHOENIX_SPAN, PHOENIX_ROW], ids=["interface", "data frame"])
def test_phoenix_spans_and_annotations(workspace: Workspace, span: dict[str, Any]) -> None:
    report = ingest(workspace, span, ANNOTATION, {**ANNOTATION, "span_id": "b" * 16})
    assert (report.traces, report.spans, report.scores, report.rejected) == (1, 1, 1, 1)
    assert report.problems == [
        "stdin:3: annotation of span bbbbbbbbbbbbbbbb: its span came before in no file of this call"
    ]
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output, trace.session_id) == ("Why?", "Because.", "s-9")
    assert (trace.metadata["model"], trace.metadata["input_tokens"], trace.metadata["plan"]) == ("gpt", 5, "pro")
    assert str(trace.started_at) == "2026-01-01 00:00:00+00:00"
    assert [(s.name, s.value, s.source, s.comment) for s in trace.scores] == [("correct", 0.5, "human", "so so")]


def test_phoenix_annotations_may_stand_in_a_file_of_their_own(workspace: Workspace) -> None:
    trace = {"traceId": TRACE, "spans": [PHOENIX_SPAN], "rootSpan": PHOENIX_SPAN, "status": "OK"}
    files = [
        BytesIO(json.dumps(document).encode()) for document in ([trace], {"data": [ANNOTATION], "next_cursor": None})
    ]
    report = workspace.intake.ingest(files)
    assert (report.traces, report.spans, report.scores, report.rejected) == (1, 1, 1, 0)
    assert workspace.intake.get(TRACE).scores[0].name == "correct"


def phoenix_table(path: Path, copies: int = 1) -> Path:
    """Spans as `client.spans.get_spans_dataframe().to_parquet(path)` of Phoenix writes them, types and index included."""
    import pyarrow
    from pyarrow import parquet

    message = pyarrow.struct([("message.role", pyarrow.string()), ("message.content", pyarrow.string())])
    event = pyarrow.struct([("name", pyarrow.string()), ("timestamp", pyarrow.string())])
    text, texts, time = pyarrow.large_string(), pyarrow.list_(pyarrow.string()), pyarrow.timestamp("ns", "UTC")
    columns = {
        **dict.fromkeys(("name", "span_kind", "parent_id"), text),
        **dict.fromkeys(("start_time", "end_time"), time),
        **dict.fromkeys(("status_code", "status_message"), text),
        "events": pyarrow.list_(event),
        **dict.fromkeys(("context.span_id", "context.trace_id", "attributes.input.value"), text),
        "attributes.llm.token_count.prompt": pyarrow.float64(),
        "attributes.llm.input_messages": pyarrow.list_(message),
        "attributes.llm.output_messages": pyarrow.list_(message),
        **dict.fromkeys(("attributes.llm.model_name", "attributes.session.id"), text),
        "attributes.metadata": pyarrow.struct([("plan", pyarrow.string())]),
        "attributes.tag.tags": texts,
        "__index_level_0__": text,
    }
    start = 1_767_225_600_123_456_789
    rows = [
        {
            "name": "ChatCompletion",
            "span_kind": "LLM",
            "start_time": start,
            "end_time": start + 10**9,
            "status_code": "OK",
            "status_message": "",
            "events": [{"name": "seen", "timestamp": "2026-01-01T00:00:00.5+00:00"}],
            "context.span_id": f"{number + 1:016x}",
            "context.trace_id": f"{number + 1:032x}",
            "attributes.llm.token_count.prompt": 12.0,
            "attributes.llm.input_messages": [{"message.role": "user", "message.content": "Why?"}],
            "attributes.llm.output_messages": [{"message.role": "assistant", "message.content": "Because."}],
            "attributes.llm.model_name": "gpt",
            "attributes.session.id": "s-9",
            "attributes.metadata": {"plan": "pro"},
            "attributes.tag.tags": ["vip"],
            "__index_level_0__": f"{number + 1:016x}",
        }
        for number in range(copies)
    ]
    parquet.write_table(
        pyarrow.Table.from_pylist(rows, pyarrow.schema(list(columns.items()))), path, row_group_size=700
    )
    return path


def test_a_phoenix_frame_saved_as_parquet(workspace: Workspace, tmp_path: Path) -> None:
    report = workspace.intake.ingest([phoenix_table(tmp_path / "spans.parquet", copies=1600)])
    assert (report.traces, report.spans, report.rejected) == (1600, 1600, 0)
    trace = workspace.intake.get(f"{1:032x}")
    assert (trace.input, trace.output, trace.session_id, trace.tags) == ("Why?", "Because.", "s-9", ("vip",))
    assert (trace.metadata["model"], trace.metadata["input_tokens"], trace.metadata["plan"]) == ("gpt", 12, "pro")
    assert str(trace.started_at) == "2026-01-01 00:00:00.123456+00:00"


def test_annotations_of_a_phoenix_frame(workspace: Workspace, tmp_path: Path) -> None:
    said = {"span_id": f"{1:016x}", "annotation_name": "correct", "annotator_kind": "HUMAN", "result.score": 0.5}
    lines = BytesIO(json.dumps(said | {"result.label": "meh", "result.explanation": "so so"}).encode())
    report = workspace.intake.ingest([phoenix_table(tmp_path / "spans.parquet"), lines])
    assert (report.traces, report.scores, report.rejected) == (1, 1, 0)
    assert workspace.intake.get(f"{1:032x}").scores[0].comment == "so so"


def test_parquet_without_its_extra_says_which(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = phoenix_table(tmp_path / "spans.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(BadInput, match=r"pip install 'evergold\[export\]'"):
        workspace.intake.ingest([path])


def test_otlp_json_files_of_one_or_many_requests(workspace: Workspace) -> None:
    result = ("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "ok", "gen_ai.evaluation.score.value": 1.0})
    first = json.loads(json_body(an_llm_span(1, parent=0, events=[result])))
    second = json.loads(json_body(a_span(0, attributes={"input.value": "Plan", "output.value": "Done"})))
    report = ingest(workspace, first, second)
    assert (report.traces, report.spans, report.scores, report.rejected) == (1, 2, 1, 0)
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output, trace.scores[0].name) == ("Plan", "Done", "ok")
    again = ingest(workspace, second, indent=2)
    assert (again.spans, again.duplicates, again.rejected) == (0, 1, 0)


@pytest.mark.parametrize("named_as_in_the_proto_file", [True, False])
def test_otlp_as_the_printer_of_protobuf_writes_it(workspace: Workspace, named_as_in_the_proto_file: bool) -> None:
    result = ("gen_ai.evaluation.result", {"gen_ai.evaluation.name": "ok", "gen_ai.evaluation.score.value": 1.0})
    request = a_request(an_llm_span(1, parent=0, events=[result]), a_span(0, attributes={"some_key": ["a_b", 2, 0.5]}))
    printed = MessageToDict(request, preserving_proto_field_name=named_as_in_the_proto_file)
    report = ingest(workspace, printed)
    assert (report.traces, report.spans, report.scores, report.rejected) == (1, 2, 1, 0)
    trace = workspace.intake.get(TRACE)
    assert (trace.input, trace.output, trace.metadata["input_tokens"]) == ("why?", "because", 10)
    assert trace.spans[0].metadata["attributes"] == {"some_key": ["a_b", 2, 0.5]}
    assert trace.spans[1].parent_id == trace.spans[0].id


def test_a_span_has_one_content_whichever_way_it_comes(workspace: Workspace) -> None:
    from evergold.sources.spans import Wire

    body = json_body(an_llm_span(0), a_span(1, parent=0, attributes={"retrieval.documents.0.document.content": "x"}))
    workspace.intake.receive_traces(body, Wire.JSON).result()
    report = ingest(workspace, json.loads(body))
    assert (report.spans, report.duplicates, report.rejected) == (0, 2, 0)


def test_native_span_lines(workspace: Workspace) -> None:
    lines = [
        {"type": "span", "trace_id": "t", "id": "2", "parent_id": "1", "kind": "llm", "input": "q", "output": "a"},
        {"type": "span", "trace_id": "t", "id": "1", "input": "Q", "metadata": {"session_id": "s"}},
        {"type": "reaction", "trace_id": "t", "emoji": "👎", "author": "jo"},
        {"type": "reaction", "trace_id": "t", "emoji": "👍🏽", "author": "jo"},
    ]
    report = ingest(workspace, *lines)
    assert (report.traces, report.spans, report.reactions, report.rejected) == (1, 2, 2, 0)
    trace = workspace.intake.get("t")
    assert (trace.input, trace.output, trace.session_id) == ("Q", "a", "s")
    assert [(score.value, score.source) for score in trace.scores] == [(1.0, "user")]
    assert ingest(workspace, {"type": "reaction", "trace_id": "t", "emoji": None, "author": "jo"}).reactions == 1
    assert workspace.intake.get("t").scores == ()


def test_values_nested_too_deep_are_refused_by_name(workspace: Workspace) -> None:
    deep = "[" * 900 + "]" * 900
    native = f'{{"id": "d", "input": "x", "metadata": {{"a": {deep}}}}}'
    value = '{"stringValue": "x"}'
    for _ in range(120):
        value = f'{{"arrayValue": {{"values": [{value}]}}}}'
    span = f'{{"traceId": "{TRACE}", "spanId": "{"a" * 16}", "name": "x", "attributes": [{{"key": "k", "value": {value}}}]}}'
    otlp = f'{{"resourceSpans": [{{"scopeSpans": [{{"spans": [{span}]}}]}}]}}'
    problems = [
        workspace.intake.ingest([BytesIO(text.encode())]).problems[0]
        for text in (native, otlp, f'{{"resourceSpans": {deep}}}')
    ]
    assert problems[0] == "stdin:1: metadata: values are nested more than 100 levels deep"
    assert all("nested" in problem for problem in problems), problems
