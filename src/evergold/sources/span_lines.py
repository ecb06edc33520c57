"""A wire span, and a score that came with one, as records of their own."""

from datetime import UTC, datetime, timedelta

from evergold.model.trace import ScoreLine, ScoreSource, SpanLine, TraceStatus
from evergold.sources.conventions.attribute_plan import plan_for
from evergold.sources.conventions.read_span import read_span
from evergold.sources.conventions.scores import WireScore
from evergold.sources.conventions.span_fields import facts_of, raw_of
from evergold.sources.spans import WireSpan

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def line_of(span: WireSpan) -> SpanLine:
    """The span as a record of its own, for sources that read files."""
    plan = plan_for(span.attributes)
    parsed = read_span(span, plan)
    return SpanLine(
        trace_id=span.trace_id,
        id=span.span_id,
        parent_id=span.parent_id,
        name=parsed.tool or span.name,
        kind=parsed.kind,
        input=parsed.input,
        output=parsed.output,
        status=TraceStatus.FAILED if span.failed else TraceStatus.COMPLETED,
        started_at=_moment(span.start_ns),
        ended_at=_moment(span.end_ns),
        metadata=facts_of(span, parsed) | {key: value for key, value in raw_of(span).items() if value},
    )


def score_line(score: WireScore, comment: str | None) -> ScoreLine:
    return ScoreLine(
        trace_id=score.trace_id,
        name=score.name,
        value=score.value,
        source=ScoreSource(score.source),
        comment=comment,
        span_id=score.span_id,
        key=score.id,
        created_at=_moment(score.time_ns),
    )


def _moment(nanoseconds: int) -> datetime | None:
    try:
        return EPOCH + timedelta(microseconds=nanoseconds // 1000) if nanoseconds else None
    except OverflowError:
        raise ValueError(f"{str(nanoseconds)[:30]} is no time in nanoseconds since 1970") from None
