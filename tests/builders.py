"""Nouns with sensible defaults, so that a test says only what it is about."""

from typing import Any

from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.model.trace import Score, ScoreSource, Trace


def a_score(name: str = "no_pii", value: float = 1.0, source: str = "system", **more: Any) -> Score:
    return Score(name=name, value=value, source=ScoreSource(source), **more)


def a_trace(id: str = "t1", **more: Any) -> Trace:
    return Trace(**{"id": id, "input": "What is the capital of Peru?", "output": "Lima.", **more})


def a_case(id: str = "c1", **more: Any) -> Case:
    return Case(**{"id": id, "input": "What is the capital of Peru?", "output": "Lima.", **more})


def an_attempt(output: str = "Lima.", case_id: str = "c1", **more: Any) -> Attempt:
    return Attempt(**{"case_id": case_id, "output": output, **more})


def a_model_call(id: str, asked: Any, answered: Any, at: int = 1, **more: Any) -> dict[str, Any]:
    """A span of a model call in OpenTelemetry's shape that ends `at` seconds after the hour."""
    from evergold.conversation import text_of

    attributes = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered, **more.pop("attributes", {})}
    said = text_of(answered[-1]) if isinstance(answered, list) and answered else None
    moment = f"2026-01-01T00:{at // 60:02}:{at % 60:02}Z"
    fields = {"id": id, "parent_id": "root", "name": "chat", "kind": "llm", "output": said, "ended_at": moment}
    return {**fields, "started_at": moment, "metadata": {"model": "m-1", "attributes": attributes}, **more}
