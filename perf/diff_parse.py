"""Diffs to golden base lines: our parser against unidiff, on the same real diffs, with the same result demanded.

    python -m perf.diff_parse [REPO] [COMMITS]        # default: this repository

Both read every commit's diff (three lines of context, as a reviewer sees it) and work out the base ranges of every file:
removed lines, and the two lines an insertion lands between. The ranges must be equal, and the list of files must be
git's own. CPU time, medians. The goal is at least 5 times unidiff.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from unidiff.patch import Hunk, PatchSet

from evergold.extract.diff import parse_diff
from evergold.extract.spans import merge, spans_of

HERE = Path(__file__).parent.parent
Ranges = list[tuple[str, list[tuple[int, int]]]]


def log(repo: Path, commits: int, *options: str) -> bytes:
    command = ["git", "-C", str(repo), "log", f"-{commits}", "--first-parent", "-m", "-M", *options]
    return subprocess.run(command, check=True, capture_output=True).stdout


def diffs(repo: Path, commits: int) -> list[bytes]:
    found = log(repo, commits, "-p", "--format=%x00").split(b"\0\n")
    return [text.lstrip(b"\n") for text in found if text.strip()]


def ours(diff: bytes) -> Ranges:
    return [(file.path, spans_of(file)) for file in parse_diff(diff)]


def theirs(diff: bytes) -> Ranges:
    """The same question to unidiff."""
    found = []
    for file in PatchSet(diff.decode("utf-8", "replace")):
        spans = [] if file.is_added_file else [span for hunk in file for span in base_spans(hunk)]
        found.append(((file.source_file if file.is_rename else f"a/{file.path}").removeprefix("a/"), merge(spans)))
    return found


def base_spans(hunk: Hunk) -> list[tuple[int, int]]:
    """Runs of removed lines; a run that removes nothing counts the lines around it."""
    found = []
    at = hunk.source_start
    first, added = at, False
    for line in hunk:
        if line.is_added:
            added = True
        elif line.is_removed:
            at += 1
        elif line.is_context:
            if at > first:
                found.append((first, at - 1))
            elif added:
                found.append((max(at - 1, 1), at))
            at += 1
            first, added = at, False
    if at > first:
        found.append((first, at - 1))
    elif added and at > 1:
        found.append((at - 1, at - 1))
    return found


READERS: dict[str, Callable[[bytes], object]] = {"parse": parse_diff, "ours": ours, "unidiff": theirs}


def one_round(texts: list[bytes]) -> dict[str, float]:
    """CPU time of each reader over all diffs; they take turns at every diff, so that a slow moment meets all of them."""
    spent = dict.fromkeys(READERS, 0.0)
    for text in texts:
        for name, read in READERS.items():
            began = time.process_time()
            read(text)
            spent[name] += time.process_time() - began
    return spent


def main(given: Sequence[str] = ()) -> None:
    repo, commits = Path(given[0]) if given else HERE, int(given[1]) if len(given) > 1 else 500
    texts = diffs(repo, commits)
    size = sum(len(text) for text in texts) / 1e6
    rounds = [one_round(texts) for _ in range(5)]
    rates = {name: size / median(spent[name] for spent in rounds) for name in READERS}
    times = median(spent["unidiff"] / spent["ours"] for spent in rounds)
    same = sum(ours(text) == theirs(text) for text in texts)
    listed = sum(len(parse_diff(text)) for text in texts)
    expected = len(log(repo, commits, "--name-only", "--format=").split())
    print(f"{len(texts)} diffs, {size:.1f} MB, {listed} files (git lists {expected}); {same} read to the same ranges")
    print(
        f"ours {rates['ours']:.1f} MB/s, unidiff {rates['unidiff']:.1f} MB/s: "
        f"{times:.1f} times ({rates['parse']:.1f} MB/s before ranges are asked for)"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
