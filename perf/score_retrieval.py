"""Scoring speed: 10,000 cases with 50 golden and 50 predicted ranges each, files to figures with all intervals.

    python -m perf.score_retrieval [CASES] [RANGES]

Medians of three. The goal is under 5 seconds of CPU.
"""

import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

import orjson

from evergold.bench.retrieval_run import score_retrieval
from perf.measuring import print_figure


def some_ranges(chance: random.Random, count: int) -> list[dict[str, object]]:
    found = []
    for _ in range(count):
        start = chance.randint(1, 2000)
        path = f"src/module_{chance.randint(1, 30)}.py"
        found.append({"path": path, "startLine": start, "endLine": start + chance.randint(0, 40)})
    return found


def write(path: Path, cases: int, count: int, key: str, **more: object) -> None:
    chance = random.Random(path.name)
    with path.open("wb") as out:
        for number in range(cases):
            entries = [entry | more for entry in some_ranges(chance, count)]
            out.write(orjson.dumps({"caseId": f"case-{number}", key: entries}, option=orjson.OPT_APPEND_NEWLINE))


def one_round(golden: Path, predicted: Path) -> float:
    """CPU seconds of scoring once."""
    began = time.process_time()
    score_retrieval(golden, predicted)
    return time.process_time() - began


def main(arguments: Sequence[str] = ()) -> int:
    given = [int(word) for word in arguments]
    cases, count = (*given, *(10_000, 50)[len(given) :])
    with tempfile.TemporaryDirectory() as folder:
        golden, predicted = Path(folder, "golden.jsonl"), Path(folder, "predicted.jsonl")
        write(golden, cases, count, "lineRanges", sources=["golden_diff"])
        write(predicted, cases, count, "ranges")
        rounds = [one_round(golden, predicted) for _ in range(3)]
    return 0 if print_figure(f"{cases} cases of {count} ranges scored", median(rounds), "s of CPU", 5) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
