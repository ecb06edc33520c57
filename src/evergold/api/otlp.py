"""/v1: OpenTelemetry's own protocol over HTTP; and the address to which older libraries of Langfuse send their batches.

Plain Starlette routes: no model is built for a span on this path. A 2xx is sent after the commit. What was refused is told as the
protocol tells it, a partial success in the content type of the request, so that a sender does not send it again.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import nullcontext
from typing import Any

import orjson
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from evergold.api.access import require_for
from evergold.api.requests import Opened, Router, get_workspace
from evergold.ingest.batcher import SpansWritten
from evergold.ingest.ingest import wait_for_commit
from evergold.model.access import Role
from evergold.sources.spans import Wire, unpack_body, wire_of

LARGE = 16_000  # reading more than this takes milliseconds, which would hold up the other requests
LARGE_PACKED = 1 << 14  # a body can unpack to a thousand times its size
HUGE = 1 << 20
ONE_AT_A_TIME = asyncio.Semaphore(1)  # for huge bodies: one takes several times its size while it is decoded
SHOWN = 5

router = Router()
Receive = Callable[[bytes, Wire], Future[SpansWritten]]


async def receive_traces(request: Request) -> Response:
    """Spans, from any instrumented app."""
    return await _receive(request, get_workspace(request).intake.receive_traces, "rejectedSpans")


async def receive_logs(request: Request) -> Response:
    """Evaluation results and the events of models and agents; other log records are counted and left out."""
    return await _receive(request, get_workspace(request).intake.receive_logs, "rejectedLogRecords")


async def _receive(request: Request, receive: Receive, field: str) -> Response:
    wire, body = await _read_body(request)
    if get_workspace(request).intake.is_quick and len(body) <= LARGE:
        # On the event loop: small requests are read in less time than a thread takes to begin.
        coming = receive(body, wire)
    else:
        # A single huge body is decoded at a time: ten of 20 MB would take gigabytes together.
        async with ONE_AT_A_TIME if len(body) > HUGE else nullcontext():
            coming = await run_in_threadpool(receive, body, wire)
    written = await wait_for_commit(coming)
    request.app.state.instruments.count_records(
        stored=written.spans, scores=written.scores, duplicates=written.duplicates, refused=len(written.refused)
    )
    return _reply(wire, written, field)


async def receive_metrics(request: Request) -> Response:
    """Answered, so that an exporter that sends everything to one place is content; nothing is kept."""
    wire, _ = await _read_body(request)
    return _reply(wire, SpansWritten(), "rejectedDataPoints")


for path, endpoint in (
    ("/v1/traces", receive_traces),
    ("/v1/logs", receive_logs),
    ("/v1/metrics", receive_metrics),
    ("/api/public/otel/v1/traces", receive_traces),  # where Langfuse's own library sends them
):
    router.add_route(path, require_for(Role.INGEST, endpoint), methods=["POST"], include_in_schema=False)


async def _read_body(request: Request) -> tuple[Wire, bytes]:
    wire = wire_of(request.headers.get("content-type"))
    limit = request.app.state.settings.server_max_body_mb * 1024 * 1024
    encoding = request.headers.get("content-encoding")
    packed = await request.body()
    # Unpacking a large body on the event loop would stop all other requests for its duration.
    if encoding is not None and len(packed) > LARGE_PACKED:
        return wire, await run_in_threadpool(unpack_body, packed, encoding, limit)
    return wire, unpack_body(packed, encoding, limit)


def _reply(wire: Wire, written: SpansWritten, field: str) -> Response:
    refused = len(written.refused)
    lines = written.refused[:SHOWN]
    if refused > SHOWN:
        lines.append(f"and {refused - SHOWN} more")
    if written.cut:
        lines.append(f"{written.cut} texts were longer than server.max_text_kb and were cut")
    message = "; ".join(lines)
    if wire is Wire.PROTOBUF:
        return Response(_protobuf(refused, message), media_type=Wire.PROTOBUF.value)
    # The protocol writes 64-bit integers as text in JSON.
    partial = {"partialSuccess": {field: str(refused), "errorMessage": message}} if message else {}
    return Response(orjson.dumps(partial), media_type=Wire.JSON.value)


def _protobuf(refused: int, message: str) -> bytes:
    """The three replies of the protocol have one shape: a partial success with a count and a text in the same places."""
    if not message:
        return b""
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

    reply = ExportTraceServiceResponse()
    reply.partial_success.rejected_spans = refused
    reply.partial_success.error_message = message
    packed: bytes = reply.SerializeToString()
    return packed


class LangfuseBatch(BaseModel):
    """A batch of events; what they hold is checked event by event."""

    batch: list[dict[str, Any]]


@router.post("/api/public/ingestion", include_in_schema=False)
def take_batch(workspace: Opened, sent: LangfuseBatch) -> JSONResponse:
    """Store what the events hold; each is answered by its id, as Langfuse answers them."""
    # 207: each event has a status of its own, as Langfuse's libraries expect.
    return JSONResponse(workspace.intake.accept_langfuse(sent.batch), status_code=207)
