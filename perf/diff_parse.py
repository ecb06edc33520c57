"""Diffs to golden base lines: our parser against unidiff, on the same real diffs, with the same result demanded.

    python -m perf.diff_parse [REPO] [COMMITS]        # default: this repository

Both read every commit's diff (three lines of context, as a reviewer sees it) and work out the removed and inserted-at lines of
every file; the sets are compared. CPU time, taking turns. The goal is at least 5 times unidiff.
"""

import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from unidiff.patch import PatchSet

from evergold.extract.diff import parse_diff
from evergold.extract.spans import spans_of

HERE = Path(__file__).parent.parent
Removed = set[tuple[str, int | None]]


def diffs(repo: Path, commits: int) -> list[bytes]:
    command = ["git", "-C", str(repo), "log", f"-{commits}", "--first-parent", "-m", "-p", "-M", "--format=%x00"]
    return [
        text for text in subprocess.run(command, check=True, capture_output=True).stdout.split(b"\0\n") if text.strip()
    ]


def ours(texts: list[bytes]) -> int:
    return sum(len(spans_of(file)) for text in texts for file in parse_diff(text))


def theirs(texts: list[str]) -> int:
    """The same question to unidiff: which source lines of each file changed?"""
    return sum(
        len({line.source_line_no for hunk in file for line in hunk if line.is_removed})
        for text in texts
        for file in PatchSet(text)
    )


def same_lines(texts: list[bytes]) -> int:
    """How many diffs both read to the same removed lines."""
    agreed = 0
    for text in texts:
        mine: Removed = {
            (file.new_path or file.path, line)
            for file in parse_diff(text)
            for hunk in file.hunks
            for change in hunk.changes
            for line in range(change.old_line, change.old_line + change.removed)
        }
        other: Removed = {
            (file.path, line.source_line_no)
            for file in PatchSet(text.decode("utf-8", "replace"))
            for hunk in file
            for line in hunk
            if line.is_removed
        }
        agreed += mine == other
    return agreed


def main(given: Sequence[str] = ()) -> None:
    texts = diffs(Path(given[0]) if given else HERE, int(given[1]) if len(given) > 1 else 500)
    decoded = [text.decode("utf-8", "replace") for text in texts]
    size = sum(len(text) for text in texts) / 1e6
    times: dict[str, list[float]] = {"ours": [], "unidiff": []}
    for _ in range(3):
        began = time.process_time()
        ours(texts)
        times["ours"].append(time.process_time() - began)
        began = time.process_time()
        theirs(decoded)
        times["unidiff"].append(time.process_time() - began)
    rates = {name: size / median(found) for name, found in times.items()}
    print(f"{len(texts)} diffs, {size:.1f} MB; {same_lines(texts)} read to the same removed lines")
    print(
        f"ours {rates['ours']:.1f} MB/s, unidiff {rates['unidiff']:.1f} MB/s: {rates['ours'] / rates['unidiff']:.1f} times"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
