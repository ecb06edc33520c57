"""How long the product takes to say hello, and what a server holds then: `--help`, first request, idle memory.

Limits: `--help` at most 8 times `python -c "import argparse"` in CPU time; on an empty folder the first request within
2 s of the start of the server, which then holds at most 120 MB (resident).
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from statistics import median
from typing import NamedTuple

from perf.measuring import print_figure, side_by_side

EVERGOLD = str(Path(sys.executable).parent / "evergold")


class Started(NamedTuple):
    """Seconds from starting the process on an empty folder to its first answer, and megabytes resident a second later."""

    seconds: float
    megabytes: float


def start_server() -> Started:
    """Start a server, send its first request, and let it be idle for a second."""
    environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [EVERGOLD, "serve", "--port", "0"],
            cwd=folder,
            stdout=subprocess.PIPE,
            env={**environment, "PYTHONUNBUFFERED": "1"},
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1].decode()
            with urllib.request.urlopen(f"{url}/api/v1/cases") as answer:
                assert json.load(answer)["total"] == 0
            seconds = time.perf_counter() - began
            time.sleep(1)  # what a server loads in the background counts as well
            pages = int(Path(f"/proc/{process.pid}/statm").read_text().split()[1])
            return Started(seconds, pages * os.sysconf("SC_PAGE_SIZE") / 1e6)
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def main() -> int:
    found = side_by_side(
        {"import argparse": [sys.executable, "-c", "import argparse"], "evergold --help": [EVERGOLD, "--help"]},
        repeats=11,
    )
    ratio = found["evergold --help"].cpu / found["import argparse"].cpu
    good = [print_figure("`evergold --help`", ratio, "times the CPU of `import argparse`", 8)]
    starts = [start_server() for _ in range(5)]
    good.append(print_figure("first request on an empty folder", median(start.seconds for start in starts), "s", 2))
    good.append(print_figure("idle server", max(start.megabytes for start in starts), "MB resident", 120))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
