"""Figures beside their goals, and commands side by side: CPU and wall time of each, interleaved, medians and ratios."""

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median


@dataclass(frozen=True)
class Sample:
    cpu: float
    wall: float


def run_once(command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Sample:
    """One run of a command; its CPU time includes its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, cwd=cwd, env={**os.environ, **(env or {})}, check=True, stdout=subprocess.DEVNULL)
    after, ended = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    return Sample(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, ended - began)


def side_by_side(commands: Mapping[str, Sequence[str]], repeats: int = 7) -> dict[str, Sample]:
    """Medians, the commands taking turns so that a busy moment of the machine meets all of them."""
    for command in commands.values():
        run_once(command)
    samples: dict[str, list[Sample]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, command in commands.items():
            samples[name].append(run_once(command))
    return {
        name: Sample(median(s.cpu for s in found), median(s.wall for s in found)) for name, found in samples.items()
    }


def print_figure(name: str, value: float, unit: str, goal: float, *, at_least: bool = False) -> bool:
    """Print a figure beside its goal, in the form that `python -m perf all` puts into its table; whether it is met."""
    met = value >= goal if at_least else value <= goal
    print(
        f"  {name}: {value:.3g} {unit} (goal: {'at least' if at_least else 'at most'} {goal:g}; {'met' if met else 'MISSED'})"
    )
    return met
