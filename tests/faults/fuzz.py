"""fuzz: requests that are good, cut, twisted or nonsense, to OTLP and to every route of REST; no 5xx, no hang, flat memory."""

import http.client
import json
import random
import time
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from statistics import median

from tests.faults.fuzz_requests import SchemaRequests, draw_otlp, draw_recorded
from tests.faults.server import JSON, Sender, Server, Summary

LOOKS = 500  # requests between two looks at memory; a multiple of the senders, so that the first one looks
TOKEN = "fuzz"  # some requests make tokens, and from then on every caller needs one
RECORDED_SHARE = 0.05  # exports of real packages, twisted; two requests each
OTLP_SHARE = 0.5
SENDERS = 4  # connections at once; each draws from a seed of its own
SHOWN = 20


def run(home: Path, requests: int, seed: int, database_url: str = "", minutes: float = inf) -> Summary:
    """Send so many requests, or as many as these minutes allow."""
    summary = Summary()
    server = Server(home, database_url, EVERGOLD_SERVER_TOKEN=TOKEN)
    server.start()
    drawn = SchemaRequests(_description(server), _fill(server))
    until = time.perf_counter() + 60 * minutes
    shares = [range(number, requests, SENDERS) for number in range(SENDERS)]
    with ThreadPoolExecutor(SENDERS) as senders:
        sources = [random.Random(f"{seed}/{number}") for number in range(SENDERS)]
        parts = [
            senders.submit(_send, server, drawn, source, (share, until))
            for source, share in zip(sources, shares, strict=True)
        ]
        for part in parts:
            summary.add(part.result())
    summary.memory_mb.append(server.memory_mb())
    quarter = max(1, len(summary.memory_mb) // 4)
    early, late = (
        median(summary.memory_mb[quarter : 2 * quarter] or summary.memory_mb),
        median(summary.memory_mb[-quarter:]),
    )
    summary.notes += [
        f"{len(summary.seconds)} requests of {requests}, seed {seed}: half to OTLP, half to {len(drawn)} operations of REST",
        f"memory {early:.0f} MB in the second quarter, {late:.0f} MB in the last; ended in {server.end():.1f} s",
    ]
    return summary


def _send(server: Server, drawn: SchemaRequests, source: random.Random, share: tuple[range, float]) -> Summary:
    """Send these requests one after the other over one connection, unless time is up."""
    numbers, until = share
    summary = Summary()
    with server.connection() as sender:
        for number in numbers:
            if time.perf_counter() > until:
                break
            _one(sender, drawn, source, summary)
            if number % LOOKS == 0:
                summary.memory_mb.append(server.memory_mb())
    return summary


def _one(sender: Sender, drawn: SchemaRequests, source: random.Random, summary: Summary) -> None:
    owner = {"authorization": f"Bearer {TOKEN}"}
    chance = source.random()
    if chance < RECORDED_SHARE:
        request, trace_id = draw_recorded(source)
        _sent(sender, ("POST", request.path, request.body, request.headers | owner), summary)
        _sent(sender, ("GET", f"/api/v1/traces/{trace_id}/conversation", b"", owner), summary)
    elif chance < OTLP_SHARE:
        request = draw_otlp(source)
        _sent(sender, ("POST", request.path, request.body, request.headers | owner), summary)
    else:
        rest = drawn.draw(source)
        _sent(sender, (rest.method, rest.path, rest.body or b"", JSON | owner), summary)


def _sent(sender: Sender, request: tuple[str, str, bytes, dict[str, str]], summary: Summary) -> None:
    method, path, body, headers = request
    status = sender.send(method, path, body, _plain(headers), summary)
    if ((status[0] == "5" and status != "503") or status == "none") and len(summary.problems) < SHOWN:
        summary.problems.append(f"{status} for {method} {path[:200]} {body[:200]!r}")


def _plain(headers: dict[str, str]) -> dict[str, str]:
    return {name: value.encode("latin-1", "replace").decode("latin-1") for name, value in headers.items()}


def _description(server: Server) -> dict[str, object]:
    client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    client.request("GET", "/openapi.json", headers={"authorization": f"Bearer {TOKEN}"})
    document: dict[str, object] = json.loads(client.getresponse().read())
    client.close()
    return document


def _fill(server: Server) -> list[str]:
    """Put a few things in, and give their names."""
    score = {"name": "ok", "value": 1, "source": "human"}
    traces = [
        {"id": f"t{at}", "input": f"What is {at}?", "output": f"{at}.", "scores": [score], "session_id": "s1"}
        for at in range(5)
    ]
    headers = JSON | {"authorization": f"Bearer {TOKEN}"}
    with server.connection() as sender:
        sender.send("POST", "/api/v1/traces", json.dumps(traces).encode(), headers, Summary())
        sender.send("POST", "/api/v1/curate", b"{}", headers, Summary())
    return ["t0", "t1", "s1", "live", "live@v1", "v1", "default", "manifest.json", "all", "1", "2"]
