"""Measure what a span costs at OTLP intake, beside another commit: interleaved pairs of two servers.

    python -m perf.intake_pairs --against 12c3b96                     # seven pairs, ten spans a trace
    python -m perf.intake_pairs --against 12c3b96 --spans-per-trace 1 --pairs 11
    python -m perf.intake_pairs --against 12c3b96 --curation          # the work in the background counts too

Both servers are `evergold serve` on SQLite in an empty folder, with this environment's packages; the other one runs
from the files of that commit or branch. Each round has a warm-up and a load, and three figures between the two moments at
which each is stored: user and system time of the server and its children, time by the clock, and bytes of the
database and its log after the load. A busy machine disturbs the clock, and CPU time little. Curation in the background is
off unless asked for: how much of it falls into the measured time is chance.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from perf.measuring import print_pairs
from perf.otlp_ingest import Contestant, running
from perf.otlp_load import SPANS, bodies, send, wait_until_stored

ROOT = Path(__file__).parent.parent
SERVE = "import sys; from evergold.cli import main; sys.argv = ['evergold', 'serve', '--port', '0']; main()"
DATABASE = ".evergold/evergold.db"
TICKS = os.sysconf("SC_CLK_TCK")
LIMIT = 1.05
IDLE_SECONDS, IDLE_SHARE = 1.0, 0.03  # of a core, in which servers look whether anything waits


class Figures(NamedTuple):
    """The cost of a span in one round."""

    cpu_us: float
    clock_us: float
    stored_bytes: float


def files_of(commit: str, folder: Path) -> Path:
    """Unpack the files of a commit. One that had compiled parts runs without them."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def server_of(tree: Path, settings: Mapping[str, str]) -> Contestant:
    env = {"PYTHONPATH": f"{tree / 'src'}{os.pathsep}{ROOT}", **settings}
    return Contestant(tree.name, (sys.executable, "-c", SERVE), DATABASE, env=env)


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and its children, those that ended included."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(stat.parent.name) == pid:
            total += sum(map(int, fields[11:15]))
        elif int(fields[1]) == pid:
            total += sum(map(int, fields[11:13]))
    return total / TICKS


def wait_until_idle(pid: int) -> None:
    """Wait until the process and its children rest: the reading process begins with the load, and takes a second to do so."""
    before, now = -1.0, cpu_seconds(pid)
    while now - before > IDLE_SHARE * IDLE_SECONDS:
        time.sleep(IDLE_SECONDS)
        before, now = now, cpu_seconds(pid)


def measure(server: Contestant, load: Sequence[bytes], warm: Sequence[bytes], connections: int) -> Figures:
    """Measure one round."""
    spans = len(load) * SPANS
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        database = Path(name) / DATABASE
        with running(server, Path(name)) as (url, pid):
            send(url, warm, connections)
            wait_until_stored(database, len(warm) * SPANS)
            wait_until_idle(pid)
            cpu, clock = cpu_seconds(pid), time.perf_counter()
            send(url, load, connections)
            wait_until_stored(database, len(warm) * SPANS + spans)
            cpu, clock = cpu_seconds(pid) - cpu, time.perf_counter() - clock
        stored = sum(file.stat().st_size for file in database.parent.glob(f"{database.name}*"))
        return Figures(cpu / spans * 1e6, clock / spans * 1e6, stored / (spans + len(warm) * SPANS))


def compare(servers: Mapping[str, Contestant], chosen: argparse.Namespace) -> tuple[list[Figures], list[Figures]]:
    """Measure pairs, the two taking turns at being first."""
    figures: dict[str, list[Figures]] = {name: [] for name in servers}
    for number in range(chosen.pairs):
        load = bodies(chosen.requests, chosen.spans_per_trace, seed=10 + number)
        warm = bodies(chosen.requests // 2, chosen.spans_per_trace, seed=5000 + number)
        for name in list(servers)[:: 1 if number % 2 else -1]:
            figures[name].append(measure(servers[name], load, warm, chosen.connections))
        print("   ", "   ".join(f"{name} {all_[-1].cpu_us:6.1f} us" for name, all_ in figures.items()), flush=True)
    then, now = figures.values()
    return then, now


def report(against: str, then: Sequence[Figures], now: Sequence[Figures]) -> None:
    """Print the medians of both servers and of the pairs' ratios."""
    for number, title in enumerate(("us of CPU a span", "us by the clock", "bytes a span")):
        limit = LIMIT if number == 0 else None
        print_pairs(title, against, [one[number] for one in then], [one[number] for one in now], limit)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", default="12c3b96", metavar="COMMIT")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--requests", type=int, default=60, help=f"requests of {SPANS} spans in a round")
    parser.add_argument("--spans-per-trace", type=int, default=10)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--curation", action="store_true", help="curate in the background, as a server does by default")
    chosen = parser.parse_args(arguments)
    settings = {} if chosen.curation else {"EVERGOLD_EVAL_AUTO_CURATE": "false"}
    with tempfile.TemporaryDirectory() as name:
        then = files_of(chosen.against, Path(name))
        servers = {chosen.against: server_of(then, settings), "now": server_of(ROOT, settings)}
        report(chosen.against, *compare(servers, chosen))


if __name__ == "__main__":
    main(sys.argv[1:])
