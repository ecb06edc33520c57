"""A newcomer's small mistakes in a line, each answered in one line that says what to write instead."""

from typing import Any

from evergold.model.faults import Rejected
from evergold.model.trace import Trace
from evergold.sources.jsonl import parse_record
from tests.rows import each_row

SCORE = {"name": "ok", "value": 1}


def trace(**fields: Any) -> dict[str, Any]:
    return {"id": "t", **fields}


@each_row(
    ("line", "told"),
    [
        (
            trace(scores=[{"nam": "x"}]),
            "scores.0: unknown field 'nam'; did you mean 'name'? (valid: comment, created_at,",
        ),
        (
            trace(spans=[{"id": "a", "type": "llm"}]),
            "spans.0: unknown field 'type' (valid: contexts, ended_at, id, input, kind, messages,",
        ),
        (
            {"trace_id": "t", "input": "x"},
            "unknown field 'trace_id' (valid: app, contexts, cost, cost_source, ended_at, id,",
        ),
        (
            trace(scores=[{**SCORE, "trace_id": "u"}]),
            "scores: trace_id 'u' is not the id of its trace, 't'; send it as",
        ),
        (trace(scores=[{**SCORE, "value": 1.5}]), "scores.0.value: is 1.5; at most 1 is allowed"),
        (trace(scores=[{**SCORE, "value": -1}]), "scores.0.value: is -1; at least 0 is allowed"),
        (trace(scores=[{**SCORE, "value": "high"}]), "scores.0.value: must be a number, not 'high'"),
        (trace(scores=[{**SCORE, "value": None}]), "scores.0.value: must be a number, not null"),
        (trace(scores=[{"name": "x"}]), "scores.0.value: is missing"),
        (trace(scores=SCORE), "scores: must be a list, not an object"),
        (trace(scores=["x"]), "scores.0: must be an object, not a text"),
        (trace(input=[{"role": "user"}]), "input: must be a text, not a list"),
        (trace(status="done"), "status: is 'done'; allowed is 'started', 'completed' or 'failed'"),
        (trace(started_at="yesterday"), "started_at: must be a time such as 2026-01-31T12:00:00Z, not 'yesterday'"),
        (trace(mesages=[]), "unknown field 'mesages'; did you mean 'messages'? (valid: app, contexts,"),
        (trace(messages=7), "messages: must be a list, an object or a text"),
        (trace(spans=[{"id": "a", "tools": 7}]), "spans.0.tools: must be a list, an object or a text"),
        (trace(tags="a"), "tags: must be a list, not a text"),
        (trace(metadata=[]), "metadata: must be an object, not a list"),
        ({"id": ""}, "id: is empty"),
        ({"id": "x" * 600}, "id: has 600 characters; at most 512 are allowed"),
        ({"type": "scor"}, "type is 'scor'; allowed is 'trace', 'span', 'score', 'correction', 'reaction'"),
        (
            {"type": "score", "trace_id": "t", **SCORE, "source": "aunt"},
            "source: is 'aunt'; allowed is 'system', 'user',",
        ),
        ({"type": "score", "trace_id": "t", **SCORE, "value": float("nan")}, "value: must be a finite number, not nan"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(line: dict[str, Any], told: str) -> None:
    rejected = parse_record(line, "file:1")
    assert isinstance(rejected, Rejected)
    assert str(rejected).startswith(f"file:1: {told}")
    assert "\n" not in str(rejected)


def test_a_score_and_a_span_may_be_written_as_lines_of_their_own_inside_their_trace() -> None:
    whole = trace(
        scores=[{"type": "score", "trace_id": "t", **SCORE}], spans=[{"type": "span", "trace_id": "t", "id": "a"}]
    )
    assert parse_record(whole, "file:1") == Trace(id="t", scores=(SCORE,), spans=({"id": "a"},))
