"""`python -m perf all | NAME… | NAME ARGUMENTS…`: run measurements of this folder; with no name, list them.

`all` runs within half an hour those that need nothing from elsewhere, smaller than by themselves, and writes one table to
`results/table.md`. The exit code is not 0 where a goal is missed.

Each measurement is a module with a `main()` that reads its own arguments (`python -m perf.NAME --help`). A number is a
median over repeats, in CPU time where that is what matters, and always beside the thing it is compared with, in one run.
"""

import ast
import re
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path
from subprocess import PIPE, STDOUT

ALL_SECONDS, EACH_SECONDS = 1700.0, 300.0
TABLE = Path(__file__).parent / "results" / "table.md"
FIGURE = re.compile(r"^ *(.+): (.+?) \(goal: (.+?); (met|MISSED)\)$", re.MULTILINE)
ALL = {
    "paths": "",
    "start_up": "",
    "footprint": "",
    "sdk_latency": "",
    "otlp_ingest": "--rounds 1 --requests 400",
    "postgres_intake": "--requests 100",
    "session_bytes": "--sessions 8",
    "trace_search": "--traces 50000 --asks 20",
    "retention": "--requests 100",
    "archive": "--traces 3000",
    "curate_bulk": "--traces 30000 --loop 3000",
    "store_cases": "",
    "build_rag": "",
    "runner": "",
    "reports": "",
    "extract_flows": "",
    "extract_sessions": "--sessions 50",
    "score_retrieval": "",
    "judge_speed": "",
    "web_pages": "--traces 5000 --cases 500 --asks 20",
}


def measurements() -> dict[str, str]:
    """The modules that have a `main`, with the first line of what they say of themselves."""
    known = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in defined and path.stem != "__main__":
            known[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return known


def chosen(words: Sequence[str], known: Collection[str]) -> list[tuple[str, list[str]]]:
    """Split a command line into measurements with their own arguments; several names, or one with arguments."""
    if len(words) > 1 and words[0] in known and words[1] not in known:
        return [(words[0], list(words[1:]))]
    for name in words:
        if name not in known:
            sys.exit(f"unknown measurement {name!r} (valid: {', '.join(known)})")
    return [(name, []) for name in words]


def run(name: str, arguments: list[str]) -> int:
    """Run one measurement in this process; its exit code."""
    sys.argv = [name, *arguments]
    measure = import_module(f"perf.{name}").main
    # Some measurements take their arguments as a parameter, the others read the command line.
    return (measure(arguments) if arguments and signature(measure).parameters else measure()) or 0


def run_all() -> int:
    """Run every measurement that needs nothing from elsewhere, each in a process of its own; write one table."""
    end, rows = time.monotonic() + ALL_SECONDS, []
    for name, arguments in ALL.items():
        print(f"== {name}", flush=True)
        seconds = min(end - time.monotonic(), EACH_SECONDS)
        command = [sys.executable, "-m", f"perf.{name}", *arguments.split()]
        if seconds <= 0:
            rows.append((name, "left out: no time left", "", "no"))
            continue
        try:
            done = subprocess.run(command, stdout=PIPE, stderr=STDOUT, text=True, timeout=seconds, check=False)
        except subprocess.TimeoutExpired:
            rows.append((name, f"stopped after {seconds:.0f} s", "", "no"))
            continue
        rows += rows_of(name, done.stdout, done.returncode)
    table = ["| measurement | figure | goal | met |", "|---|---|---|---|", *(f"| {' | '.join(row)} |" for row in rows)]
    TABLE.parent.mkdir(exist_ok=True)
    TABLE.write_text("\n".join(table) + "\n", encoding="utf-8")
    print("\n".join(table))
    return int(any(met == "no" for *_, met in rows))


def rows_of(name: str, output: str, code: int) -> list[tuple[str, str, str, str]]:
    """The figures that a measurement printed with their goals; without any, the last lines that it printed."""
    rows = []
    for figure, value, goal, met in FIGURE.findall(output):
        rows.append((f"{name}: {figure}", value, goal, "yes" if met == "met" else "no"))
    if not rows:
        lines = [line.strip() for line in output.splitlines() if line.strip()] or ["printed nothing"]
        rows = [(name, line.replace("|", "/"), "", "") for line in (lines[-1:] if code else lines[-6:])]
    if code and all(met != "no" for *_, met in rows):
        rows.append((name, f"exit code {code}", "", "no"))
    return rows


def main() -> int:
    known = measurements()
    if sys.argv[1:] == ["all"]:
        return run_all()
    wanted = chosen(sys.argv[1:], known)
    if not wanted:
        for name, summary in known.items():
            print(f"{name:<18} {summary}")
    codes = [0]
    for name, arguments in wanted:
        print(f"\n== {name}", flush=True)
        codes.append(run(name, arguments))
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
