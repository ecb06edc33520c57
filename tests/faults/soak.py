"""soak: a steady share of the peak for as long as one asks; p99, memory, file handles and the lag
of curation over time, and everything acknowledged is stored.

Several senders with connections that stay open, as exporters have them. The peak is what they bring through when none of them
pauses. Memory is that of the server and of the process it reads with.
"""

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.faults.load import PROTOBUF, SPANS, TRACES, Template, number_of, templates
from tests.faults.server import Server, Summary, ids_stored

SENDERS = 4
WARM_SECONDS = 3.0
PEAK_SECONDS = 10.0
LOOK_SECONDS = 5.0  # between two looks at memory


@dataclass
class Load:
    """What the senders share: the next number, and which requests were acknowledged."""

    server: Server
    bodies: list[Template]
    lock: threading.Lock = field(default_factory=threading.Lock)
    acknowledged: bytearray = field(default_factory=bytearray)  # one byte a request
    handles: list[int] = field(default_factory=list)
    lags: list[tuple[int, float]] = field(default_factory=list)  # traces that wait for curation, and for how long

    def take(self) -> int:
        with self.lock:
            self.acknowledged.append(0)
            return len(self.acknowledged) - 1


def run(home: Path, minutes: float, load: float, seed: int, database_url: str = "") -> Summary:
    server = Server(home, database_url)
    server.start()
    state = Load(server, templates(seed))
    _send(state, Summary(), WARM_SECONDS, 0.0)
    sent = _send(state, Summary(), PEAK_SECONDS, 0.0)
    rate = sent / PEAK_SECONDS
    summary = Summary()
    done = _send(state, summary, 60 * minutes, SENDERS / (rate * load))
    had, waited = server.waited()
    spans = TRACES * SPANS
    summary.notes += [
        f"peak of {SENDERS} senders {rate * spans:.0f} spans/s in requests of {spans}",
        f"load {load:g}, {minutes:g} min, seed {seed}",
        f"sent {done * spans / (60 * minutes):.0f} spans/s; {_flatness(summary.memory_mb)}",
        f"file handles {median(state.handles[: len(state.handles) // 5 + 1]):.0f} early, {max(state.handles)} at most, "
        f"{state.handles[-1]} at the end",
        f"curation: oldest trace waited {median(lag for _, lag in state.lags):.1f} s (median), "
        f"{max(lag for _, lag in state.lags):.1f} s at most; {state.lags[-1][0]} traces waited at the end",
        f"the server's threads ran for {had:.0f} s and waited {waited:.0f} s for a core that others used",
        f"ended in {server.end():.1f} s",
    ]
    _check(home, database_url, state, summary)
    return summary


def _send(state: Load, summary: Summary, seconds: float, pause: float) -> int:
    """Let every sender send for so long, one request each `pause` seconds; how many were sent together."""
    until = time.perf_counter() + seconds
    counts = [Summary() for _ in range(SENDERS)]
    threads = [threading.Thread(target=_one, args=(state, own, until, pause)) for own in counts]
    for thread in threads:
        thread.start()
    while (left := until - time.perf_counter()) > 0:
        summary.memory_mb.append(state.server.memory_mb())
        state.handles.append(state.server.handles())
        state.lags.append(state.server.curation())
        time.sleep(min(LOOK_SECONDS, left))
    for thread in threads:
        thread.join()
    for own in counts:
        summary.add(own)
    return sum(len(own.seconds) for own in counts)


def _one(state: Load, own: Summary, until: float, pause: float) -> None:
    following = time.perf_counter()
    with state.server.connection() as connection:
        while time.perf_counter() < until:
            number = state.take()
            body = state.bodies[number % len(state.bodies)].request(number * TRACES)
            if connection.post("/v1/traces", body, PROTOBUF, own) == "200":
                state.acknowledged[number] = 1
            following += pause
            time.sleep(max(0.0, following - time.perf_counter()))


def _flatness(memory: list[float]) -> str:
    """Memory at the beginning and at the end: medians of the second and of the last tenth."""
    tenth = max(1, len(memory) // 10)
    early, late = median(memory[tenth : 2 * tenth] or memory), median(memory[-tenth:])
    return f"memory {early:.0f} MB early, {late:.0f} MB at the end ({late / early - 1:+.1%})"


def _check(home: Path, database_url: str, state: Load, summary: Summary) -> None:
    """Count the traces of acknowledged requests that are not stored, and those stored twice."""
    stored = bytearray(len(state.acknowledged) * TRACES)
    for ident in ids_stored(home, database_url):
        stored[number_of(ident)] += 1
    summary.acknowledged_count = TRACES * sum(state.acknowledged)
    summary.lost = sum(1 for at, seen in enumerate(stored) if state.acknowledged[at // TRACES] and not seen)
    summary.doubled = sum(seen - 1 for seen in stored if seen > 1)
