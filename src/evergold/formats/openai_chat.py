"""OpenAI's shapes: fine-tuning (`messages`), preferences (preferred and not), and evals (`input`, `ideal`).

Training conversations are what fine-tuning takes: real calls, their results, and nothing of ours. A model is trained on the
answer of a case alone: whatever it answered earlier in the conversation has weight 0, since nobody says here that it was right
(where somebody did, that answer has its own line). A line is left out where nobody stands behind its answer. They have no place
for metadata, and their files are uploaded as they are. So what they cannot hold stands in a file beside them
(`NAME.evergold.jsonl`), found again by the hash of a line: lines may be added, moved and taken out.
"""

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.conversation.reader import Side, messages_in, text_message
from evergold.formats.atomic import FileSet
from evergold.formats.lines import Record, columns_of, first_object, numbered_lines, object_in, one_case, read_lines
from evergold.formats.records import (
    NO_REFERENCE,
    Message,
    RecordLines,
    assistant,
    conversation,
    conversation_or_none,
    last_user_text,
    metadata_of,
    read_asked,
    rebuild_case,
    text_of,
    tool_call_of,
    unread_of,
)
from evergold.model.case import Case, EntryType, Origin, Reference, TierEvidence, written_case
from evergold.model.check import concedes, strip_admission
from evergold.model.faults import Rejected
from evergold.model.tool_calls import ExpectedTool, calls_in, expected_of
from evergold.model.tool_schemas import derived_schemas
from evergold.model.values import hash_bytes
from evergold.storage.compression import ENDINGS

KEYS = {
    **dict.fromkeys(("system", "developer", "user"), ("role", "content", "name")),
    "assistant": ("role", "content", "tool_calls", "name"),
    "tool": ("role", "content", "tool_call_id"),
}


# OpenAI's rule for names of functions.
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
# OpenAI's rule for `name` of a message; a name that breaks it is dropped, since nothing depends on it.
PERSON = re.compile(r"[^\s<|\\/>]{1,64}")
PARTS = ("text", "image_url")
MOST_TOOLS = 128
NOBODY_SPOKE = (
    "a candidate: nobody said that its answer is good, and no outcome did; confirm it in review to train on it"
)


class Unfit(ValueError):
    """A conversation that a trainer would refuse, and why."""


def question_of(case: Case) -> list[Message]:
    """What was to be answered, in the roles and keys a trainer knows. Raises `Unfit` where there is one it does not know."""
    return [_known_fields(message) for message in conversation(case)]


def answer_of(case: Case, reference: Reference) -> list[Message]:
    """The reference as messages: the turn with its calls and results, closed by the reference's text.

    Where only calls are known, the last message makes them: that is what the model has to learn.
    """
    turn = [_known_fields(message) for message in case.turn]
    # The recorded turn is used only where it made the very calls of the reference: its results belong to those calls.
    if turn and reference.tool_calls is not None and _read_calls(turn) == list(expected_of(reference.tool_calls)):
        # The turn with this text as its last answer.
        if turn[-1]["role"] == "assistant" and not turn[-1].get("tool_calls"):
            turn.pop()
        return [*turn, assistant(reference.text)] if reference.text is not None else turn
    if not reference.tool_calls:
        return [assistant(reference.text or "")]
    calls: list[Message] = []
    for number, call in enumerate(reference.tool_calls, 1):
        function = {"name": call.name, "arguments": orjson.dumps(call.args).decode()}
        calls.append({"id": call.id or f"call_{number}", "type": "function", "function": function})
    return [{"role": "assistant", "content": None, "tool_calls": calls}]


def worked_messages(case: Case) -> list[Message]:
    """The calls of the turn and their results, which both a wrong and a right answer rest on."""
    turn = [_known_fields(message) for message in case.turn]
    last = max((number for number, message in enumerate(turn) if message["role"] == "tool"), default=-1)
    return turn[: last + 1]


def offered_tools(case: Case, messages: Iterable[Message]) -> list[dict[str, Any]]:
    """The tools of the case, and schemas derived from calls of tools that it does not name.

    Raises `Unfit` where there are more tools, or other names, than a trainer takes.
    """
    tools = [_schema(tool) for tool in case.tools]
    known = {tool["function"].get("name") for tool in tools}
    tools.extend(derived_schemas(call for call in _read_calls(messages) if call.name not in known))
    if len(tools) > MOST_TOOLS:
        raise Unfit(f"{len(tools)} tools are offered; fine-tuning takes at most {MOST_TOOLS}")
    for tool in tools:
        _name_tool(tool["function"].get("name"))
    return tools


def check_messages(messages: Sequence[Message]) -> list[Message]:
    """The messages, if each call can be read and has its result before anything else is said, and each result its call."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message.get("tool_call_id") not in waiting:
                raise Unfit("a tool result belongs to no call before it")
            waiting.discard(message["tool_call_id"])
            continue
        # OpenAI refuses a file in which anything but its results follows a call.
        if waiting:
            raise Unfit("a tool call has no result")
        waiting = _readable_calls(message.get("tool_calls") or ())
    if not messages or messages[-1]["role"] != "assistant":
        raise Unfit("the conversation does not end with an answer")
    return list(messages)


def _known_fields(message: Message) -> Message:
    keys = KEYS.get(message.get("role", ""))
    if keys is None:
        raise Unfit(f"a message has the role {message.get('role')!r}, which fine-tuning does not know")
    kept = {key: message[key] for key in keys if message.get(key) is not None}
    if not PERSON.fullmatch(str(kept.get("name", "-"))):
        del kept["name"]
    if not kept.get("tool_calls"):
        kept.pop("tool_calls", None)
    if kept["role"] == "user" and isinstance(kept.get("content"), list):
        parts = kept["content"]
        for part in parts:
            kind = part.get("type") if isinstance(part, dict) else type(part).__name__
            if kind not in PARTS:
                raise Unfit(f"a user message has a part of type {kind!r}; fine-tuning takes {' and '.join(PARTS)}")
    elif kept["role"] == "tool" or kept.get("content") is not None:
        kept["content"] = text_of(kept.get("content"))
    else:
        # Content may be null only beside calls.
        kept["content"] = None if kept.get("tool_calls") else ""
    return kept


def _readable_calls(calls: Iterable[Message]) -> set[str]:
    """The ids of these calls. Raises `Unfit` where one has no id of its own, no name, or arguments that are no object."""
    ids: set[str] = set()
    for call in calls:
        function = call.get("function") or {}
        _name_tool(function.get("name"))
        if not isinstance(call.get("id"), str) or call["id"] in ids:
            raise Unfit(f"a call of {function['name']} has no id of its own")
        ids.add(call["id"])
        try:
            arguments = orjson.loads(function.get("arguments") or "")
        except orjson.JSONDecodeError:
            arguments = None
        if not isinstance(arguments, dict):
            raise Unfit(f"the arguments of a call of {function['name']} are no JSON object")
    return ids


def _name_tool(name: Any) -> None:
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise Unfit(f"the tool name {name!r} has other characters than letters, digits, _ and -, or more than 64")


def _schema(tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as fine-tuning spells it, also where its source left the wrapping out."""
    if isinstance(tool.get("function"), Mapping):
        return dict(tool)
    function = {key: tool[key] for key in ("name", "description", "parameters") if tool.get(key) is not None}
    if "parameters" not in function and isinstance(tool.get("input_schema"), Mapping):
        function["parameters"] = tool["input_schema"]
    return {"type": "function", "function": function}


def _read_calls(messages: Iterable[Message]) -> list[ExpectedTool]:
    return list(expected_of(calls_in(messages)))


# Keys that make a record of messages another format's, or a log of what happened, in which no answer is known to be right.
OF_OTHERS = frozenset(
    (
        *("input", "inputs", "output", "outputs", "user_input", "entry_type", "kind", "type", "response", "choices"),
        *("session_id", "conversation_id", "user_id", "model", "timestamp", "created_at", "time", "usage", "steps"),
        *("reward", "turns"),
    )
)
PROMPTS = ("prompt", "question", "instruction", "input", "query")


def find_beside(path: Path) -> Path:
    """The file of the cases themselves; never packed, because its lines are read out of order."""
    # `x.jsonl.gz` and `x.jsonl` have the same file beside them.
    plain = path.with_suffix("") if path.suffix in ENDINGS else path
    return plain.with_name(plain.stem + ".evergold.jsonl")


class _Training(RecordLines):
    """A training file and the one beside it. `record` raises `Unfit` where a case has no line."""

    trains: ClassVar[bool] = True  # known failures are kept away from it, and what its lines rest on is counted

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Cases that have no such record go to `options["rejected"]`, with the reason."""
        rejected: list[Rejected] = options.get("rejected", [])
        count = 0
        with FileSet() as files:
            # One set: the training file never stands beside the cases of another export.
            out, more = files.open(path), files.open(find_beside(path))
            for case in cases:
                try:
                    record = self.record(case)
                except Unfit as problem:
                    rejected.append(Rejected(where=f"{case.dataset}/{case.id}", reason=str(problem)))
                    continue
                # Hashed without the line break: an editor may change how lines end.
                line = orjson.dumps(record)
                out.write(line + b"\n")
                more.write(orjson.dumps({"line": hash_bytes(line), "case": case.model_dump(mode="json")}) + b"\n")
                count += 1
        return count

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        known = _Beside(find_beside(path))
        if known.is_empty:
            yield from read_lines(path, self.case)
            return
        for number, line in numbered_lines(path):
            yield known.case_of(line) or one_case(line, f"{path.name}:{number}", self.case)


class _Beside:
    """The file beside a training file: where in it the case of each line is. Only places are held in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offsets: defaultdict[str, deque[int]] = defaultdict(deque)
        offset = 0
        if path.is_file():
            with path.open("rb") as handle:
                for line in handle:
                    if isinstance(pinned := object_in(line).get("line"), str):
                        self._offsets[pinned].append(offset)
                    offset += len(line)

    @property
    def is_empty(self) -> bool:
        return not self._offsets

    def case_of(self, line: bytes) -> Case | None:
        """The case that a line was written from; of several with the same line, one after the other."""
        offsets = self._offsets.get(hash_bytes(line))
        if not offsets:
            return None
        with self._path.open("rb") as handle:
            # `popleft`: equal lines of different cases give each case once, in the order written.
            handle.seek(offsets.popleft())
            try:
                return written_case(orjson.loads(handle.readline())["case"])
            except (ValueError, KeyError):
                return None


class FineTune(_Training):
    """`{"messages": […], "tools": […]}`: the conversation with the right answer at its end."""

    suffix: ClassVar[str] = ".openai-ft.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset({"messages", "turn", "tools", "tool_calls", "expected_tools"})

    def accepts(self, head: bytes) -> bool:
        record = first_object(head)
        listed = record.get("messages", record.get("conversations"))
        return isinstance(listed, list) and bool(listed) and OF_OTHERS.isdisjoint(record)

    def record(self, case: Case) -> Record:
        reference = case.reference()
        if reference is None:
            raise Unfit(NO_REFERENCE)
        if reference.origin is Origin.CANDIDATE and case.evidence is TierEvidence.SILENCE:
            raise Unfit(NOBODY_SPOKE)
        asked = question_of(case)
        for message in asked:
            if message["role"] == "assistant":
                message["weight"] = 0  # not to be learned
        messages = check_messages([*asked, *answer_of(case, reference)])
        tools = offered_tools(case, messages)
        return {"messages": messages, "tools": tools} if tools else {"messages": messages}

    def case(self, record: Record) -> Case:
        messages = record.get("messages")
        if not messages:
            # ShareGPT writes a turn as `from` and `value`.
            turns = record["conversations"]
            chat = [{"role": one["from"], "content": one.get("value")} if "from" in one else one for one in turns]
            messages = messages_in(chat, "input")
        closed = bool(messages) and messages[-1].get("role") == "assistant"
        # A file without answers (for batch inference) still holds questions.
        before = messages[:-1] if closed else messages
        answer = messages[-1] if closed else {}
        held = {
            "input": last_user_text(before),
            "messages": conversation_or_none(before),
            "expected": text_of(answer.get("content")),
            "expected_tools": [tool_call_of(call) for call in answer.get("tool_calls") or []] or None,
            "tools": record.get("tools"),
        }
        held["id"] = None if record.get("id") is None else str(record["id"])
        unread = unread_of(record, "id", "messages", "conversations", "tools")
        if more := unread_of(answer, "role", "content", "tool_calls"):
            unread["answer"] = more
        return rebuild_case(held, None, unread=unread)


class Preference(_Training):
    """A corrected answer preferred to the one that was given."""

    suffix: ClassVar[str] = ".dpo.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset({"messages", "turn", "tools", "tool_calls"})
    keys = frozenset({"preferred_output"})

    def accepts(self, head: bytes) -> bool:
        return super().accepts(head) or {"chosen", "rejected"} <= first_object(head).keys() | set(columns_of(head))

    def record(self, case: Case) -> Record:
        reference = case.reference()
        if reference is None or reference.text is None:
            raise Unfit(NO_REFERENCE)
        preferred = strip_admission(reference.text) if concedes(reference.text) else reference.text
        if preferred is None:
            raise Unfit(
                "no pair: the right answer only concedes, so it replies to the correction and not to the question"
            )
        # A golden answer is right, whatever its source expected; only a person's own answer is better.
        both_right = case.entry_type is EntryType.GOLDEN and reference.origin is not Origin.PERSON
        # A pair of equal answers teaches nothing, and a pair of two right ones teaches something wrong.
        if not case.output or case.output in (reference.text, preferred) or both_right:
            raise Unfit("no pair: a preference needs a wrong answer and another, right one")
        if reference.tool_calls is not None and expected_of(reference.tool_calls) != expected_of(case.tool_calls):
            raise Unfit("no pair: the right answer makes other calls, so the two answer different messages")
        messages = [*question_of(case), *worked_messages(case)]
        check_messages([*messages, assistant(case.output)])
        tools = offered_tools(case, messages)
        return {
            "input": {"messages": messages} | ({"tools": tools} if tools else {}),
            "preferred_output": [assistant(preferred)],
            "non_preferred_output": [assistant(case.output)],
        }

    def case(self, record: Record) -> Case:
        record = record if "preferred_output" in record else _as_preference(record)
        messages = record["input"]["messages"]
        held = {
            "entry_type": EntryType.CORRECTION,
            "input": last_user_text(messages),
            "messages": conversation_or_none(messages),
            "expected": text_of(record["preferred_output"][-1].get("content")),
            # The preferred answer is both the words that corrected and the corrected answer itself.
            "revised": {"text": text_of(record["preferred_output"][-1].get("content"))},
            "output": text_of(record["non_preferred_output"][-1].get("content")),
            "tools": record["input"].get("tools"),
        }
        unread = unread_of(record, "input", "preferred_output", "non_preferred_output")
        if more := unread_of(record["input"], "messages", "tools"):
            unread["input"] = more
        return rebuild_case(held, None, unread=unread)


def _as_preference(record: Record) -> Record:
    """A pair as trainers of preferences write it (`prompt`, `chosen`, `rejected`, each a text or messages), in OpenAI's words."""
    sides = {side: _messages_of(record[side], "output") for side in ("chosen", "rejected")}
    asked = next((key for key in PROMPTS if record.get(key)), None)
    before = _messages_of(record[asked], "input") if asked else []
    # Either side may repeat what was asked.
    shared = [one for one, other in zip(*sides.values(), strict=False) if one == other]
    before = before if before and not shared else shared
    system = [{"role": "system", "content": record["system"]}] if record.get("system") else []
    given: Record = {"messages": [*system, *before]}
    rest = unread_of(record, "chosen", "rejected", "system", *([asked] if asked else ()))
    chosen, rejected = (side[len(shared) :] for side in sides.values())
    return rest | {"input": given, "preferred_output": chosen, "non_preferred_output": rejected}


def _messages_of(value: Any, side: Side) -> list[Message]:
    return [text_message(value, side)] if isinstance(value, str) else messages_in(value, side)


class Evals(RecordLines):
    """`{"input": [messages], "ideal": …}`, with our metadata beside."""

    suffix: ClassVar[str] = ".openai-evals.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset({"messages"})
    keys = frozenset({"input", "ideal"})
    needs_reference: ClassVar[bool] = True

    def record(self, case: Case) -> Record:
        return {
            "input": conversation(case),
            "ideal": case.reference_text() or "",
            "metadata": metadata_of(case, {"expected"}),
        }

    def case(self, record: Record) -> Case:
        ideal = record.get("ideal")
        metadata = dict(record.get("metadata") or {})
        if isinstance(ideal, list) and len(ideal) > 1:
            metadata.setdefault("ideals", ideal)
        shown = self.read_shown(record)
        held = {"input": shown["input"], "expected": ideal[0] if isinstance(ideal, list) and ideal else ideal or None}
        return self.edited_case(record, held, metadata, shown, unread_of(record, "input", "ideal", "metadata"))

    def read_shown(self, record: Record) -> Record:
        asked = read_asked(record["input"])
        return asked | {"messages": conversation_or_none(asked["messages"]) or []}
