"""How long the product takes to say hello: `--help`, and the first request to a server on an empty folder.

Limits: `--help` at most 8 times `python -c "import argparse"` in CPU time; first request within 2 s of a first start.
"""

import json
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from statistics import median

from perf.measuring import print_ratios, side_by_side

EVERGOLD = str(Path(sys.executable).parent / "evergold")


def first_request() -> float:
    """Seconds from starting the process on an empty folder to its first answer, database created."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        process = subprocess.Popen(
            [EVERGOLD, "serve", "--port", "0"], cwd=folder, stdout=subprocess.PIPE, env={"PYTHONUNBUFFERED": "1"}
        )
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1].decode()
            with urllib.request.urlopen(f"{url}/api/v1/cases") as answer:
                assert json.load(answer)["total"] == 0
            return time.perf_counter() - began
        finally:
            process.terminate()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def main() -> None:
    found = side_by_side(
        {"import argparse": [sys.executable, "-c", "import argparse"], "evergold --help": [EVERGOLD, "--help"]},
        repeats=11,
    )
    print_ratios(found, "import argparse")
    samples = sorted(first_request() for _ in range(5))
    print(f"  first request on an empty folder: median {median(samples):.2f} s, worst {samples[-1]:.2f} s (limit 2 s)")


if __name__ == "__main__":
    main()
