"""LangSmith exports: runs, flat or with their children inside, as its SDK and its bulk export write them, and feedback."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from pydantic import ValidationError

from evergold.conversation.message import as_json, decode_object
from evergold.formats.lines import columns_of
from evergold.model.faults import Rejected
from evergold.model.trace import Correction, ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.seams import Incoming
from evergold.sources.conventions.messages import input_text, output_text, parse_json
from evergold.sources.conventions.read_span import KINDS
from evergold.sources.conventions.scores import read_value
from evergold.sources.jsonl import read_documents

SIGNS = ("run_type", "dotted_order", "parent_run_id")
SESSIONS = ("session_id", "thread_id", "conversation_id")
FEEDBACK = ("feedback_source", "key")
SCORE_SOURCES = {"app": ScoreSource.HUMAN, "model": ScoreSource.LLM_JUDGE, "auto_eval": ScoreSource.LLM_JUDGE}
USERS = ("user_id", "user", "ls_user_id")


class LangSmithExport:
    """Runs; a run without a parent is the root of its trace. Feedback on a run is a score of its trace, or a correction."""

    remembers: ClassVar[bool] = True  # which trace a run belongs to, for feedback that does not say it

    def __init__(self) -> None:
        self._trace_of: dict[str, str] = {}

    def accepts(self, head: bytes) -> bool:
        columns = columns_of(head)
        # Two signs of three: `run_type` alone is a word that others use as well.
        return sum(sign in columns if columns else f'"{sign}"'.encode() in head for sign in SIGNS) >= 2 or (
            not columns and ((b'"run_type"' in head and b'"inputs"' in head) or b'"feedback_source"' in head)
        )

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
                continue
            where, run = item
            runs = run.get("runs") if isinstance(run, dict) else None
            for one in runs if isinstance(runs, list) else [run]:
                if not isinstance(one, dict) or not one.get("id"):
                    yield Rejected(where=where, reason="not a run: it has no id")
                elif all(key in one for key in FEEDBACK):
                    yield _feedback(one, where, self._trace_of)
                else:
                    for record in _lines(one, where, None):
                        if isinstance(record, SpanLine):
                            self._trace_of[record.id] = record.trace_id
                        yield record


def _feedback(feedback: dict[str, Any], where: str, trace_of: dict[str, str]) -> Incoming | Rejected:
    """The score that feedback gives, or the answer that it corrects; a comment alone is neither."""
    run, name = str(feedback.get("run_id") or ""), str(feedback["key"])
    trace_id = str(feedback.get("trace_id") or trace_of.get(run) or "")
    source = decode_object(feedback["feedback_source"])
    correction, comment = parse_json(feedback.get("correction")), feedback.get("comment")
    given = feedback.get("score")
    value = read_value(name, given, feedback.get("value"))
    try:
        if not trace_id:
            return Rejected(where=where, reason=f"feedback {name!r}: its run came before in no file of this call")
        if correction and value is None and run in ("", trace_id):
            text = output_text(correction) or as_json(correction)
            return Correction(trace_id=trace_id, text=text, author=source.get("user_name"))
        if value is None:
            what = given if given is not None else feedback.get("value")
            return Rejected(where=where, field="score", reason=f"feedback {name!r} has {what!r}, no number from 0 to 1")
        return ScoreLine(
            trace_id=trace_id,
            span_id=run if run not in ("", trace_id) else None,
            name=name,
            value=value,
            source=SCORE_SOURCES.get(str(source.get("type")).lower(), ScoreSource.SYSTEM),
            comment=comment,
            key=str(feedback["id"]),
            created_at=feedback.get("created_at"),
        )
    except ValidationError as problem:
        return Rejected.of(problem, where, ScoreLine | Correction)


def _lines(run: dict[str, Any], where: str, trace_id: str | None) -> Iterator[Incoming | Rejected]:
    trace_id = str(run.get("trace_id") or trace_id or run["id"])
    try:
        yield _line(run, trace_id)
    except ValidationError as problem:
        yield Rejected.of(problem, where, SpanLine)
    children = parse_json(run.get("child_runs"))
    for child in children if isinstance(children, list) else ():
        if isinstance(child, dict) and child.get("id"):
            # The child's own parent wins where it has one: nested exports leave it out.
            yield from _lines({"parent_run_id": run["id"], **child}, where, trace_id)


def _line(run: dict[str, Any], trace_id: str) -> SpanLine:
    extra = decode_object(run.get("extra"))
    details, called = decode_object(extra.get("metadata")), decode_object(extra.get("invocation_params"))
    asked, answered = parse_json(run.get("inputs")), parse_json(run.get("outputs"))
    kind = KINDS.get(str(run.get("run_type")).lower(), "span")
    attributes = {
        # Under OpenInference's names, so that conversations are read from LangSmith as from any other span.
        "input.value": as_json(asked) if asked else None,
        "output.value": as_json(answered) if answered else None,
        "input.mime_type": "application/json" if asked else None,
        "llm.invocation_parameters": as_json(called) if called else None,
        "prompt.name": details.get("lc_hub_repo"),
        "prompt.version": details.get("lc_hub_commit_hash"),
    }
    facts = {
        "session_id": _find_first(details, SESSIONS),
        "user_id": _find_first(details, USERS),
        "model": _find_first(details | called, ("ls_model_name", "model", "model_name")),
        "provider": details.get("ls_provider"),
        "input_tokens": run.get("prompt_tokens"),
        "output_tokens": run.get("completion_tokens"),
        "tags": parse_json(run.get("tags")),
        "metadata": details,
        "tool": run.get("name") if kind == "tool" else None,
        "error": run.get("error"),
        "attributes": {key: value for key, value in attributes.items() if value is not None},
    }
    return SpanLine(
        trace_id=trace_id,
        id=str(run["id"]),
        parent_id=None if run.get("parent_run_id") is None else str(run["parent_run_id"]),
        name=run.get("name") or "",
        kind=kind,
        input=input_text(asked),
        output=output_text(answered),
        status=TraceStatus.FAILED if run.get("error") else TraceStatus.COMPLETED,
        started_at=run.get("start_time"),
        ended_at=run.get("end_time"),
        metadata={key: value for key, value in facts.items() if value not in (None, {}, [], "")},
    )


def _find_first(fields: dict[str, Any], keys: Iterable[str]) -> str | None:
    return next((str(fields[key]) for key in keys if fields.get(key)), None)
