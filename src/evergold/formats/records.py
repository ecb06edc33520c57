"""Records of other tools' formats: `RecordLines` is the base of those that are JSON lines, a record for each case.

A format says which fields of a case it holds by itself; `carry_fields` gives the rest, which stands under one key of the record's
metadata, so that a file read back gives the same case. Two values that look alike in the other format (no answer, and the
empty answer) are told apart by it too. Conversations are spelled as chat formats do: `[{"role", "content"}, …]`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.conversation.reader import messages_in
from evergold.formats.lines import Record, first_object, read_lines, write_lines
from evergold.formats.parts import JoinedLines, Joining
from evergold.model.case import Answer, Case, EntryType, plain_messages
from evergold.model.faults import Rejected
from evergold.model.values import content_hash

KEY = "evergold"
NO_REFERENCE = "no reference answer: nobody has said what is right"
ONLY_CALLS = "no reference text: the right answer is tool calls alone, which this format cannot compare"
MOVING = {"version", "updated_at"}
"""Bookkeeping of this store: another one counts for itself."""


def carry_fields(case: Case, held: set[str], *, shows_reference: bool = True) -> dict[str, Any]:
    """The fields of a case that are not held, where they say anything.

    A format that holds `expected` shows the reference there; where that is another text, `expected` is carried too.
    """
    rest = case.model_dump(mode="json", exclude=held | MOVING, exclude_defaults=True)
    # Formats write "" and nothing alike; only what is carried can say that it was "".
    rest |= {name: "" for name in held if getattr(case, name, None) == ""}
    if shows_reference and "expected" in held and case.reference_text() != case.expected:
        rest["expected"] = case.expected
    if "expected_tools" in held and case.expected_calls() != case.expected_tools:
        rest["expected_tools"] = None  # stated by the turn alone
    return rest


def with_reference(cases: Iterable[Case], rejected: list[Rejected], *, calls_will_do: bool = False) -> Iterator[Case]:
    """The cases that have a text to be measured by; the others are rejected, for formats that need one.

    With `calls_will_do` a reference of tool calls alone is enough.
    """
    for case in cases:
        reference = case.reference()
        if reference is not None and (reference.text is not None or (calls_will_do and reference.tool_calls)):
            yield case
        else:
            reason = NO_REFERENCE if reference is None else ONLY_CALLS
            rejected.append(Rejected(where=f"{case.dataset}/{case.id}", reason=reason))


def with_edited_reference(case: Case, given: str | None) -> Case:
    """The case, unless a file of ours shows another right answer than the case has: then somebody wrote that one."""
    if (given or None) == case.reference_text() or not given:
        return case
    field = "revised" if case.entry_type is EntryType.CORRECTION else "expected"
    return case.model_copy(update={"approved": None, field: Answer(text=given) if field == "revised" else given})


def metadata_of(case: Case, held: set[str]) -> dict[str, Any]:
    """The user's metadata with ours beside it; where the user's own uses our key, all of it is carried."""
    rest = carry_fields(case, held | {"metadata"})
    if KEY in case.metadata:
        return {KEY: {**rest, "metadata": case.metadata}}
    return {**case.metadata, KEY: rest}


def unread_of(record: Mapping[str, Any], *known: str) -> dict[str, Any]:
    """What a record says under keys that a format does not read; `null` says nothing."""
    return {name: value for name, value in record.items() if name not in known and value is not None}


def rebuild_case(
    held: Mapping[str, Any],
    metadata: Mapping[str, Any] | None,
    *,
    guessed: Mapping[str, Any] | None = None,
    dataset: str = "imported",
    unread: Mapping[str, Any] | None = None,
) -> Case:
    """The case of a record: what the format holds, then what was carried.

    `guessed` is what a record of another tool seems to say; ours need no guessing. `unread` is kept under `extra`. A record
    without an id gets one from all that it says, so that no two different ones become the same case.
    """
    own = dict(metadata or {})
    rest = own.pop(KEY, None)
    ours = isinstance(rest, Mapping)
    # A record of ours carries the truth, so nothing in it is guessed.
    natural = {**held, **({} if ours else guessed or {})}
    fields: dict[str, Any] = {"dataset": dataset, "metadata": own}
    fields |= {name: value for name, value in natural.items() if value not in (None, "")}
    if ours:
        # `exclude_defaults` left the dataset out where it is "live": without one in the record it must be that again.
        fields |= {"dataset": held.get("dataset") or "live"} | rest
    if unread:
        fields["extra"] = {**fields.get("extra", {}), **unread}
    if "input" not in fields:
        raise ValueError("nothing to ask: the record has no text for the input")
    if not fields.get("id"):
        # Characters 7 to 23: the hash without its tag `sha256:`, 16 digits of it.
        fields["id"] = content_hash({name: value for name, value in fields.items() if name != "dataset"})[7:23]
    return Case.model_validate(fields)


def with_edits(case: Case, given: Mapping[str, Any], own: Mapping[str, Any]) -> Case:
    """What somebody changed in a file of ours counts, also where the whole field is carried beside what the format shows of it.

    `given` is what a record shows, `own` what it would show had nobody touched it. A context keeps its source as long as its
    text is the same.
    """
    # Only a difference from what an untouched record would show is an edit; anything else would lose carried detail.
    changed = {name: value for name, value in given.items() if value != own[name]}
    if "contexts" in changed:
        known = {context.text: context for context in case.contexts}
        changed["contexts"] = [
            known.get(one["text"], one) if one.keys() == {"text"} else one for one in changed["contexts"]
        ]
    return Case.model_validate({**dict(case), **changed}) if changed else case


Message = dict[str, Any]
QUESTION_KEYS = ("question", "query", "input", "prompt", "request", "message", "user_input", "instruction", "problem")
ANSWER_KEYS = (
    "expected_response",
    "answer",
    "output",
    "response",
    "expected",
    "reference",
    "result",
    "text",
    "content",
)


def text_in(value: Any, keys: Sequence[str]) -> tuple[str | None, str | None]:
    """The text that an object says under one of the keys, or as its only value, and the key; a text is itself."""
    if value is None or value == {} or isinstance(value, str):
        return value or None, None
    if isinstance(value, Mapping):
        texts = [name for name, one in value.items() if isinstance(one, str)]
        key = next((name for name in keys if name in texts), texts[0] if len(value) == 1 and texts else None)
        if key is not None:
            return value[key], key
    return orjson.dumps(value).decode(), None


def question_of(value: Any) -> tuple[str | None, list[Message], str | None]:
    """What is asked by the input of another tool's example: its text, its messages where it has some, and its key."""
    text, key = text_in(value, QUESTION_KEYS)
    if key is None and isinstance(value, Mapping | list) and (messages := messages_in(value, "input")):
        return last_user_text(messages), messages, "messages"
    return text, [], key


def answer_of(value: Any) -> tuple[str | None, str | None]:
    """The text of an output of another tool's example, and its key."""
    text, key = text_in(value, ANSWER_KEYS)
    messages = messages_in(value, "output") if key is None and isinstance(value, Mapping | list) else []
    texts = [text_of(one.get("content")) for one in messages if one.get("role") == "assistant"]
    return (texts[-1], "messages") if texts else (text, key)


def conversation(case: Case) -> list[Message]:
    """What the model is given: the case's own conversation, or its input as one user message."""
    if case.messages:
        return plain_messages(case.messages)
    return [{"role": "user", "content": case.input}]


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def last_user_text(messages: Sequence[Message]) -> str:
    """The last thing the user said; of a message in parts, its text parts."""
    for message in reversed(messages):
        if message.get("role") == "user":
            return text_of(message.get("content"))
    return text_of(messages[-1].get("content")) if messages else ""


def conversation_or_none(messages: Sequence[Message]) -> list[Message] | None:
    """The messages, where they say more than one plain text of the user does."""
    if len(messages) == 1 and messages[0].keys() == {"role", "content"} and isinstance(messages[0]["content"], str):
        return None
    return list(messages)


def tool_call_of(call: Message) -> dict[str, Any]:
    """A call in the words of a chat API, whose arguments are the JSON text of an object."""
    function = call["function"]
    arguments = orjson.loads(function.get("arguments") or "{}")
    return {"name": function["name"], "args": arguments}


def read_asked(given: Any) -> dict[str, Any]:
    """The question of a record, and the messages that it is where it is a conversation."""
    messages = given if isinstance(given, list) else []
    return {"input": last_user_text(messages) if messages else given, "messages": messages}


def text_of(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(part["text"]) for part in content if isinstance(part, dict) and part.get("text"))
    return "" if content is None else str(content)


class RecordLines:
    """A format of JSON lines. `keys` are those by which a first line is known as one of its records.

    Where it `needs_reference`, a case that has none is rejected.
    """

    suffix: ClassVar[str]
    joining: ClassVar[Joining] = JoinedLines
    keys: frozenset[str]
    needs_reference: ClassVar[bool] = False

    def record(self, case: Case) -> Record:
        """The record of a case."""
        raise NotImplementedError

    def case(self, record: Record) -> Case:
        """The case of a record, ours or another tool's."""
        raise NotImplementedError

    def read_shown(self, record: Record) -> Record:
        """What a record shows of fields that are carried as well, where somebody may have changed them."""
        return {}

    def accepts(self, head: bytes) -> bool:
        return self.keys <= first_object(head).keys()

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        fit = with_reference(cases, options.get("rejected", [])) if self.needs_reference else cases
        return write_lines(map(self.record, fit), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, self.case)

    def take_edits(self, case: Case, record: Record) -> Case:
        """The case with what somebody changed in a record of ours."""
        return with_edits(case, self.read_shown(record), self.read_shown(self.record(case)))

    def edited_case(
        self, record: Record, held: Record, metadata: Record | None, guessed: Record, unread: Record
    ) -> Case:
        """The case of a record, with what somebody changed in one of ours, its right answer included."""
        case = rebuild_case(held, metadata, guessed=guessed, unread=unread)
        return with_edited_reference(self.take_edits(case, record), held["expected"])
