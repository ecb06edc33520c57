"""Report and comparison of large runs: two runs of 10,000 cases with two metrics each, from the database to the page.

    python -m perf reports

The goal is under 2 seconds for each, in CPU time, imports included in neither.
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace

CASES = 10_000
APP = """
def answer(case):
    return case.expected if len(case.id) % 2 or case.id.endswith(("1", "7")) else "no idea"
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "perf_report_app.py").write_text(APP)
        sys.path.insert(0, name)
        tasks = [
            {"id": f"t{i}", "name": "n", "input": f"What is {i}?", "expected_output": str(i), "tags": [f"tag{i % 7}"]}
            for i in range(CASES)
        ]
        (folder / "large.yaml").write_text(json.dumps({"name": "Large", "tasks": tasks}))
        with Workspace.open(Settings(home=folder / "home", benchmark_datasets_dir=folder)) as workspace:
            spec = RunSpec(dataset="large", model="python:perf_report_app:answer", metrics=("exact_match", "token_f1"))
            first, second = (workspace.bench.work_on(workspace.bench.run_here(spec).id).id for _ in range(2))
            workspace.judging.report(first)
            _timed("report as HTML", lambda: workspace.judging.rendered(first, "html"))
            _timed("report as JUnit", lambda: workspace.judging.rendered(first, "junit"))
            _timed("comparison", lambda: workspace.bench.results.compare(first, second))


def _timed(name: str, work: Callable[[], object]) -> None:
    began = time.process_time()
    work()
    print(f"  {name:<20} {time.process_time() - began:.2f} s of CPU for {CASES:,} cases")


if __name__ == "__main__":
    main()
