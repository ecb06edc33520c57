"""The load of the intake measurement: export requests of LLM spans of about 3 KB, made before the clock starts."""

import http.client
import json
import random
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

TEXT = (
    "the a of to and in is that it was for on are with as his they at be this from have or by one had not but "
    "what all were when we there can an your which their said if do will each about how up out them then she "
    "many some so these would other into has more her two like him see time could no make than first been its "
    "who now people my made over did down only way find use may water long little very after words called just "
    "where most know refund invoice parcel order"
)
WORDS = TEXT.split()
SPANS = 100
EXTRA: dict[str, str] = {}
HEADERS = {"content-type": "application/x-protobuf"}
PATIENCE = 600.0
FIRST_NS, HOUR_NS = 1_767_225_600_000_000_000, 3600 * 10**9
STEP_NS, JITTER_NS = 10**7, 10**9  # between the beginnings of two spans, and how far they are from being in order


def words(source: random.Random, characters: int) -> str:
    text = " ".join(source.choices(WORDS, k=characters // 4))
    return f"{text[: characters - 24]} on 2026-03-{source.randint(10, 28)} for {source.randint(10, 999)} euros."


def bodies(requests: int, spans_per_trace: int, seed: int) -> list[bytes]:
    """That many requests of 100 spans, in the order of their time as exporters send them. No text is sent twice."""
    source = random.Random(seed)
    first = FIRST_NS + seed * HOUR_NS
    return [_body(source, spans_per_trace, first + number * SPANS * STEP_NS) for number in range(requests)]


def _body(source: random.Random, spans_per_trace: int, begin: int) -> bytes:
    request = ExportTraceServiceRequest()
    by_resource = request.resource_spans.add()
    by_resource.resource.attributes.append(_text("service.name", "shop"))
    scope = by_resource.scope_spans.add()
    trace_id, root = b"", b""
    for number in range(SPANS):
        span_id = source.randbytes(8)
        if number % spans_per_trace == 0:
            trace_id, root = source.randbytes(16), b""
        _fill(scope.spans.add(), source, (trace_id, span_id, root), begin + number * STEP_NS)
        root = root or span_id
    packed: bytes = request.SerializeToString()
    return packed


def _fill(span: Any, source: random.Random, ids: tuple[bytes, bytes, bytes], moment: int) -> None:
    trace_id, span_id, parent_id = ids
    question, answer = words(source, 700), words(source, 1500)
    asked = [{"role": "user", "parts": [{"type": "text", "content": question}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}], "finish_reason": "stop"}]
    start = moment + source.randrange(JITTER_NS)
    span.trace_id, span.span_id, span.parent_span_id = trace_id, span_id, parent_id
    span.name = "chat small-1"
    span.start_time_unix_nano, span.end_time_unix_nano = start, start + 10**9
    span.attributes.extend(
        [
            _text("gen_ai.operation.name", "chat"),
            _text("gen_ai.provider.name", "openai"),
            _text("gen_ai.request.model", "small-1"),
            _text("gen_ai.response.model", "small-1"),
            _text("gen_ai.response.id", f"chatcmpl-{span_id.hex()}"),
            _text("gen_ai.conversation.id", f"session-{source.randrange(10**6)}"),
            _text("server.address", "api.example.com"),
            _text("openinference.span.kind", "LLM"),
            _number("gen_ai.usage.input_tokens", 180),
            _number("gen_ai.usage.output_tokens", 380),
            _number("gen_ai.request.max_tokens", 1024),
            _text("gen_ai.system_instructions", json.dumps([{"type": "text", "content": words(source, 300)}])),
            _text("gen_ai.input.messages", json.dumps(asked)),
            _text("gen_ai.output.messages", json.dumps(said)),
        ]
    )


def _text(key: str, value: str) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(string_value=value))


def _number(key: str, value: int) -> KeyValue:
    return KeyValue(key=key, value=AnyValue(int_value=value))


def send(url: str, load: Sequence[bytes], connections: int) -> list[float]:
    """Send every body, each connection one after the other; the seconds each request took."""
    pending: Iterator[bytes] = iter(load)
    lock = threading.Lock()
    took: list[float] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            send_some()
        except OSError as problem:
            failures.append(problem)

    def send_some() -> None:
        address = urlsplit(url)
        client = http.client.HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE)
        while True:
            with lock:
                body = next(pending, None)
            if body is None or failures:
                break
            began = time.perf_counter()
            client.request("POST", "/v1/traces", body, HEADERS | EXTRA)
            reply = client.getresponse()
            told = reply.read()
            took.append(time.perf_counter() - began)
            if reply.status != 200:
                failures.append(SystemExit(f"{url}: {reply.status} {told[:200]!r}"))
        client.close()

    threads = [threading.Thread(target=work) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return took


def main(arguments: Sequence[str] = ()) -> None:
    """The load itself measures nothing; it says how large a request is."""
    (body,) = bodies(1, 10, seed=0)
    print(f"  one request: {SPANS} spans, {len(body)} bytes")


def wait_until_stored(database: Path, spans: int) -> None:
    """Until that many spans can be read from the server's own database."""
    until = time.perf_counter() + PATIENCE
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=60)) as connection:
        while connection.execute("SELECT count(*) FROM spans").fetchone()[0] < spans:
            if time.perf_counter() > until:
                raise SystemExit(f"{database.name}: fewer than {spans} spans after {PATIENCE:.0f} s")
            time.sleep(0.02)
