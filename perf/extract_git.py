"""Extraction from git history: is it right, and is it as fast as git?

    git clone https://github.com/django/django                      # or any large repository
    python -m perf.extract_git check REPO --commits 2000            # golden lines against an independent count
    python -m perf.extract_git speed REPO --commits 1500            # rate against one bare `git diff-tree`

`check` counts the base lines of every commit from the text of `git log -p -U0`, with a few lines of code that share nothing with
the parser, and compares sets of (path, line). The goal is no mismatch. `speed` runs the extraction (files written and
flushed) and `git diff-tree --stdin -M -U0` over the same commits in turn; the goal is at least 80 % of git's rate.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from evergold.extract.golden import Extracted
from evergold.extract.history import HistoryQuery, HistoryRules, history_cases
from evergold.extract.messages import CommitKind
from evergold.extract.run import Extraction, extract_history
from evergold.repo.git import Repo, path_text, unquote

EVERYTHING = HistoryRules(max_files=10**9, kinds=tuple(CommitKind), min_words=0, noise=True)
Lines = set[tuple[str, int]]


def git(repo: Path, *args: str, data: bytes | None = None) -> bytes:
    return subprocess.run(["git", "-C", str(repo), *args], input=data, check=True, capture_output=True).stdout


def counted(repo: Path, commits: int) -> dict[str, Lines]:
    """Base lines per commit, from hunk headers alone."""
    log = git(repo, "log", f"-{commits}", "--first-parent", "-m", "-p", "-U0", "-M", "--full-index", "--format=%x00%H")
    lengths: dict[str, int] = {}
    found: dict[str, Lines] = defaultdict(set)
    commit = path = blob = ""
    for line in log.split(b"\n"):
        if line.startswith(b"\0"):
            commit = line[1:].decode()
            found[commit] = set()
        elif line.startswith(b"index "):
            blob = line.split(b" ")[1].split(b"..")[0].decode()
            is_link = line.endswith(b" 160000")
        elif line.startswith(b"--- "):
            spelled = unquote(line[4:].rstrip(b"\t"))
            path = "" if spelled == b"/dev/null" or is_link else path_text(spelled[2:])
        elif path and (match := re.match(rb"@@ -(\d+)(?:,(\d+))? \+", line)):
            start, count = int(match[1]), int(match[2] or 1)
            if blob not in lengths:
                content = git(repo, "cat-file", "blob", blob)
                lengths[blob] = content.count(b"\n") + (not content.endswith(b"\n") and content != b"")
            touched = range(start, start + count) if count else (start, start + 1)
            found[commit] |= {(path, number) for number in touched if 1 <= number <= lengths[blob]}
    return found


def check(repo_dir: Path, commits: int) -> int:
    expected = counted(repo_dir, commits)
    ours: dict[str, Lines] = {}
    with Repo.open(repo_dir) as repo:
        for item in history_cases(repo, EVERYTHING, HistoryQuery(repo.path, first_parent=True)):
            if isinstance(item, Extracted) and item.case.id in expected:
                ours[item.case.id] = {(r.path, line) for r in item.case.ranges for line in range(r.start, r.end + 1)}
            if len(ours) >= sum(bool(lines) for lines in expected.values()):
                break
    wrong = [commit for commit, lines in expected.items() if ours.get(commit, set()) != lines]
    total = sum(len(lines) for lines in expected.values())
    print(f"{len(expected)} commits, {total} golden base lines, {len(wrong)} mismatches {wrong[:5]}")
    return len(wrong)


def speed(repo_dir: Path, commits: int, repeats: int) -> None:
    listed = git(repo_dir, "rev-list", "--first-parent", "--min-parents=1", f"-{commits}", "HEAD", "--parents").decode()
    pairs = "".join(" ".join(line.split()[:2]) + "\n" for line in listed.splitlines()).encode()
    bare, ours, cases = [], [], 0
    for _ in range(repeats):
        began = time.perf_counter()
        git(repo_dir, "diff-tree", "--stdin", "-r", "-p", "-M", "-U0", data=pairs)
        bare.append(time.perf_counter() - began)
        with tempfile.TemporaryDirectory() as folder:
            began = time.perf_counter()
            wish = HistoryQuery(repo_dir, first_parent=True, since=f"HEAD~{commits}")
            summary = extract_history(wish, Extraction(Path(folder)), EVERYTHING)
            ours.append(time.perf_counter() - began)
            cases = summary.counts["new"]
    theirs, mine = commits / median(bare), commits / median(ours)
    print(
        f"bare git diff-tree {theirs:.0f} commits/s; extraction {mine:.0f} commits/s ({cases} cases): {mine / theirs:.0%}"
    )


def main(arguments: Sequence[str] = ("check", ".", "--commits", "100")) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["check", "speed"])
    parser.add_argument("repo", type=Path)
    parser.add_argument("--commits", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args(arguments)
    if given.what == "speed":
        speed(given.repo, given.commits, given.repeats)
    elif check(given.repo, given.commits):
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
