"""Runs of OpenHands, SWE-agent and aider → flows, each from the files the agent leaves behind.

OpenHands keeps a list of events (one file, a line of an evaluation's output, or a folder with a file for each event),
SWE-agent and mini-swe-agent a `.traj` of chat messages; both are read by `trajectories`, and their messages become
actions here. What such a run hands in as a patch is its last action: commands of its own shell may have made edits that
no other step shows. Aider writes Markdown: `####` is the user, `>` the program, the rest the model, whose edits stand
in blocks of what to search and what to put there instead.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import orjson

from evergold.conversation import text_of
from evergold.conversation.message import decode_object
from evergold.errors import NotFound
from evergold.model.flow import Action, Flow
from evergold.model.values import load_json
from evergold.sources.agents.log_lines import EPOCH, FlowFiles, moment, objects_in, request_in, text_in
from evergold.sources.agents.trajectories import AgentRun, chat_run, openhands_run
from evergold.storage import open_read

_STEP = timedelta(seconds=1)
_SCRIPT = re.compile(r"```(?:bash|sh|mswea_bash_command)\n(.*?)\n```", re.DOTALL)
_EDITORS = ("str_replace_editor", "file_editor", "str_replace_based_edit_tool")
STATE = "base_state.json"
_FENCED = "script"


@dataclass(frozen=True)
class RunFiles(FlowFiles):
    """Files of runs, or folders that hold some."""

    paths: Sequence[Path]
    endings: ClassVar[tuple[str, ...]] = ()

    def sessions(self) -> list[list[Path]]:
        sessions: list[list[Path]] = []
        for path in self.paths:
            if not path.exists():
                raise NotFound(f"no file {str(path)!r}; give the logs of runs, or folders that hold some")
            files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
            own = [file for file in files if not path.is_dir() or file.name.endswith(self.endings)]
            if not own:
                raise NotFound(f"no file of {', '.join(self.endings)} in {str(path)!r}")
            sessions += self.group(own)
        return sessions

    def group(self, files: list[Path]) -> list[list[Path]]:
        """The files of each session."""
        return [[file] for file in files]

    @staticmethod
    def runs(paths: list[Path]) -> Iterator[Flow]:
        """The flows of files that belong together; a file may hold several."""
        raise NotImplementedError

    def flows(self) -> Iterator[Flow]:
        return chain.from_iterable(map(self.runs, self.sessions()))

    def readers(self) -> list[Callable[[], Flow]]:
        groups = [[path.absolute() for path in paths] for paths in self.sessions()]
        return [
            partial(_read_one, self.runs, paths, at) for paths in groups for at in range(len(list(self.runs(paths))))
        ]


def _read_one(runs: Callable[[list[Path]], Iterator[Flow]], paths: list[Path], at: int) -> Flow:
    return next(islice(runs(paths), at, None))


class OpenHandsSource(RunFiles):
    """Trajectories and output files of OpenHands, and the folders in which it keeps a conversation's events."""

    endings = (".json", ".jsonl")

    def group(self, files: list[Path]) -> list[list[Path]]:
        """Files of one `events` folder are one conversation; its state stands beside the folder."""
        groups: dict[Path, list[Path]] = {}
        for file in files:
            whole = file.parent if file.parent.name == "events" else file
            groups.setdefault(whole, []).append(file)
        return [group for group in groups.values() if group[0].name != STATE]

    @staticmethod
    def runs(paths: list[Path]) -> Iterator[Flow]:
        documents, problems = _documents(paths)
        # A line of an evaluation's output is a run; other documents are the events of one.
        whole = [document for document in documents if "history" in document] or [{"history": documents}]
        state_file = paths[0].parent.parent / STATE
        state = _documents([state_file])[0] if state_file.is_file() else []
        folder = decode_object(state[0].get("workspace")).get("working_dir") if state else None
        name = paths[0].stem if len(paths) == 1 else paths[0].parent.parent.name
        for document in whole:
            flow = flow_of_run(openhands_run(document), "openhands", name, Checkout(text_in(folder)))
            yield _finish(flow, decode_object(document.get("test_result")).get("git_patch"), problems)


class SweAgentSource(RunFiles):
    """Trajectories of SWE-agent and mini-swe-agent."""

    endings = (".traj", ".traj.json")

    @staticmethod
    def runs(paths: list[Path]) -> Iterator[Flow]:
        documents, problems = _documents(paths)
        document = documents[0] if documents else {}
        run = chat_run(document, "swe-agent")
        # Only the first message is the task; what else the "user" says are observations.
        flow = flow_of_run(run, "swe-agent", paths[0].name.partition(".")[0], Checkout(), requests=1)
        yield _finish(flow, decode_object(document.get("info")).get("submission"), problems)


def _documents(paths: list[Path]) -> tuple[list[dict[str, Any]], list[str]]:
    """The objects of some files, each a document, a list of them, or a document a line."""
    documents: list[dict[str, Any]] = []
    problems: list[str] = []
    for path in paths:
        with open_read(path) as file:
            content = file.read()
        try:
            value = load_json(content)
        except orjson.JSONDecodeError:
            lines = [line for line in content.split(b"\n") if line.strip()]
            try:
                value = [load_json(line) for line in lines]
            except orjson.JSONDecodeError as problem:
                problems.append(f"{path}: neither JSON nor JSON lines: {problem}")
                continue
        documents += objects_in(value if isinstance(value, list) else [value])
    return documents, problems


class Checkout(NamedTuple):
    """Where a run worked, as far as its log says."""

    folder: str | None = None
    branch: str | None = None


def flow_of_run(run: AgentRun, agent: str, name: str, checkout: Checkout, requests: int = 1 << 30) -> Flow:
    """The flow of a run: so many requests of the user, and calls with their results; `name` is for a run without an id."""
    actions: dict[str, Action] = {}
    time, last = EPOCH, ""
    for message, stated, folder in zip(run.messages, run.times, run.folders, strict=True):
        time = moment(stated, time + _STEP)
        text = text_of(message)
        where: dict[str, Any] = {"created": time, "cwd": folder or checkout.folder, "branch": checkout.branch}
        if message["role"] == "tool" or (message["role"] == "user" and last.startswith(_FENCED)):
            # Without an id it answers the last call; of a run without calls, the next message answers a script.
            call = actions.get(str(message.get("tool_call_id") or last))
            if call is not None:
                failed = message.get("extra", {}).get("failed") is True
                actions[call.id] = call.model_copy(update={"result": text, "error": failed})
            last = ""
        elif message["role"] == "user" and requests > 0 and (request := request_in(text)):
            requests -= 1
            id = f"request {len(actions)}"
            actions[id] = Action(id=id, type="user_request", human=True, params={"text": request}, **where)
        elif message["role"] == "assistant":
            for made in message.get("tool_calls", ()):
                last = str(made["id"] or f"call {len(actions)}")
                tool, params = made["function"]["name"], decode_object(made["function"]["arguments"])
                # OpenHands logs the view of an editor without its command.
                tool = "read" if tool in _EDITORS and "command" not in params else tool
                actions[last] = Action(id=last, type=f"tool_call.{tool}", params=params, **where)
            if not message.get("tool_calls") and (script := _SCRIPT.search(text)):
                last = f"{_FENCED} {len(actions)}"
                actions[last] = Action(id=last, type="tool_call.bash", params={"command": script[1]}, **where)
    session = run.id or name
    metadata = {"problems": [], "names": {session: None}}
    more = {"branch": checkout.branch, "repo_dir": checkout.folder, "metadata": metadata}
    return Flow(id=session, agent=agent, actions=tuple(actions.values()), **more)


def _finish(flow: Flow, patch: object, problems: list[str]) -> Flow:
    """The flow with the patch that the run handed in, and with what could not be read."""
    actions = list(flow.actions)
    if isinstance(patch, str) and "\ndiff --git " in f"\n{patch}" and actions:
        # A tool may have printed remarks before it.
        start = f"\n{patch}".index("\ndiff --git ")
        last = {"created": actions[-1].created, "cwd": actions[-1].cwd}
        actions.append(
            Action(id="patch", type="tool_call.apply_patch", params={"patch": patch[start:]}, result="", **last)
        )
    return flow.model_copy(update={"actions": tuple(actions), "metadata": {**flow.metadata, "problems": problems}})


_STARTED = re.compile(r"# aider chat started at (\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)\s*")
_COMMITTED = re.compile(r"> Commit ([0-9a-f]{7,40}) (.*\S)\s*")
_ADDED = re.compile(r"> Added (\S.*?) to the chat\.?\s*")
_APPLIED = re.compile(r"> Applied edit to (.*\S)\s*")
_SEARCH, _DIVIDER, _REPLACE = "<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"
# The time has no zone: the earliest moment that it can mean is taken, so that no commit of the session is older.
_WESTMOST = timedelta(hours=14)


class AiderSource(RunFiles):
    """Chat histories of aider (`.aider.chat.history.md`); one file holds all chats of a repository."""

    endings = (".aider.chat.history.md",)

    @staticmethod
    def runs(paths: list[Path]) -> Iterator[Flow]:
        return _chats(paths[0])


def _chats(path: Path) -> Iterator[Flow]:
    """The chats of a file, each a flow of its own."""
    with open_read(path) as file:
        lines = file.read().decode("utf-8", "replace").split("\n")
    starts = [(at, match[1]) for at, line in enumerate(lines) if (match := _STARTED.fullmatch(line))]
    if not starts:
        problem = f"{path}: no chat history of aider: no line says when a chat was started"
        yield Flow(id=path.name, agent="aider", metadata={"problems": [problem]})
    folder = str(path.absolute().parent)
    for number, (at, started) in enumerate(starts):
        end = starts[number + 1][0] if number + 1 < len(starts) else len(lines)
        chat = _Chat(moment(f"{started}+00:00") - _WESTMOST, folder)
        for line in lines[at + 1 : end]:
            chat.take(line.rstrip("\r"))
        chat.finish_request()
        id = f"aider-{started.replace(' ', 'T')}"
        yield Flow(id=id, agent="aider", repo_dir=folder, actions=tuple(chat.actions), metadata={"problems": []})


class _Chat:
    """Turns the lines of one chat into actions."""

    def __init__(self, began: datetime, folder: str) -> None:
        self.actions: list[Action] = []
        self._began, self._folder = began, folder
        self._request: list[str] = []
        self._before: list[str] = []
        self._old: list[str] | None = None
        self._new: list[str] | None = None
        self._proposed: list[dict[str, Any]] = []

    def take(self, line: str) -> None:
        if self._old is not None:
            if line.startswith(_REPLACE):
                path = self._before[-1].strip().strip("`*:# ") if self._before else ""
                edit = {"path": path, "old_string": _text(self._old), "new_string": _text(self._new or [])}
                self._proposed.append(edit)
                self._old = self._new = None
            elif self._new is not None:
                self._new.append(line)
            elif line.startswith(_DIVIDER):
                self._new = []
            else:
                self._old.append(line)
        elif line.startswith("####"):
            self._request.append(line[4:].removeprefix(" ").rstrip())
        elif match := _COMMITTED.fullmatch(line):
            self._put("bash", {"command": "git commit"}, f"[aider {match[1]}] {match[2]}")
        elif match := _ADDED.fullmatch(line):
            self._put("read", {"path": match[1]})
        elif match := _APPLIED.fullmatch(line):
            self._apply(match[1])
        elif line.startswith(_SEARCH):
            self._old = []
        elif line and not line.startswith(("```", ">")):
            self._before.append(line)
        if not line.startswith("####"):
            self.finish_request()

    def finish_request(self) -> None:
        text, self._request = "\n".join(self._request), []
        # `/add f.py` and its like are commands to the program.
        if request := request_in(text):
            self._put("user_request", {"text": request}, human=True)

    def _apply(self, path: str) -> None:
        """The edits of a file that the program took over; those it refused changed nothing."""
        for edit in self._proposed:
            if edit["path"] == path:
                self._put("edit", edit)
        self._proposed = [edit for edit in self._proposed if edit["path"] != path]

    def _put(self, tool: str, params: dict[str, Any], result: str = "", human: bool = False) -> None:
        id = f"step {len(self.actions)}"
        time = self._began + len(self.actions) * _STEP
        type = tool if human else f"tool_call.{tool}"
        more = {"created": time, "cwd": self._folder, "human": human}
        self.actions.append(Action(id=id, type=type, params=params, result=result, **more))


def _text(lines: list[str]) -> str:
    return "".join(f"{line}\n" for line in lines)
