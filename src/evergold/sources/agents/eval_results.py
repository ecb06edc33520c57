"""Test runs of promptfoo (`promptfoo eval -o FILE.json` or `.jsonl`) and DeepEval (`test_run_….json`): a trace for each test.

What each assertion or metric gave is a score; a judge's is marked as one, a person's as a person's. `passed` is what the tool
itself concluded.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from evergold.conversation.message import as_json, decode_json
from evergold.model.faults import Rejected
from evergold.model.trace import ScoreSource, Trace, TraceStatus
from evergold.model.values import content_hash
from evergold.seams import Incoming

SIGNS = ((b'"gradingResult"', b'"vars"'), (b'"metricsData"', b'"testCases"'), (b'"evalId"', b'"promptIdx"'))
JUDGED = (
    "llm-rubric",
    "g-eval",
    "model-graded",
    "answer-relevance",
    "context-",
    "factuality",
    "select-best",
    "search-rubric",
)
ERROR = 2  # promptfoo's `failureReason` of a call that failed, where 1 is an assertion that did
QUESTIONS = ("question", "input", "query", "prompt", "message", "request")
Test = tuple[str, str, dict[str, Any]]  # whose, where, what


def is_test_run(head: bytes) -> bool:
    return any(all(sign in head for sign in signs) for signs in SIGNS) or (b'"evalId"' in head and b'"prompts"' in head)


def list_tests(document: dict[str, Any], where: str) -> Iterator[Test]:
    """The tests of a document: promptfoo's whole file or a line of it, or DeepEval's whole file."""
    results = document.get("results")
    if isinstance(results, dict) and isinstance(results.get("results"), list):
        base = {"evalId": document.get("evalId"), "timestamp": results.get("timestamp")}
        yield from (("promptfoo", where, base | one) for one in results["results"] if isinstance(one, dict))
    elif "gradingResult" in document or ("testCase" in document and "promptIdx" in document):
        yield "promptfoo", where, document
    elif isinstance(document.get("testCases"), list):
        cases = [*document["testCases"], *(document.get("conversationalTestCases") or [])]
        yield from (("deepeval", where, one) for one in cases if isinstance(one, dict))


def read_test(test: Test) -> Incoming | Rejected:
    tool, where, result = test
    try:
        return Trace.model_validate(_promptfoo(result) if tool == "promptfoo" else _deepeval(result))
    except (ValidationError, TypeError, AttributeError) as problem:
        if isinstance(problem, ValidationError):
            return Rejected.of(problem, where, Trace)
        return Rejected(where=where, reason=f"not a test as {tool} writes it ({problem})")


def _promptfoo(result: dict[str, Any]) -> dict[str, Any]:
    variables, response = result.get("vars") or {}, result.get("response") or {}
    prompt = (result.get("prompt") or {}).get("raw") or ""
    named = [variables[name] for name in QUESTIONS if isinstance(variables.get(name), str)]
    usage = response.get("tokenUsage") or {}
    graded = result.get("gradingResult") or {}
    scores = [
        _score(check.get("metric") or check.get("type") or "assertion", one, _source_of(str(check.get("type"))))
        for one in graded.get("componentResults") or []
        for check in [one.get("assertion") or {}]
    ]
    context, messages = variables.get("context"), decode_json(prompt)
    return {
        "id": str(result.get("id") or content_hash(result)),
        "name": (result.get("testCase") or {}).get("description") or "promptfoo",
        "input": named[0] if named else prompt,
        "output": _text(response.get("output")),
        "status": TraceStatus.FAILED if result.get("failureReason") == ERROR else TraceStatus.COMPLETED,
        "started_at": result.get("timestamp"),
        "cost": result.get("cost") or None,
        "metadata": {
            "model": (result.get("provider") or {}).get("id"),
            "prompt": prompt,
            "vars": variables,
            "input_tokens": usage.get("prompt"),
            "output_tokens": usage.get("completion"),
            "eval": result.get("evalId"),
        },
        "scores": _add_keys([*scores, _score("passed", {"score": float(bool(result.get("success")))})]),
        **({"contexts": [context]} if isinstance(context, str) else {}),
        **({"messages": messages} if isinstance(messages, list) else {}),
    }


def _deepeval(test: dict[str, Any]) -> dict[str, Any]:
    turns = [
        {"role": turn["role"], "content": turn["content"]}
        for turn in test.get("turns") or []
        if turn.get("role") in ("user", "assistant") and turn.get("content")
    ]
    asked = [turn["content"] for turn in turns if turn["role"] == "user"]
    answered = [turn["content"] for turn in turns if turn["role"] == "assistant"]
    calls = [
        {
            "id": f"call-{number}",
            "kind": "tool",
            "name": call.get("name") or "",
            "input": _text(call.get("inputParameters")),
            "output": _text(call.get("output")),
        }
        for number, call in enumerate(test.get("toolsCalled") or [])
    ]
    metrics = test.get("metricsData") or []
    scores = [
        _score(one.get("name"), one, ScoreSource.LLM_JUDGE if one.get("evaluationModel") else ScoreSource.SYSTEM)
        for one in metrics
        if one.get("score") is not None
    ]
    expected = test.get("expectedOutput") or test.get("expectedOutcome")
    return {
        "id": content_hash({**test, "runDuration": 0}).removeprefix("sha256:")[:32],
        "name": test.get("name") or "deepeval",
        "input": test.get("input") or (asked[-1] if asked else test.get("scenario") or ""),
        "output": test.get("actualOutput") or (answered[-1] if answered else None),
        "metadata": {"expected_output": expected, **(test.get("metadata") or test.get("additionalMetadata") or {})},
        "spans": calls,
        "scores": _add_keys([*scores, _score("passed", {"score": float(bool(test.get("success")))})]),
        **({"contexts": contexts} if (contexts := test.get("retrievalContext") or test.get("context")) else {}),
        **({"messages": turns} if turns else {}),
    }


def _score(name: Any, given: dict[str, Any], source: ScoreSource = ScoreSource.SYSTEM) -> dict[str, Any]:
    value = given.get("score")
    value = float(bool(given.get("pass"))) if value is None else min(max(float(value), 0.0), 1.0)
    return {"name": str(name), "value": value, "source": source, "comment": given.get("reason")}


def _add_keys(scores: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Scores with keys by their place, so that two assertions of one kind are two scores, and the same file changes nothing."""
    return [score | {"key": f"{score['name']}:{number}"} for number, score in enumerate(scores)]


def _source_of(kind: str) -> ScoreSource:
    if kind == "human":
        return ScoreSource.HUMAN
    return ScoreSource.LLM_JUDGE if kind.removeprefix("not-").startswith(JUDGED) else ScoreSource.SYSTEM


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else as_json(value)
