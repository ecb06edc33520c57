"""A real Sidekick database, with every shape of row the app has written over time."""

import json
import sqlite3
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT, local_repo_dir TEXT, created DATETIME, updated DATETIME);
CREATE TABLE tasks (workspace_id TEXT, id TEXT, title TEXT, description TEXT, status TEXT, archived DATETIME,
    created DATETIME, updated DATETIME, PRIMARY KEY (workspace_id, id));
CREATE TABLE flows (workspace_id TEXT, id TEXT, type TEXT, parent_id TEXT, status TEXT, created DATETIME,
    updated DATETIME, PRIMARY KEY (workspace_id, id));
CREATE TABLE flow_actions (id TEXT, flow_id TEXT, workspace_id TEXT, subflow_name TEXT, created DATETIME, updated DATETIME,
    action_type TEXT, action_params JSON, action_status TEXT, action_result TEXT, is_human_action BOOLEAN,
    PRIMARY KEY (workspace_id, id));
CREATE TABLE worktrees (id TEXT, flow_id TEXT, name TEXT, created DATETIME, workspace_id TEXT, working_directory TEXT,
    PRIMARY KEY (workspace_id, id));
"""
FLOW_INDEX = "CREATE INDEX idx_flow_actions_flow ON flow_actions (workspace_id, flow_id);"


class SidekickDb:
    """Rows are added in any order; times run by themselves, alternating between the two forms Go writes."""

    def __init__(self, path: Path, repo_dir: str = "", indexed: bool = False) -> None:
        self.path = path
        self.count = 0
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA journal_mode=WAL")
        self.connection.executescript(SCHEMA + (FLOW_INDEX if indexed else ""))
        self.insert("workspaces", id="ws", name="Work", local_repo_dir=repo_dir)

    def insert(self, table: str, **row: Any) -> None:
        names, marks = ", ".join(row), ", ".join("?" * len(row))
        self.connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", tuple(row.values()))
        self.connection.commit()

    def task(self, id: str = "task", status: str = "complete", **row: Any) -> None:
        row = {"title": "T", "description": "Do it", "archived": None} | row
        self.insert("tasks", workspace_id="ws", id=id, status=status, **row)

    def flow(self, id: str = "flow", task: str = "task", branch: str | None = "side/feat", folder: str = "/wt") -> None:
        self.insert("flows", workspace_id="ws", id=id, type="basic_dev", parent_id=task, status="complete")
        if branch is not None:
            self.insert(
                "worktrees",
                id=f"w-{id}",
                flow_id=id,
                name=branch,
                workspace_id="ws",
                working_directory=folder,
                created=self.now(),
            )

    def action(self, type: str, params: Any = None, result: Any = None, **row: Any) -> str:
        """`params` is encoded as JSON, and so is `result` unless it is bytes or `raw=True`."""
        raw = row.pop("raw", False)
        row = {
            "id": f"a{self.count:04}",
            "flow_id": "flow",
            "action_status": "complete",
            "is_human_action": False,
        } | row
        row.setdefault("created", self.now())
        self.insert(
            "flow_actions",
            workspace_id="ws",
            action_type=type,
            action_params=params if isinstance(params, bytes) else json.dumps(params or {}),
            action_result=result if raw or isinstance(result, bytes) else json.dumps(result),
            **row,
        )
        return str(row["id"])

    def approval(self, diff: str | bytes, approved: bool | None = True, branch: str = "side/feat", **more: Any) -> str:
        text = diff.decode() if isinstance(diff, bytes) else diff
        info = {"sourceBranch": branch, "defaultTargetBranch": "main", "diff": text}
        since = more.pop("since", None)
        if since is not None:
            info["diffSinceLastReview"] = since.decode() if isinstance(since, bytes) else since
        answer = {
            "Approved": approved,
            "Content": more.pop("content", ""),
            "Choice": "",
            "Params": {"targetBranch": "main"},
        }
        return self.action(
            "user_request.approve.merge", {"mergeApprovalInfo": info}, answer, is_human_action=True, **more
        )

    def query(self, text: Any = "Add the feature") -> str:
        return self.action("ranked_repo_summary", {"rankQuery": text, "charLimit": 1000}, "summary")

    def now(self) -> str:
        """The next moment: nanoseconds apart from the last one, in one of the two forms."""
        self.count += 1
        fraction = f"{self.count:09}"
        if self.count % 2:
            return f"2026-01-02T15:04:05.{fraction}Z"
        return f"2026-01-02 15:04:05.{fraction} +0000 UTC m=+1.{self.count}"
