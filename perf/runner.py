"""What the runner itself costs: CPU and memory per sample, durable results on, with a target that answers at once.

    python -m perf runner            # 1,000 and 10,000 samples, concurrency 20

Each size runs in a process of its own, after a run of one sample that loads the modules. Goal: at most .5 ms CPU per
sample at both sizes, under 150 MB at 10,000; comparison of two 10,000-sample runs under 2 s.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from perf.measuring import print_figure

SIZES = (1_000, 10_000)
GOAL_MS, GOAL_MB, GOAL_COMPARE_S = 0.5, 150.0, 2.0


async def instant(prompt: str) -> str:
    """The target: no work, so that everything measured is ours."""
    return f"answer {prompt.rpartition(' ')[2]}"


def write_dataset(path: Path, count: int) -> None:
    tasks = [
        f'  - {{id: "t{i:05}", name: "Task {i}", input: "question {i}", expected_output: "answer {i}"}}'
        for i in range(count)
    ]
    path.write_text("\n".join(["name: Instant", "tasks:", *tasks, ""]), encoding="utf-8")


def one_size(count: int, folder: Path) -> dict[str, float]:
    """One run of `count` samples in this process; the dataset is read, the run stored, every answer scored."""
    from evergold.model.run import RunSpec
    from evergold.settings import Settings
    from evergold.workspace import Workspace

    write_dataset(folder / "instant.yaml", count)
    spec = RunSpec(dataset="instant", model="python:perf.runner:instant", metrics=("exact_match",), concurrency=20)
    with Workspace.open(Settings(home=folder / "home", benchmark_datasets_dir=folder)) as workspace:
        workspace.bench.work_on(workspace.bench.run_here(spec.model_copy(update={"limit": 1})).id)
        before = _cpu()
        run = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        cpu = _cpu() - before
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        assert (run.done, run.scored) == (count, count), run
        other = workspace.bench.work_on(workspace.bench.run_here(spec).id)
        began = time.perf_counter()
        workspace.bench.results.compare(run.id, other.id)
        compared = time.perf_counter() - began
    return {"ms_per_sample": 1000 * cpu / count, "mb": memory, "compare_s": compared}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> int:
    good = True
    for count in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "perf.runner", str(count), folder]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        good &= print_figure(f"{count} samples, each", found["ms_per_sample"], "ms of CPU", GOAL_MS)
        good &= print_figure(f"{count} samples, memory", found["mb"], "MB", GOAL_MB)
        good &= print_figure(f"{count} samples, comparison of two runs", found["compare_s"], "s", GOAL_COMPARE_S)
    return 0 if good else 1


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(one_size(int(sys.argv[1]), Path(sys.argv[2]))))
    else:
        sys.exit(main())
