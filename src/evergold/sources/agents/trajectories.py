"""Logs of agents → traces with messages, tools, results and reward: a trace for the whole task, or one for each turn."""

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.conversation import text_of
from evergold.conversation.assembly import split_turn
from evergold.conversation.message import Message
from evergold.model.ident import content_hash
from evergold.model.rejected import Rejected
from evergold.model.trace import Score, Span, Trace, TraceStatus
from evergold.seams import Incoming
from evergold.sources.agents.conversations import begins_with_conversation, conversation_run, is_conversation
from evergold.sources.agents.runs import (
    Run,
    atif_run,
    chat_run,
    claude_code_runs,
    codex_runs,
    openhands_run,
)
from evergold.sources.documents import documents

REWARD = "reward"
SIGNS = (
    (b'"schema_version"', b"ATIF"),
    (b'"sessionId"', b'"uuid"'),
    (b'"session_meta"', b'"payload"'),
    (b'"response_item"', b'"payload"'),
    (b'"tool_call_metadata"', b'"source"'),
    (b'"llm_message"', b'"kind"'),
    (b'"history"', b'"instance_id"'),
    (b'"trajectory"', b'"history"'),
    (b'"trajectory"', b'"observation"', b'"action"'),
    (b'"trajectory_format"',),
    (b'"traj"', b'"reward"'),
    (b'"messages"', b'"reward"', b'"role"'),
)
# Exports of tracers hold messages and rewards as well; their own signs win.
NOT_LOGS = (b'"resourceSpans"', b'"resource_spans"', b'"type":"trace"', b'"type": "trace"', b'"traceId"', b'"trace_id"')


class AgentLogs:
    """ATIF, Claude Code, Codex CLI, OpenHands, SWE-agent, tau-bench, chats with a reward, and conversations of an app."""

    def __init__(self, unit: str | None = None) -> None:
        self.unit = unit

    def accepts(self, head: bytes) -> bool:
        if any(sign in head for sign in NOT_LOGS):
            return False
        return any(all(sign in head for sign in signs) for signs in SIGNS) or begins_with_conversation(head)

    def with_unit(self, unit: str) -> "AgentLogs":
        """The same logs, a trace for each task or for each turn."""
        return AgentLogs(unit)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        # All at once: which agent wrote a log is often known only from a later line.
        parts = list(documents(lines, name))
        yield from (part for part in parts if isinstance(part, Rejected))
        objects = [part for part in parts if not isinstance(part, Rejected) and isinstance(part[1], dict)]
        for number, run in enumerate(_runs(objects)):
            if not run.messages:
                yield Rejected(where=name, reason="a log of an agent that holds no message")
                continue
            try:
                yield from _traces(run, self.unit or ("turn" if run.by_turn else "task"), f"{name}:{number}")
            except ValidationError as problem:
                yield Rejected.of(problem, name, Trace)


def _runs(objects: list[tuple[str, dict[str, Any]]]) -> Iterator[Run]:
    events = [document for _, document in objects]
    if not events:
        return
    if any("sessionId" in event and "message" in event for event in events):
        yield from claude_code_runs(events)
    elif any(event.get("type") in ("session_meta", "response_item") for event in events) or _is_older_codex(events):
        yield from codex_runs(events)
    elif any(_is_openhands_event(event) for event in events):
        yield openhands_run({"history": events})
    else:
        yield from (_run(document) for document in events)


def _run(document: dict[str, Any]) -> Run:
    if isinstance(document.get("steps"), list):
        return atif_run(document)
    if is_conversation(document):
        return conversation_run(document)
    history = document.get("history")
    if isinstance(history, list) and "trajectory" not in document and not _are_messages(history):
        return openhands_run(document)
    return chat_run(document, "swe-agent" if "trajectory" in document or "trajectory_format" in document else "agent")


def _are_messages(items: list[Any]) -> bool:
    return all(isinstance(item, dict) and "role" in item for item in items)


def _is_older_codex(events: list[dict[str, Any]]) -> bool:
    return any(event.get("type") == "function_call" and "call_id" in event for event in events)


def _is_openhands_event(event: dict[str, Any]) -> bool:
    return "source" in event and ("llm_message" in event or "action" in event or "observation" in event)


def _traces(run: Run, unit: str, where: str) -> Iterator[Trace]:
    # Without an id of its own, file name and first messages name a run: reading the file again gives the same traces.
    ident = run.id or content_hash([where.rpartition("/")[2], run.messages[:3]]).removeprefix("sha256:")[:32]
    name = f"{run.agent}:{ident}"
    session = run.session or name
    if unit == "task":
        yield _trace(run, name, session, 0, len(run.messages))
        return
    # What stands before the first user message (a system prompt) belongs to the first turn.
    starts = [number for number, message in enumerate(run.messages) if message["role"] == "user"]
    bounds = [0, *starts[1:], len(run.messages)] if starts else [0, len(run.messages)]
    for number, (start, end) in enumerate(pairwise(bounds)):
        yield _trace(run, f"{name}:{number}", session, start, end)


def _trace(run: Run, ident: str, session: str, start: int, end: int) -> Trace:
    """A part of a run as a trace. A turn holds its own messages; those before it are its session's."""
    messages = run.messages[start:end]
    answer = next((text for m in reversed(messages) if m["role"] == "assistant" and (text := text_of(m))), None)
    asked, _, _ = split_turn(messages, answer)
    question = next((text_of(message) for message in reversed(asked) if message["role"] == "user"), "")
    is_last = end == len(run.messages)
    times = [time for time in run.times[start:end] if time]
    offered = {"messages": messages, "agent": run.agent, "model": run.model, "tools": run.tools}
    metadata = {key: value for key, value in (run.metadata | offered).items() if value not in (None, [])}
    if start:
        metadata["continues"] = True
    # The reward judges the whole task, so it goes to its last turn.
    scores = [Score(name=REWARD, value=run.reward)] if is_last and run.reward is not None else []
    return Trace(
        id=ident,
        session_id=session,
        user_id=run.user,
        name=run.agent,
        input=question,
        output=answer,
        started_at=times[0] if times else None,
        ended_at=times[-1] if times else None,
        metadata=orjson.loads(orjson.dumps(metadata, default=str)),
        spans=tuple(_tool_spans(messages)),
        scores=tuple(scores),
    )


def _tool_spans(messages: list[Message]) -> Iterator[Span]:
    """A step for each call, which names the tool and how it ended; what was passed stands in the messages."""
    failed = {message.get("tool_call_id") for message in messages if message.get("extra", {}).get("failed") is True}
    calls = chain.from_iterable(message.get("tool_calls", ()) for message in messages)
    for number, call in enumerate(calls):
        name = call["function"]["name"]
        status = TraceStatus.FAILED if call["id"] in failed else TraceStatus.COMPLETED
        yield Span(id=f"call-{number}", name=name, kind="tool", status=status, metadata={"tool": name})
