"""DeepEval's conversational goldens: `{"scenario", "turns", "expected_outcome", …}`.

A turn there is a text of the user or of the assistant; the calls of the assistant stand in its turn as `tools_called`, with
their results as `output`. System texts and messages of other roles have no place and travel with the case.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from evergold.formats.carrying import (
    metadata_of,
    rebuilt,
    shown_reference,
    unread_of,
    with_edited_reference,
    with_edits,
)
from evergold.formats.lines import Record
from evergold.formats.messages import conversation, last_user_text, text_of
from evergold.model.case import Case
from evergold.model.tool_calls import calls_in

Message = dict[str, Any]
HELD = {"expected", "name"}
KNOWN = ("scenario", "turns", "expected_outcome", "name", "context", "additional_metadata")


def beside(path: Path) -> Path:
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
    texts = [context.text for context in case.contexts if context.text is not None]
    record: Record = {
        "scenario": first or case.input or case.id,
        "turns": list(_turns([*asked, *_done(case)])),
        "expected_outcome": shown_reference(case),
        "name": case.name,
        "context": texts or None,
        "additional_metadata": metadata_of(case, HELD),
    }
    return {name: value for name, value in record.items() if value is not None}


def read_conversation(record: Record) -> Case:
    """The case of a conversational golden; an edited turn or outcome counts."""
    shown = _shown(record)
    held = {
        "input": shown["input"],
        "expected": record.get("expected_outcome") or record.get("expectedOutcome"),
        "name": record.get("name"),
    }
    metadata = record.get("additional_metadata") or record.get("additionalMetadata")
    case = rebuilt(held, metadata, guessed=shown, unread=unread_of(record, *KNOWN, "expectedOutcome"))
    if metadata and "evergold" in metadata:
        # A case that had only one turn was never written so: every turn shown was put there by somebody.
        own = _shown(conversational(case)) if is_conversation(case) else shown
        case = with_edits(case, shown, own)
    return with_edited_reference(case, held["expected"])


def _done(case: Case) -> list[Message]:
    if case.turn:
        return [dict(message) for message in case.turn]
    return [{"role": "assistant", "content": case.output}] if case.output else []


def _turns(messages: Sequence[Message]) -> Iterator[Record]:
    """The turns of a conversation: each assistant text with the calls since the last user text."""
    for index, message in enumerate(messages):
        role, text = message.get("role"), text_of(message.get("content"))
        # DeepEval refuses an empty turn.
        if role not in ("user", "assistant") or (not text and not message.get("tool_calls")):
            continue
        turn: Record = {"role": role, "content": text}
        if message.get("tool_calls"):
            turn["tools_called"] = [
                {"name": call.name, "input_parameters": call.args}
                | ({"output": call.result} if call.result is not None else {})
                for call in calls_in([message, *_results(messages[index + 1 :])])
            ]
        yield turn


def _results(messages: Sequence[Message]) -> Iterator[Message]:
    """The tool results that follow a message, up to the next message of another role."""
    for message in messages:
        if message.get("role") != "tool":
            return
        yield message


def _shown(record: Record) -> Record:
    turns = [dict(turn) for turn in record.get("turns") or []]
    # What follows the last user turn is the answer; without a user turn all of it is.
    last = max((number for number, turn in enumerate(turns) if turn.get("role") == "user"), default=-1)
    asked, done = turns[: last + 1], turns[last + 1 :]
    answer = next((turn.get("content") for turn in reversed(done) if turn.get("content")), None)
    calls = [_call(call) for turn in done for call in turn.get("tools_called") or turn.get("toolsCalled") or []]
    return {
        "input": last_user_text(asked) or record["scenario"],
        "messages": [{"role": turn["role"], "content": turn["content"]} for turn in asked],
        "output": answer,
        "tool_calls": calls,
    }


def _call(call: Record) -> Record:
    args = call.get("input_parameters") or call.get("inputParameters") or {}
    return {"name": call["name"], "args": args} | ({"result": call["output"]} if call.get("output") is not None else {})
