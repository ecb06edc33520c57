"""One value of the wrong shape in a record of any format costs that record alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from evergold.formats import (
    columns,
    deepeval,
    inspect_ai,
    live_jsonl,
    mlflow,
    openai_chat,
    rag_splits,
    ragas,
    yaml_cases,
)
from evergold.formats import deepeval as deepeval_turns
from evergold.formats.case_jsonl import CaseLines
from evergold.formats.dataset_ab import DatasetA, DatasetB, row_a, row_b
from evergold.formats.lines import first_record, numbered_lines, one_case, try_line
from evergold.model.case import Case, Context, LineRange, RankedPath
from evergold.model.faults import Rejected
from evergold.model.tool_calls import ToolCall
from tests.builders import a_case
from tests.mutations import mutations
from tests.rows import each_row

CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
CHAT = a_case(
    expected="Lima.",
    contexts=(Context(text="x", source="s"),),
    messages=(
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "A1"},
        {"role": "user", "content": "Q2"},
    ),
    turn=(
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "1", "content": "42"},
        {"role": "assistant", "content": "Lima."},
    ),
    tool_calls=(ToolCall(name="f", id="1", result="42"),),
    tools=({"type": "function", "function": {"name": "f"}},),
    tags=("a",),
    metadata={"k": "v"},
)
QA = a_case(kind="qa", expected="Lima.", contexts=(Context(text="x", source="s"),), citations=({"n": 1},))
ANSWER = [{"role": "assistant", "content": "A"}]
PAIR = {
    "input": {"messages": [{"role": "user", "content": "Q"}]},
    "preferred_output": ANSWER,
    "non_preferred_output": ANSWER,
}
RECORDS: dict[str, tuple[Callable[[dict[str, Any]], Case], dict[str, Any]]] = {
    "deepeval": (deepeval.case_of, deepeval.record_of(CHAT)),
    "deepeval turns": (deepeval.case_of, deepeval_turns.conversational(CHAT)),
    "inspect": (inspect_ai.Inspect().case, inspect_ai.Inspect().record(CHAT)),
    "mlflow": (mlflow.MLflow().case, mlflow.MLflow().record(CHAT)),
    "openai-ft": (openai_chat.FineTune().case, openai_chat.FineTune().record(CHAT)),
    "openai-evals": (openai_chat.Evals().case, openai_chat.Evals().record(CHAT)),
    "dpo": (openai_chat.Preference().case, PAIR),
    "ragas": (ragas.Ragas().case, ragas.Ragas().record(CHAT)),
    "qa": (rag_splits.QaPairs().case, rag_splits.QaPairs().record(QA)),
    "promptfoo": (yaml_cases.Promptfoo().case, yaml_cases.Promptfoo().record(CHAT)),
    "pydantic-evals": (yaml_cases.PydanticEvals().case, yaml_cases.PydanticEvals().record(CHAT)),
    "columns": (columns.case_of, columns.row_of(CHAT)),
    "live-jsonl": (live_jsonl.LiveJsonl().case, live_jsonl.line_of(CHAT)),
}


@each_row("name", RECORDS)
def test_one_odd_value_is_a_case_or_a_reason(name: str) -> None:
    case_of, record = RECORDS[name]
    plain = orjson.loads(orjson.dumps(record))
    assert isinstance(try_line(plain, "line", case_of), Case)
    for document in mutations(plain):
        result = try_line(document, "line", case_of)
        assert isinstance(result, Case) or (result.where == "line" and result.reason)


CONTEXT = Case(
    id="x",
    kind="context",
    input="find it",
    base_commit="abc",
    paths=(RankedPath(path="a.py", sources=("m",)),),
    ranges=(LineRange(path="a.py", start=1, end=2),),
    tags=("t",),
    metadata={"k": 1},
)


@pytest.mark.parametrize(("format", "row"), [(DatasetA(), row_a(CONTEXT)), (DatasetB(), row_b(CONTEXT))])
def test_one_odd_value_in_a_row_of_a_or_b_is_a_case_or_a_reason(
    format: Any, row: dict[str, Any], tmp_path: Path
) -> None:
    plain = orjson.loads(orjson.dumps(row))
    rows = [plain, *mutations(plain)]
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"".join(orjson.dumps(one, option=orjson.OPT_APPEND_NEWLINE) for one in rows))
    results = list(format.read(path))
    assert len(results) == len(rows) and isinstance(results[0], Case)
    assert all(one.reason for one in results if isinstance(one, Rejected))


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"caseId": "1", "filePaths": ["a.py"]}', "a value is not of the kind this format has there"),
        (b'{"caseId": "1", "filePaths": [{"sources": []}]}', "field 'path' is missing"),
        (b'{"caseId": "1", "filePaths": 5}', "field filePaths is int, not a list"),
        (b'{"caseId": "1", "filePaths": [], "metadata": [5]}', "a value is not of the kind"),
        (b'{"caseId": "1", "lineRanges": [{"path": "a", "startLine": 3, "endLine": 2}]}', "before startLine"),
    ],
)
def test_what_is_wrong_with_a_row_is_named(line: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_bytes(line + b"\n")
    (result,) = DatasetA().read(tmp_path / "rows.jsonl")
    assert isinstance(result, Rejected) and reason in result.reason and result.where == "rows.jsonl:1"


@each_row(
    ("line", "reason"),
    [
        (b"{", "not JSON"),
        (b"[1]", "expected an object, got list"),
        (b"null", "expected an object, got NoneType"),
        (b'{"id": "1"}', "field 'input' is missing"),
        (b'{"id": {"a": 1}, "input": "x"}', "must be a text"),
    ],
)
def test_a_line_that_is_no_case_has_a_reason(line: bytes, reason: str) -> None:
    result = one_case(line, "f:1", lambda record: Case(id=record["id"], input=record["input"]))
    assert isinstance(result, Rejected) and reason in str(result) and str(result).startswith("f:1: ")


def test_lines_are_numbered_as_an_editor_does(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf{}\n\n  \n[1]")
    assert list(numbered_lines(tmp_path / "f")) == [(1, b"{}"), (4, b"[1]")]


@each_row(
    ("head", "record"),
    [
        (b'{"a": 1}\n{"b": 2}', {"a": 1}),
        (b"[1]", {}),
        (b"", {}),
        (b'{"a": ', {}),
    ],
)
def test_a_format_is_recognised_by_its_first_record(head: bytes, record: dict[str, Any]) -> None:
    assert first_record(head) == record


def test_a_line_that_was_changed_after_it_was_frozen_is_refused(tmp_path: Path) -> None:
    case = a_case()
    frozen = {**orjson.loads(case.model_dump_json()), "rev": case.rev()}
    (tmp_path / "f").write_bytes(
        b'{"canary": "do not train"}\n' + b"\n".join(map(orjson.dumps, (frozen, {**frozen, "input": "changed"})))
    )
    good, bad = CaseLines().read(tmp_path / "f")
    assert isinstance(good, Case) and isinstance(bad, Rejected)
    assert "it was changed after it was frozen" in bad.reason
