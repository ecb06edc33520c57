"""Private things out of records before they are stored, each part under the switch of its field."""

from collections.abc import Sequence
from typing import Any, TypeVar

from evergold.ingest.redact_span import redact_parts
from evergold.model.rejected import Rejected
from evergold.model.trace import Correction, Score, ScoreLine, Span, SpanLine, Trace
from evergold.redact.fields import FieldRedactor
from evergold.seams import Incoming
from evergold.store.rows import RAW
from evergold.store.values import batches

SpanT = TypeVar("SpanT", bound=Span)
ScoreT = TypeVar("ScoreT", bound=Score)
TOGETHER = 100  # records that are looked at as one


def redact_all(records: Sequence[Incoming | Rejected], cleaner: FieldRedactor) -> list[Incoming | Rejected]:
    """The records with private things taken out. They are looked at many together: nearly all of them hold nothing."""
    clean: list[Incoming | Rejected] = []
    for some in batches(records, TOGETHER):
        private = cleaner.suspected([_texts(record) for record in some])
        for number, record in enumerate(some):
            if isinstance(record, Rejected) or number not in private:
                clean.append(record)
            else:
                clean.append(redact_record(record, cleaner))
    return clean


def _texts(record: Incoming | Rejected) -> list[Any]:
    """List everything in a record that `redact_record` looks at."""
    if isinstance(record, Trace):
        own = [record.input, record.output, record.name, record.tags, record.metadata]
        return [*own, [_span_texts(span) for span in record.spans], [score.comment for score in record.scores]]
    if isinstance(record, SpanLine):
        return _span_texts(record)
    if isinstance(record, ScoreLine):
        return [record.comment]
    return [record.text] if isinstance(record, Correction) else []


def _span_texts(span: Span) -> list[Any]:
    return [span.name, span.input, span.output, span.metadata]


def redact_record(record: Incoming, cleaner: FieldRedactor) -> Incoming:
    """The record with private things taken out of the fields that are switched on."""
    if isinstance(record, Trace):
        clean_fields = cleaner.clean({"input": record.input, "output": record.output, "metadata": _metadata(record)})
        spans = tuple(_clean_span(span, cleaner) for span in record.spans)
        scores = tuple(_clean_score(score, cleaner) for score in record.scores)
        parts = {"input": clean_fields["input"], "output": clean_fields["output"], **clean_fields["metadata"]}
        # Redaction gives lists; `model_copy` does not validate, so the type is restored here.
        parts |= {"tags": tuple(parts["tags"]), "spans": spans, "scores": scores}
        return record.model_copy(update=parts)
    if isinstance(record, SpanLine):
        return _clean_span(record, cleaner)
    if isinstance(record, ScoreLine):
        return _clean_score(record, cleaner)
    if isinstance(record, Correction):
        return record.model_copy(update={"text": cleaner.clean({"corrections": record.text})["corrections"]})
    return record


def _metadata(trace: Trace) -> dict[str, Any]:
    return {"name": trace.name, "tags": trace.tags, "metadata": trace.metadata}


def _clean_span(span: SpanT, cleaner: FieldRedactor) -> SpanT:
    facts = {key: value for key, value in span.metadata.items() if key not in RAW}
    raw = {key: value for key, value in span.metadata.items() if key in RAW}
    (name, question, answer), facts, raw = redact_parts((span.name, span.input, span.output), facts, raw, cleaner)
    return span.model_copy(update={"name": name, "input": question, "output": answer, "metadata": facts | raw})


def _clean_score(score: ScoreT, cleaner: FieldRedactor) -> ScoreT:
    return score.model_copy(update={"comment": cleaner.clean({"comments": score.comment})["comments"]})
