"""soak: a steady share of the peak for as long as one wishes; p99 and memory over time."""

import random
import time
from pathlib import Path

from perf.faults.server import JSON, Server, Summary, a_request
from perf.faults.stored import check_stored

TRACES = 50
PEAK_SECONDS = 5.0


def run(home: Path, minutes: float, load: float, seed: int, database_url: str = "") -> Summary:
    source = random.Random(seed)
    summary = Summary()
    server = Server(home, database_url)
    server.start()
    _send(server, source, Summary(), until=time.perf_counter() + 2.0, pause=0.0)  # warm
    peak = Summary()
    rate = _send(server, source, peak, until=time.perf_counter() + PEAK_SECONDS, pause=0.0) / PEAK_SECONDS
    _send(server, source, summary, until=time.perf_counter() + 60 * minutes, pause=1 / (rate * load))
    summary.notes.append(f"peak of one sender {rate:.0f} requests/s of {TRACES} spans, load {load:g}, {minutes:g} min")
    summary.notes.append(f"ended in {server.end():.1f} s")
    check_stored(home, database_url, summary)
    return summary


def _send(server: Server, source: random.Random, summary: Summary, *, until: float, pause: float) -> int:
    """Send until a moment, one request each `pause`; how many were sent."""
    sent = 0
    following = time.perf_counter()
    while time.perf_counter() < until:
        ids = [f"{source.getrandbits(128) | 1:032x}" for _ in range(TRACES)]
        if server.post("/v1/traces", a_request(ids, "word " * 300), JSON, summary) == "200":
            summary.acknowledged.update(ids)
        if sent % 50 == 0:
            summary.memory_mb.append(server.memory_mb())
        sent += 1
        following += pause
        time.sleep(max(0.0, following - time.perf_counter()))
    return sent
