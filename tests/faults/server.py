"""A real server in a process of its own, its memory, requests whose outcome is noted, and what is stored afterwards."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from sqlalchemy import Connection, func, select

from evergold.settings import Settings
from evergold.store.schema import spans, traces
from evergold.workspace import Workspace

PATIENCE = 60.0
QUEUE, LAG = "evergold_curation_queue", "evergold_curation_lag_seconds"
EVERGOLD = str(Path(sys.executable).parent / "evergold")


@dataclass
class Summary:
    """What a campaign saw. `lost`: answered 2xx and not stored; `doubled`: stored more than once; `half`: stored in part."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    acknowledged_count: int = 0
    lost: int = 0
    doubled: int = 0
    half: int = 0
    hangs: int = 0
    memory_mb: list[float] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def failed(self) -> int:
        """Answers that should not be: 5xx other than 503."""
        return sum(number for status, number in self.statuses.items() if status[0] == "5" and status != "503")

    def good(self) -> bool:
        return not (self.lost or self.doubled or self.half or self.hangs or self.failed() or self.problems)

    def add(self, other: "Summary") -> None:
        """Count what another sender saw."""
        self.statuses += other.statuses
        self.seconds += other.seconds
        self.acknowledged |= other.acknowledged
        self.acknowledged_count += other.acknowledged_count
        self.hangs += other.hangs
        self.memory_mb += other.memory_mb
        self.problems += other.problems

    def show(self, name: str) -> None:
        took = sorted(self.seconds) or [0.0]
        number = self.acknowledged_count + len(self.acknowledged)
        print(f"  {name}: acknowledged {number}, lost {self.lost}, doubled {self.doubled}, half-written {self.half}")
        refused = sum(number for status, number in self.statuses.items() if status[0] == "4" or status == "503")
        print(f"  answers {dict(sorted(self.statuses.items()))}")
        print(f"  refused {refused}, 5xx but 503 {self.failed()}, hangs {self.hangs}")
        p99 = took[int(len(took) * 0.99)]
        memory = self.memory_mb or [0.0]
        print(f"  p99 {p99 * 1000:.0f} ms, longest {took[-1]:.1f} s, memory {memory[0]:.0f} to {max(memory):.0f} MB")
        for note in [*self.notes, *self.problems]:
            print(f"  {note}")


class Sender:
    """One connection to a server; opened anew when it broke."""

    def __init__(self, port: int) -> None:
        self._client = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        self.body = b""  # of the last answer

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def post(self, path: str, body: bytes, headers: dict[str, str], summary: Summary) -> str:
        return self.send("POST", path, body, headers, summary)

    def send(self, method: str, path: str, body: bytes | None, headers: dict[str, str], summary: Summary) -> str:
        """Send one request and note its outcome; "none" when the connection broke."""
        began = time.perf_counter()
        try:
            self._client.request(method, path, body, headers)
            reply = self._client.getresponse()
            self.body = reply.read()
            status = str(reply.status)
        except TimeoutError:
            status = "none"
            summary.hangs += 1
            self._client.close()
        except (OSError, http.client.HTTPException):
            status = "none"
            self._client.close()
        summary.statuses[status] += 1
        summary.seconds.append(time.perf_counter() - began)
        return status


class Server:
    """`evergold serve` on a workspace folder; started again after each kill."""

    def __init__(self, home: Path, database_url: str = "", **more: str) -> None:
        self.env = {**os.environ, "EVERGOLD_HOME": str(home), "PYTHONUNBUFFERED": "1", **more}
        if database_url:
            self.env["EVERGOLD_DATABASE_URL"] = database_url
        self.process: subprocess.Popen[str] | None = None
        self.port = 0

    def command(self) -> Sequence[str]:
        return (EVERGOLD, "serve", "--port", str(self.port))

    def start(self) -> None:
        self.process = subprocess.Popen(self.command(), env=self.env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().split()[1].rsplit(":", 1)[1])

    def end(self, number: int = signal.SIGTERM) -> float:
        """Send a signal and wait; the seconds it took to end."""
        assert self.process is not None and self.process.stdout is not None
        began = time.perf_counter()
        self.process.send_signal(number)
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        return time.perf_counter() - began

    def memory_mb(self) -> float:
        """Resident memory of the server and of the processes it started."""
        assert self.process is not None
        return sum(_resident_mb(pid) for pid in _family(self.process.pid))

    def handles(self) -> int:
        """Open file handles of the server and of the processes it started."""
        assert self.process is not None
        return sum(_handles(pid) for pid in _family(self.process.pid))

    def curation(self) -> tuple[int, float]:
        """How many traces wait for curation, and for how many seconds the oldest has waited; by its metrics."""
        with self.connection() as sender:
            sender.send("GET", "/metrics", None, {}, Summary())
            lines = dict(line.rsplit(" ", 1) for line in sender.body.decode().splitlines() if line[:1] not in ("", "#"))
        return int(float(lines.get(QUEUE, 0))), float(lines.get(LAG, 0.0))

    def waited(self) -> tuple[float, float]:
        """Seconds of CPU that its processes had, and seconds in which they were ready and had none."""
        assert self.process is not None
        times = [_scheduled(pid) for pid in _family(self.process.pid)]
        return sum(one[0] for one in times), sum(one[1] for one in times)

    def connection(self) -> Sender:
        return Sender(self.port)

    def post(self, path: str, body: bytes, headers: dict[str, str], summary: Summary) -> str:
        """Send one request over a connection of its own."""
        with self.connection() as sender:
            return sender.post(path, body, headers, summary)


def _family(pid: int) -> list[int]:
    """A process and its descendants."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        children = [int(one) for thread in threads for one in (thread / "children").read_text().split()]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _resident_mb(pid: int) -> float:
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:
        return 0.0
    resident = status.partition("VmRSS:")[2].split()
    return int(resident[0]) / 1024 if resident else 0.0  # a process that has just ended has no memory


def _handles(pid: int) -> int:
    try:
        return len(list(Path(f"/proc/{pid}/fd").iterdir()))
    except OSError:
        return 0


def _scheduled(pid: int) -> tuple[float, float]:
    try:
        read = [(thread / "schedstat").read_text().split() for thread in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return 0.0, 0.0
    return sum(int(one[0]) for one in read) / 1e9, sum(int(one[1]) for one in read) / 1e9


def a_request(trace_ids: Sequence[str], text: str = "hello") -> bytes:
    """An OTLP request in JSON with one span for each trace."""
    times = {"startTimeUnixNano": "1767225600000000000", "endTimeUnixNano": "1767225601000000000"}
    value = [{"key": "input.value", "value": {"stringValue": text}}]
    spans = [{"traceId": one, "spanId": one[:16], "name": "ask", "attributes": value, **times} for one in trace_ids]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


JSON = {"content-type": "application/json"}


def ids_stored(home: Path, database_url: str = "") -> Iterator[str]:
    """Give the id of every stored trace."""
    with _reading(home, database_url) as connection:
        yield from connection.execution_options(yield_per=10_000).execute(select(traces.c.id)).scalars()


@contextmanager
def _reading(home: Path, database_url: str) -> Iterator[Connection]:
    with (
        Workspace.open(Settings(home=home, database_url=database_url)) as workspace,
        workspace.store.db.read() as connection,
    ):
        yield connection


def check_stored(home: Path, database_url: str, summary: Summary, *, alone: bool = True) -> None:
    """Count what was acknowledged and is not there, what is there twice, and traces whose one span is missing.

    Where others have stored traces too (not `alone`), which have any number of spans, those of acknowledged traces are counted.
    """
    stored = Counter(ids_stored(home, database_url))
    with _reading(home, database_url) as connection:
        number_of = func.count(spans.c.id)
        query = select(traces.c.id, number_of).outerjoin(spans, spans.c.trace_seq == traces.c.seq).group_by(traces.c.id)
        numbers = [number for name, number in connection.execute(query) if alone or name in summary.acknowledged]
    summary.lost += len(summary.acknowledged - stored.keys())
    summary.doubled += sum(number - 1 for number in [*stored.values(), *numbers] if number > 1)
    summary.half += numbers.count(0)
