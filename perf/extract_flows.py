"""Extraction from a large Sidekick database: the rate, and whether memory stays flat.

    python -m perf.extract_flows --flows 10000 --actions 200 --result-kb 10     # 2 M actions, about 20 GB
    python -m perf.extract_flows --flows 10000 --actions 200 --result-kb 0.2    # 2 M actions, about 1.5 GB
    python -m perf.extract_flows                                                # 500 flows, a few hundred megabytes

Every hundredth flow has one result of 2 MB besides. Peak memory is measured in a process of its own, at the given size and at
a tenth of it: it must not grow with the number of flows. The goal is under 300 MB at any size.
"""

import argparse
import json
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

SCHEMA = """
CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT, local_repo_dir TEXT);
CREATE TABLE tasks (workspace_id TEXT, id TEXT, title TEXT, description TEXT, status TEXT, archived DATETIME);
CREATE TABLE flows (workspace_id TEXT, id TEXT, parent_id TEXT);
CREATE TABLE worktrees (id TEXT, flow_id TEXT, name TEXT, created DATETIME, workspace_id TEXT, working_directory TEXT);
CREATE TABLE flow_actions (id TEXT, flow_id TEXT, workspace_id TEXT, created DATETIME, action_type TEXT,
    action_params TEXT, action_status TEXT, action_result TEXT, is_human_action BOOLEAN, PRIMARY KEY (workspace_id, id));
INSERT INTO workspaces VALUES ('ws', 'Work', '');
"""
BIG_EVERY, BIG = 100, 2_000_000
DIFF = "diff --git a/{0} b/{0}\nindex 1111111..2222222 100644\n--- a/{0}\n+++ b/{0}\n@@ -3 +3 @@\n-old\n+new\n"


def actions(flow: int, count: int, size: int) -> Iterator[tuple[str, str, str, str]]:
    """(id, type, params, result) of one flow: reads, one query, one approved merge at the end."""
    for number in range(count - 2):
        code = "x = compute(value)\n" * ((BIG if flow % BIG_EVERY == number == 0 else size) // 20)
        lines = code.count("\n")
        path = f"src/module_{(flow + number) % 40}.py"
        params = {"file_lines": [{"file_path": path, "line_number": number + 50}], "window_size": 20}
        text = f"File: {path}\nLines: {number + 1}-{number + lines}\n```python\n{code}```\n"
        yield f"{flow}-{number:05}", "tool_call.read_file_lines", json.dumps(params), json.dumps(text)
    yield f"{flow}-{count:05}", "ranked_repo_summary", json.dumps({"rankQuery": f"Task number {flow}"}), '"ok"'
    info = {"sourceBranch": "b", "defaultTargetBranch": "main", "diff": DIFF.format(f"src/module_{flow % 40}.py")}
    yield (
        f"{flow}-{count + 1:05}",
        "user_request.approve.merge",
        json.dumps({"mergeApprovalInfo": info}),
        '{"Approved":true}',
    )


def fill(path: Path, flows: int, count: int, size: int) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode=OFF")
    connection.executescript(SCHEMA)
    for flow in range(flows):
        connection.execute("INSERT INTO tasks VALUES ('ws', ?, 'T', 'D', 'complete', NULL)", (f"t{flow:06}",))
        connection.execute("INSERT INTO flows VALUES ('ws', ?, ?)", (f"f{flow:06}", f"t{flow:06}"))
        connection.execute("INSERT INTO worktrees VALUES (?, ?, 'b', '', 'ws', '/w')", (f"w{flow}", f"f{flow:06}"))
        connection.executemany(
            "INSERT INTO flow_actions VALUES (?, ?, 'ws', ?, ?, ?, 'complete', ?, 0)",
            (
                (id, f"f{flow:06}", f"2026-01-02T15:04:05.{at:09}Z", kind, params, result)
                for at, (id, kind, params, result) in enumerate(actions(flow, count, size))
            ),
        )
    connection.commit()
    connection.close()


def extract_once(path: Path, out: Path) -> None:
    """In a process of its own: extract, then print cases, seconds and peak memory."""
    from evergold.extract.run import Extraction, extract_sidekick
    from evergold.sources.sidekick import SidekickSource

    began = time.perf_counter()
    summary = extract_sidekick(SidekickSource("ws", path), Extraction(out))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps([summary.counts["new"], time.perf_counter() - began, peak]))


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--flows", type=int, default=500)
    parser.add_argument("--actions", type=int, default=100)
    parser.add_argument("--result-kb", type=float, default=5)
    parser.add_argument("--once", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.once:
        extract_once(*given.once)
        return
    for flows in (max(1, given.flows // 10), given.flows):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "db"
            fill(path, flows, given.actions, int(given.result_kb * 1024))
            command = [sys.executable, "-m", "perf.extract_flows", "--once", str(path), f"{folder}/out"]
            cases, seconds, peak = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
            size = path.stat().st_size / 1e6
        print(f"{flows} flows, {size:.0f} MB: {cases} cases, {cases / seconds:.0f} flows/s, peak {peak:.0f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
