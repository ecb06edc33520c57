"""Trajectories in the Agent Trajectory Interchange Format (ATIF) of Harbor → flows: one JSON document per run of an agent.

`steps` alternate between user and agent; a step of the agent has `tool_calls`, and its `observation` their results, tied
together by `source_call_id`. Trajectories of sub-agents stand inside the document. The format has no place of its own
for the working folder and the branch: converters put them under `extra`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from evergold.conversation.message import decode_object
from evergold.errors import BadInput
from evergold.model.flow import Action, Flow
from evergold.model.values import load_json
from evergold.sources.agents.log_lines import objects_in, text_in
from evergold.sources.agents.run_files import Checkout, RunFiles, flow_of_run
from evergold.sources.agents.trajectories import atif_run

AGENT = "atif"


class AtifSource(RunFiles):
    """Trajectory files, or folders that hold some."""

    endings = (".json",)

    @staticmethod
    def runs(paths: list[Path]) -> Iterator[Flow]:
        yield read_trajectory(paths[0])


def read_trajectory(path: Path) -> Flow:
    """One trajectory; a document that is none gives a flow without steps that says what is wrong with it."""
    try:
        document = _document(path)
    except BadInput as problem:
        return Flow(id=path.stem, agent=AGENT, metadata={"problems": [problem.message]})
    agent = decode_object(document.get("agent"))
    # Converters put the folder into either of the two.
    extra = {**decode_object(document.get("extra")), **decode_object(agent.get("extra"))}
    checkout = Checkout(_find_first(extra, "cwd", "cwds"), _find_first(extra, "git_branch", "git_branches", "branch"))
    flow = flow_of_run(atif_run(document), AGENT, path.stem, checkout)
    actions = [*flow.actions, *_helper_actions(document, flow.id, checkout)]
    # Stable: steps of the same moment keep the order of the document.
    actions.sort(key=lambda action: action.created)
    return flow.model_copy(update={"title": text_in(agent.get("name")), "actions": tuple(actions)})


def _helper_actions(document: dict[str, Any], session: str, checkout: Checkout) -> Iterator[Action]:
    """The steps of sub-agents, whose "user" is the agent that started them and no person."""
    for at, inner in enumerate(objects_in(document.get("subagent_trajectories"))):
        if isinstance(inner.get("steps"), list):
            name = f"{session}/agent {at}"
            for action in flow_of_run(atif_run(inner), AGENT, name, checkout, requests=0).actions:
                yield action.model_copy(update={"id": f"{name}/{action.id}", "sidechain": True})
            yield from _helper_actions(inner, name, checkout)


def _document(path: Path) -> dict[str, Any]:
    try:
        value = load_json(path.read_bytes())
    except orjson.JSONDecodeError as problem:
        raise BadInput(f"{path}: not a whole JSON document: {problem}") from problem
    if not isinstance(value, dict) or not isinstance(value.get("steps"), list):
        raise BadInput(f"{path}: no trajectory: a document with schema_version and steps is expected")
    version = value.get("schema_version")
    if not isinstance(version, str) or not version.startswith("ATIF-v1"):
        raise BadInput(f"{path}: schema_version is {version!r}; ATIF-v1 and its minor versions are known")
    return value


def _find_first(extra: dict[str, Any], *keys: str) -> str | None:
    values = (extra.get(key) for key in keys)
    firsts = (value[0] if isinstance(value, list) and value else value for value in values)
    return next((value for value in firsts if isinstance(value, str) and value), None)
