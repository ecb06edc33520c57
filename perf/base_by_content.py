"""Base commits of cases whose branches are gone: how many are found by content, how many are wrong, how long it takes.

    git clone https://github.com/django/django                       # or any large repository
    python -m perf.base_by_content REPO --commits 2000

The first-parent history of the repository is replayed on a target branch: every second case is one commit, the others two
commits squashed into one. A Sidekick database has one approved merge per case, with the diff of the case. The extraction is
run with the branches present and again after all of them are deleted. A base is right when the blob of every golden path there is
the blob at the true base. Goals: at least 98 % found, none wrong, at most three times the time with branches.
"""

import argparse
import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evergold.extract.run import Extraction, extract_sidekick
from evergold.sources.sidekick import SidekickSource
from perf.extract_flows import SCHEMA

AUTHOR = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "A"), ("EMAIL", "a@example.org"), ("DATE", "2026-01-02T03:04:05Z"))
}


class Work(NamedTuple):
    """One case: its branch, the commit it started from on the target, and the diff that was approved."""

    branch: str
    base: str
    diff: str


def git(repo: Path, *arguments: str, data: bytes | None = None) -> str:
    done = subprocess.run(
        ["git", "-C", str(repo), *arguments], input=data, check=True, capture_output=True, env=os.environ | AUTHOR
    )
    return done.stdout.decode("utf-8", "surrogateescape").strip("\n")


def replayed(repo: Path, commits: int) -> Iterator[Work]:
    """Write the target branch `main` and a branch per case; the diff of a case is that of its one or two commits."""
    chain = git(repo, "rev-list", "--first-parent", "--reverse", "HEAD").split()[-commits - 1 :]
    target = git(repo, "commit-tree", f"{chain[0]}^{{tree}}", "-m", "start")
    refs, at, number = [], 0, 0
    while at + 1 < len(chain):
        steps = chain[at + 1 : at + 2 + number % 2]
        diff = git(repo, "diff", "-M", "--full-index", "--no-color", chain[at], steps[-1])
        tip = target
        for step in steps:
            tip = git(repo, "commit-tree", f"{step}^{{tree}}", "-p", tip, "-m", f"work of case {number}")
        if diff:
            yield Work(f"case-{number}", target, diff + "\n")
        refs.append(f"create refs/heads/case-{number} {tip}\n")
        target = git(repo, "commit-tree", f"{steps[-1]}^{{tree}}", "-p", target, "-m", f"Squashed case {number}")
        at, number = at + len(steps), number + 1
    refs.append(f"create refs/heads/evergold-target {target}\n")
    git(repo, "update-ref", "--stdin", data="".join(refs).encode())


def written(path: Path, repo: Path, works: Sequence[Work]) -> None:
    """A Sidekick database with one flow and one approved merge per case."""
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA)
        connection.execute("UPDATE workspaces SET local_repo_dir = ?", (str(repo),))
        for work in works:
            id = work.branch
            info = {"sourceBranch": work.branch, "defaultTargetBranch": "evergold-target", "diff": work.diff}
            merge = json.dumps({"mergeApprovalInfo": info}, ensure_ascii=True)
            connection.execute("INSERT INTO tasks VALUES ('ws', ?, 'T', 'D', 'complete', NULL)", (id,))
            connection.execute("INSERT INTO flows VALUES ('ws', ?, ?)", (id, id))
            connection.execute("INSERT INTO worktrees VALUES (?, ?, 'b', '', 'ws', '/w')", (id, id))
            query = (f"{id}-1", id, "2026-01-02T15:04:05.1Z", "ranked_repo_summary", '{"rankQuery":"Q"}', '"ok"')
            asked = (f"{id}-2", id, "2026-01-02T15:04:05.2Z", "user_request.approve.merge", merge, '{"Approved":true}')
            for row in (query, asked):
                connection.execute("INSERT INTO flow_actions VALUES (?, ?, 'ws', ?, ?, ?, 'complete', ?, 0)", row)


def extracted(database: Path, repo: Path, out: Path) -> tuple[dict[str, tuple[str | None, list[str]]], float, float]:
    """Extract everything; the base and the paths of each flow, wall seconds, and CPU seconds with git's."""
    began, before = time.perf_counter(), os.times()
    extract_sidekick(SidekickSource("ws", database), Extraction(out), repo)
    wall, after = time.perf_counter() - began, os.times()
    cpu = sum(after[:4]) - sum(before[:4])
    (rows,) = (path for path in out.iterdir() if "dataset_a" in path.name and path.suffix == ".jsonl")
    found = {}
    for line in rows.read_text(encoding="utf-8").split("\n"):
        if line:
            row = json.loads(line)
            found[row["flowId"]] = (row.get("baseCommit"), [file["path"] for file in row.get("filePaths", [])])
    return found, wall, cpu


def wrong_paths(repo: Path, base: str, true: str, paths: Sequence[str]) -> list[str]:
    """The golden paths whose blob differs between the base that was found and the true one."""
    if base == true:
        return []
    changed = set(git(repo, "diff", "--name-only", "-z", "--no-renames", base, true).split("\0"))
    return [path for path in paths if path in changed]


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repo", type=Path)
    parser.add_argument("--commits", type=int, default=2000)
    given = parser.parse_args(arguments or None)
    with tempfile.TemporaryDirectory() as folder:
        repo = Path(folder) / "repo"
        git(Path(folder), "clone", "--quiet", "--bare", "--shared", str(given.repo.resolve()), str(repo))
        works = list(replayed(repo, given.commits))
        database = Path(folder) / "db"
        written(database, repo, works)
        git(repo, "pack-refs", "--all")
        _, tips_wall, tips_cpu = extracted(database, repo, Path(folder) / "with")
        gone = "".join(f"delete refs/heads/{work.branch}\n" for work in works)
        git(repo, "update-ref", "--stdin", data=gone.encode())
        found, wall, cpu = extracted(database, repo, Path(folder) / "without")
        bases = {work.branch: found.get(work.branch, (None, []))[0] for work in works}
        wrong = {
            work.branch: bad
            for work in works
            if (base := bases[work.branch]) and (bad := wrong_paths(repo, base, work.base, found[work.branch][1]))
        }
    known = sum(base is not None for base in bases.values())
    print(
        f"{given.commits} commits, {len(works)} cases, every second one squashed from two commits; all branches deleted"
    )
    print(f"bases found {known} ({known / len(works):.1%}), wrong {len(wrong)} {list(wrong.items())[:3]}")
    print(f"missing {[branch for branch, base in bases.items() if base is None][:5]}")
    print(
        f"CPU {cpu:.1f} s against {tips_cpu:.1f} s with branches: {cpu / tips_cpu:.2f} times (wall {wall / tips_wall:.2f})"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
