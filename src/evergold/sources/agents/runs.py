"""Read the runs of an agent from its log: one reader per kind of log, each giving canonical messages."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from evergold.conversation.message import Message, Piece, messages_of_pieces, result_piece, text_piece, tool_call
from evergold.conversation.reader import messages_in
from evergold.conversation.tools import tools_in

REWARDS = ("reward", "resolved", "success", "score", "passed")
REWARDED_IN = (
    "info",
    "extra",
    "final_metrics",
    "test_result",
    "report",
    "verifier_result",
    "rewards",
    "result",
    "metrics",
)
CHATS = ("traj", "messages", "trajectory", "conversation", "history")


@dataclass
class Run:
    """One task of an agent: its messages in order, and the times at which those of the log came (None: not said).

    `by_turn`: each turn is a trace, unless whole tasks are asked for. `session` and `user` are those of an app's chat.
    """

    id: str | None
    agent: str
    messages: list[Message] = field(default_factory=list)
    times: list[str | None] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    reward: float | None = None
    model: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    user: str | None = None
    by_turn: bool = False

    def add(self, messages: Iterable[Message], time: Any = None) -> None:
        for message in messages:
            self.messages.append(message)
            self.times.append(time if isinstance(time, str) else None)


def reward_in(document: Any, depth: int = 0) -> float | None:
    """The reward of a run, wherever its log writes it: a number from 0 to 1, or whether the task was solved."""
    if not isinstance(document, dict) or depth > 3:
        return None
    for key in REWARDS:
        value = document.get(key)
        # `resolved: true` is 1.0; a score of another scale is no reward that can be kept.
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return float(value)
    inner = (reward_in(document.get(key), depth + 1) for key in REWARDED_IN)
    return next((reward for reward in inner if reward is not None), None)


def atif_run(document: dict[str, Any]) -> Run:
    """A trajectory in Harbor's interchange format."""
    agent = document.get("agent") if isinstance(document.get("agent"), dict) else {}
    assert isinstance(agent, dict)
    run = Run(_text(document.get("session_id") or document.get("trajectory_id")), str(agent.get("name") or "atif"))
    run.model, run.reward = _text(agent.get("model_name")), reward_in(document)
    run.tools = tools_in(agent.get("tool_definitions"))
    for step in _objects(document.get("steps")):
        run.model = run.model or _text(step.get("model_name"))
        run.add(_atif_step(step), step.get("timestamp"))
    return run


def _atif_step(step: dict[str, Any]) -> list[Message]:
    source = step.get("source")
    role = {"agent": "assistant", "user": "user", "system": "system"}.get(str(source), str(source))
    pieces: list[Piece] = []
    if step.get("reasoning_content"):
        pieces.append(Piece("reasoning", str(step["reasoning_content"])))
    message = step.get("message")
    if isinstance(message, list):
        messages = messages_in([{"role": role, "content": message}], "input")
        pieces += [Piece("content", part) for one in messages for part in _parts(one) if isinstance(part, dict)]
    elif message:
        pieces.append(text_piece(str(message)))
    for call in _objects(step.get("tool_calls")):
        made = tool_call(call.get("function_name"), call.get("arguments"), call.get("tool_call_id"))
        pieces.append(Piece("call", made))
    observation = step.get("observation")
    for result in _objects(observation.get("results") if isinstance(observation, dict) else None):
        pieces.append(result_piece(result.get("content"), result.get("source_call_id")))
    return messages_of_pieces(role, pieces)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _parts(message: Message) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def claude_code_runs(events: Iterable[dict[str, Any]]) -> list[Run]:
    """Sessions of Claude Code. A reply is written one block a line; lines that share a message's id are one message."""
    runs: dict[str, Run] = {}
    seen: set[str] = set()
    last_id: dict[str, Any] = {}
    for event in events:
        message, session = event.get("message"), str(event.get("sessionId") or "")
        unwanted = event.get("isSidechain") or event.get("isMeta") or event.get("type") not in ("user", "assistant")
        if unwanted or not isinstance(message, dict) or str(event.get("uuid")) in seen:
            continue
        seen.add(str(event.get("uuid")))
        run = runs.setdefault(session, Run(session or None, "claude-code"))
        run.model = run.model or _text(message.get("model"))
        messages = messages_in([{"role": event["type"], "content": message.get("content")}], "input")
        ident = message.get("id")
        # Blocks of one reply may be interleaved with those of another session in the same file, hence one id per
        # session.
        if ident and last_id.get(session) == ident and messages and run.messages[-1]["role"] == "assistant":
            _extend(run.messages[-1], messages[0])
            messages = messages[1:]
        last_id[session] = ident
        run.add(messages, event.get("timestamp"))
    return list(runs.values())


def _extend(message: Message, more: Message) -> None:
    parts = _parts(message) + _parts(more)
    calls = [*message.get("tool_calls", ()), *more.get("tool_calls", ())]
    # One plain text is written as a text, as everywhere; several parts stay a list.
    texts = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    message["content"] = (parts[0]["text"] if texts else parts) if parts else None
    if calls:
        message["tool_calls"] = calls
    if more.get("extra"):
        message["extra"] = message.get("extra", {}) | more["extra"]


def codex_runs(events: Iterable[dict[str, Any]]) -> list[Run]:
    """A session of Codex CLI: items of the Responses API, wrapped in newer logs, bare in older ones."""
    run = Run(None, "codex")
    items: list[dict[str, Any]] = []
    for event in events:
        payload = event.get("payload")
        if event.get("type") == "session_meta" and isinstance(payload, dict):
            run.id = run.id or _text(payload.get("id"))
            instructions = payload.get("instructions") or payload.get("base_instructions")
            if isinstance(instructions, dict):
                instructions = instructions.get("text")
            if instructions:
                items.append({"role": "system", "content": str(instructions)})
        elif event.get("type") == "turn_context" and isinstance(payload, dict):
            run.model = run.model or _text(payload.get("model"))
        elif event.get("type") == "response_item" and isinstance(payload, dict):
            items.append(payload)
        elif payload is None and event.get("type") in ("message", "function_call", "function_call_output", "reasoning"):
            items.append(event)
        elif payload is None and "id" in event and "timestamp" in event:
            run.id = run.id or _text(event["id"])
    # An item that only the Responses API has makes the reader take the whole list for that shape, whatever came first.
    run.add(messages_in([*items, {"type": "item_reference"}], "input"))
    return [run]


def openhands_run(document: dict[str, Any]) -> Run:
    """A run of OpenHands: its events, or a line of its evaluation's output, which has them as `history`."""
    run = Run(_text(document.get("instance_id") or document.get("id")), "openhands", reward=reward_in(document))
    listed = document.get("history") or document.get("events")
    for event in listed if isinstance(listed, list) else ():
        for one in _objects(event if isinstance(event, list) else [event]):
            run.tools = run.tools or tools_in(one.get("tools"))
            run.add(_openhands_event(one), one.get("timestamp"))
    return run


def _openhands_event(event: dict[str, Any]) -> list[Message]:
    known = event.get("tool_call_metadata")
    details = known if isinstance(known, dict) else {}
    arguments = event.get("args") if isinstance(event.get("args"), dict) else {}
    assert isinstance(arguments, dict)
    if isinstance(message := event.get("llm_message"), dict):
        return messages_in([message], "input")
    if event.get("kind") == "SystemPromptEvent":
        return messages_in([{"role": "system", "content": [event.get("system_prompt")]}], "input")
    if event.get("kind") == "ActionEvent":
        pieces = [text_piece(str(part.get("text"))) for part in _objects(event.get("thought"))]
        call = tool_call(event.get("tool_name"), event.get("action"), event.get("tool_call_id"))
        return messages_of_pieces("assistant", [*pieces, Piece("call", call)])
    if event.get("kind") in ("ObservationEvent", "AgentErrorEvent"):
        content = event.get("observation", event.get("error"))
        failed = event["kind"] == "AgentErrorEvent"
        return [result_piece(content, event.get("tool_call_id"), event.get("tool_name"), failed=failed).value]
    action = event.get("action")
    if action in ("message", "system"):
        role = "system" if action == "system" else "user" if event.get("source") == "user" else "assistant"
        text = arguments.get("content") or event.get("message")
        return [{"role": role, "content": str(text)}] if text else []
    # Actions of OpenHands itself, which the model neither makes nor sees.
    if action in ("recall", "change_agent_state", "null", "", None):
        return _openhands_result(event, details)
    # An observation names its action by `cause`, so the event's number ties the two together.
    ident = details.get("tool_call_id") or f"event_{event.get('id')}"
    given = {key: value for key, value in arguments.items() if key not in ("thought", "hidden", "confirmation_state")}
    pieces = [text_piece(str(arguments["thought"]))] if arguments.get("thought") else []
    if action == "finish":
        text = arguments.get("final_thought") or event.get("message")
        return [{"role": "assistant", "content": str(text)}] if text else []
    call = tool_call(details.get("function_name") or action, given, ident)
    return messages_of_pieces("assistant", [*pieces, Piece("call", call)])


def _openhands_result(event: dict[str, Any], details: dict[str, Any]) -> list[Message]:
    if not event.get("observation") or event["observation"] in ("recall", "agent_state_changed", "null"):
        return []
    ident = details.get("tool_call_id") or f"event_{event.get('cause')}"
    failed = event["observation"] == "error"
    return [result_piece(event.get("content"), ident, details.get("function_name"), failed=failed).value]


def chat_run(document: dict[str, Any], agent: str) -> Run:
    """A run whose log is a list of chat messages: SWE-agent, mini-swe-agent, tau-bench and their like."""
    ident = next((document[key] for key in ("instance_id", "id", "task_id") if document.get(key) is not None), None)
    if ident is not None and document.get("trial") is not None:
        ident = f"{ident}-{document['trial']}"
    run = Run(_text(ident), agent, reward=reward_in(document), tools=tools_in(document.get("tools")))
    lists = ("history", *CHATS) if agent == "swe-agent" else CHATS
    for key in lists:
        if isinstance(listed := document.get(key), list) and (messages := messages_in(listed, "input")):
            run.add(messages)
            break
    # Small facts of the run (task, model, flags) are kept; the lists are in the messages already.
    known = {*CHATS, "tools", "reward"}
    run.metadata = {key: value for key, value in document.items() if key not in known and _is_small(value)}
    return run


def _is_small(value: Any) -> bool:
    return isinstance(value, bool | int | float) or (isinstance(value, str) and len(value) < 2000)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)
