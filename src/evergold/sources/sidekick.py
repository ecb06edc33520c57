"""The database of the Sidekick app → flows: completed tasks that worked in a git worktree.

The database belongs to the app. It is opened read-only, also while the app runs, and never migrated or written; an older one
may lack columns we can do without, a newer one may have more. Flows stream one at a time, whatever the size of
the database.

`action_result` holds the JSON *encoding* of a result, so a search in it would find `\\n` where a line ends. It is unwrapped
here, from all the shapes the app has written over time, before anybody looks at the text. Times are as a Go program writes them
into SQLite: RFC 3339 with nanoseconds, or what `time.Time.String()` prints. Python's datetime ends at microseconds; the order of
actions may be decided below that, so the nanoseconds stay in a number of their own.
"""

import os
import re
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import orjson

from evergold.errors import BadInput, NotFound, Unavailable
from evergold.model.flow import Action, Flow

_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)[T ](?P<clock>\d\d:\d\d:\d\d)(?:[.,](?P<fraction>\d{1,9})\d*)?"
    r" ?(?P<zone>Z|[+-]\d\d:?\d\d)?(?: [A-Za-z0-9+-]+)?(?: m=[+-][\d.]+)?"
)
DATABASE_NAME = "sidekick.core.db"
_NEEDED = {
    "workspaces": ("id", "local_repo_dir"),
    "tasks": ("workspace_id", "id", "description", "status"),
    "flows": ("id", "workspace_id", "parent_id"),
    "flow_actions": (
        "id",
        "flow_id",
        "workspace_id",
        "created",
        "action_type",
        "action_params",
        "action_status",
        "action_result",
    ),
    "worktrees": ("id", "flow_id", "name", "workspace_id"),
}
_OF_FLOW = "workspace_id = ? AND flow_id = ?"


def column_text(value: object) -> str | None:
    """A column as text: SQLite gives back bytes where bytes were bound."""
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def read_params(value: object, where: str, problems: list[str]) -> dict[str, Any]:
    """The arguments of an action; what cannot be read is named in `problems` and empty."""
    text = column_text(value)
    try:
        params = orjson.loads(text) if text and text.strip() else None
    except orjson.JSONDecodeError as problem:
        problems.append(f"{where}: column action_params is not JSON: {problem}")
        return {}
    if params is not None and not isinstance(params, dict):
        problems.append(f"{where}: column action_params is a JSON {type(params).__name__}, not an object")
    return params if isinstance(params, dict) else {}


def read_result(value: object, status: str, where: str, problems: list[str]) -> tuple[str | None, bool]:
    """(text, whether it is an error)."""
    text = column_text(value)
    if text is None or not text.strip():
        return None, status == "failed"
    # A failed action holds the plain text of its error, not JSON.
    if status == "failed" or text.startswith("failed: "):
        return text, True
    try:
        decoded = orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        problems.append(f"{where}: column action_result is not JSON: {problem}; its text is used as it stands")
        return text, False
    if decoded is None or isinstance(decoded, str):
        return decoded, False
    if isinstance(decoded, dict):
        # The shape of MCP tool results; `Response`/`IsError` is the app's older own.
        if isinstance(decoded.get("content"), list):
            parts = [block.get("text") for block in decoded["content"] if isinstance(block, dict)]
            return "\n".join(part for part in parts if isinstance(part, str)), bool(decoded.get("isError"))
        if "Response" in decoded:
            inner = decoded["Response"]
            return inner if isinstance(inner, str) else orjson.dumps(inner).decode(), bool(decoded.get("IsError"))
    return text, False


class GoTime(NamedTuple):
    """`nanoseconds` since 1970 orders moments exactly; `time` is the same to the microsecond, in UTC."""

    nanoseconds: int
    time: datetime


def parse_time(text: str) -> GoTime:
    """Raises ValueError for what is neither form, or no date of the calendar. No zone means UTC."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time (expected RFC 3339 or Go's time.String())")
    try:
        whole = datetime.fromisoformat(f"{match['day']}T{match['clock']}{match['zone'] or 'Z'}").astimezone(UTC)
    except OverflowError:
        raise ValueError(f"{text!r} lies outside the years 1 to 9999 in UTC") from None
    fraction = int((match["fraction"] or "").ljust(9, "0"))
    seconds = (whole - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
    return GoTime(seconds * 10**9 + fraction, whole + timedelta(microseconds=fraction // 1000))


def default_database() -> Path:
    """Where the app keeps its database: `$SIDE_DATA_HOME`, else the user's data folder."""
    if home := os.environ.get("SIDE_DATA_HOME"):
        return Path(home) / DATABASE_NAME
    fallback = "~/Library/Application Support" if sys.platform == "darwin" else "~/.local/share"
    data_home = os.environ.get("XDG_DATA_HOME") or os.path.expanduser(fallback)
    return Path(data_home) / "sidekick" / DATABASE_NAME


@dataclass(frozen=True)
class SidekickSource:
    """Flows of one workspace, in the order of their tasks' and their own ids."""

    workspace_id: str
    database: Path | None = None
    skip_archived: bool = False
    busy_seconds: float = 5.0

    @property
    def path(self) -> Path:
        return self.database or default_database()

    def repo_dir(self) -> str | None:
        """The repository the workspace was set up with."""
        with self._connect() as connection:
            return self._repo_dir(connection)

    def count(self) -> int:
        """How many flows `flows` will give: for a progress bar."""
        with self._connect() as connection:
            return sum(1 for _ in self._flow_rows(connection))

    def flow(self, flow_id: str) -> Flow | None:
        """One flow: what a reviewer of one of its cases wants to see."""
        return next(self.flows(flow_id), None)

    def flows(self, only: str | None = None) -> Iterator[Flow]:
        with self._connect() as connection:
            repo_dir = self._repo_dir(connection)
            reader = _ActionReader(connection, self.workspace_id)
            for row in self._flow_rows(connection):
                if only not in (None, row["flow_id"]):
                    continue
                actions, problems = reader.read(row["flow_id"])
                yield Flow(
                    id=row["flow_id"],
                    workspace_id=self.workspace_id,
                    task_id=row["task_id"],
                    title=column_text(row["title"]),
                    description=column_text(row["description"]),
                    branch=column_text(row["branch"]),
                    repo_dir=repo_dir,
                    actions=tuple(actions),
                    metadata={"working_directory": column_text(row["working_directory"]), "problems": problems},
                )

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        """A read-only connection; whatever SQLite says while it is used becomes an error of ours."""
        if not self.path.is_file():
            raise NotFound(f"no Sidekick database at {str(self.path)!r}; name it with --sidekick-db PATH")
        # Without the right to write, SQLite cannot make the shared-memory file of a WAL database; `immutable` needs none.
        options = "mode=ro" if os.access(self.path, os.W_OK) else "mode=ro&immutable=1"
        uri = f"file:{quote(str(self.path))}?{options}"
        try:
            # `with connection` would only end a transaction; closing releases the app's file.
            with closing(sqlite3.connect(uri, uri=True, timeout=self.busy_seconds)) as connection:
                connection.row_factory = sqlite3.Row
                _check_tables(connection, self.path)
                yield connection
        except sqlite3.OperationalError as problem:
            raise Unavailable(
                f"cannot read {str(self.path)!r}: {problem}; close what holds it, or give a copy with --sidekick-db"
            ) from problem
        except sqlite3.DatabaseError as problem:
            raise BadInput(f"{str(self.path)!r} cannot be read as a Sidekick database: {problem}") from problem

    def _repo_dir(self, connection: sqlite3.Connection) -> str | None:
        known = {column_text(row["id"]): row for row in connection.execute("SELECT * FROM workspaces ORDER BY id")}
        if self.workspace_id not in known:
            listed = ", ".join(str(name) for name in known) or "none"
            raise NotFound(f"no workspace {self.workspace_id!r} in {str(self.path)!r} (it has: {listed})")
        return column_text(known[self.workspace_id]["local_repo_dir"]) or None

    def _flow_rows(self, connection: sqlite3.Connection) -> Iterator[sqlite3.Row]:
        """One row per flow that has a worktree, with the branch of its newest one."""
        tasks, worktrees = _columns(connection, "tasks"), _columns(connection, "worktrees")
        # Columns that later versions of the app added are asked for only where they are there.
        archived = "t.archived" if "archived" in tasks else "NULL"
        rows = connection.execute(
            f"""
            SELECT f.id AS flow_id, t.id AS task_id, t.description AS description,
                   {"t.title" if "title" in tasks else "NULL"} AS title, {archived} AS archived, w.name AS branch,
                   {"w.working_directory" if "working_directory" in worktrees else "NULL"} AS working_directory
            FROM tasks t
            JOIN flows f ON f.parent_id = t.id AND f.workspace_id = t.workspace_id
            JOIN worktrees w ON w.workspace_id = f.workspace_id AND w.id = (
                SELECT id FROM worktrees WHERE flow_id = f.id AND workspace_id = f.workspace_id
                ORDER BY {"created" if "created" in worktrees else "id"} DESC LIMIT 1)
            WHERE t.workspace_id = ? AND t.status = 'complete'
            ORDER BY t.id, f.id
            """,
            (self.workspace_id,),
        )
        for row in rows:
            when = column_text(row["archived"]) or ""
            # A time; NULL, an empty text and Go's zero time mean not archived.
            is_archived = when not in ("", "0", "false") and not when.startswith("0001-01-01")
            if not (self.skip_archived and is_archived):
                yield row


class _ActionReader:
    """Reads the actions of a flow. Without an index on the flow, one pass notes in a temporary table where its rows are."""

    def __init__(self, connection: sqlite3.Connection, workspace_id: str) -> None:
        self._connection, self._workspace_id = connection, workspace_id
        human = "is_human_action"
        human = human if human in _columns(connection, "flow_actions") else f"0 AS {human}"
        fields = f"id, action_type, action_status, action_params, action_result, created, {human}"
        plan = connection.execute(f"EXPLAIN QUERY PLAN SELECT * FROM flow_actions WHERE {_OF_FLOW}", ("", ""))
        where = _OF_FLOW
        # SQLite's own words for a lookup by that column.
        if not any("flow_id=?" in row["detail"] for row in plan):
            connection.execute(
                "CREATE TEMP TABLE rows_of AS SELECT workspace_id, flow_id, rowid AS number FROM flow_actions"
            )
            connection.execute("CREATE INDEX temp.by_flow ON rows_of (workspace_id, flow_id)")
            where = f"rowid IN (SELECT number FROM rows_of WHERE {_OF_FLOW})"
        self._query = f"SELECT {fields} FROM flow_actions WHERE {where}"

    def read(self, flow_id: str) -> tuple[list[Action], list[str]]:
        """The actions in the order of (created, id), and what was wrong with their rows."""
        problems: list[str] = []
        rows = self._connection.execute(self._query, (self._workspace_id, flow_id))
        timed = [_action(row, problems) for row in rows]
        # In Python and not in SQL: times are texts of two forms, which do not sort.
        timed.sort(key=lambda item: (item[1].nanoseconds, item[0].id))
        return [action for action, _ in timed], problems


def _action(row: sqlite3.Row, problems: list[str]) -> tuple[Action, GoTime]:
    where = f"flow_actions row {row['id']!r}"
    try:
        moment = parse_time(column_text(row["created"]) or "")
    except ValueError as problem:
        raise BadInput(f"{where}: column created: {problem}") from problem
    status = column_text(row["action_status"]) or ""
    params = read_params(row["action_params"], where, problems)
    result, failed = read_result(row["action_result"], status, where, problems)
    action = Action(
        id=row["id"],
        type=column_text(row["action_type"]) or "",
        status=status,
        params=params,
        result=result,
        error=failed,
        created=moment.time,
        human=bool(row["is_human_action"]),
    )
    return action, moment


def _columns(connection: sqlite3.Connection, table: str) -> set[str]:
    return {row["name"] for row in connection.execute(f"PRAGMA table_info({table})")}


def _check_tables(connection: sqlite3.Connection, path: Path) -> None:
    for table, needed in _NEEDED.items():
        present = _columns(connection, table)
        missing = [name for name in needed if name not in present]
        if not present:
            raise BadInput(
                f"{str(path)!r} has no table {table!r}: it is no Sidekick database, or of an unknown version"
            )
        if missing:
            raise BadInput(
                f"table {table!r} of {str(path)!r} lacks {', '.join(missing)}: the database is of an unknown version; "
                "open it once with the Sidekick app it belongs to"
            )
