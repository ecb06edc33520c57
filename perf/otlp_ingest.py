"""OTLP intake, until the spans can be queried: Evergold, the bare floor, and with --peers two other servers.

    python -m perf.otlp_ingest                     # against the floor
    python -m perf.otlp_ingest --peers             # also arize-phoenix and mlflow, each in its own environment
    python -m perf.otlp_ingest --memory            # server memory after 100,000 spans

100 LLM spans of about 3 KB a request, SQLite, sixteen connections. The servers take turns; a figure is the median of its
rounds, each of which begins with as many requests again that are not measured, so that every server is in its stride.
Ten spans a trace is how agents and chains look; one span a trace is the hardest shape, where every span is a trace of its own.
Evergold runs as `evergold serve` does by default, with redaction, search and curation in the background.
Goals: at least 60 % of the floor, 60 times phoenix, 10 times mlflow, less than 200 MB after 100,000 spans.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from perf import otlp_load
from perf.measuring import print_figure
from perf.otlp_load import SPANS, bodies, send, wait_until_stored
from perf.peers import PEERS, python_of

HERE = Path(sys.executable).parent
FREE_PORT = "0"
CONNECTIONS = 16
FOLDER = "{folder}"  # stands for the empty folder a server is started in


@dataclass(frozen=True)
class Contestant:
    """A server: how it is started in an empty folder, where its database is, and what a request needs beside its body."""

    name: str
    command: tuple[str, ...]
    database: str
    port: int | None = None
    env: dict[str, str] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)


EVERGOLD = Contestant("evergold", (str(HERE / "evergold"), "serve", "--port", FREE_PORT), ".evergold/evergold.db")
FLOOR = Contestant("floor", (sys.executable, "-m", "perf.otlp_floor", "floor.db"), "floor.db")
PHOENIX = Contestant(
    "arize-phoenix",
    (str(PEERS / "arize-phoenix/bin/phoenix"), "serve"),
    "phoenix.db",
    6106,
    {
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": "6106",
        "PHOENIX_GRPC_PORT": "6107",
        "PHOENIX_WORKING_DIR": FOLDER,
        "PHOENIX_TELEMETRY_ENABLED": "false",
    },
)
MLFLOW = Contestant(
    "mlflow",
    (str(PEERS / "mlflow/bin/mlflow"), "server", "--backend-store-uri", "sqlite:///mlflow.db", "--port", "6108"),
    "mlflow.db",
    6108,
    {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true"},
    {"x-mlflow-experiment-id": "0"},
)


@dataclass
class Result:
    """Spans a second until queryable, and the slow end of a request's time."""

    rate: float
    p99_ms: float
    memory_mb: float


@contextmanager
def running(contestant: Contestant, folder: Path) -> Iterator[tuple[str, int]]:
    """The server's address and process, once it answers."""
    # The tree that this file belongs to, whatever is installed.
    root = Path(__file__).parent.parent
    ours = {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}"} if contestant.port is None else {}
    own = {name: value.replace(FOLDER, str(folder)) for name, value in contestant.env.items()}
    with subprocess.Popen(
        contestant.command,
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1", **ours, **own},
        stdout=subprocess.PIPE if contestant.port is None else subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            if contestant.port is None:
                assert process.stdout is not None
                url = process.stdout.readline().split()[1]
            else:
                url = f"http://127.0.0.1:{contestant.port}"
                _wait_for_answer(contestant, url)
            yield url, process.pid
        finally:
            os.killpg(process.pid, signal.SIGTERM)  # a peer's workers do not end with it


def _wait_for_answer(contestant: Contestant, url: str) -> None:
    load = bodies(1, SPANS, seed=0)
    until = time.perf_counter() + 180
    while True:
        try:
            otlp_load.EXTRA = contestant.headers
            send(url, load, 1)
            return
        except OSError:
            if time.perf_counter() > until:
                raise SystemExit(f"{contestant.name} does not answer at {url}") from None
            time.sleep(0.5)


def measure(contestant: Contestant, load: Sequence[bytes], connections: int, warm_up: int) -> Result:
    """One round, after so many requests that are not measured."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with running(contestant, folder) as (url, pid):
            warm = bodies(warm_up, 10, seed=1)
            otlp_load.EXTRA = contestant.headers
            send(url, warm, connections)
            before = (len(warm) + (contestant.port is not None)) * SPANS
            database = folder / contestant.database
            wait_until_stored(database, before)
            began = time.perf_counter()
            took = sorted(send(url, load, connections))
            wait_until_stored(database, before + len(load) * SPANS)
            seconds = time.perf_counter() - began
            return Result(len(load) * SPANS / seconds, took[int(len(took) * 0.99)] * 1000, _memory_mb(pid))


def _memory_mb(pid: int) -> float:
    """Resident memory of a server and its workers."""
    total = 0.0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines() if ":" in line)
        except OSError:
            continue
        if int(fields["Pid"]) == pid or int(fields["PPid"]) == pid:
            total += int(fields.get("VmRSS", "0 kB").split()[0]) / 1024
    return total


def compare(contestants: Sequence[Contestant], rounds: int, requests: dict[str, int], spans_per_trace: int) -> None:
    found: dict[str, list[Result]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds):
        for contestant in contestants:
            load = bodies(requests.get(contestant.name, requests[""]), spans_per_trace, seed=10 + number)
            found[contestant.name].append(measure(contestant, load, CONNECTIONS, len(load)))
    ours, floor = (median(result.rate for result in found[name]) for name in ("evergold", "floor"))
    print(f"  {spans_per_trace} spans a trace")
    for name, results in found.items():
        rate = median(result.rate for result in results)
        p99 = median(result.p99_ms for result in results)
        print(f"  {name:<16} {rate:9.0f} spans/s   p99 {p99:7.0f} ms   evergold is {ours / rate:6.2f}x")
    print_figure(f"spans a second, {spans_per_trace} a trace", ours / floor, "of the floor", 0.6, at_least=True)


def memory(spans: int) -> None:
    result = measure(EVERGOLD, bodies(spans // SPANS, 10, seed=3), CONNECTIONS, 2)
    print_figure(f"memory after {spans} spans", result.memory_mb, "MB", 200)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--requests", type=int, default=100, help="requests a round; peers get a twentieth")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--memory", action="store_true")
    parser.add_argument("--spans-per-trace", type=int, nargs="*", default=[10, 1])
    chosen = parser.parse_args(arguments)
    if chosen.memory:
        memory(100_000)
        return
    contestants = [FLOOR, EVERGOLD]
    if chosen.peers:
        contestants += [peer for peer in (PHOENIX, MLFLOW) if python_of(peer.name)]
    few = max(5, chosen.requests // 20)
    for spans_per_trace in chosen.spans_per_trace:
        compare(contestants, chosen.rounds, {"": chosen.requests, "arize-phoenix": few, "mlflow": few}, spans_per_trace)


if __name__ == "__main__":
    main(sys.argv[1:])
