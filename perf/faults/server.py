"""A real server in a process of its own, its memory, and requests whose fate is noted."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

PATIENCE = 60.0


@dataclass
class Summary:
    """What a campaign saw. `lost`: answered 2xx and not stored; `doubled`: stored more than once."""

    statuses: Counter[str] = field(default_factory=Counter)
    seconds: list[float] = field(default_factory=list)
    acknowledged: set[str] = field(default_factory=set)
    lost: int = 0
    doubled: int = 0
    hangs: int = 0
    memory_mb: list[float] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def failed(self) -> int:
        """Answers that should not be: 5xx other than 503, and none at all."""
        return sum(number for status, number in self.statuses.items() if status[0] == "5" and status != "503")

    def show(self, name: str) -> None:
        took = sorted(self.seconds) or [0.0]
        print(f"  {name}: acknowledged {len(self.acknowledged)}, lost {self.lost}, doubled {self.doubled}")
        print(f"  answers {dict(sorted(self.statuses.items()))}, 5xx but 503: {self.failed()}, hangs {self.hangs}")
        p99 = took[int(len(took) * 0.99)]
        memory = self.memory_mb or [0.0]
        print(f"  p99 {p99 * 1000:.0f} ms, longest {took[-1]:.1f} s, memory {memory[0]:.0f} to {max(memory):.0f} MB")
        for note in self.notes:
            print(f"  {note}")


class Server:
    """`evergold serve` on a workspace folder; started again after each kill."""

    def __init__(self, home: Path, database_url: str = "") -> None:
        self._env = {**os.environ, "EVERGOLD_HOME": str(home), "PYTHONUNBUFFERED": "1"}
        if database_url:
            self._env["EVERGOLD_DATABASE_URL"] = database_url
        self.process: subprocess.Popen[str] | None = None
        self.port = 0

    def start(self) -> None:
        command = [str(Path(sys.executable).parent / "evergold"), "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(command, env=self._env, stdout=subprocess.PIPE, text=True)
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
        assert self.process is not None
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8")
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def post(self, path: str, body: bytes, headers: dict[str, str], summary: Summary) -> str:
        """Send one request and note its fate; "none" when the connection broke."""
        began = time.perf_counter()
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        try:
            client.request("POST", path, body, headers)
            reply = client.getresponse()
            reply.read()
            status = str(reply.status)
        except TimeoutError:
            status = "none"
            summary.hangs += 1
        except (OSError, http.client.HTTPException):
            status = "none"
        finally:
            client.close()
        summary.statuses[status] += 1
        summary.seconds.append(time.perf_counter() - began)
        return status


def a_request(trace_ids: Sequence[str], text: str = "hello") -> bytes:
    """An OTLP request in JSON with one span for each trace."""
    times = {"startTimeUnixNano": "1767225600000000000", "endTimeUnixNano": "1767225601000000000"}
    value = [{"key": "input.value", "value": {"stringValue": text}}]
    spans = [{"traceId": one, "spanId": one[:16], "name": "ask", "attributes": value, **times} for one in trace_ids]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


JSON = {"content-type": "application/json"}
