"""What a span costs at OTLP intake, beside an earlier commit: CPU of the server, in interleaved pairs.

    python -m perf.intake_pairs --against 12c3b96                     # seven pairs, ten spans a trace
    python -m perf.intake_pairs --against 12c3b96 --spans-per-trace 1 --pairs 11
    python -m perf.intake_pairs --against 12c3b96 --curation          # the work in the background counts too

Both servers are `evergold serve` on SQLite in an empty folder, with this environment's packages; the earlier one runs
from the files of that commit. A figure is user and system time of the server and its reading process between two moments:
a warm-up is stored, and so is the load. Wall time is not compared, so a busy machine hurts little. Curation in the
background is off unless asked for: how much of it falls into the measured time is chance.
"""

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from statistics import median, quantiles

from perf.otlp_ingest import Contestant, running
from perf.otlp_load import SPANS, bodies, send, wait_until_stored

ROOT = Path(__file__).parent.parent
SERVE = "import sys; from evergold.cli import main; sys.argv = ['evergold', 'serve', '--port', '0']; main()"
DATABASE = ".evergold/evergold.db"
TICKS = os.sysconf("SC_CLK_TCK")
LIMIT = 1.05


def files_of(commit: str, folder: Path) -> Path:
    """Unpack the files of a commit."""
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


def measure(server: Contestant, load: Sequence[bytes], warm: Sequence[bytes], connections: int) -> float:
    """Measure one round: microseconds of CPU a span."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        with running(server, folder) as (url, pid):
            send(url, warm, connections)
            wait_until_stored(folder / DATABASE, len(warm) * SPANS)
            before = cpu_seconds(pid)
            send(url, load, connections)
            wait_until_stored(folder / DATABASE, (len(warm) + len(load)) * SPANS)
            return (cpu_seconds(pid) - before) / (len(load) * SPANS) * 1e6


def compare(servers: Mapping[str, Contestant], chosen: argparse.Namespace) -> list[float]:
    """Measure pairs, the two taking turns at being first; the ratio of each pair."""
    found: dict[str, list[float]] = {name: [] for name in servers}
    for number in range(chosen.pairs):
        load = bodies(chosen.requests, chosen.spans_per_trace, seed=10 + number)
        warm = bodies(chosen.requests // 2, chosen.spans_per_trace, seed=5000 + number)
        for name in list(servers)[:: 1 if number % 2 else -1]:
            found[name].append(measure(servers[name], load, warm, chosen.connections))
        print("   ", "   ".join(f"{name} {values[-1]:6.1f} us" for name, values in found.items()), flush=True)
    for name, values in found.items():
        print(f"  {name:<10} {median(values):6.1f} us of CPU a span (median of {chosen.pairs})")
    return [now / then for then, now in zip(*found.values(), strict=True)]


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
        ratios = compare(servers, chosen)
    low, _, high = quantiles(ratios, n=4)
    print(f"  now costs {median(ratios):.3f} times as much (half of the pairs: {low:.3f} to {high:.3f}; limit {LIMIT})")


if __name__ == "__main__":
    main(sys.argv[1:])
