"""Private things out of records before they are stored, each part under the switch of its field.

Ids of sessions and users are kept as they came: they hold the turns of a conversation together, and erasing a user needs
them. A placeholder there would make one session of all the people who are known by their telephone number.
"""

from typing import Any, TypeVar

from evergold.model.trace import Correction, Score, ScoreLine, Span, SpanLine, Trace
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming
from evergold.store.traces import RAW

IDS = ("session_id", "user_id")
SIDES = {"input": "trace_input", "output": "trace_output"}  # where a span speaks for the whole trace

SpanT = TypeVar("SpanT", bound=Span)
ScoreT = TypeVar("ScoreT", bound=Score)
Texts = tuple[str, str | None, str | None]


def cleaned(record: Incoming, cleaner: FieldRedactor) -> Incoming:
    """The record with private things taken out of the fields that are switched on."""
    if isinstance(record, Trace):
        told = cleaner.clean({"input": record.input, "output": record.output, "metadata": _about(record)})
        spans = tuple(_clean_span(span, cleaner) for span in record.spans)
        scores = tuple(_clean_score(score, cleaner) for score in record.scores)
        parts = {"input": told["input"], "output": told["output"], **told["metadata"]}
        parts |= {"tags": tuple(parts["tags"]), "spans": spans, "scores": scores}
        return record.model_copy(update=parts)
    if isinstance(record, SpanLine):
        return _clean_span(record, cleaner)
    if isinstance(record, ScoreLine):
        return _clean_score(record, cleaner)
    if isinstance(record, Correction):
        return record.model_copy(update={"text": cleaner.clean({"corrections": record.text})["corrections"]})
    return record


def _about(trace: Trace) -> dict[str, Any]:
    return {"name": trace.name, "tags": trace.tags, "metadata": trace.metadata}


def _clean_span(span: SpanT, cleaner: FieldRedactor) -> SpanT:
    facts = {key: value for key, value in span.metadata.items() if key not in RAW}
    raw = {key: value for key, value in span.metadata.items() if key in RAW}
    (name, question, answer), facts, raw = clean_parts((span.name, span.input, span.output), facts, raw, cleaner)
    return span.model_copy(update={"name": name, "input": question, "output": answer, "metadata": facts | raw})


def clean_parts(
    texts: Texts, facts: dict[str, Any], raw: dict[str, Any], cleaner: FieldRedactor
) -> tuple[Texts, dict[str, Any], dict[str, Any]]:
    """The texts (name, input, output), what was understood and what was carried of a span, without private things."""
    name, *said = texts
    apart = {key: facts[key] for key in (*IDS, *SIDES.values()) if key in facts}
    rest = {key: value for key, value in facts.items() if key not in apart}
    parts: dict[str, Any] = {
        side: [text, apart.get(whole)] for (side, whole), text in zip(SIDES.items(), said, strict=True)
    }
    told = cleaner.clean(parts | {"metadata": {"name": name, "facts": rest}, "attributes": raw})
    for side, whole in SIDES.items():
        if whole in apart:
            apart[whole] = told[side][1]
    about = told["metadata"]
    return (about["name"], told["input"][0], told["output"][0]), about["facts"] | apart, told["attributes"]


def _clean_score(score: ScoreT, cleaner: FieldRedactor) -> ScoreT:
    return score.model_copy(update={"comment": cleaner.clean({"comments": score.comment})["comments"]})
