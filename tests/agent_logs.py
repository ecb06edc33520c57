"""Session logs as agents write them, made while really working in a repository: reads show the file that is there."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.repos import GitRepo


class ClaudeLog:
    """A log of Claude Code over a repository of a test; every step takes a second of the repository's clock."""

    def __init__(self, repo: GitRepo, path: Path, session: str = "s-1", branch: str = "main") -> None:
        self.repo, self.path, self.session, self.branch = repo, path, session, branch
        self.cwd = str(repo.path)
        self.count = 0
        path.parent.mkdir(parents=True, exist_ok=True)

    def event(self, type: str, **fields: Any) -> str:
        self.count += 1
        self.repo.minutes += 1
        time = datetime(2026, 1, 2, 3, tzinfo=UTC) + timedelta(seconds=self.repo.minutes)
        uuid = fields.pop("uuid", f"{self.session}-{self.count}")
        event = {
            "type": type,
            "sessionId": self.session,
            "uuid": uuid,
            "cwd": self.cwd,
            "gitBranch": self.branch,
            "timestamp": time.isoformat().replace("+00:00", "Z"),
            **fields,
        }
        self.line(json.dumps(event))
        return str(uuid)

    def line(self, text: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(text + "\n")

    def ask(self, text: str | list[Any], **fields: Any) -> None:
        self.event("user", message={"role": "user", "content": text}, **fields)

    def call(self, name: str, result: Any, details: Any = None, error: bool = False, **given: Any) -> None:
        """A call and its result, as two messages."""
        id = f"toolu_{self.session}_{self.count}"
        self.event("assistant", message={"content": [{"type": "tool_use", "id": id, "name": name, "input": given}]})
        block = {"type": "tool_result", "tool_use_id": id, "content": result, "is_error": error}
        self.event("user", message={"role": "user", "content": [block]}, toolUseResult=details)

    def read(self, name: str, offset: int = 1, limit: int = 2000) -> None:
        lines = (self.repo.path / name).read_text().splitlines()[offset - 1 : offset - 1 + limit]
        given: dict[str, Any] = {"file_path": f"{self.cwd}/{name}"}
        if (offset, limit) != (1, 2000):
            given |= {"offset": offset, "limit": limit}
        self.call("Read", "\n".join(f"{number:>6}→{line}" for number, line in enumerate(lines, offset)), **given)

    def edit(self, name: str, old: str, new: str, noted: bool = True) -> None:
        """Change the file and log it; `noted`: with what the program keeps beside the result."""
        path = self.repo.path / name
        before = path.read_text()
        assert old in before
        path.write_text(before.replace(old, new, 1))
        details = {"filePath": str(path), "originalFile": before} if noted else None
        self.call(
            "Edit", f"The file {path} has been updated.", details, file_path=str(path), old_string=old, new_string=new
        )

    def bash(self, command: str, output: str, error: bool = False) -> None:
        self.call("Bash", output, error=error, command=command)

    def commit(self, message: str, told: bool = True) -> str:
        """Commit what the work tree holds; `told`: by the agent, so that its log shows it."""
        commit = self.repo.commit(message=message)
        if told:
            self.bash(f'git commit -m "{message}"', f"[{self.branch} {commit[:7]}] {message}\n 1 file changed")
        return commit
