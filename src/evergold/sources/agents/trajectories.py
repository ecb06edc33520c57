"""Logs of agents and chats → traces with messages, tools, results and reward: one for the whole task, or one for each turn.

One reader per kind of log gives its runs, in canonical messages. A log of chats holds one conversation a line, as apps keep them:
an id, a user, a model and the list of messages.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain, pairwise
from typing import Any

import orjson
from pydantic import ValidationError

from evergold.conversation import text_of
from evergold.conversation.assembly import split_turn
from evergold.conversation.dialects import SMOLAGENTS_TASK
from evergold.conversation.message import (
    INSTRUCTING,
    KNOWN_ROLES,
    Message,
    Piece,
    call_piece,
    decode_object,
    messages_of_pieces,
    result_piece,
    role_named,
    text_piece,
)
from evergold.conversation.reader import SYSTEM_KEYS, instructions_in, messages_in
from evergold.conversation.tools import tools_in
from evergold.model.faults import Rejected
from evergold.model.trace import Score, Span, Trace, TraceStatus
from evergold.model.values import content_hash
from evergold.seams import Incoming
from evergold.sources.agents.eval_results import is_test_run, list_tests, read_test
from evergold.sources.agents.layouts import (
    CHATS,
    COSTS,
    MESSAGE_LISTS,
    MOMENTS,
    REPLIES,
    SESSIONS,
    TURN_END,
    USERS,
    begins_with_conversation,
    is_conversation,
    join_columns,
    join_messages,
    list_messages,
    name_speakers,
    reply_beside,
    reward_in,
    runs_in,
    unwrap,
)
from evergold.sources.agents.log_lines import objects_in, read_time, stated_time
from evergold.sources.jsonl import describe, read_documents

IDENTS = ("run_id", "trajectory_id", "simulation_id", "id", "instance_id", "task_id")
TASK_IDS = IDENTS[-2:]  # name a task, which several models may have done: the first messages tell their runs apart
FIRST_MESSAGES = 6
ENDS = ("endtime", "endedat", "finishedat", "completedat")
MODELS = ("model", "modelVersion", "modelId", "model_id", "default_model_slug")
TASKS = ("task", "question", "problem_statement", "instruction", "goal", "query", "problem", "prompt")
ANSWERS = ("final_answer", "answer", "response", "submission", "final_response")
# A reply with a command to its environment, outside its code: what the "user" says next is what came of it.
ACTS = re.compile(r"^\s*(?:action|command)\s*\d*\s*:|<(?:execute|tool_call|function|action)[\w=]*", re.I | re.M)
CODE = re.compile(r"```.*?(?:```|\Z)", re.S)
# What an environment writes above its results: `Observation:`, `The output of the OS:`, `<returncode>`.
HEADING = re.compile(r"\s*(<\w[\w ]*>|\[\w[\w ]*\]|\w[^\n:.?!]{0,60}:(?=\s|$))")
ENDS_WITH_CODE = re.compile(r"```\s*(?:<[\w/|]+>)?$")
ENDED = re.compile(r"(?:[.!?:)\]]|```)\s*$")
USAGES = ("usage", "usageMetadata", "usage_metadata")
TOKENS = {
    "input_tokens": ("input_tokens", "prompt_tokens", "promptTokenCount", "inputTokens"),
    "output_tokens": ("output_tokens", "completion_tokens", "candidatesTokenCount", "outputTokens"),
}
LISTED = re.compile(r"(?::\d+)?\[")
STOP = re.compile(r"[A-Z]{4,}[.!]?")
REWARD = "reward"
OPENHANDS_KEYS = frozenset({"llm_message", "action", "observation"})
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
    (b'"actions"', b'"observations"'),
    (b'"messages"', b'"reward"', b'"role"'),
    (b'"simulations"', b'"messages"'),
    (b'"trajectory"', b'"role"'),
    (b'"conversations"', b'"from"', b'"value"'),
    (b'"turns"', b'"speaker"', b'"utterance"'),
)
# Exports of tracers hold messages and rewards as well; their own signs win.
NOT_LOGS = (b'"resourceSpans"', b'"resource_spans"', b'"type":"trace"', b'"type": "trace"', b'"traceId"', b'"trace_id"')


@dataclass
class AgentRun:
    """One task of an agent: its messages in order, and when and in which folder those of the log came (None: not said).

    `by_turn`: each turn is a trace, unless whole tasks are asked for. `session` and `user` are those of an app's chat.
    """

    id: str | None
    agent: str
    messages: list[Message] = field(default_factory=list)
    times: list[str | None] = field(default_factory=list)
    folders: list[str | None] = field(default_factory=list)
    tools: list[dict[str, Any]] = field(default_factory=list)
    reward: float | None = None
    model: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    session: str | None = None
    user: str | None = None
    by_turn: bool = False
    cost: float | None = None
    task: str | None = None
    failed: bool = False

    def add(self, messages: Iterable[Message], time: Any = None, folder: Any = None) -> None:
        for message in messages:
            self.messages.append(message)
            self.times.append(time if isinstance(time, str) else None)
            self.folders.append(folder if isinstance(folder, str) else None)


def atif_run(document: dict[str, Any]) -> AgentRun:
    """A trajectory in Harbor's interchange format."""
    agent = decode_object(document.get("agent"))
    run = AgentRun(_text(document.get("session_id") or document.get("trajectory_id")), str(agent.get("name") or "atif"))
    run.model, run.reward = _text(agent.get("model_name")), reward_in(document)
    run.tools = tools_in(agent.get("tool_definitions"))
    for step in objects_in(document.get("steps")):
        run.model = run.model or _text(step.get("model_name"))
        run.add(_atif_step(step), step.get("timestamp"), decode_object(step.get("extra")).get("cwd"))
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
    for call in objects_in(step.get("tool_calls")):
        pieces.append(call_piece(call.get("function_name"), call.get("arguments"), call.get("tool_call_id")))
    for result in objects_in(decode_object(step.get("observation")).get("results")):
        pieces.append(result_piece(result.get("content"), result.get("source_call_id")))
    return messages_of_pieces(role, pieces)


def _parts(message: Message) -> list[Any]:
    content = message.get("content")
    return content if isinstance(content, list) else [{"type": "text", "text": content}] if content else []


def claude_code_runs(events: Iterable[dict[str, Any]]) -> list[AgentRun]:
    """Sessions of Claude Code. A reply is written one block a line; lines that share a message's id are one message."""
    runs: dict[str, AgentRun] = {}
    seen: set[str] = set()
    last_id: dict[str, Any] = {}
    for event in events:
        message, session = event.get("message"), str(event.get("sessionId") or "")
        unwanted = event.get("isSidechain") or event.get("isMeta") or event.get("type") not in ("user", "assistant")
        if unwanted or not isinstance(message, dict) or str(event.get("uuid")) in seen:
            continue
        seen.add(str(event.get("uuid")))
        run = runs.setdefault(session, AgentRun(session or None, "claude-code"))
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


def codex_runs(events: Iterable[dict[str, Any]]) -> list[AgentRun]:
    """A session of Codex CLI: items of the Responses API, wrapped in newer logs, bare in older ones."""
    run = AgentRun(None, "codex")
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


def openhands_run(document: dict[str, Any]) -> AgentRun:
    """A run of OpenHands: its events, or a line of its evaluation's output, which has them as `history`."""
    run = AgentRun(_text(document.get("instance_id") or document.get("id")), "openhands", reward=reward_in(document))
    listed = document.get("history") or document.get("events")
    for event in listed if isinstance(listed, list) else ():
        for one in objects_in(event if isinstance(event, list) else [event]):
            run.tools = run.tools or tools_in(one.get("tools"))
            run.add(_openhands_event(one), one.get("timestamp"))
    return run


def _openhands_event(event: dict[str, Any]) -> list[Message]:
    details, arguments = decode_object(event.get("tool_call_metadata")), decode_object(event.get("args"))
    if isinstance(message := event.get("llm_message"), dict):
        return messages_in([message], "input")
    if event.get("kind") == "SystemPromptEvent":
        return messages_in([{"role": "system", "content": [event.get("system_prompt")]}], "input")
    if event.get("kind") == "ActionEvent":
        pieces = [text_piece(str(part.get("text"))) for part in objects_in(event.get("thought"))]
        call = call_piece(event.get("tool_name"), event.get("action"), event.get("tool_call_id"))
        return messages_of_pieces("assistant", [*pieces, call])
    if event.get("kind") in ("ObservationEvent", "AgentErrorEvent"):
        content = event.get("observation", event.get("error"))
        if isinstance(content, dict) and isinstance(content.get("content"), list):
            content = content["content"]
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
    call = call_piece(details.get("function_name") or action, given, ident)
    return messages_of_pieces("assistant", [*pieces, call])


def _openhands_result(event: dict[str, Any], details: dict[str, Any]) -> list[Message]:
    if not event.get("observation") or event["observation"] in ("recall", "agent_state_changed", "null"):
        return []
    ident = details.get("tool_call_id") or f"event_{event.get('cause')}"
    failed = event["observation"] == "error"
    return [result_piece(event.get("content"), ident, details.get("function_name"), failed=failed).value]


def chat_run(document: dict[str, Any], agent: str) -> AgentRun:
    """A run whose log is a list of chat messages: SWE-agent, mini-swe-agent, tau-bench and their like."""
    named = next((key for key in IDENTS if document.get(key) is not None), None)
    ident = named and document[named]
    if ident is not None and document.get("trial") is not None:
        ident = f"{ident}-{document['trial']}"
    run = AgentRun(_text(ident), agent, reward=reward_in(document), tools=tools_in(document.get("tools")))
    lists = ("history", *CHATS) if agent == "swe-agent" else CHATS
    for key in lists:
        if isinstance(listed := name_speakers(document.get(key)), list) and messages_in(listed, "input"):
            _add_timed(run, document, listed)
            break
        if isinstance(listed, list) and (messages := _messages_of_steps(objects_in(listed))):
            run.add(messages)
            run.reward = _last_reward(listed) if run.reward is None else run.reward
            break
    if run.messages and run.messages[-1]["role"] == "user":
        run.add(reply_beside(document))
    run.session, run.user = _find_first(document, SESSIONS), _find_first(document, USERS)
    _complete(run, document)
    if named in TASK_IDS:
        run.id = f"{ident}-{content_hash(run.messages[:FIRST_MESSAGES]).removeprefix('sha256:')[:8]}"
    error = document.get("error")
    answered = any(message["role"] == "assistant" and text_of(message) for message in run.messages)
    run.failed = isinstance(error, str) and bool(error) and run.messages[-1:] != [] and not answered
    # Small facts of the run (task, model, flags) are kept; the lists are in the messages already.
    known = {*CHATS, "tools", "reward"}
    small = (
        key for key, value in document.items() if isinstance(value, bool | int | float | str) and len(str(value)) < 2000
    )
    run.metadata = {key: document[key] for key in small if key not in known}
    return run


def _last_reward(steps: list[dict[str, Any]]) -> float | None:
    """What the last step earned, where no earlier one earned more: a run that goes on from there has not kept it."""
    rewards = [reward for step in steps if isinstance(reward := step.get("reward"), bool | int | float)]
    last = rewards[-1] if rewards and len(rewards) == len(steps) else None
    return float(last) if last is not None and 0 <= last <= 1 and last == max(rewards) else None


def _name_agents(run: AgentRun) -> None:
    """Give the turns of agents to the assistant, each by its name, and the task to the person who set it.

    A log of several agents calls by `user` whoever else spoke, or by its name, and one that a proxy of the person kept
    is the other way round: there the assistant sets the task.
    """
    spoken = [message for message in run.messages if message["role"] in TURN_END]
    task, several = (run.task or "").strip(), len({message.get("name") for message in spoken} - {None}) > 2
    sets_task = bool(task and spoken and task in text_of(spoken[0]))
    swapped = (
        dict(zip(TURN_END, reversed(TURN_END), strict=True)) if sets_task and spoken[0]["role"] == "assistant" else {}
    )
    for number, message in enumerate(spoken):
        message["role"] = swapped.get(message["role"], message["role"])
        if several and task and message.get("name") and (number or not sets_task):
            message["role"] = "assistant"
    for message in run.messages if any(message["role"] == "user" for message in spoken) else ():
        if message["role"] not in KNOWN_ROLES:
            message["name"], message["role"] = message["role"], "assistant"


def _add_timed(run: AgentRun, document: dict[str, Any], listed: list[Any]) -> None:
    """Add messages with the times that they or their run state."""
    # Items of OpenAI's Responses API become messages only together.
    if not all(isinstance(item, dict) and "role" in item for item in listed):
        run.add(messages_in(listed, "input"))
    else:
        for message, time in zip(listed, _moments(document, listed), strict=True):
            run.add(messages_in([message], "input"), time)
    # Of a request with its reply beside it the end is the reply's.
    for at, keys in ((0, MOMENTS[:2]), *(((-1, ENDS),) if len(run.times) > 1 else ())):
        if run.times and (stated := _moment(document, keys)) is not None:
            run.times[at] = stated.isoformat()


def _messages_of_steps(steps: list[dict[str, Any]]) -> list[Message]:
    """The messages of steps that are thought, action and observation, as agents that think in text write them."""
    messages: list[Message] = []
    for number, step in enumerate(steps):
        if not {"action", "observation", "thought", "response"} & step.keys():
            return []
        thought = step.get("thought") or step.get("response")
        pieces = [text_piece(str(thought))] if thought else []
        if action := step.get("action"):
            name = action.get("name") if isinstance(action, dict) else None
            given = action.get("arguments", action) if isinstance(action, dict) else {"input": action}
            pieces.append(call_piece(name or step.get("tool") or "action", given, f"step_{number}"))
        messages += messages_of_pieces("assistant", pieces)
        if action and step.get("observation") not in (None, ""):
            messages.append(result_piece(step["observation"], f"step_{number}").value)
    return messages


def _complete(run: AgentRun, document: dict[str, Any]) -> None:
    """Add what a run states beside its messages: the task, the answer, the model, what it cost."""
    stated = (document.get(key) for key in TASKS)
    texts = (
        "\n".join(one) if isinstance(one, list) and all(isinstance(x, str) for x in one) else one for one in stated
    )
    task = run.task = next((one for one in texts if isinstance(one, str) and one), None)
    _name_agents(run)
    if run.messages and task and not any(message["role"] == "user" for message in run.messages):
        head = next((at for at, one in enumerate(run.messages) if one["role"] != "system"), len(run.messages))
        run.messages.insert(head, {"role": "user", "content": task})
        run.times.insert(head, None)
        run.folders.insert(head, None)
    answer = next((document[key] for key in ANSWERS if isinstance(document.get(key), str)), None)
    last = run.messages[-1] if run.messages else {}
    if answer and (last.get("role") == "tool" or last.get("tool_calls")):
        run.add([{"role": "assistant", "content": answer}])
    run.model = run.model or _find_first(document, ("model", "model_name", "llm"))
    run.cost = _cost(document)


def _cost(document: dict[str, Any]) -> float | None:
    return next((float(document[key]) for key in COSTS if isinstance(document.get(key), int | float)), None)


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def conversation_run(document: dict[str, Any]) -> AgentRun:
    """A conversation, to be read turn by turn: each answer is a trace of the session."""
    session = _find_first(document, (*SESSIONS, "id", "uuid"))
    run = AgentRun(session, "chat", session=session, user=_find_first(document, USERS), by_turn=True)
    run.model, run.tools = _find_first(document, MODELS), tools_in(document.get("tools"))
    listed = list_messages(document)
    if role_named(listed[0].get("role")) not in INSTRUCTING:
        run.add(_instructions_beside(document))
    _add_timed(run, document, listed)
    if run.messages and run.messages[-1]["role"] != "assistant":
        run.add(reply_beside(document))
    _name_agents(run)
    run.by_turn = not _acts(run.messages)
    if run.by_turn:
        _join_answers(run)
    known = {*MESSAGE_LISTS, *SESSIONS, "id", "uuid", *USERS, *COSTS, *MODELS, *REPLIES, "tools", *SYSTEM_KEYS}
    known |= {key for key in document if key.replace("_", "").lower() in (*MOMENTS, *ENDS)}
    small = (str, int, float, bool)
    run.metadata = {key: value for key, value in document.items() if key not in known and isinstance(value, small)}
    answer = decode_object(document.get("response"))
    run.failed = bool(document.get("error") or answer.get("error")) and run.messages[-1]["role"] != "assistant"
    run.model = run.model or _find_first(answer, MODELS)
    usage = next((one for key in USAGES for of in (document, answer) if isinstance(one := of.get(key), dict)), {})
    if sum(message["role"] == "user" for message in run.messages) == 1:
        run.cost = _cost(document)
        run.metadata |= _counts(usage) | ({"usage": usage} if usage else {})
    else:
        # What a chat of several turns used is what no one of them did.
        of_all = {"chat_usage": usage, "chat_cost": _cost(document)}
        run.metadata |= {name: value for name, value in of_all.items() if value not in (None, {})}
    return run


def _instructions_beside(document: dict[str, Any]) -> list[Message]:
    """The system prompt that stands beside the messages; a word under `system` names a program."""
    stated = next((document[key] for key in SYSTEM_KEYS if document.get(key)), None)
    is_name = isinstance(stated, str) and "system" in document and len(stated.split()) < 3
    return [] if stated is None or is_name else instructions_in(stated)


def _counts(usage: dict[str, Any]) -> dict[str, int]:
    """The tokens that a call says it used."""
    counts = {name: next((usage[key] for key in keys if key in usage), None) for name, keys in TOKENS.items()}
    return {name: count for name, count in counts.items() if isinstance(count, int)}


def _sum_usage(messages: list[Message]) -> tuple[dict[str, Any], float | None]:
    """What the replies of a turn say that they used, as facts of its trace, and what they say that they cost."""
    replies = [message["extra"] for message in messages if message["role"] == "assistant" and message.get("extra")]
    counts = Counter[str]()
    for extra in replies:
        usage = next((one for key in USAGES if isinstance(one := extra.get(key), dict)), {})
        counts.update(_counts(usage))
    models = {extra["model"] for extra in replies if isinstance(extra.get("model"), str)}
    costs = [cost for extra in replies if (cost := _cost(extra)) is not None]
    return dict(counts) | ({"model": models.pop()} if len(models) == 1 else {}), sum(costs) if costs else None


def _acts(messages: list[Message]) -> bool:
    """Whether the replies are commands and the user's messages what came of them; a person's chat may hold as much code."""
    pairs = [
        (text_of(one).strip(), text_of(after).strip())
        for one, after in pairwise(messages)
        if (one["role"], after["role"]) == TURN_END
    ]
    if len(pairs) < 2:
        return False
    if all(ACTS.search(CODE.sub("", reply)) for reply, _ in pairs):
        return True
    if not all(ENDS_WITH_CODE.search(reply) and len(CODE.findall(reply)) == 1 for reply, _ in pairs):
        return False
    # Nothing but commands, and the result of the last one at the end: nobody was answered.
    if messages[-1]["role"] == "user" and all(reply.startswith("```") for reply, _ in pairs):
        return True
    # A heading that the task has as well is a person's way to ask.
    first = HEADING.match(next(text_of(message) for message in messages if message["role"] == "user"))
    headings = Counter(heading[1] for _, text in pairs if (heading := HEADING.match(text)) and text[-1] != "?")
    most, count = (headings.most_common(1) or [("", 0)])[0]
    return 2 * count > len(pairs) and (first is None or first[1] != most)


def _join_answers(run: AgentRun) -> None:
    """Make one message of an answer that was cut and continued in the next; a call and a word to stop stay their own."""
    for at in range(len(run.messages) - 1, 0, -1):
        head, tail = run.messages[at - 1], run.messages[at]
        one, two = head.get("content"), tail.get("content")
        # One that repeats the message before it, as far as it got, is that message again.
        if not (isinstance(one, str) and isinstance(two, str) and one and two) or two.startswith(one.rstrip()):
            continue
        same = head["role"] == tail["role"] == "assistant" and head.get("name") == tail.get("name")
        if same and not head.get("tool_calls") and not tail.get("tool_calls") and not STOP.fullmatch(two.strip()):
            # Cut within a sentence, it goes on as it stands; what was whole is a paragraph before the next.
            apart = ENDED.search(one) and not (two[0].isspace() or one[-1].isspace() or two[0].islower())
            run.messages[at - 1] = head | {"content": one + ("\n\n" if apart else "") + two}
            run.times[at - 1] = run.times[at] or run.times[at - 1]
            del run.messages[at], run.times[at], run.folders[at]


def _moments(document: dict[str, Any], listed: list[dict[str, Any]]) -> Iterator[str | None]:
    """The time of each message. Where only the conversation has one, its messages are a second apart, in their order."""
    stated = [_moment(message) for message in listed]
    began = _moment(document)
    for number, moment in enumerate(stated):
        if moment is None and began is not None and not any(stated):
            moment = began + timedelta(seconds=number)
        yield None if moment is None else moment.isoformat()


def _moment(of: dict[str, Any], keys: tuple[str, ...] = MOMENTS) -> datetime | None:
    return read_time(stated_time(of, keys))


def _find_first(document: dict[str, Any], keys: tuple[str, ...]) -> str | None:
    return next((str(document[key]) for key in keys if isinstance(document.get(key), str | int)), None)


class AgentLogs:
    """ATIF, Claude Code, Codex CLI, OpenHands, SWE-agent, tau-bench, chats with a reward, conversations of an app, and what
    promptfoo and DeepEval write about their test runs."""

    def __init__(self, unit: str | None = None) -> None:
        self.unit = unit

    def accepts(self, head: bytes) -> bool:
        if is_test_run(head):
            return True
        if any(sign in head for sign in NOT_LOGS):
            return False
        return any(all(sign in head for sign in signs) for signs in SIGNS) or begins_with_conversation(head)

    def with_unit(self, unit: str) -> "AgentLogs":
        """The same logs, a trace for each task or for each turn."""
        return AgentLogs(unit)

    def read(self, lines: Iterable[bytes], name: str) -> Iterator[Incoming | Rejected]:
        # All at once: which agent wrote a log is often known only from a later line.
        parts = list(read_documents(lines, name))
        yield from (part for part in parts if isinstance(part, Rejected))
        listed = [part for part in parts if not isinstance(part, Rejected)]
        sizes = Counter(where.rpartition("[")[0] for where, _ in listed)
        read = [(_number_chat(where, name, sizes), part) for where, part in join_messages(listed)]
        objects = [part for part in read if isinstance(part[1], dict)]
        if tests := [test for where, document in objects for test in list_tests(document, where)]:
            yield from map(read_test, tests)
            return
        for where, part in read:
            if not isinstance(part, dict):
                yield Rejected(where=where, reason=f"expected an object, got {type(part).__name__}")
        unpacked: list[tuple[str, dict[str, Any]]] = []
        beside: dict[str, str] = {}
        for where, document in ((where, join_columns(document)) for where, document in objects):
            runs, left = runs_in(document)
            if runs:
                beside[where] = ", ".join(f"{key} ({size})" for key, size in left.items())
            held = ((f"{where}: conversation {n} of {len(runs)}", unwrap(run)) for n, run in enumerate(runs, 1))
            unpacked += held if runs else [(where, unwrap(document))]
        untimed, counts = 0, Counter[str]()
        for number, (where, document, run) in enumerate(_runs(unpacked, name)):
            untimed += run.by_turn and not any(run.times)
            if not run.messages:
                yield Rejected(where=where, reason=f"no message is read: {_describe_missing_messages(document)}")
                continue
            counts[where.rpartition(": conversation ")[0]] += 1
            try:
                yield from _traces(run, self.unit or ("turn" if run.by_turn else "task"), f"{name}:{number}")
            except ValidationError as problem:
                yield Rejected.of(problem, where, Trace)
        for where, rest in beside.items():
            if rest and counts[where]:
                reason = f"{counts[where]} runs are read; what stands beside them is not: {rest}"
                yield Rejected(where=where, reason=reason, is_note=True)
        if untimed:
            reason = f"{untimed} chats state no time: their traces have that of their arrival"
            yield Rejected(where=name, reason=reason, is_note=True)


def _number_chat(where: str, name: str, sizes: Counter[str]) -> str:
    """Name the place of a part of a file; in a list by its number, as a person counts."""
    around, _, index = where.rpartition("[")
    return (
        f"{around}: conversation {int(index[:-1]) + 1} of {sizes[around]}" if LISTED.match(where, len(name)) else where
    )


def _describe_missing_messages(document: dict[str, Any]) -> str:
    """Say why a document that looks like a run has no message."""
    lists = {key: document[key] for key in (*CHATS, "steps", "events") if isinstance(document.get(key), list)}
    if empty := [key for key, listed in lists.items() if not listed]:
        return f"{', '.join(empty)} is empty"
    for key, listed in lists.items():
        keys = ", ".join(list(listed[0])[:8]) if isinstance(listed[0], dict) else type(listed[0]).__name__
        return f"the items of {key} have {keys or 'nothing'}, where a role and a content are looked for"
    return describe([document])


def _runs(objects: list[tuple[str, dict[str, Any]]], name: str) -> Iterator[tuple[str, dict[str, Any], AgentRun]]:
    """The runs of a file, each with its place and its document; one that is written as events has that of the file."""
    events = [document for _, document in objects]
    kinds = {event.get("type") for event in events if isinstance(event.get("type"), str)}
    older_codex = any(event.get("type") == "function_call" and "call_id" in event for event in events)
    if any("sessionId" in event and "message" in event for event in events):
        runs = claude_code_runs(events)
    elif older_codex or not kinds.isdisjoint(("session_meta", "response_item")):
        runs = codex_runs(events)
    elif any("source" in event and not OPENHANDS_KEYS.isdisjoint(event) for event in events):
        runs = [openhands_run({"history": events})]
    else:
        return ((where, document, _run(document)) for where, document in objects)
    return ((name, events[-1], run) for run in runs)


def _run(document: dict[str, Any]) -> AgentRun:
    # Beside its messages a run may list steps of another kind.
    if isinstance(document.get("steps"), list) and (run := atif_run(document)).messages:
        return run
    if is_conversation(document):
        return conversation_run(document)
    history = document.get("history") if "trajectory" not in document else None
    if isinstance(history, list) and not all(isinstance(item, dict) and "role" in item for item in history):
        return openhands_run(document)
    is_swe = "trajectory_format" in document or (
        "trajectory" in document and not {"info", "history"}.isdisjoint(document)
    )
    return chat_run(document, "swe-agent" if is_swe else "agent")


def _traces(run: AgentRun, unit: str, where: str) -> Iterator[Trace]:
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


def _trace(run: AgentRun, ident: str, session: str, start: int, end: int) -> Trace:
    """A part of a run as a trace. A turn holds its own messages; those before it are its session's."""
    messages = run.messages[start:end]
    replies = [text for message in messages if message["role"] == "assistant" and (text := text_of(message))]
    # What one agent says only to stop the others ("TERMINATE") answers nobody.
    ends = len(replies) > 1 and messages[-2]["role"] == "assistant" and STOP.fullmatch(text_of(messages[-1]).strip())
    answer = replies[-2 if ends else -1] if replies else None
    asked, _, _ = split_turn(messages, answer)
    is_last = end == len(run.messages)
    # Of a whole task the question is the task, whatever the environment or the user said last.
    whole = not start and is_last
    question = next(
        (text_of(message) for message in (asked if whole else reversed(asked)) if message["role"] == "user"), ""
    ).removeprefix(SMOLAGENTS_TASK)
    # A first message may hold instructions and worked examples around the task, which the log states by itself.
    task = (run.task or "").strip()
    ends = r"(?=\s)" if task.endswith((".", "?", "!")) else r"\s*\n"
    if whole and task and re.search(rf"(?:\n\s*{re.escape(task)}{ends}|{re.escape(task)}\s*$)", question):
        question = task
    times = [time for time in run.times[start:end] if time]
    offered = {"messages": messages, "agent": run.agent, "model": run.model, "tools": run.tools}
    used, spent = _sum_usage(messages)
    metadata = {key: value for key, value in (run.metadata | offered | used).items() if value not in (None, [])}
    cost = run.cost if whole and run.cost is not None else spent
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
        status=TraceStatus.FAILED if run.failed and is_last else TraceStatus.COMPLETED,
        started_at=times[0] if times else None,
        ended_at=times[-1] if times else None,
        cost=cost if cost is not None and cost >= 0 else None,
        metadata=orjson.loads(orjson.dumps(metadata, default=str)),
        spans=tuple(_tool_spans(messages)),
        scores=tuple(scores),
    )


def _tool_spans(messages: list[Message]) -> Iterator[Span]:
    """A step for each call, which names the tool, what it was given and gave, and how it ended."""
    results = {message.get("tool_call_id"): message for message in messages if message["role"] == "tool"}
    calls = chain.from_iterable(message.get("tool_calls", ()) for message in messages)
    for number, call in enumerate(calls):
        name, result = call["function"]["name"], results.get(call["id"]) if call["id"] else None
        failed = result is not None and result.get("extra", {}).get("failed") is True
        yield Span(
            id=f"call-{number}",
            name=name,
            kind="tool",
            input=call["function"]["arguments"],
            output=None if result is None else text_of(result),
            status=TraceStatus.FAILED if failed else TraceStatus.COMPLETED,
            metadata={"tool": name},
        )
