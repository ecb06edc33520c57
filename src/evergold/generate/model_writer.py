"""The writer that is a model: it asks the questions, answers them from numbered passages, and mends what it is told to.

An answer cites the numbers of the passages. A prompt of the user's own replaces a built-in one; it must name the same places,
or the model would never see the passage. Prompts are put to the model under the limits that all calls share, and through a log.

The log has every request and reply, on disk before anybody builds on it: one JSON object a line, only ever appended. A
request that got an answer is not sent again: the generation is run anew, and what is in the log is read from it. So a
killed process loses the calls under way and nothing else, and there is no second place that could disagree with the log
about what was done. `fresh` writes a line after which the earlier answers no longer count.
"""

import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from string import Formatter
from typing import Any, BinaryIO, Self

import orjson

from evergold.calls.caller import Caller, Journal
from evergold.calls.endpoints import parse_object
from evergold.credentials import hide_bytes
from evergold.errors import BadInput, Conflict
from evergold.generate.extractive import templates_of
from evergold.generate.spec import Prompts
from evergold.machine import lock, make_folder, open_file
from evergold.model.case import Case, CaseKind
from evergold.model.generation import Draft, Idea, Passage, WritingTask
from evergold.model.run import Attempt, Usage
from evergold.model.values import content_hash
from evergold.redact.default import DefaultRedactor
from evergold.seams import Target

Entry = dict[str, Any]
FRESH = "fresh"


class CallLog:
    """The log of one output. Open for one process at a time."""

    def __init__(self, handle: BinaryIO, path: Path) -> None:
        self._handle, self._path = handle, path
        self._offsets: dict[str, tuple[int, int]] = {}
        self._journal: Journal[bytes] = Journal(self._append)

    @classmethod
    def open(cls, path: Path, *, fresh: bool = False) -> Self:
        make_folder(path.parent)
        # Appending mode: two writes can never overwrite each other, whatever the position of the reader.
        handle = open_file(path, "a+b", private=True)
        try:
            lock(handle, wait=False)
        except BlockingIOError:
            handle.close()
            raise Conflict(f"another process generates into {path.parent} under this name; wait for it") from None
        log = cls(handle, path)
        try:
            log._remember()
            if fresh:
                log._offsets.clear()
                log._write([orjson.dumps({"key": FRESH, "at": _stamp_now()}) + b"\n"])
        except BaseException:
            handle.close()
            raise
        return log

    def find(self, key: str) -> Entry | None:
        """The entry of a request that was answered already."""
        entry_range = self._offsets.get(key)
        if entry_range is None:
            return None
        entry: Entry = orjson.loads(os.pread(self._handle.fileno(), entry_range[1], entry_range[0]))
        return entry

    async def add(self, entry: Entry) -> None:
        """Returns when the entry is on the disk."""
        line = orjson.dumps({**entry, "at": _stamp_now()})
        # A target may quote a key; the bytes are replaced in the finished line, wherever it stands.
        await self._journal.add(hide_bytes(line) + b"\n")

    async def close(self) -> None:
        await self._journal.close()
        self._handle.close()

    async def _append(self, lines: Sequence[bytes]) -> None:
        self._write(lines)

    def _write(self, lines: Sequence[bytes]) -> None:
        self._handle.write(b"".join(lines))
        self._handle.flush()
        os.fsync(self._handle.fileno())

    def _remember(self) -> None:
        """Where each answer is. A last line that a killed process left unfinished is taken away."""
        end = 0
        for start, line in _lines(self._handle):
            try:
                entry = orjson.loads(line)
            except orjson.JSONDecodeError as problem:
                # Only the last line can be torn by a crash. A broken one in
                # the middle was changed by hand, and nothing is guessed.
                raise BadInput(f"{self._path} is damaged at byte {start:,}: {problem}; move it away") from None
            if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
                raise BadInput(f"{self._path} is damaged at byte {start:,}: no entry with a key; move it away")
            if entry["key"] == FRESH:
                self._offsets.clear()
            # A failed call is in the log for people; it is asked again.
            elif entry.get("error") is None:
                self._offsets[entry["key"]] = (start, len(line))
            end = start + len(line)
        self._handle.truncate(end)


def request_key(target: str, request: Any) -> str:
    """What makes two requests the same: who is asked, and every word of what."""
    return content_hash({"target": target, "request": request})


def _lines(handle: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Whole lines with where they begin."""
    handle.seek(0)
    start = 0
    for line in handle:
        if line.endswith(b"\n"):
            yield start, line
        start += len(line)


def _stamp_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


QUESTIONS = """\
Write {count} questions that a reader of the document would really ask and that the passage below answers.
Each question must be clear without the passage: name what it is about, never say "the passage" or "the text".
Ask about different facts, in the language of the passage. Answer with one JSON object: {{"questions": ["…", …]}}

Passage, from {document}:
{passage}"""

TOPICS = """\
Name {count} topics that the passage below says something definite about, each in a few words of its own language.
Answer with one JSON object: {{"topics": ["…", …]}}

Passage, from {document}:
{passage}"""

ANSWER = """\
Answer from the numbered passages alone, in the language of the question. {rule}
If the passages do not hold the answer, reply with the two words NOT ANSWERABLE.

{passages}

{instruction}"""

SUMMARY = """\
Write from the numbered passages alone, and say nothing they do not say. {rule}

{passages}

{instruction}"""

REWRITE = """\
That cannot be used yet: {problems}.
The passages are numbered 1 to {count}. Write the whole text again so that this is mended, and nothing but the text."""

RULES = {
    "sentence": "End every sentence with the number of the passage it rests on, like this [1].",
    "answer": "Cite the passages you use by their numbers, like this [1].",
    "none": "",
}
# What a prompt must hold to be of use; what else it may hold, the built-in one holds.
_FIELDS = {
    "questions": {"count", "passage"},
    "topics": {"count", "passage"},
    "answer": {"passages", "instruction"},
    "summary": {"passages", "instruction"},
    "rewrite": {"problems"},
}
BUILT_IN = {"questions": QUESTIONS, "topics": TOPICS, "answer": ANSWER, "summary": SUMMARY, "rewrite": REWRITE}


def chosen_prompts(own: Prompts) -> Mapping[str, str]:
    """Every prompt: the user's where there is one, else the built-in."""
    chosen = dict(BUILT_IN)
    for name, template in own.model_dump().items():
        if template:
            _check(name, template)
            chosen[name] = template
    return chosen


def _check(name: str, template: str) -> None:
    try:
        fields = _fields(template)
    except ValueError as problem:
        raise BadInput(f"generation.prompts.{name}: {problem}; write {{{{ and }}}} for braces") from None
    allowed = _fields(BUILT_IN[name])
    missing, extra = _FIELDS[name] - fields, fields - allowed
    if missing or extra:
        reason = f"lacks {{{min(missing)}}}" if missing else f"names {{{min(extra)}}}, which is not filled in"
        listed = ", ".join(f"{{{field}}}" for field in sorted(allowed))
        raise BadInput(f"generation.prompts.{name} {reason} (places: {listed})")
    # A format specification may be wrong, or name a field of its own: only filling it in shows that.
    try:
        template.format(**dict.fromkeys(fields - {"count"}, ""), count=1)
    except (ValueError, LookupError, AttributeError, TypeError) as problem:
        raise BadInput(f"generation.prompts.{name} cannot be filled in: {problem}") from None


def _fields(template: str) -> set[str]:
    """What a prompt names to be filled in, read as str.format does, doubled braces included."""
    return {field for _, field, _, _ in Formatter().parse(template) if field is not None}


def number_passages(passages: Sequence[Passage]) -> list[str]:
    return [f"[{number}] {passage.text}" for number, passage in enumerate(passages, 1)]


def answer_prompt(template: str, instruction: str, passages: Sequence[Passage], require: str) -> str:
    """The prompt of a record: what a model under test is sent, word for word."""
    listed = "\n\n".join(number_passages(passages))
    return template.format(passages=listed, instruction=instruction, rule=RULES[require]).strip()


# The id of a case is a key of the store; a purpose holds the whole question.
_LONGEST_ID = 200
Messages = Sequence[dict[str, Any]]
Ask = Callable[[str, Messages], Awaitable[Attempt]]
"""What a writer is given: a purpose for the log, and the conversation → the model's answer, or its error."""


@dataclass
class Spent:
    """What the calls came to; those answered from the log cost nothing this time."""

    calls: int = 0
    calls_from_log: int = 0
    failed_calls: int = 0
    usage: Usage = field(default_factory=Usage)
    usage_from_log: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Asker:
    target: Target
    caller: Caller
    log: CallLog
    spent: Spent

    async def ask(self, purpose: str, messages: Messages) -> Attempt:
        """One answer of a chat model."""
        case = Case(
            id=purpose[:_LONGEST_ID],
            dataset="generation",
            kind=CaseKind.TASK,
            name=purpose,
            input=str(messages[-1]["content"]),
            messages=tuple(messages),
        )
        return await self.put(case)

    async def put(self, case: Case) -> Attempt:
        """One attempt at a case: from the log where it was answered before, else by a call."""
        # A target that shows its request is logged by the exact body
        # it sends, parameters included; others by the messages.
        request = getattr(self.target, "request", None)
        body = request(case, None) if request else {"messages": list(case.messages)}
        key = request_key(self.target.identity, body)
        entry = self.log.find(key)
        if entry is not None:
            known = Attempt.model_validate({"case_id": case.id, **entry["reply"]})
            self.spent.calls_from_log += 1
            self.spent.usage_from_log = self.spent.usage_from_log.plus(known.usage)
            return known
        logged = _Logged(self.target, self.log, self.spent, {"key": key, "purpose": case.name, "request": body})
        return await self.caller.call(logged, case)


@dataclass(frozen=True)
class _Logged:
    """A target whose every send is written down before its answer is used, the failed ones too."""

    target: Target
    log: CallLog
    spent: Spent
    entry: dict[str, Any]

    @property
    def identity(self) -> str:
        return self.target.identity

    async def attempt(self, case: Case, trial: int, seed: int | None) -> Attempt:
        attempt = await self.target.attempt(case, trial, seed)
        self.spent.calls += 1
        self.spent.failed_calls += attempt.error is not None
        self.spent.usage = self.spent.usage.plus(attempt.usage)
        # Errors of HTTP clients quote addresses and headers, and the log is a file that people pass on.
        error = DefaultRedactor().redact(attempt.error)[0] if attempt.error else None
        reply = attempt.model_copy(update={"error": error}).model_dump(mode="json", exclude_defaults=True)
        await self.log.add({**self.entry, "target": self.identity, "reply": reply, "error": error})
        return attempt


LABEL = "written by a model"
NOT_ANSWERABLE = "NOT ANSWERABLE"
_LISTS = {"qa": "questions", "citations": "topics"}
_JSON_AGAIN = 'That is not usable: {problem}. Answer with one JSON object and nothing else: {{"{name}": ["…"]}}'


class ModelWriter:
    def __init__(self, ask: Ask, prompts: Mapping[str, str], identity: str) -> None:
        self._ask, self._prompts, self.identity = ask, prompts, identity
        self.label = LABEL

    async def ideas(self, kind: str, passage: Passage, count: int) -> Sequence[Idea]:
        """Up to `count`; a reply that is no list of texts is sent back once."""
        name = _LISTS[kind]
        prompt = self._prompts[name].format(count=count, passage=passage.text, document=passage.document)
        messages = [_user(prompt)]
        purpose = f"{kind} ideas {passage.source}"
        attempt = await self._ask(purpose, messages)
        texts, problem = _texts(attempt, name)
        if attempt.error is None and problem:
            messages += [_assistant(attempt.output), _user(_JSON_AGAIN.format(problem=problem, name=name))]
            attempt = await self._ask(purpose, messages)
            texts, problem = _texts(attempt, name)
        if problem:
            return [Idea(problem=problem)]
        shape = templates_of([passage]).topic if kind == "citations" else "{topic}"
        return [Idea(instruction=shape.format(topic=text), method="model", basis=text) for text in texts[:count]]

    async def write(self, assignment: WritingTask) -> Draft:
        return _draft(await self._ask(_purpose(assignment), [_user(assignment.prompt)]))

    async def rewrite(self, assignment: WritingTask, draft: Draft, problems: Sequence[str]) -> Draft:
        request = self._prompts["rewrite"].format(problems="; ".join(problems), count=len(assignment.contexts))
        messages = [_user(assignment.prompt), _assistant(draft.text), _user(request)]
        return _draft(await self._ask(f"rewrite {_purpose(assignment)}", messages))


def make_model_writer(*, ask: Ask | None, prompts: Mapping[str, str] | None = None, identity: str = "") -> ModelWriter:
    if ask is None:
        raise BadInput("the writer `model` needs a model: give --model openai/NAME, or leave the writer out")
    return ModelWriter(ask, prompts or BUILT_IN, identity)


def _purpose(assignment: WritingTask) -> str:
    return f"{assignment.kind} {assignment.document}: {assignment.idea.instruction}"


def _user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def _assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text or "(nothing)"}


def _texts(attempt: Attempt, name: str) -> tuple[list[str], str]:
    """The list a reply holds, or what is wrong with it."""
    if attempt.error is not None:
        return [], f"call failed: {attempt.error}"
    if attempt.finish_reason == "length":
        return [], "cut off: the reply ended at its token limit"
    result = _list_in(attempt.output, name)
    if result is None:
        return [], f"malformed reply: no JSON object with a list {name!r}"
    # Models wrap each text into an object of its own: {"question": "…"}.
    bare = [
        next((text for text in one.values() if isinstance(text, str)), "") if isinstance(one, dict) else one
        for one in result
    ]
    texts = [" ".join(text.split()) for text in bare if isinstance(text, str) and text.strip()]
    return (texts, "") if texts else ([], f"malformed reply: the list {name!r} holds no text")


def _list_in(output: str, name: str) -> list[Any] | None:
    """The list that a reply holds under its name, under the only one there is, or bare."""
    start = output.find("[")
    held = parse_object(output) if 0 <= output.find("{") < start or start < 0 else None
    result = (held or {}).get(name) or next((value for value in (held or {}).values() if isinstance(value, list)), None)
    if held is None and start >= 0:
        # Wrapped, because what reads a reply looks for an object; words and fences around the list do no harm.
        result = (parse_object('{"bare": ' + output[start : output.rfind("]") + 1] + "}") or {}).get("bare")
    return result if isinstance(result, list) else None


def _draft(attempt: Attempt) -> Draft:
    text = attempt.output.strip()
    if attempt.error is not None:
        return Draft(problem=f"call failed: {attempt.error}")
    if attempt.finish_reason == "length":
        return Draft(text=text, problem="cut off: the reply ended at its token limit")
    # Models put the two words into quotes, bold or a sentence of their own.
    if text.upper().strip(" .\"'*").startswith(NOT_ANSWERABLE):
        return Draft(text=text, problem="not answerable: the model says that the passages do not hold the answer")
    return Draft(text=text)
