"""DeepEval goldens: one JSON array of objects, with the keys its own loader looks for.

`EvaluationDataset.add_goldens_from_json_file` reads `expected_output` and its kin; files that spell them `expectedOutput`, as
DeepEval's web service does, are read here too. So are the JSON lines that DeepEval saves, where the texts of a context stand in
one, with `|` between them.

DeepEval keeps single-turn and multi-turn goldens apart and refuses a file that mixes them. So every case is a single-turn
golden here, and those with earlier turns are written once more as conversational goldens (`{"scenario", "turns",
"expected_outcome", …}`) to a file beside it. Either file gives the whole cases back. A turn is a text of the user or of the
assistant; the calls of the assistant stand in its turn as `tools_called`, with their results as `output`. System texts and
messages of other roles have no place and travel with the case.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar

import orjson

from evergold.formats.atomic import FileSet
from evergold.formats.lines import Record, columns_of, first_record, read_lines
from evergold.formats.parts import JoinedArray, Joining
from evergold.formats.records import (
    Message,
    conversation,
    last_user_text,
    metadata_of,
    rebuild_case,
    text_of,
    unread_of,
    with_edited_reference,
    with_edits,
)
from evergold.model.case import Case
from evergold.model.faults import Rejected
from evergold.model.tool_calls import calls_in

TURNS_HELD = {"expected", "name"}
TURNS_KNOWN = ("scenario", "turns", "expected_outcome", "name", "context", "additional_metadata")


def find_beside(path: Path) -> Path:
    """The file of conversational goldens that belongs to a file of goldens."""
    stem = path.name.removesuffix(".json").removesuffix(".deepeval")
    return path.with_name(f"{stem}.turns.deepeval.json")


def is_conversation(case: Case) -> bool:
    """Whether the user spoke more than once, which is what DeepEval calls multi-turn."""
    return len([message for message in case.messages if message.get("role") == "user"]) > 1


def conversational(case: Case) -> Record:
    """The golden of a conversation: its first question as the scenario, every turn up to the recorded answer."""
    asked = conversation(case)
    # DeepEval needs a scenario; the first question is what the conversation is about.
    first = next(text_of(message.get("content")) for message in asked if message.get("role") == "user")
    answered = case.turn or ([{"role": "assistant", "content": case.output}] if case.output else [])
    texts = [context.text for context in case.contexts if context.text is not None]
    record: Record = {
        "scenario": first or case.input or case.id,
        "turns": list(_turns([*asked, *map(dict, answered)])),
        "expected_outcome": case.reference_text(),
        "name": case.name,
        "context": texts or None,
        "additional_metadata": metadata_of(case, TURNS_HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def read_conversation(record: Record) -> Case:
    """The case of a conversational golden; an edited turn or outcome counts."""
    shown = _shown_turns(record)
    held = {"input": shown["input"], "expected": _get_either(record, "expected_outcome"), "name": record.get("name")}
    metadata = _get_either(record, "additional_metadata")
    case = rebuild_case(held, metadata, guessed=shown, unread=unread_of(record, *TURNS_KNOWN, "expectedOutcome"))
    if metadata and "evergold" in metadata:
        # A case that had only one turn was never written so: every turn shown was put there by somebody.
        own = _shown_turns(conversational(case)) if is_conversation(case) else shown
        case = with_edits(case, shown, own)
    return with_edited_reference(case, held["expected"])


def _turns(messages: Sequence[Message]) -> Iterator[Record]:
    """The turns of a conversation: each assistant text with the calls since the last user text."""
    for index, message in enumerate(messages):
        role, text = message.get("role"), text_of(message.get("content"))
        # DeepEval refuses an empty turn.
        if role not in ("user", "assistant") or (not text and not message.get("tool_calls")):
            continue
        turn: Record = {"role": role, "content": text}
        if message.get("tool_calls"):
            results = takewhile(lambda later: later.get("role") == "tool", messages[index + 1 :])
            turn["tools_called"] = [
                {"name": call.name, "input_parameters": call.args}
                | ({"output": call.result} if call.result is not None else {})
                for call in calls_in([message, *results])
            ]
        yield turn


def _shown_turns(record: Record) -> Record:
    turns = [dict(turn) for turn in record.get("turns") or []]
    # What follows the last user turn is the answer; without a user turn all of it is.
    last = max((number for number, turn in enumerate(turns) if turn.get("role") == "user"), default=-1)
    asked, done = turns[: last + 1], turns[last + 1 :]
    answer = next((turn.get("content") for turn in reversed(done) if turn.get("content")), None)
    called = [call for turn in done for call in _get_either(turn, "tools_called") or []]
    results = [{} if call.get("output") is None else {"result": call["output"]} for call in called]
    return {
        "input": last_user_text(asked) or record["scenario"],
        "messages": [{"role": turn["role"], "content": turn["content"]} for turn in asked],
        "output": answer,
        "tool_calls": [_call(call) | result for call, result in zip(called, results, strict=True)],
    }


def _call(call: Record) -> Record:
    return {"name": call["name"], "args": _get_either(call, "input_parameters") or {}}


HELD = {"input", "output", "expected", "name"}
KNOWN = (
    "expected_output",
    "actual_output",
    "retrieval_context",
    "tools_called",
    "expected_tools",
    "additional_metadata",
)
DELIMITER = "|"  # between the texts of a context, where DeepEval writes them as one
_TELLING = (b'"expected_output"', b'"actual_output"', b'"expectedOutput"', b'"actualOutput"', b'"scenario"')

_OTHERS = (b'"datasetId"', b'"sourceTraceId"')  # Langfuse's items have an `expectedOutput` too


class DeepEval:
    suffix: ClassVar[str] = ".deepeval.json"
    joining: ClassVar[Joining] = JoinedArray
    expresses: ClassVar[frozenset[str]] = frozenset({"messages", "turn", "tool_calls", "expected_tools", "contexts"})

    def accepts(self, head: bytes) -> bool:
        start = head.lstrip()
        if start[:1] == b"{" or columns_of(head):
            first = columns_of(head) or first_record(head).keys()
            return {"input", "actual_output", "expected_output"} <= set(first) or {"scenario", "turns"} <= set(first)
        return start[:1] == b"[" and any(key in start for key in _TELLING) and not any(key in start for key in _OTHERS)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        """Write every case as a golden; a second file appears only where cases have several turns."""
        count, beside = 0, find_beside(path)
        turns: JoinedArray | None = None
        with FileSet() as files:
            goldens = JoinedArray(path.name, partial(files.open, path))
            for case in cases:
                count += 1
                goldens.add(orjson.dumps(record_of(case)))
                if is_conversation(case):
                    turns = turns or JoinedArray(beside.name, partial(files.open, beside))
                    turns.add(orjson.dumps(conversational(case)))
            goldens.close()
            if turns:
                turns.close()
            else:
                beside.unlink(missing_ok=True)  # of an earlier export
        return count

    def may_write(self, path: Path) -> tuple[Path, ...]:
        """The goldens, and those of several turns where there are any."""
        return path, find_beside(path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, case_of)


def record_of(case: Case) -> Record:
    texts = [context.text for context in case.contexts if context.text is not None]
    # Concrete calls that meet what is expected; one that only a pattern describes has none.
    expected = [call for one in case.expected_calls() or () if (call := one.example()) is not None]
    record: Record = {
        "input": case.input,
        "expected_output": case.reference_text(),
        "actual_output": case.output,
        "name": case.name,
        "retrieval_context": texts or None,
        "tools_called": [{"name": call.name, "input_parameters": call.args} for call in case.tool_calls] or None,
        "expected_tools": [{"name": call.name, "input_parameters": call.args} for call in expected] or None,
        "additional_metadata": metadata_of(case, HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def case_of(record: Record) -> Case:
    if record.get("scenario"):
        return read_conversation(record)
    held = {
        "input": record["input"],
        "expected": _get_either(record, "expected_output"),
        "output": _get_either(record, "actual_output"),
        "name": record.get("name"),
    }
    shown = _read_golden(record)
    unread = unread_of(record, "input", "name", *map(_camel, KNOWN), *KNOWN)
    if not _get_either(record, "retrieval_context"):
        unread.pop("context", None)  # it was read in its place
    case = rebuild_case(held, _get_either(record, "additional_metadata"), guessed=shown, unread=unread)
    return with_edited_reference(with_edits(case, shown, _read_golden(record_of(case))), held["expected"])


def _read_golden(record: Record) -> Record:
    texts = _get_either(record, "retrieval_context") or record.get("context") or []
    if isinstance(texts, str):
        texts = texts.split(DELIMITER)
    return {
        "contexts": [{"text": text} for text in texts],
        "tool_calls": [_call(call) for call in _get_either(record, "tools_called") or []],
        "expected_tools": [_call(call) for call in _get_either(record, "expected_tools") or []] or None,
    }


def _get_either(record: Record, key: str) -> Any:
    """A value by its key, or by the same key in camel case."""
    return record.get(key, record.get(_camel(key)))


def _camel(key: str) -> str:
    first, *rest = key.split("_")
    return first + "".join(map(str.capitalize, rest))
