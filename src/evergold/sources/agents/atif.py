"""Trajectories in the Agent Trajectory Interchange Format (ATIF) of Harbor → flows: one JSON document per run of an agent.

`steps` alternate between user and agent; a step of the agent has `tool_calls`, and its `observation` their results, tied
together by `source_call_id`. Trajectories of sub-agents stand inside the document. The format has no place of its own
for the working folder and the branch: converters put them under `extra`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import orjson

from evergold.errors import BadInput, NotFound
from evergold.model.flow import Action, Flow
from evergold.sources.agents.log_lines import EPOCH, FlowFiles, moment, objects_in, request_in, text_in, text_of_blocks

AGENT = "atif"
# Steps without a time keep their order: each is one second after the one before.
_STEP = timedelta(seconds=1)


@dataclass(frozen=True)
class AtifSource(FlowFiles):
    """Trajectory files, or folders that hold some."""

    paths: Sequence[Path]

    def files(self) -> list[Path]:
        files: list[Path] = []
        for path in self.paths:
            if not path.exists():
                raise NotFound(f"no file {str(path)!r}; give trajectory files, or folders that hold some")
            files += sorted(path.rglob("*.json")) if path.is_dir() else [path]
        return files

    def sessions(self) -> list[list[Path]]:
        return [[path] for path in self.files()]

    @staticmethod
    def read(paths: list[Path]) -> Flow:
        return read_trajectory(paths[0])


def read_trajectory(path: Path) -> Flow:
    """One trajectory; a document that is none gives a flow without steps that says what is wrong with it."""
    try:
        document = _document(path)
    except BadInput as problem:
        return Flow(id=path.stem, agent=AGENT, metadata={"problems": [problem.message]})
    agent = _object(document.get("agent"))
    # Converters put the folder into either of the two.
    extra = {**_object(document.get("extra")), **_object(agent.get("extra"))}
    folder, branch = _first(extra, "cwd", "cwds"), _first(extra, "git_branch", "git_branches", "branch")
    session = str(document.get("session_id") or document.get("trajectory_id") or path.stem)
    steps = list(_steps(document, _Where(session, folder, branch)))
    return Flow(
        id=session,
        agent=AGENT,
        title=text_in(agent.get("name")),
        branch=branch,
        repo_dir=folder,
        # Stable: steps of the same moment keep the order of the document.
        actions=tuple(sorted(steps, key=lambda action: action.created)),
        metadata={"problems": [], "names": {session: None}},
    )


@dataclass(frozen=True)
class _Where:
    session: str
    folder: str | None
    branch: str | None
    sidechain: bool = False


def _document(path: Path) -> dict[str, Any]:
    try:
        value = orjson.loads(path.read_bytes())
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"{path}: not a whole JSON document: {problem}") from problem
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        raise BadInput(f"{path}: no trajectory: a document with schema_version and steps is expected")
    version = value.get("schema_version")
    if not isinstance(version, str) or not version.startswith("ATIF-v1"):
        raise BadInput(f"{path}: schema_version is {version!r}; ATIF-v1 and its minor versions are known")
    return value


def _steps(document: dict[str, Any], where: _Where) -> Iterator[Action]:
    time = EPOCH
    for number, step in enumerate(objects_in(document["steps"]), start=1):
        time = moment(step.get("timestamp"), time + _STEP)
        id = f"{where.session}/{step.get('step_id', number)}"
        # The "user" of a sub-agent is the agent that started it, not a person.
        if step.get("source") == "user" and not where.sidechain:
            if request := request_in(text_of_blocks(step.get("message"))):
                yield _action("user_request", id, time, where, human=True, params={"text": request})
        elif step.get("source") == "agent":
            yield from _calls(step, id, time, where)
    for at, inner in enumerate(objects_in(document.get("subagent_trajectories"))):
        if isinstance(inner.get("steps"), list):
            yield from _steps(inner, _Where(f"{where.session}/agent {at}", where.folder, where.branch, sidechain=True))


def _calls(step: dict[str, Any], id: str, time: datetime, where: _Where) -> Iterator[Action]:
    calls = objects_in(step.get("tool_calls"))
    results = _results(step, len(calls) == 1)
    cwd = text_in(_object(step.get("extra")).get("cwd"))
    for at, call in enumerate(calls):
        name, given = text_in(call.get("function_name")), call.get("arguments")
        result = results.get(str(call.get("tool_call_id")), results.get("") if at == 0 else None)
        if name:
            made = _action(f"tool_call.{name}", f"{id}/{at}", time, where, params=_object(given), result=result)
            yield made.model_copy(update={"cwd": cwd}) if cwd else made


def _results(step: dict[str, Any], single: bool) -> dict[str, str]:
    """Texts by call; one that names no call belongs to the only one there is."""
    # With several calls a result that names none belongs to nobody knows which: no call asks for "?".
    unnamed = "" if single else "?"
    return {
        str(result.get("source_call_id") or unnamed): text_of_blocks(result.get("content"))
        for result in objects_in(_object(step.get("observation")).get("results"))
    }


def _action(type: str, id: str, time: datetime, where: _Where, **more: Any) -> Action:
    details = {"cwd": where.folder, "branch": where.branch, "sidechain": where.sidechain}
    return Action(id=id, type=type, created=time, **details, **more)


def _first(extra: dict[str, Any], *keys: str) -> str | None:
    for key in keys:
        value = extra.get(key)
        value = value[0] if isinstance(value, list) and value else value
        if isinstance(value, str) and value:
            return value
    return None


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
