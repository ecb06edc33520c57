"""Report and comparison of large runs: two runs of 10,000 cases with two metrics each, from the command line.

    python -m perf reports

Each command is a whole process: start, imports, reading, statistics, writing. Bytecode is allowed, as an installation
has it. The goal is under 2 seconds of CPU for each.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.measuring import print_figure, side_by_side

CASES = 10_000
GOAL_S = 2.0
APP = """
def answer(case):
    return case.expected if len(case.id) % 2 or case.id.endswith(("1", "7")) else "no idea"
"""


def main() -> int:
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
        os.environ["EVERGOLD_HOME"] = str(folder / "home")
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        evergold = [str(Path(sys.executable).with_name("evergold"))]
        report = [*evergold, "report", first]
        commands = {
            "report": report,
            "report as HTML": [*report, "--output", str(folder / "report.html")],
            "report as JUnit": [*report, "--output", str(folder / "report.xml")],
            "compare": [*evergold, "compare", first, second],
        }
        samples = side_by_side(commands, repeats=5)
    good = [print_figure(f"{name}, {CASES} cases", each.cpu, "s of CPU", GOAL_S) for name, each in samples.items()]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
