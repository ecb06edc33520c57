"""A deployment that runs: its probes, roles and intake, and what it keeps while it is restarted.

    python -m perf.deployed http://localhost:8321 --token TOKEN --during 'docker compose -f deploy/compose.yaml restart evergold'

Traces are sent by the OpenTelemetry SDK's own exporter, before, while and after the command given with `--during` runs. Every
trace that the server has acknowledged must be there afterwards with all its spans. Each line printed is a check that passed;
the first one that does not ends the program.
"""

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Sequence

import httpx2 as httpx
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import set_span_in_context

SPANS = 3  # of a trace
SENDERS = 2
AFTERWARDS = 20  # traces of a sender, once the command has ended
PATIENCE = 60.0
MAY_READ = {"owner": 200, "editor": 200, "reviewer": 200, "reader": 200, "ingest": 403}
MAY_MAKE_TOKENS = {"owner": 201, "editor": 403, "reviewer": 403, "reader": 403, "ingest": 403}


class Sender(threading.Thread):
    """Sends one trace after the other until it is told that the command has ended, and notes which were acknowledged."""

    def __init__(self, url: str, token: str, ended: threading.Event) -> None:
        super().__init__(daemon=True)
        headers = {"Authorization": f"Bearer {token}"}
        self._exporter = OTLPSpanExporter(endpoint=f"{url}/v1/traces", headers=headers, timeout=PATIENCE)
        self._tracer = TracerProvider(resource=Resource.create({"service.name": "deployed"})).get_tracer("deployed")
        self._ended = ended
        self.acknowledged: list[str] = []
        self.failed = 0

    def run(self) -> None:
        left = AFTERWARDS
        while left:
            left -= self._ended.is_set()
            spans = self._trace()
            if self._exporter.export(spans) is SpanExportResult.SUCCESS:
                self.acknowledged.append(f"{spans[0].context.trace_id:032x}")
            else:
                self.failed += 1

    def _trace(self) -> list[ReadableSpan]:
        root = self._tracer.start_span("invoke_agent deployed", attributes={"gen_ai.operation.name": "invoke_agent"})
        spans = [self._tracer.start_span("chat", context=set_span_in_context(root)) for _ in range(SPANS - 1)]
        for span in (*spans, root):
            span.end()
        return [span for span in (root, *spans) if isinstance(span, ReadableSpan)]


class Deployment:
    """Requests to the server that runs."""

    def __init__(self, url: str, token: str) -> None:
        self.url = url
        self._client = httpx.Client(base_url=url, timeout=PATIENCE)
        self._token = token

    def status(self, path: str, token: str | None = None, host: str | None = None) -> int:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        return self._client.get(path, headers=headers | ({"Host": host} if host else {})).status_code

    def check_probes(self) -> None:
        for path in ("/api/v1/health", "/api/v1/ready"):
            # Probes of an orchestrator call a server by the address of its container.
            assert (self.status(path), self.status(path, host="10.0.0.7:8321")) == (200, 200), path
        assert (self.status("/metrics"), self.status("/metrics", self._token)) == (401, 200)
        print("  probes: health and ready answer by any name and without a token, metrics with one")

    def check_roles(self) -> str:
        """Make a token of each role, and return the one that may send."""
        made = {role: self.add_token(role, self._token).json() for role in MAY_READ}
        tokens = {role: token["token"] for role, token in made.items()}
        assert {role: self.status("/api/v1/traces", token) for role, token in tokens.items()} == MAY_READ
        assert {role: self.add_token(role, token).status_code for role, token in tokens.items()} == MAY_MAKE_TOKENS
        print(f"  roles: tokens of {', '.join(made)} may what their roles say")
        return str(tokens["ingest"])

    def add_token(self, role: str, by: str) -> httpx.Response:
        wanted = {"name": f"deployed-{role}-{time.time_ns()}", "role": role}
        return self._client.post("/api/v1/tokens", json=wanted, headers={"Authorization": f"Bearer {by}"})

    def wait_until_ready(self) -> None:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            try:
                if self.status("/api/v1/ready") == 200:
                    return
            except httpx.TransportError:
                pass  # it is still away
            time.sleep(0.1)
        raise AssertionError(f"{self.url} was not ready within {PATIENCE:.0f} s")

    def spans_of(self, trace_id: str) -> int:
        answer = self._client.get(f"/api/v1/traces/{trace_id}", headers={"Authorization": f"Bearer {self._token}"})
        return len(answer.json().get("spans", [])) if answer.status_code == 200 else 0


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--token", required=True)
    parser.add_argument("--during", default="true", help="a shell command that restarts or replaces servers")
    given = parser.parse_args(arguments)
    deployment = Deployment(given.url, given.token)
    deployment.wait_until_ready()
    deployment.check_probes()
    sending = deployment.check_roles()
    ended = threading.Event()
    senders = [Sender(given.url, sending, ended) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    time.sleep(2)  # some traces before the command
    began = time.monotonic()
    subprocess.run(given.during, shell=True, check=True, stdout=subprocess.DEVNULL)
    took = time.monotonic() - began
    deployment.wait_until_ready()
    ended.set()
    for sender in senders:
        sender.join()
    acknowledged = [name for sender in senders for name in sender.acknowledged]
    incomplete = [name for name in acknowledged if deployment.spans_of(name) != SPANS]
    refused = sum(sender.failed for sender in senders)
    print(
        f"  {given.during!r} took {took:.1f} s; traces acknowledged {len(acknowledged)}, given up by the exporter {refused}"
    )
    assert not incomplete, f"not stored whole: {len(incomplete)}, first {incomplete[:3]}"
    print("  every acknowledged trace is stored with all its spans")


if __name__ == "__main__":
    main(sys.argv[1:])
