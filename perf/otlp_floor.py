"""The bare floor of OTLP intake: decode, flatten, insert, answer after the commit. No meaning, no checks, no search.

Run as a server: `python -m perf.otlp_floor DATABASE` prints its address.
"""

import json
import socket
import sqlite3
import sys
from collections.abc import Sequence

import uvicorn
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

TABLE = "CREATE TABLE spans (trace_id TEXT, span_id TEXT, parent TEXT, name TEXT, start INTEGER, stop INTEGER, attributes TEXT)"


def span_rows(body: bytes) -> list[tuple[object, ...]]:
    """The spans of a request as rows of one plain table."""
    return [
        (
            span.trace_id.hex(),
            span.span_id.hex(),
            span.parent_span_id.hex(),
            span.name,
            span.start_time_unix_nano,
            span.end_time_unix_nano,
            json.dumps({pair.key: pair.value.string_value or pair.value.int_value for pair in span.attributes}),
        )
        for by_resource in ExportTraceServiceRequest.FromString(body).resource_spans
        for by_scope in by_resource.scope_spans
        for span in by_scope.spans
    ]


def make_app(database: str) -> Starlette:
    connection = sqlite3.connect(database, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute(TABLE)

    async def traces(request: Request) -> Response:
        rows = span_rows(await request.body())
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO spans VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        return Response(b"", media_type="application/x-protobuf")

    return Starlette(routes=[Route("/v1/traces", traces, methods=["POST"])])


def main(arguments: Sequence[str] = ()) -> None:
    if not arguments:
        print("  the floor itself is a server; `python -m perf otlp_ingest` measures against it")
        return
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(f"floor: http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(make_app(arguments[0]), log_level="warning", access_log=False)).run([listener])


if __name__ == "__main__":
    main(sys.argv[1:])
