"""What a document of a log holds: its messages, the reply beside them, its runs and its reward, whatever its layout."""

import json
import re
from collections.abc import Iterable
from functools import cache
from itertools import chain
from typing import Any

from evergold.conversation import text_of
from evergold.conversation.message import KNOWN_ROLES, Message, decode_json, decode_object, role_named, tool_call
from evergold.conversation.reader import SYSTEM_KEYS, messages_in, text_message
from evergold.formats.lines import columns_of
from evergold.sources.agents.log_lines import objects_in, read_time, stated_time

REWARDS = (
    "reward",
    "resolved",
    "success",
    "score",
    "passed",
    "is_correct",
    "correct",
    "solved",
    "is_success",
    "utility",
)
# How the names of objects begin or end that hold a reward: `reward_info`, `test_result`, `eval`, `final_metrics`.
REWARDED_IN = re.compile(
    r"(?:^|_)(?:info|extra|report|rewards?|results?|metrics|eval\w*|verif\w*|grad\w*|outcome)(?:_|$)"
)
# A yes or no under these judges the run, whatever object holds it.
JUDGED = frozenset({"resolved", "passed", "is_correct", "correct", "solved", "is_success"})
# `final_reward`, `task_success`, `overall_score`: where no key is a plain one.
REWARD_NAMED = re.compile(
    r"(?:final|total|overall|task|episode|agent|is|was)_(?:reward|resolved|solved|success|successful|succeeded|score|passed)"
)
COLUMNS = {f"{name}s": name for name in ("action", "observation", "thought", "response", "reward")}
MESSAGE_LISTS = (
    *("messages", "conversation", "history", "conversations", "turns", "dialogue", "dialog", "transcript"),
    *("chat_messages", "contents"),
)
SESSIONS = (
    *("conversation_id", "dialogue_id", "session_id", "thread_id", "chat_id"),
    *("conversationId", "dialogueId", "sessionId", "threadId", "chatId"),
)
CHAT_IDS = ("id", "uuid")
# Where a reply stands beside its messages; an `answer` may be the one that was expected.
USERS = ("user_id", "customer_id", "user", "customer", "userId", "customerId")
MOMENTS = (
    *("starttime", "startedat", "timestamp", "createdat", "created", "createtime", "createdtime", "time", "ts", "date"),
    *("datetime", "sentat", "senttime", "insertedat", "timestampms", "requestcreatedat"),
)
COSTS = ("agent_cost", "total_cost", "cost", "spend")
# A row of a log that is one question with its answer; without a session, a user or a time it may be a case.
ASKED = ("question", "query", "prompt", "user_message")
REPLIED = ("answer", "response", "reply", "bot_response", "completion")
# The same under other names, by the words of a name: who speaks, and what that is called ("User Message", `botMsg`).
PERSONS = frozenset({"user", "human", "customer", "client", "student", "usuario", "cliente"})
PROGRAMS = frozenset({"bot", "chatbot", "ai", "assistant", "model", "llm", "agent", "gpt", "asistente"})
SPOKEN = frozenset({"message", "msg", "text", "mensaje"})
QUESTIONS = SPOKEN | {"question", "query", "prompt", "input", "pregunta", "consulta"}
ANSWERS = frozenset({"answer", "ans", "response", "reply", "completion", "respuesta"})
FILLERS = frozenset({"of", "the", "de", "del", "la"})
REPLIES = ("response", "completion", "choices", "reply", "final_response")
CHATS = ("traj", "messages", "trajectory", *MESSAGE_LISTS[1:])
SPEAKER_KEYS = ("role", "from", "speaker", "author", "sender", "direction")
# Keys that a native trace, a run of an agent or an export of a tracer has beside its messages.
OTHERS = frozenset(
    {"type", "input", "output", "inputs", "run_type", "spans", "attributes", "reward", "info", "steps"}
    | {"traj", "trajectory", "trajectory_format", "instance_id", "task_id"}
)
# Of these, what a native trace or an export of a tracer has, and where it holds a request rather than a run.
NO_RUNS = OTHERS - {"reward", "info", "steps", "traj", "trajectory", "trajectory_format", "instance_id", "task_id"}
REQUESTS = frozenset({"metadata", "request", "response", "body", "kwargs", "data", "outputs"})
KNOWN_NAMES = frozenset({*SPEAKER_KEYS, *SESSIONS, *USERS, "content", "text"}) - {"user", "customer"}
_WORD = re.compile(r"[A-Z]?[^\W\d_A-Z]+|[A-Z]+(?![a-z])|\d+")
_EMPTY_FENCE = re.compile(r"```\s*```")  # around an edit of a file, which is no text
_BEGINNING = re.compile(rf'\{{\s*"(?:{"|".join(MESSAGE_LISTS)})"'.encode())
_SPEAKERS = tuple(f'"{key}"'.encode() for key in SPEAKER_KEYS)
# In a cell of CSV quotes are doubled.
_CELL_SPEAKERS = (*_SPEAKERS, *(sign.replace(b'"', b'""') for sign in _SPEAKERS))
AS_TEXT = (*CHATS, "tools", "request", "usage", "metadata")  # in cells, and in columns of databases
TURN_END = ("assistant", "user")


def reward_in(document: Any, depth: int = 0) -> float | None:
    """The reward of a run, wherever its log writes it: a number from 0 to 1, or whether the task was solved."""
    if not isinstance(document, dict) or depth > 3:
        return None
    if isinstance(resolved := document.get("target"), bool):
        return float(resolved)
    named = [key for key in REWARDS if key in document] or [
        key for key in document if REWARD_NAMED.fullmatch(key.lower())
    ]
    for key in (*named, *(("value", "total") if depth else ())):
        value = document.get(key)
        # `resolved: true` is 1.0; a score of another scale is no reward that can be kept.
        if isinstance(value, bool | int | float) and 0 <= value <= 1:
            return float(value)
    # Inside an object that holds rewards they may stand in others, whatever their names.
    inner = (reward_in(value, depth + 1) for key, value in document.items() if depth or REWARDED_IN.search(key.lower()))
    judged = (
        float(value)
        for held in document.values()
        if isinstance(held, dict) and not depth
        for key, value in held.items()
        if key in JUDGED and isinstance(value, bool)
    )
    return next((reward for reward in chain(inner, judged) if reward is not None), None)


def join_columns(document: dict[str, Any], depth: int = 0) -> dict[str, Any]:
    """Runs that keep each kind of their steps in a list of its own (`actions`, `observations`) with these as one list."""
    joined: dict[str, Any] = {}
    for key, value in document.items():
        columns = {COLUMNS[name]: value[name] for name in COLUMNS.keys() & value} if isinstance(value, dict) else {}
        sizes = {len(column) if isinstance(column, list) else None for column in columns.values()}
        if len(columns) > 1 and "action" in columns and len(sizes) == 1 and None not in sizes:
            joined["trajectory"] = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
        else:
            joined[key] = join_columns(value, depth + 1) if isinstance(value, dict) and depth < 2 else value
    return joined


def name_speakers(listed: Any) -> Any:
    """The items of a list with their speaker as `role`, whatever key names it; any other value as it is."""
    if not isinstance(listed, list):
        return listed
    named: list[Any] = []
    speaker = _speaker_key([item for item in listed if isinstance(item, dict)])
    for item in listed:
        if isinstance(item, dict) and "lc" in item:  # a message as LangChain serializes its objects
            item = next(iter(messages_in([item], "input")), item)
        if isinstance(item, dict) and speaker:
            item = {
                "role": item[speaker],
                **{key: value for key, value in item.items() if key not in (speaker, *SPEAKER_KEYS)},
            }
        key = next((key for key in SPEAKER_KEYS if isinstance(item, dict) and isinstance(item.get(key), str)), "role")
        item = item if key == "role" else {"role": item[key], **{k: v for k, v in item.items() if k != key}}
        if isinstance(item, dict) and key == "speaker" and isinstance(item.get("utterance"), str):
            # In corpora of dialogues the system is the one that answers.
            role = "assistant" if item["role"].lower() == "system" else item["role"]
            item = {"role": role, "content": item["utterance"]}
        lines = item.get("content") if isinstance(item, dict) else None
        if isinstance(lines, list) and lines and all(isinstance(line, str) for line in lines):
            item = item | {"content": "\n".join(lines)}
        prompt_alone = isinstance(item, dict) and "role" in item and not item.get("text") and not item.get("content")
        if prompt_alone and item.get("system_prompt"):
            item = {"role": "system", "content": item["system_prompt"]}
        named.append(item)
    return named


def _speaker_key(items: list[dict[str, Any]]) -> str | None:
    """The key that says of every message whether the person or the assistant wrote it, where no usual one does."""
    keys = list(items[0]) if len(items) > 1 else []
    roles = {key: {role_named(item.get(key)) for item in items} for key in keys if isinstance(items[0][key], str)}
    sides = [key for key in keys if set(TURN_END) <= roles.get(key, set()) <= KNOWN_ROLES]
    return None if not sides or set(sides) & set(SPEAKER_KEYS) else sides[0]


def runs_in(document: dict[str, Any]) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The runs of a file of results, and how much stands beside them; a document that is a run itself holds none."""
    listed = [key for key in (*CHATS, "steps", "events") if isinstance(document.get(key), list)]
    # `conversations` holds the messages of one, or one chat with its messages after the other.
    if listed and not (listed == ["conversations"] and any(map(list_messages, objects_in(document["conversations"])))):
        return [], {}
    beside = {key: len(value) for key, value in document.items() if isinstance(value, list | dict) and value}
    for key, value in document.items():
        held = objects_in(value if isinstance(value, list) else list(value.values()) if isinstance(value, dict) else [])
        runs = [one for one in held if _is_run(one)]
        if runs:
            beside[key] = len(held) - len(runs)
            return runs, {name: size for name, size in beside.items() if size}
    # A file of results by task holds nothing but runs.
    if document and all(
        isinstance(one, dict) and any(isinstance(one.get(k), list) for k in CHATS) for one in document.values()
    ):
        return [{"task_id": name} | one for name, one in document.items()], {}
    return [], {}


def _is_run(document: dict[str, Any]) -> bool:
    lists = any(isinstance(document.get(name), list) for name in (*CHATS, "steps"))
    return lists or (not any(map(document.get, NO_RUNS)) and bool(list_messages(unwrap(document))))


def _holds_runs(document: dict[str, Any]) -> bool:
    """Whether an object is a run that states its messages, or holds such runs."""
    plain = NO_RUNS.isdisjoint(document) and bool(list_messages(unwrap(document)))
    return plain or bool(runs_in(document)[0])


def unwrap(document: dict[str, Any]) -> dict[str, Any]:
    """A run whose messages stand in one of its objects (`state`, `result`), with what the objects beside it state."""
    if list_messages(document) or not NO_RUNS.isdisjoint(document):
        return document
    if isinstance(nodes := document.get("mapping"), dict):
        return {key: value for key, value in document.items() if key != "mapping"} | {
            "messages": _shown_branch(dict(nodes), document.get("current_node"))
        }
    asked = decode_object(document.get("request"))
    if isinstance(given := asked.get("input"), str | list) and "messages" not in asked:
        asked = asked | {"messages": [text_message(given, "input")] if isinstance(given, str) else given}
        del asked["input"]
    if list_messages(asked) and "response" in document:
        return document | asked
    inner = {key: value for key, value in document.items() if isinstance(value, dict) and key not in REQUESTS}
    held = [key for key, value in inner.items() if list_messages(value)]
    if len(held) != 1:
        return document
    plain = {key: value for key, value in document.items() if key not in inner}
    return dict(chain.from_iterable(one.items() for one in (*inner.values(), plain, inner[held[0]])))


def _shown_branch(nodes: dict[str, Any], at: Any) -> list[dict[str, Any]]:
    """The messages of a chat in ChatGPT's export, which is a tree: from the one shown last back to the first."""
    branch: list[dict[str, Any]] = []
    while isinstance(at, str) and isinstance(node := nodes.pop(at, None), dict):
        at, message = node.get("parent"), decode_object(node.get("message"))
        author, content = decode_object(message.get("author")), decode_object(message.get("content"))
        more = decode_object(message.get("metadata"))
        parts = content.get("parts")
        shown = [_shown_part(one) for one in (parts if isinstance(parts, list) else [content.get("text")]) if one]
        made: dict[str, Any] = {"role": author.get("role"), "content": shown, "time": message.get("create_time")}
        made |= {"model": more["model_slug"]} if author.get("role") == "assistant" and more.get("model_slug") else {}
        if author.get("role") == "assistant" and message.get("recipient") not in (None, "all"):
            given = "\n".join(one.get("text", "") for one in shown)
            made |= {"content": None, "tool_calls": [tool_call(message["recipient"], given, message.get("id"))]}
        elif author.get("role") == "tool":
            made["name"] = author.get("name")
        if thoughts := objects_in(content.get("thoughts")):
            thinking = "\n\n".join(text for one in thoughts if (text := one.get("content") or one.get("summary")))
            # Thoughts are a message before the answer: it is the one that was looked at last.
            if branch and branch[-1]["role"] == "assistant":
                branch[-1]["reasoning"] = "\n\n".join(one for one in (thinking, branch[-1].get("reasoning")) if one)
        elif not more.get("is_visually_hidden_from_conversation") and (shown or "tool_calls" in made):
            branch.append(made)
    return branch[::-1]


def _shown_part(part: Any) -> dict[str, Any]:
    """A part of a message of ChatGPT: a text, a picture by its name in the export, or what it was."""
    if isinstance(part, str):
        return {"type": "text", "text": part}
    if isinstance(part, dict) and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if isinstance(part, dict) and isinstance(name := part.get("asset_pointer"), str) and "image" in str(part):
        return {"type": "image_url", "image_url": {"url": name}}
    return {"type": "file", "file": part}


def reply_beside(document: dict[str, Any]) -> list[Message]:
    """The reply that a request has beside its messages: a text, a message, or the body of an interface's answer."""
    given = next((document[key] for key in REPLIES if document.get(key)), None)
    if isinstance(given, str):
        return [text_message(given, "output")]
    body = given.get("body") if isinstance(given, dict) and isinstance(given.get("body"), dict) else given
    # Of several choices the first is the answer.
    choices = objects_in(body.get("choices") if isinstance(body, dict) else body)
    if choices:
        body = [min(choices, key=lambda one: one["index"] if isinstance(one.get("index"), int) else 0)]
    if isinstance(body, dict) and "role" not in body and isinstance(body.get("content"), str | list):
        body = {"role": "assistant", "content": body["content"]}
    return [message for message in messages_in(body, "output") if message["role"] == "assistant"]


def as_chat(document: Any) -> Any:
    """A document with its messages as a list of them, where a tool writes them in a way of its own; any other as it is."""
    if pairs := _messages_of_pairs(document):
        return {"messages": pairs}
    if not isinstance(document, dict):
        return document
    document = _rename_known(document)
    texts = {key: value for key in AS_TEXT if isinstance(value := document.get(key), str) and value[:1] in ("[", "{")}
    document = document | {key: decode_json(value) for key, value in texts.items()} if texts else document
    if document.get("schemaType") == "ModelInvocationLog":
        return _logged_invocation(document)
    if "responderUsername" in document and isinstance(document.get("requests"), list):
        return _exported_chat(document)
    for key in MESSAGE_LISTS:
        if pairs := _messages_of_pairs(document.get(key)) or _messages_of_rows(document.get(key)):
            return document | {key: pairs}
    if (exchange := _exchange_in(document)) and _as_messages(document):
        return {k: value for k, value in document.items() if k not in exchange} | {"messages": _as_messages(document)}
    events = objects_in(document.get("events"))
    if {one.get("event") for one in events} & {"user", "bot"}:  # Rasa
        spoken = [one | {"role": one["event"], "time": one.get("timestamp")} for one in events if one.get("text")]
        kept = [
            {key: one[key] for key in ("role", "text", "time")} for one in spoken if one["event"] in ("user", "bot")
        ]
        return {key: document[key] for key in ("latest_message_id",) if key in document} | {
            "session_id": document.get("sender_id"),
            "messages": kept,
        }
    listed = objects_in(document.get("messages"))
    calls = all("role" in one and "content" not in one for one in listed)
    if calls and any("secondsFromStart" in one for one in listed):  # Vapi
        rest = {key: value for key, value in document.items() if key not in ("type", "artifact", "messages", "costs")}
        return rest | {"call_type": document.get("type"), "messages": list(map(_spoken, listed))}
    return document


def _exchange_in(document: dict[str, Any]) -> tuple[str, ...]:
    """The keys of the question and the answer in a row of a log; none where it is no such row, or holds a conversation."""
    dated = stated_time(document, MOMENTS) is not None or any(document.get(key) for key in (*SESSIONS, *USERS))
    whole = not OTHERS.isdisjoint(document) or any(key in document for key in MESSAGE_LISTS)
    return () if whole or not dated else _pair_in(document)


def _pair_in(document: dict[str, Any]) -> tuple[str, ...]:
    """The keys under which an object has a text of a person and a text of a program that answers it. One text is enough where
    its name says whose it is: a greeting that nobody asked for."""
    texts = [key for key, value in document.items() if isinstance(value, str)]
    asked = [key for key in ASKED if key in texts] + [key for key in texts if _is_side(key, PERSONS, QUESTIONS)]
    replied = [key for key in REPLIED if key in texts] + [key for key in texts if _is_side(key, PROGRAMS, ANSWERS)]
    alone = [key for key in replied if not asked and not PROGRAMS.isdisjoint(plain_name(key).split("_"))]
    return tuple(alone[:1]) if not (asked and replied) else (asked[0], replied[0])


def _as_messages(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a question with its answer; a side that is empty said nothing."""
    pair, time = _pair_in(row), stated_time(row, MOMENTS)
    spoken = zip(("user", "assistant")[-len(pair) :], pair, strict=True) if pair else ()
    return [{"role": role, "content": row[key], "time": time} for role, key in spoken if row[key].strip()]


def _is_side(key: str, speakers: frozenset[str], spoken: frozenset[str]) -> bool:
    """Whether a name says that its text is of one side: `user_msg` and `message` beside `botMsg` and `ai_response`."""
    words = set(plain_name(key).split("_")) - FILLERS
    if not words or not words <= speakers | spoken | SPOKEN:
        return False
    return not words.isdisjoint(spoken) or not (words.isdisjoint(speakers) or words.isdisjoint(SPOKEN))


@cache
def plain_name(name: str) -> str:
    """A name as most logs write it: `session_id` for `sessionId` and "Session ID"."""
    return "_".join(_WORD.findall(name)).lower()


def _rename_known(document: dict[str, Any]) -> dict[str, Any]:
    """An object in which what a message or a chat has stands under the usual names, however these were written."""
    others = [key for key in document if key not in KNOWN_NAMES]
    names = {key: name for key in others if (name := plain_name(key)) in KNOWN_NAMES and name not in document}
    return {names.get(key, key): value for key, value in document.items()} if names else document


def _messages_of_pairs(listed: Any) -> list[dict[str, Any]]:
    """The messages of a chat that is a list of questions with their answers, as Gradio keeps it."""
    pairs = isinstance(listed, list) and bool(listed) and all(isinstance(one, list) and len(one) == 2 for one in listed)
    if not pairs or not all(isinstance(text, str | None) for one in listed for text in one):
        return []
    if all(role_named(one[0]) in KNOWN_ROLES for one in listed):
        return []  # each is a message: who speaks, and what
    return [
        {"role": role, "content": text}
        for one in listed
        for role, text in zip(("user", "assistant"), one, strict=True)
        if text
    ]


def _messages_of_rows(listed: Any) -> list[dict[str, Any]]:
    """The messages of a chat whose turns are objects of a question with its answer."""
    rows = listed if isinstance(listed, list) and all(isinstance(one, dict) for one in listed) else []
    if any(not set(SPEAKER_KEYS).isdisjoint(row) or not _pair_in(row) for row in rows):
        return []
    return [message for row in rows for message in _as_messages(row)]


def _spoken(item: dict[str, Any]) -> dict[str, Any]:
    """A message of a call that Vapi recorded."""
    time = {"time": item["time"]} if item.get("time") is not None else {}
    if item.get("toolCalls"):
        return {"role": "assistant", "content": None, "tool_calls": item["toolCalls"]} | time
    if item["role"] == "tool_call_result":
        return {
            "role": "tool",
            "content": item.get("result"),
            "tool_call_id": item.get("toolCallId"),
            "name": item.get("name"),
        } | time
    return {"role": item["role"], "content": item.get("message")} | time


def _exported_chat(document: dict[str, Any]) -> dict[str, Any]:
    """A session of Copilot Chat as VS Code exports it."""
    messages: list[dict[str, Any]] = []
    session = document.get("sessionId")
    for request in objects_in(document["requests"]):
        result, time = decode_object(request.get("result")), request.get("timestamp")
        session = session or decode_object(result.get("metadata")).get("sessionId")
        messages.append({"role": "user", "content": _shown_text(request.get("message")), "time": time})
        elapsed = decode_object(result.get("timings")).get("totalElapsed")
        time = time + elapsed if isinstance(time, int) and isinstance(elapsed, int | float) else time
        reply, text = {"role": "assistant", "model": request.get("modelId"), "time": time}, ""
        for part in objects_in(request.get("response")):
            if part.get("kind") in (None, "markdownContent", "inlineReference"):
                text += _shown_text(part)
            elif part["kind"] == "toolInvocationSerialized":
                details, ident = decode_object(part.get("resultDetails")), part.get("toolCallId")
                given = details.get("input") or {"message": _shown_text(part.get("invocationMessage"))}
                output = "\n".join(map(_shown_text, objects_in(details.get("output"))))
                result = {"content": output or _shown_text(part.get("pastTenseMessage")), "tool_call_id": ident}
                call = {"content": text, "tool_calls": [tool_call(part.get("toolId"), given, ident)]}
                messages += [reply | call, {"role": "tool", "time": time} | result]
                text = ""
        messages += [reply | {"content": text}] if text.strip() else []
    for message in messages:
        message["content"] = _EMPTY_FENCE.sub("", message["content"]).strip()
    return {"session_id": session, "user_id": document.get("requesterUsername"), "messages": messages}


def _shown_text(part: Any) -> str:
    """The text of a part of Copilot Chat, or the name of the file or symbol that it points to."""
    if not isinstance(part, dict):
        return part if isinstance(part, str) else ""
    keys = ("text", "value", "content", "name", "inlineReference", "uri")
    return next((_shown_text(part[key]) for key in keys if part.get(key)), str(part.get("path", "")).rpartition("/")[2])


def _logged_invocation(log: dict[str, Any]) -> dict[str, Any]:
    """A call of a model as Bedrock logs it: the request with its reply, of Converse or of any model's own interface."""
    given, made = decode_object(log.get("input")), decode_object(log.get("output"))
    asked, answer = decode_json(given.get("inputBodyJson")), decode_json(made.get("outputBodyJson"))
    asked = asked if isinstance(asked, dict) else {}
    if text := asked.get("inputText") or asked.get("prompt"):
        asked = asked | {"messages": [text_message(text, "input")]}
    if isinstance(answer, list):  # a reply that was streamed
        deltas = (decode_object(one.get("contentBlockDelta", one)).get("delta") for one in objects_in(answer))
        answer = "".join(str(one.get("text") or "") for one in deltas if isinstance(one, dict))
    elif isinstance(answer, dict) and (text := _find_text(answer)):
        answer = answer | {"choices": [{"message": text_message(text, "output")}]}
    usage = {"input_tokens": given.get("inputTokenCount"), "output_tokens": made.get("outputTokenCount")}
    known = {key: log[key] for key in ("timestamp", "region", "operation", "errorCode") if log.get(key)}
    return known | {
        "id": log.get("requestId"),
        "model": str(log.get("modelId") or "").rpartition("/")[2] or None,
        "provider": "aws",
        "error": log.get("errorCode"),
        "request": asked,
        "response": answer,
        "usage": {key: count for key, count in usage.items() if count is not None},
    }


def _find_text(answer: dict[str, Any]) -> str | None:
    """The reply of a model that is no chat model: Titan's, Llama's, an older Claude's."""
    results = objects_in(answer.get("results"))
    texts = (*(one.get("outputText") for one in results), answer.get("generation"), answer.get("completion"))
    return next((text for text in texts if isinstance(text, str) and text), None)


def join_messages(parts: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The parts of a file; messages that stand in it alone, and chats of one session, are one chat for each session."""
    joined: list[tuple[str, Any]] = []
    chats: dict[str, dict[str, Any]] = {}
    # A list of pairs is one chat, whose parts they are.
    single = ((where, one) for where, part in parts for one in _messages_of_pairs([part]) or [as_chat(part)])
    for where, part in single:
        part = {"messages": part} if isinstance(part, list) and list_messages({"messages": part}) else part
        alone = isinstance(part, dict) and _is_message(part)
        session = str(next((part[key] for key in SESSIONS if part.get(key)), "")) if isinstance(part, dict) else ""
        if not alone and not (session and is_conversation(part)):
            joined.append((where, part))
            continue
        of = session or where.rpartition("[")[0]
        if of not in chats:
            chats[of] = {"messages": []} if alone else part
            joined.append((where, chats[of]))
        if alone:
            chats[of]["messages"].append(part)
            for key in (*SESSIONS, *USERS, "model"):
                if part.get(key) is not None:
                    chats[of].setdefault(key, part[key])
        elif chats[of] is not part:
            _continue_chat(chats[of], part)
    for chat in chats.values():
        _sort_by_time(chat)
    return _join_grown(joined)


def _join_grown(parts: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """The parts, in which requests without a session that repeat a whole earlier one, and go on from it, are one chat."""
    grown: dict[int, list[Any]] = {}
    for at, (_, part) in enumerate(parts):
        # With an id of its own a chat is another one, unless it is a request with its reply.
        apart = isinstance(part, dict) and any(
            part.get(key) for key in (*SESSIONS, *(() if reply_beside(part) else CHAT_IDS))
        )
        if not apart and is_conversation(part):
            grown[at] = _whole_chat(part)
    if len(grown) < 2:
        return parts
    ends: dict[int, int] = {}
    for at in sorted(grown, key=lambda one: len(grown[one])):
        part = parts[at][1]
        signs = [*(part.get(key) for key in (*USERS, *SYSTEM_KEYS)), *map(_words, grown[at])]
        so_far, earlier, answered = hash(str(signs[: -len(grown[at])])), None, False
        for number, message in enumerate(grown[at][:-1]):
            so_far = hash((so_far, str(signs[number - len(grown[at])])))
            answered = answered or role_named(message.get("role")) == "assistant"
            earlier = so_far if answered and so_far in ends else earlier
        whole = hash((so_far, str(signs[-1])))
        if earlier is not None:
            first = ends.pop(earlier)
            _continue_chat(parts[first][1], part)
            parts[at] = ("", None)
            at = first
        ends.setdefault(whole, at)
    return [one for one in parts if one[1] is not None]


def _continue_chat(chat: dict[str, Any], more: dict[str, Any]) -> None:
    """Add what another request of a session holds; it may repeat what was said before it."""
    held, new = _whole_chat(chat), _whole_chat(more)
    same = [_words(one) == _words(other) for one, other in zip(held, new, strict=False)]
    held += new[len(same) :] if all(same) else new
    for key in (*MESSAGE_LISTS, *REPLIES, *COSTS, "usage"):
        chat.pop(key, None)
    chat["messages"] = held


def _whole_chat(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a chat with the reply beside them; the new one has the time of its request, and what it used."""
    listed = list_messages(document)
    answer = decode_object(document.get("response"))
    used = {key: of[key] for of in (answer, document) for key in (*COSTS, "usage", "model") if of.get(key) is not None}
    time = stated_time(document, MOMENTS)
    moment = {} if time is None else {"time": time}
    replies = reply_beside(document) if listed[-1].get("role") != "assistant" else ()
    whole = [*listed, *(reply | used for reply in replies)]
    return [message if stated_time(message, MOMENTS) is not None else message | moment for message in whole]


def _words(message: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a message says, however it is written."""
    return [(one["role"], text_of(one), "tool_calls" in one) for one in messages_in([message], "input")]


def _sort_by_time(chat: dict[str, Any]) -> None:
    """Bring messages that are listed the newest first into their order."""
    listed = list_messages(chat)
    times = [time for one in listed if (time := read_time(stated_time(one, MOMENTS))) is not None]
    if len(times) == len(listed) and times == sorted(times, reverse=True) != sorted(times):
        chat["messages"] = listed[::-1]


def _is_message(document: dict[str, Any]) -> bool:
    """Whether an object is a message and nothing else: who speaks, and what."""
    if list_messages(document):
        return False
    (one,) = name_speakers([document])
    text = one.get("content", one.get("text"))
    return OTHERS.isdisjoint(one) and role_named(one.get("role")) in KNOWN_ROLES and isinstance(text, str | list)


def begins_with_conversation(head: bytes) -> bool:
    """Whether the first object of a file is a conversation; of one longer than `head`, whether its first key says so."""
    if columns := set(_rename_known(dict.fromkeys(columns_of(head)))):
        speaks = not columns.isdisjoint(SPEAKER_KEYS) and not columns.isdisjoint(("content", "text"))
        speaks = speaks or len(_exchange_in(dict[str, Any].fromkeys(columns, "-"))) > 1
        return speaks or (not columns.isdisjoint(MESSAGE_LISTS) and any(sign in head for sign in _CELL_SPEAKERS))
    text = head.strip().removeprefix(b"[").lstrip()
    try:
        document, rest = _decode_first(text.decode("utf-8", "replace"))
        while rest and (document == [] or _is_without_messages(document)):  # it says nothing; the next may
            document, rest = _decode_first(rest)
        # A page of an interface.
        page = objects_in(document.get("data")) if isinstance(document, dict) else []
        document = as_chat(page[0] if page else document)
        if isinstance(document, list):
            return bool(_messages_of_pairs([document]) or list_messages({"messages": document}))
        return is_conversation(document) or (
            isinstance(document, dict) and (_is_message(document) or _holds_runs(document))
        )
    except (ValueError, RecursionError):
        return _BEGINNING.match(text) is not None and any(sign in head for sign in _SPEAKERS)


def _decode_first(text: str) -> tuple[Any, str]:
    """The first document of a text, and what is behind it."""
    document, end = json.JSONDecoder().raw_decode(text)
    return document, text[end:].lstrip(" \t\r\n,]")


def _is_without_messages(document: Any) -> bool:
    return isinstance(document, dict) and any(document.get(key) == [] for key in MESSAGE_LISTS)


def is_conversation(document: Any) -> bool:
    """Whether an object holds messages, and nothing that makes it a trace or the run of an agent."""
    is_chat = isinstance(document, dict) and not OTHERS & document.keys() and bool(list_messages(document))
    return is_chat and reward_in(document) is None


def list_messages(document: dict[str, Any]) -> list[dict[str, Any]]:
    for key in MESSAGE_LISTS:
        items = name_speakers(document.get(key))
        if isinstance(items, list) and items and all(isinstance(item, dict) and "role" in item for item in items):
            return items
    return []
