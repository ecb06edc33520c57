"""Two commands side by side: CPU time, wall time and memory of each, interleaved, medians and ratios."""

import os
import resource
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles


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


def print_ratios(found: Mapping[str, Sample], base: str) -> None:
    """Each one's CPU and wall time, and its CPU time as a multiple of the base's."""
    for name, sample in found.items():
        ratio = sample.cpu / found[base].cpu
        print(
            f"  {name:<32} cpu {sample.cpu * 1000:8.1f} ms   wall {sample.wall * 1000:8.1f} ms   {ratio:6.2f}x {base}"
        )


def print_pairs(title: str, against: str, then: Sequence[float], now: Sequence[float], limit: float | None) -> None:
    """A line of interleaved pairs: both medians, the median of the ratios, and where half of them lie."""
    ratios = [new / old for old, new in zip(then, now, strict=True)]
    low, _, high = quantiles(ratios, n=4) if len(ratios) > 1 else (ratios[0],) * 3
    bound = "" if limit is None else f"; limit {limit}"
    print(
        f"  {title:<16} {against} {median(then):7.2f}   now {median(now):7.2f}   now / {against} {median(ratios):.3f} "
        f"(half of the pairs: {low:.3f} to {high:.3f}{bound})"
    )
