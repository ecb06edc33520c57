"""fuzz: requests that are good, cut, twisted or nonsense; no 5xx, no hang, and memory stays flat."""

import gzip
import json
import random
from pathlib import Path
from typing import Any

from perf.faults.server import JSON, Server, Summary, a_request

PATHS = ("/v1/traces", "/v1/logs", "/v1/metrics", "/api/v1/traces", "/api/v1/scores")
PROTOBUF = {"content-type": "application/x-protobuf"}
VALUES: tuple[Any, ...] = (
    *(None, True, "", "\x00", "\ud800", "9" * 30, 10**30, -1, 1e308, 1e-320, [], {}, [[]], {"": ""}, "a@" * 50),
    *({"stringValue": 5}, {"intValue": "x"}, {"doubleValue": "NaN"}, {"kvlistValue": {"values": [{}]}}, "é" * 300),
)
LOOKS = 500  # requests between two looks at memory


def run(home: Path, requests: int, seed: int, database_url: str = "") -> Summary:
    source = random.Random(seed)
    summary = Summary()
    server = Server(home, database_url)
    server.start()
    for number in range(requests):
        path = source.choice(PATHS)
        body, headers = _request(source, path)
        if server.post(path, body, headers, summary) == "500":
            summary.notes.append(f"500 for {path} {body[:120]!r}")
        if number % LOOKS == 0:
            summary.memory_mb.append(server.memory_mb())
    summary.memory_mb.append(server.memory_mb())
    summary.notes.append(f"{requests} requests, seed {seed}, ended in {server.end():.1f} s")
    return summary


def _request(source: random.Random, path: str) -> tuple[bytes, dict[str, str]]:
    ids = [f"{source.getrandbits(128) | 1:032x}" for _ in range(source.randint(1, 3))]
    document: Any = json.loads(a_request(ids)) if path.startswith("/v1") else [{"id": one, "input": "x"} for one in ids]
    for _ in range(source.randint(0, 3)):
        document = _twisted(document, source)
    body = json.dumps(document).encode()
    headers = dict(JSON)
    kind = source.random()
    if kind < 0.1:
        body = body[: source.randrange(len(body) + 1)]
    elif kind < 0.2:
        body, headers = source.randbytes(source.randint(0, 400)), dict(PROTOBUF)
    elif kind < 0.3:
        body, headers["content-encoding"] = gzip.compress(body) * source.randint(1, 3), "gzip"
    return body, headers


def _twisted(value: Any, source: random.Random) -> Any:
    """A copy with one value somewhere in it replaced, dropped or renamed."""
    if isinstance(value, dict) and value and source.random() < 0.9:
        key = source.choice(list(value))
        if source.random() < 0.15:
            return {name: inner for name, inner in value.items() if name != key}
        return {**value, key: _twisted(value[key], source)}
    if isinstance(value, list) and value and source.random() < 0.9:
        at = source.randrange(len(value))
        return [*value[:at], _twisted(value[at], source), *value[at + 1 :]]
    return source.choice(VALUES)
