"""Logs of chats, one conversation a line, as apps keep them: an id, a user, a model and the list of messages."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from evergold.conversation.reader import messages_in
from evergold.conversation.tools import tools_in
from evergold.sources.agents.runs import Run

SESSIONS = ("conversation_id", "session_id", "thread_id", "chat_id", "id")
USERS = ("user_id", "customer_id", "user", "customer")
MOMENTS = ("timestamp", "created_at", "started_at", "time", "ts", "date")
LISTS = ("messages", "conversation", "history")
# Keys that a native trace, a run of an agent or an export of a tracer has beside its messages.
OTHERS = frozenset(
    {"type", "input", "output", "inputs", "run_type", "spans", "attributes", "reward", "info", "steps"}
    | {"traj", "trajectory", "trajectory_format", "instance_id", "task_id"}
)
_BEGINNINGS = tuple(f'{{"{key}"'.encode() for key in LISTS)


def begins_with_conversation(head: bytes) -> bool:
    """Whether the first object of a file is a conversation; of one longer than `head`, whether its first key says so."""
    text = head.strip().removeprefix(b"[").lstrip()
    line = text.split(b"\n", 1)[0].rstrip().rstrip(b",]")
    try:
        return is_conversation(orjson.loads(line))
    except orjson.JSONDecodeError:
        return text.replace(b'": ', b'":').startswith(_BEGINNINGS) and b'"role"' in head


def is_conversation(document: Any) -> bool:
    """Whether an object holds messages, and nothing that makes it a trace or the run of an agent."""
    return isinstance(document, dict) and not OTHERS & document.keys() and bool(_listed(document))


def conversation_run(document: dict[str, Any]) -> Run:
    """A conversation, to be read turn by turn: each answer is a trace of the session."""
    session = _first(document, SESSIONS)
    run = Run(session, "chat", session=session, user=_first(document, USERS), by_turn=True)
    run.model, run.tools = _first(document, ("model",)), tools_in(document.get("tools"))
    listed = _listed(document)
    moments = list(_moments(document, listed))
    for number, message in enumerate(listed):
        run.add(messages_in([message], "input"), moments[number])
    known = {*LISTS, *SESSIONS, *USERS, *MOMENTS, "model", "tools"}
    small = (str, int, float, bool)
    run.metadata = {key: value for key, value in document.items() if key not in known and isinstance(value, small)}
    return run


def _listed(document: dict[str, Any]) -> list[dict[str, Any]]:
    for key in LISTS:
        items = document.get(key)
        if isinstance(items, list) and items and all(isinstance(item, dict) and "role" in item for item in items):
            return items
    return []


def _moments(document: dict[str, Any], listed: list[dict[str, Any]]) -> Iterator[str | None]:
    """The time of each message. Where only the conversation has one, its messages are a second apart, in their order."""
    stated = [_moment(message) for message in listed]
    began = _moment(document)
    for number, moment in enumerate(stated):
        if moment is None and began is not None and not any(stated):
            moment = began + timedelta(seconds=number)
        yield None if moment is None else moment.isoformat()


def _moment(of: dict[str, Any]) -> datetime | None:
    value = next((of[key] for key in MOMENTS if of.get(key) is not None), None)
    try:
        if isinstance(value, int | float):
            # Milliseconds since 1970 are over 10¹¹ for any time after 1973; seconds are not before the year 5138.
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)


def _first(document: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(document[key]) for key in keys if isinstance(document.get(key), str | int)), None)
