"""Extraction from git history by the workers of a Dask cluster: how much sooner are two done than one?

    python -m perf.extract_cluster REPO --commits 4000 --pairs 3
    python -m perf.extract_cluster REPO --commits 4000 --pairs 3 --one-core-each

Each pair extracts the same commits with one worker and with two, in turn, by real processes. The goal is 1.6 times the rate.
With `--one-core-each` a worker and its git processes keep to one core of their own, which stands for a cluster of machines
with one core each; scheduler and command run on any.
Beside the clock the CPU time of the command and of the workers (with their git processes) is given, since a machine that
others use spoils the clock: with two cores, two workers and a command that needs `c` seconds of CPU beside the workers' `w`
cannot be more than 2 w / (w + c) times as fast as one worker; and less where one worker and its git process already use more
than a core between them.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from evergold.extract.run import HistoryQuery
from evergold.settings import Settings
from evergold.workspace import Workspace
from evergold.workspace.flows import Destination
from perf.cluster_verbs import running_cluster

GOAL = 1.6


class Took(NamedTuple):
    """Seconds by the clock, CPU seconds of the command, CPU seconds of the workers, and how many cases came out."""

    clock: float
    command: float
    workers: float
    cases: int


def cpu_seconds() -> float:
    """CPU time of this process and of its children that have ended."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def extracted(repo: Path, commits: int, workers: int, pinned: bool) -> Took:
    """Extract the newest commits with so many workers, which have loaded everything before the clock starts."""
    from distributed import Client

    with tempfile.TemporaryDirectory() as folder, running_cluster(Path(folder), workers, pinned) as cluster:
        asked: Any = Client(cluster.address)
        _extract(repo, 100 * workers, cluster.address)
        before = sum(asked.run(cpu_seconds).values())
        own, began = cpu_seconds(), time.perf_counter()
        cases = _extract(repo, commits, cluster.address)
        clock = time.perf_counter() - began
        took = Took(clock, cpu_seconds() - own, sum(asked.run(cpu_seconds).values()) - before, cases)
        asked.close()
        return took


def _extract(repo: Path, commits: int, cluster: str) -> int:
    query = HistoryQuery(repo, since=f"HEAD~{commits}", first_parent=True)
    with tempfile.TemporaryDirectory() as folder:
        flows = Workspace(Settings(home=Path(folder))).flows
        return flows.history(query, Destination(Path(folder)), cluster=cluster).counts["new"]


def main(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("--commits", type=int, default=4000)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--one-core-each", action="store_true", help="pin each worker and its git processes to a core")
    given = parser.parse_args(arguments)
    ratios = []
    for number in range(given.pairs):
        # Every other pair begins with two workers, so that a machine that becomes busier favours neither.
        order = (1, 2) if number % 2 == 0 else (2, 1)
        took = {workers: extracted(given.repo, given.commits, workers, given.one_core_each) for workers in order}
        one, two = took[1], took[2]
        assert one.cases == two.cases
        ratios.append(one.clock / two.clock)
        bound = 2 * two.workers / (two.workers + two.command)
        print(
            f"  {two.cases} cases: one worker {one.clock:.1f} s, two {two.clock:.1f} s, {ratios[-1]:.2f} times; CPU of the "
            f"command {two.command:.1f} s, of the workers {two.workers:.1f} s: at most {bound:.2f} times on two cores"
        )
    print(f"  median of {given.pairs} pairs {median(ratios):.2f} times (goal {GOAL})")


if __name__ == "__main__":
    main(sys.argv[1:])
