"""Pair calls with their results: give ids, fill in lost results from tool spans, put back lost calls, name what is left.

Some exporters write a message that only calls tools as no message at all, others keep its words and drop its calls. Its
results are there all the same, and an earlier request made the calls.
"""

import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Sequence
from typing import Any

from evergold.conversation.message import KNOWN_ROLES, Message, decode_json, text_of, tool_message
from evergold.conversation.tools import ToolRun

CUT = "more characters were cut on arrival]"


def pair_results(messages: Sequence[Message], runs: Sequence[ToolRun]) -> tuple[list[Message], list[str]]:
    """The messages with each call's result after it, and what is wrong with them, one line each."""
    whole = _give_ids(_merge_calls(messages))
    whole = _fill_results(whole, runs)
    return whole, _find_problems(whole)


def _merge_calls(messages: Sequence[Message]) -> list[Message]:
    """What the assistant says and calls in messages of their own, with no result between them, as one message.

    An answer that repeats calls of its own turn makes none: an exporter wrote both replies on one span.
    """
    merged: list[Message] = []
    made: list[tuple[str, str]] = []
    for message in messages:
        made = [] if message["role"] == "user" else made
        calls = message.get("tool_calls", ())
        # Without ids the name tells; an answer that calls the same again beside its words repeats what was written before.
        same = [
            (call["id"] or call["function"]["name"], _normalise_arguments(call["function"]["arguments"]))
            for call in calls
        ]
        if message.get("content") and calls and made and set(same) <= set(made):
            message = {key: value for key, value in message.items() if key != "tool_calls"}
        made += same
        last = merged[-1] if merged else {}
        # Parallel calls arrive as separate items from the Responses API and from agent logs.
        alone = message.get("tool_calls") and not message.get("content")
        if alone and last.get("role") == message["role"] == "assistant":
            extra = last.get("extra", {}) | message.get("extra", {})
            merged[-1] = {**last, "tool_calls": [*last.get("tool_calls", ()), *message["tool_calls"]]}
            merged[-1] |= {"extra": extra} if extra else {}
        else:
            merged.append(message)
    return merged


def _give_ids(messages: Sequence[Message]) -> list[Message]:
    """Give ids to calls that came without one, and to results the id of the call they answer: by name, then by order."""
    numbered: list[Message] = []
    waiting = _OpenCalls()
    used = {call["id"] for message in messages for call in message.get("tool_calls", ()) if call["id"]}
    number = 0
    for message in messages:
        if message.get("tool_calls"):
            calls = []
            for call in message["tool_calls"]:
                ident = call["id"]
                # A made-up id must not meet one that another call came with.
                while ident is None or (call["id"] is None and ident in used):
                    number += 1
                    ident = f"call_{number}"
                used.add(ident)
                calls.append({**call, "id": ident})
            waiting = _OpenCalls(calls)
            message = {**message, "tool_calls": calls}
        elif message["role"] == "tool":
            message = waiting.fill_id(message)
        elif message["role"] in ("user", "assistant"):
            # A new question or answer ends the turn: later results cannot belong to calls before it.
            waiting = _OpenCalls()
        numbered.append(message)
    return numbered


class _OpenCalls:
    """The calls of one message that have no result yet, to be taken by id, by name, or in order."""

    def __init__(self, calls: Sequence[dict[str, Any]] = ()) -> None:
        self._queues: dict[Any, deque[int]] = defaultdict(deque)
        self._calls = calls
        self._taken: set[int] = set()
        for number, call in enumerate(calls):
            # Three ways to the same call; `_taken` keeps a call from being answered by two of them.
            for key in (("id", call["id"]), ("name", call["function"]["name"]), "order"):
                self._queues[key].append(number)

    def fill_id(self, message: Message) -> Message:
        """The result with the id of the call it answers; as it came where it answers none."""
        ident, name = message.get("tool_call_id"), message.get("name")
        queue = self._queues.get(("id", ident) if ident else ("name", name) if name else "order")
        while queue:
            number = queue.popleft()
            if number not in self._taken:
                self._taken.add(number)
                return {**message, "tool_call_id": self._calls[number]["id"]}
        return message


def _fill_results(messages: list[Message], runs: Sequence[ToolRun]) -> list[Message]:
    """Put in the results that only tool spans have."""
    # Most conversations hold all of their results: nothing is to be filled in.
    lacking = _find_unanswered(messages)
    if not lacking or not runs:
        return messages
    made = _runs_of_calls(messages, runs)
    filled: list[Message] = []
    pending: list[Message] = []
    for number, message in enumerate(messages):
        if pending and message["role"] != "tool":
            filled += pending
            pending = []
        filled.append(message)
        if len(message.get("tool_calls", ())) > 1 and lacking.get(number):
            _separate_result(message, messages[number + 1 : number + 2], made)
        for call in lacking.get(number, ()):
            run = made.get(id(call))
            if run is not None and run.result is not None:
                pending.append(tool_message(run.result, call["id"], run.name, failed=run.failed))
    return filled + pending


def _separate_result(message: Message, results: Sequence[Message], made: dict[int, ToolRun]) -> None:
    """Give the first of several calls its own result, where a framework put those of all of them into one text."""
    runs = [made.get(id(call)) for call in message["tool_calls"]]
    texts = [run.result for run in runs if run is not None and run.result is not None]
    # A tool's span may have its result as JSON where the message has it as Python prints it.
    ways = (texts, [str(decode_json(text)) for text in texts])
    for result in results:
        if len(texts) == len(runs) and text_of(result).strip() in ("\n".join(way).strip() for way in ways):
            result["content"] = texts[0]


def _runs_of_calls(messages: Sequence[Message], runs: Sequence[ToolRun]) -> dict[int, ToolRun]:
    """The run of each call, by the call's identity: the last call gets the last run that fits it, and so on backwards.

    Ids are used twice by some apps, and earlier turns may have made the same call: their runs are in other traces.
    """
    known = _Runs(runs)
    made: dict[int, ToolRun] = {}
    # Backwards, so that a call repeated from an earlier turn does not take the run of this trace.
    for message in reversed(messages):
        for call in reversed(message.get("tool_calls", ())):
            if run := known.take(call):
                made[id(call)] = run
    return made


class _Runs:
    """Runs of tools, to be taken from the last: by id and arguments, by tool and arguments, by id alone."""

    def __init__(self, runs: Sequence[ToolRun]) -> None:
        self._stacks: dict[Any, list[ToolRun]] = defaultdict(list)
        self._taken: set[int] = set()
        for run in runs:
            arguments = _normalise_arguments(run.arguments)
            self._stacks["name", run.name, run.ident is None, arguments].append(run)
            if run.ident is not None:
                self._stacks["id", run.ident, arguments].append(run)
                self._stacks["id", run.ident].append(run)

    def take(self, call: dict[str, Any]) -> ToolRun | None:
        ident, name = call["id"], call["function"]["name"]
        arguments = _normalise_arguments(call["function"]["arguments"])
        keys = (
            ("id", ident, arguments),
            ("name", name, True, arguments),
            ("id", ident),
            ("name", name, False, arguments),
        )
        for stack in (self._stacks.get(key, []) for key in keys):
            while stack:
                run = stack.pop()
                if id(run) not in self._taken:
                    self._taken.add(id(run))
                    return run
        return None


def _normalise_arguments(arguments: str) -> str:
    """Arguments as one text, whatever the order of their keys and the spaces between them."""
    return json.dumps(decode_json(arguments), sort_keys=True, default=str)


def _find_unanswered(messages: Sequence[Message]) -> dict[int, list[dict[str, Any]]]:
    """The calls that no result follows before the next message of the assistant or the user, by place."""
    lacking: dict[int, list[dict[str, Any]]] = {}
    position, calls, answered = 0, list[dict[str, Any]](), Counter[Any]()
    for number, message in enumerate([*messages, {"role": "end"}]):
        if message["role"] == "tool":
            answered[message.get("tool_call_id")] += 1
            continue
        if calls and (left := _calls_left(calls, answered)):
            lacking[position] = left
        position, calls = number, list(message.get("tool_calls", ()))
        answered.clear()
    return lacking


def _calls_left(calls: list[dict[str, Any]], answered: Counter[Any]) -> list[dict[str, Any]]:
    """The calls that have no result; a result answers one call of its id."""
    left = []
    for call in calls:
        if answered[call["id"]]:
            answered[call["id"]] -= 1
        else:
            left.append(call)
    return left


def _find_problems(messages: Sequence[Message]) -> list[str]:
    problems: dict[str, None] = {}
    for position, calls in _find_unanswered(messages).items():
        if position < len(messages) - 1:  # calls at the very end wait for their results
            for call in calls:
                problems[f"call {call['id']!r} of {call['function']['name']!r} has no result"] = None
    open_calls: set[str] = set()
    for message in messages:
        role = message["role"]
        if role not in KNOWN_ROLES:
            problems[f"role {role!r} is not known"] = None
        if role == "tool":
            ident = message.get("tool_call_id")
            if ident not in open_calls:
                problems[f"result {ident!r} answers no call"] = None
        else:
            idents = [call["id"] for call in message.get("tool_calls", ())]
            open_calls = set(idents)
            for ident in idents if len(open_calls) < len(idents) else ():
                if idents.count(ident) > 1:
                    problems[f"id {ident!r} names two calls of one message"] = None
        for call in message.get("tool_calls", ()):
            if not isinstance(decode_json(call["function"]["arguments"]), dict):
                problems[f"arguments of call {call['id']!r} are no JSON object"] = None
        if role == "user" and not message.get("content"):
            problems["a message of the user came without its content"] = None
        if is_cut(message.get("content")):
            problems["a text was cut on arrival; raise server.max_text_kb to keep such texts whole"] = None
    return list(problems)


def is_cut(content: Any) -> bool:
    """Whether a text, or a text in parts, was cut when it came."""
    if isinstance(content, str):
        return content.endswith(CUT)
    if isinstance(content, list):
        return any(isinstance(part, dict) and is_cut(part.get("text")) for part in content)
    return False


def ids_of_lost_calls(messages: Sequence[Message]) -> set[str]:
    """The ids of results whose calls are not among the messages."""
    made = {call["id"] for message in messages for call in message.get("tool_calls", ())}
    return {str(message["tool_call_id"]) for message in messages if message.get("tool_call_id")} - made


def restore_calls(messages: Sequence[Message], made: Iterable[Message]) -> list[Message]:
    """The messages with each lost call before its first result; `made` are messages with calls, the latest first."""
    lacking = ids_of_lost_calls(messages)
    callers: dict[str, Message] = {}
    for caller in made:
        for call in caller.get("tool_calls", ()):
            if call["id"] in lacking:
                callers.setdefault(call["id"], caller)
    whole: list[Message] = []
    known: set[str] = set()
    for message in messages:
        ident = message.get("tool_call_id")
        if ident in callers and ident not in known:
            caller = callers[ident]
            known |= {call["id"] for call in caller["tool_calls"]}
            # What the assistant said beside its calls may still be there, as a message without them.
            last = whole[-1] if whole else {}
            alone = last.get("role") == "assistant" and not last.get("tool_calls")
            if alone and text_of(last).strip() == text_of(caller).strip():
                whole.pop()
            whole.append({key: value for key, value in caller.items() if key != "extra"})
        whole.append(message)
    return whole


def holds_question(messages: Sequence[Message], earlier: Sequence[Message]) -> bool:
    """Whether messages hold what the user said in an earlier request, so that they are a history and not only what is new."""
    texts = {text_of(message) for message in messages if message["role"] == "user"}
    asked = [text_of(message) for message in earlier if message["role"] == "user"]
    return bool(asked) and all(text in texts for text in asked)
