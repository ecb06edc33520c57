"""Session logs of the Codex CLI ("rollouts") → flows: `{"timestamp", "type", "payload"}` per line, a file per session.

`session_meta` says where and on which branch the session began, `turn_context` where a turn works, `response_item` holds
messages, calls and their outputs. `event_msg` repeats much of that for the screen; of it, only the user's own messages and failed
patches are taken. Arguments of functions are JSON inside a string; outputs are text with a heading. The threads of sub-agents
are files of their own that share the session's id.
"""

import os
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import NotFound
from evergold.model.flow import Action, Flow
from evergold.sources.agents.log_lines import (
    EPOCH,
    FlowFiles,
    LogLines,
    moment,
    numbered_lines,
    parse_object,
    request_in,
    text_of_blocks,
)

AGENT = "codex"
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_PLAIN = ".jsonl"
_KNOWN = (_PLAIN, ".zst")
_COPY = "copy of a message"
_HEADING = re.compile(
    r"(?:(?:Chunk ID|Exit code|Wall time|Process|Original token count|Total output lines)[^\n]*\n)+Output:\n"
)
_EXIT = re.compile(r"(?:Exit code: |Process exited with code )(-?\d+)")


def default_folders() -> list[Path]:
    """Where Codex keeps its logs: `sessions` and `archived_sessions` of `$CODEX_HOME`, else of `~/.codex`."""
    home = Path(os.environ.get("CODEX_HOME") or Path.home() / ".codex")
    return [home / "sessions", home / "archived_sessions"]


@dataclass(frozen=True)
class CodexSource(FlowFiles):
    """All sessions, or those in a folder of log files."""

    folder: Path | None = None

    def files(self) -> list[Path]:
        folders = [self.folder] if self.folder else default_folders()
        files = [path for folder in folders for path in sorted(folder.rglob("*.jsonl*")) if path.suffix in _KNOWN]
        if not files:
            raise NotFound(
                f"no Codex sessions at {str(folders[0])!r}; set CODEX_HOME, or give a folder with --sessions DIR"
            )
        return files

    def sessions(self) -> list[list[Path]]:
        """The files of each session: its own, and those of its sub-agents."""
        groups: dict[str, list[Path]] = {}
        for path in self.files():
            # The session of a compressed file is not known, so it is a group of its own that only says so.
            plain = path.suffix == _PLAIN
            groups.setdefault((_session_of(path) if plain else None) or str(path), []).append(path)
        return list(groups.values())

    @staticmethod
    def read(paths: list[Path]) -> Flow:
        return read_rollouts(paths)


def read_rollouts(paths: list[Path]) -> Flow:
    """The files of one session as a flow. What could not be read is listed under `problems` of its metadata."""
    readers: list[_RolloutReader] = []
    problems: list[str] = []
    for path in paths:
        if path.suffix != _PLAIN:
            problems.append(f"{path}: it is compressed; unpack it beside this file with: zstd -d FILE")
            readers.append(_RolloutReader())
            continue
        lines, reader = LogLines([path]), _RolloutReader()
        for line in lines:
            reader.take(line)
        problems += lines.problems
        if not reader.id and not reader.actions and not lines.problems:
            problems.append(f"{path}: no session of Codex: it has neither session_meta nor calls")
        readers.append(reader)
    # The session's own file; where only those of sub-agents are left, one of them stands in.
    main = next((reader for reader in readers if not reader.sidechain), readers[0])
    names = [name for reader in readers for name in (reader.id, reader.session) if name]
    steps = [action for reader in readers for action in reader.steps()]
    return Flow(
        id=main.id or paths[0].stem,
        agent=AGENT,
        branch=main.branch,
        repo_dir=main.first_cwd,
        actions=tuple(sorted(steps, key=lambda action: action.created)),
        metadata={"problems": problems, "names": dict.fromkeys(names)},
    )


@dataclass
class _RolloutReader:
    """Turns the lines of one file into steps."""

    actions: dict[str, Action] = field(default_factory=dict)
    id: str = ""
    session: str = ""
    sidechain: bool = False
    cwd: str | None = None
    first_cwd: str | None = None
    branch: str | None = None
    _time: datetime = EPOCH
    _spoken: bool = False

    def take(self, line: dict[str, Any]) -> None:
        self._time = moment(line.get("timestamp"), self._time)
        kind, payload = line.get("type"), line.get("payload")
        if "payload" not in line:  # the first versions wrote the items bare, below a heading without a type
            kind, payload = "response_item" if kind else "session_meta", line
        if not isinstance(payload, dict):
            return
        if kind == "session_meta":
            self._session(payload)
        elif kind == "turn_context":
            self._change_folder(payload.get("cwd"))
        elif kind == "response_item":
            self._item(payload)
        elif kind == "event_msg":
            self._event(payload)

    def steps(self) -> list[Action]:
        """Where the log has the user's own messages, the copies the model was given are left out."""
        return [action for action in self.actions.values() if not (self._spoken and action.id.startswith(_COPY))]

    def _session(self, payload: dict[str, Any]) -> None:
        if self.id:  # a forked session repeats the heading of the one it came from
            return
        self.id = str(payload.get("id") or "")
        self.session = str(payload.get("session_id") or "")
        self.sidechain = bool(payload.get("parent_thread_id"))
        self._change_folder(payload.get("cwd"))
        git = payload.get("git")
        if isinstance(git, dict) and isinstance(git.get("branch"), str):
            self.branch = git["branch"]

    def _change_folder(self, cwd: object) -> None:
        if isinstance(cwd, str) and cwd:
            self.cwd = cwd
            self.first_cwd = self.first_cwd or cwd

    def _item(self, item: dict[str, Any]) -> None:
        kind = item.get("type")
        if kind in _CALLS:
            self._call(item)
        elif kind in _OUTPUTS:
            self._output(item)
        elif kind == "message" and item.get("role") == "user" and not self.sidechain:
            self._request(text_of_blocks(item.get("content")), f"{_COPY} {len(self.actions)}")

    def _event(self, event: dict[str, Any]) -> None:
        if event.get("type") == "user_message" and not self.sidechain:
            # From now on the copies of messages that the model was given are left out: they hold instructions as well.
            self._spoken = True
            self._request(text_of_blocks(event.get("message")), f"request {len(self.actions)}")
        elif event.get("type") == "patch_apply_end" and event.get("success") is False:
            # The output of a failed patch looks like any other; only this event says that it failed.
            call = self.actions.get(str(event.get("call_id")))
            if call is not None:
                self.actions[call.id] = call.model_copy(update={"error": True, "status": "failed"})

    def _request(self, text: str, id: str) -> None:
        if request := request_in(text):
            self._put("user_request", id, human=True, params={"text": request})

    def _call(self, item: dict[str, Any]) -> None:
        id = str(item.get("call_id") or item.get("id") or f"call {len(self.actions)}")
        name = str(item.get("name") or "local_shell")
        self._put(f"tool_call.{name}", id, status="started", params=_arguments(item), sidechain=self.sidechain)

    def _put(self, type: str, id: str, **more: Any) -> None:
        where = {"cwd": self.cwd, "branch": self.branch}
        self.actions[id] = Action(id=id, type=type, created=self._time, **where, **more)

    def _output(self, item: dict[str, Any]) -> None:
        call = self.actions.get(str(item.get("call_id")))
        if call is None:
            return
        text, failed = output_text(item.get("output"))
        # `call.error`: a failed patch may have been reported before its output.
        update = {"result": text, "error": failed or call.error, "status": "failed" if failed else "complete"}
        self.actions[call.id] = call.model_copy(update=update)


def _session_of(path: Path) -> str | None:
    for _, line in numbered_lines(path):
        payload = (parse_object(line) or {}).get("payload")
        known = payload.get("session_id") or payload.get("id") if isinstance(payload, dict) else None
        return known if isinstance(known, str) else None
    return None


def output_text(output: object) -> tuple[str, bool]:
    """What a tool printed, without the heading Codex puts above it, and whether it failed."""
    # Custom tools give an object; shell calls a text with a heading; older versions a JSON text with `output` and
    # `metadata`.
    if isinstance(output, dict):
        output = output.get("content") or output.get("output") or ""
    text = text_of_blocks(output)
    parsed = parse_object(text.encode()) if text.startswith("{") else None
    if parsed and isinstance(parsed.get("output"), str):
        details = parsed.get("metadata")
        return parsed["output"], isinstance(details, dict) and details.get("exit_code") not in (0, None)
    heading = _HEADING.match(text)
    if heading is None:
        return text, False
    code = _EXIT.search(heading[0])
    return text[heading.end() :], code is not None and code[1] != "0"


def _arguments(item: dict[str, Any]) -> dict[str, Any]:
    if isinstance(item.get("input"), str):
        return {"input": item["input"]}
    if isinstance(item.get("action"), dict):
        return dict(item["action"])
    given = item.get("arguments")
    try:
        value = orjson.loads(given) if isinstance(given, str) else given
    except orjson.JSONDecodeError:
        return {"input": given}
    return value if isinstance(value, dict) else {}
