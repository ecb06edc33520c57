"""OTLP in files: what a collector's file exporter writes, one JSON export request per line (or one in the whole file)."""

from collections.abc import Iterable, Iterator

import orjson

from evergold.errors import BadInput
from evergold.model.faults import Rejected
from evergold.seams import Incoming
from evergold.sources.conventions.read_span import line_of, score_line
from evergold.sources.conventions.scores import result_score, scores_in
from evergold.sources.jsonl import read_documents
from evergold.sources.log_events import spans_of_logs
from evergold.sources.otlp.json import read_logs, read_traces

NAMES = (b'"resourceSpans"', b'"resourceLogs"', b'"resource_spans"', b'"resource_logs"')


class OtlpFile:
    """Export requests for traces and logs."""

    def accepts(self, head: bytes) -> bool:
        return any(name in head for name in NAMES)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        for item in read_documents(lines, name):
            if isinstance(item, Rejected):
                yield item
            else:
                yield from _request(*item)


def _request(where: str, document: object) -> Iterator[Incoming | Rejected]:
    try:
        body = orjson.dumps(document)
    except orjson.JSONEncodeError:
        yield Rejected(where=where, reason="values are nested too deep to be read")
        return
    for read in (read_traces, lambda sent: spans_of_logs(read_logs(sent))):
        try:
            received = read(body)
        except BadInput as problem:
            yield Rejected(where=where, reason=problem.message)
            return
        refused = received.refused
        for span in received.spans:
            yield line_of(span)
            yield from (score_line(score, score.comment) for score in scores_in(span, refused))
        for log in received.logs:
            if log.trace_id:
                result = result_score(log.event, log.trace_id, log.span_id, "log", refused)
                yield from (score_line(score, score.comment) for score in result)
        yield from (Rejected(where=where, reason=reason) for reason in refused)
