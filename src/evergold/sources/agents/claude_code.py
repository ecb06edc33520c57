"""Session logs of Claude Code → flows: one JSON object per line, a file per session, a folder per working directory.

A session may lie in several files: a resumed one is copied into a new file (same messages, another session id), and its
sub-agents write files of their own or report inside the session's file as `progress`. Files that share a session id or their
first message are one session, and a message counts once however often it is repeated.
"""

import os
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from evergold.errors import NotFound
from evergold.model.flow import Action, Flow
from evergold.repo.git import Repo
from evergold.repo.history import checkouts
from evergold.sources.agents.log_lines import (
    EPOCH,
    FlowFiles,
    LogLines,
    moment,
    numbered_lines,
    parse_object,
    request_in,
    request_in_refusal,
    text_in,
    text_of_blocks,
)

AGENT = "claude-code"
_HEAD_LINES = 50
_NOT_A_LETTER = re.compile(r"[^A-Za-z0-9]")
_WORTH_KEEPING = ("structuredPatch", "originalFile", "filePath", "content", "type", "file", "stdout", "filenames")


def default_projects() -> Path:
    """Where Claude Code keeps its logs: `$CLAUDE_CONFIG_DIR/projects`, else `~/.claude/projects`."""
    return Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude") / "projects"


def folder_name(directory: Path) -> str:
    """The name of the log folder of a working directory: every sign that is no letter or digit is a dash."""
    return _NOT_A_LETTER.sub("-", str(directory))


@dataclass(frozen=True)
class ClaudeCodeSource(FlowFiles):
    """Sessions of all projects, of one repository (`project` is its folder), or of a folder of log files."""

    project: Path | None = None
    projects: Path | None = None

    def files(self) -> list[Path]:
        """The log files, sorted; raises NotFound where there is nothing to read."""
        root = self.projects or default_projects()
        if self.project is None:
            if not root.is_dir():
                raise NotFound(
                    f"no Claude Code logs at {str(root)!r}; set CLAUDE_CONFIG_DIR, or give a folder with --project DIR"
                )
            return sorted(root.glob("*/**/*.jsonl"))
        if not self.project.is_dir():
            raise NotFound(
                f"no folder {str(self.project)!r}; give a repository, or a folder of log files, with --project"
            )
        files = self._of_repository(root, self.project.resolve()) or sorted(self.project.rglob("*.jsonl"))
        if not files:
            raise NotFound(f"no Claude Code session of {str(self.project)!r} in {str(root)!r}, and no log file in it")
        return files

    def sessions(self) -> list[list[Path]]:
        """Files that belong together, in the order of their names."""
        groups: dict[str, list[Path]] = {}
        for path in self.files():
            keys = _identities(path) or [str(path)]
            known = [groups[key] for key in keys if key in groups]
            group = known[0] if known else []
            # A file may tie two groups together: its session id is in one, its first message in the other.
            for other in known[1:]:
                if other is not group:
                    group += other
                    groups.update({key: group for key, value in groups.items() if value is other})
            group.append(path)
            groups.update(dict.fromkeys(keys, group))
        # Several keys point to one list; by identity each group is given once.
        return list({id(group): group for group in groups.values()}.values())

    @staticmethod
    def read(paths: list[Path]) -> Flow:
        return read_session(paths)

    def _of_repository(self, root: Path, repository: Path) -> list[Path]:
        """Logs of the repository's work trees and of folders inside them; a longer name may also be a neighbour's."""
        paths: list[Path] = []
        for checkout in _checkouts(repository):
            name = folder_name(checkout)
            for folder in sorted(root.glob(f"{name}*")) if root.is_dir() else []:
                files = sorted(folder.rglob("*.jsonl"))
                # `-home-jo-app` also begins `-home-jo-app-two`: of a longer name the working folder in its first file
                # decides.
                if folder.name == name or any(_worked_in(path, checkout) for path in files[:1]):
                    paths += files
        return list(dict.fromkeys(paths))


def read_session(paths: list[Path]) -> Flow:
    """One session as a flow. What could not be read is listed under `problems` of its metadata."""
    lines = LogLines(paths)
    reader = _SessionReader()
    for event in lines:
        reader.take(event)
    actions = sorted(reader.actions.values(), key=lambda action: action.created)
    if not reader.session_id and not actions and not lines.problems:
        lines.problems.append(f"{paths[0]}: no session of Claude Code: no line has a session id")
    return Flow(
        id=reader.session_id or paths[0].stem,
        agent=AGENT,
        title=reader.title,
        branch=reader.branch,
        repo_dir=reader.cwd,
        actions=tuple(actions),
        metadata={
            "problems": lines.problems,
            "names": {**dict.fromkeys(sorted(reader.names)), **_checkpoints(paths)},
            "unknownEvents": reader.unknown,
        },
    )


@dataclass
class _SessionReader:
    """Turns events into actions; a tool call becomes one when it is made, and gets its result when that arrives."""

    actions: dict[str, Action] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    session_id: str = ""
    title: str | None = None
    cwd: str | None = None
    branch: str | None = None
    unknown: dict[str, int] = field(default_factory=dict)
    _time: datetime = EPOCH

    def take(self, event: dict[str, Any]) -> None:
        session = event.get("sessionId")
        if isinstance(session, str) and session:
            self.session_id = self.session_id or session
            self.names.add(session)
        if isinstance(event.get("cwd"), str):
            self.cwd = self.cwd or event["cwd"]
        if isinstance(event.get("gitBranch"), str):
            # The last branch wins, since work may begin on another; the first folder does, since `cd` comes later.
            self.branch = event["gitBranch"] or self.branch
        kind = event.get("type")
        if kind in ("user", "assistant"):
            self._message(event, event, bool(event.get("isSidechain")))
        elif kind == "progress":
            self._progress(event)
        elif kind == "summary":
            self.title = self.title or text_in(event.get("summary"))
        elif kind == "queue-operation":
            # A message typed while the agent worked; where it is also sent as a message of its own, that one counts.
            self._time = moment(event.get("timestamp"), self._time)
            if event.get("operation") == "enqueue":
                text = text_of_blocks(event.get("content"))
                self._request(text, f"queued {self._time.isoformat()}", event)
        elif kind not in ("system", "file-history-snapshot", "pr-link", "attachment"):
            self.unknown[str(kind)] = self.unknown.get(str(kind), 0) + 1

    def _progress(self, event: dict[str, Any]) -> None:
        data = event.get("data")
        inner = data.get("message") if isinstance(data, dict) and data.get("type") == "agent_progress" else None
        if isinstance(inner, dict):
            self._message(inner, event, sidechain=True)

    def _message(self, event: dict[str, Any], around: dict[str, Any], sidechain: bool) -> None:
        message = event.get("message")
        if not isinstance(message, dict):
            return
        self._time = moment(event.get("timestamp"), self._time)
        content = message.get("content")
        blocks = content if isinstance(content, list) else []
        for block in blocks:
            if not isinstance(block, dict):
                continue
            if block.get("type") == "tool_use":
                self._call(block, around, sidechain)
            elif block.get("type") == "tool_result":
                self._result(block, event)
        # Tool results come as user messages too; they were taken above, and hold no text blocks.
        mine = event.get("type") == "user" and not sidechain
        if mine and not event.get("isMeta") and not event.get("isCompactSummary"):
            texts = [block for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
            self._request(text_of_blocks(texts or content), str(event.get("uuid") or len(self.actions)), around)

    def _request(self, text: str, id: str, around: dict[str, Any]) -> None:
        if request := request_in(text):
            self._put("user_request", id, around, human=True, params={"text": request})

    def _call(self, block: dict[str, Any], around: dict[str, Any], sidechain: bool) -> None:
        name, given = block.get("name"), block.get("input")
        if isinstance(name, str) and isinstance(block.get("id"), str):
            params = given if isinstance(given, dict) else {}
            self._put(f"tool_call.{name}", block["id"], around, sidechain=sidechain, params=params, status="started")

    def _put(self, type: str, id: str, around: dict[str, Any], **more: Any) -> None:
        # A resumed session repeats its messages: the first one counts.
        if id not in self.actions:
            where = {"cwd": text_in(around.get("cwd")), "branch": text_in(around.get("gitBranch"))}
            self.actions[id] = Action(id=id, type=type, created=self._time, **where, **more)

    def _result(self, block: dict[str, Any], event: dict[str, Any]) -> None:
        id = block.get("tool_use_id")
        call = self.actions.get(id) if isinstance(id, str) else None
        # A repeated result changes nothing.
        if call is None or call.status != "started":
            return
        text = text_of_blocks(block.get("content"))
        failed = bool(block.get("is_error")) or text.startswith("<tool_use_error>")
        noted = event.get("toolUseResult")
        details = {key: noted[key] for key in _WORTH_KEEPING if key in noted} if isinstance(noted, dict) else {}
        update = {"result": text, "error": failed, "status": "failed" if failed else "complete", "details": details}
        self.actions[call.id] = call.model_copy(update=update)
        if failed and not call.sidechain and (request := request_in_refusal(text)):
            self._put("user_request", f"{call.id} refused", event, human=True, params={"text": request})


def _identities(path: Path) -> list[str]:
    """What ties a file to others: the session id, and the first message (copied when a session is resumed)."""
    session = first = ""
    for number, line in numbered_lines(path):
        event = parse_object(line) or {}
        session = session or text_in(event.get("sessionId")) or ""
        if event.get("type") in ("user", "assistant") and not event.get("isSidechain"):
            first = first or text_in(event.get("uuid")) or ""
        if (session and first) or number >= _HEAD_LINES:
            break
    return [key for key in (session, first) if key]


def _checkouts(repository: Path) -> list[Path]:
    """The folder itself, and the other work trees of the repository it is a checkout of."""
    try:
        with Repo.open(repository) as repo:
            return list(dict.fromkeys([repository, *checkouts(repo)]))
    except NotFound:
        return [repository]


def _worked_in(path: Path, repository: Path) -> bool:
    for number, line in numbered_lines(path):
        cwd = text_in((parse_object(line) or {}).get("cwd"))
        if cwd:
            return Path(cwd).is_relative_to(repository)
        if number >= _HEAD_LINES:
            break
    return False


def _checkpoints(paths: list[Path]) -> dict[str, datetime]:
    """Names that tools which archive sessions write beside them and into the commits that came of them, with the time."""
    times: dict[str, datetime] = {}
    for path in paths:
        beside = path.with_name("metadata.json")
        details = parse_object(beside.read_bytes()) if beside.is_file() else None
        if details and (name := text_in(details.get("checkpoint_id"))):
            times[name] = max(moment(details.get("created_at")), times.get(name, EPOCH))
    return times
