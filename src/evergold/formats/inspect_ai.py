"""Inspect samples: `{"id", "input", "target", "metadata"}` as JSON lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.carrying import (
    metadata_of,
    rebuilt,
    shown_reference,
    unread_of,
    with_edited_reference,
    with_edits,
    with_reference,
)
from evergold.formats.inspect_messages import spelled, unspelled
from evergold.formats.joining import JoinedLines, Joining
from evergold.formats.lines import Record, first_record, read_lines, write_lines
from evergold.formats.messages import last_user_text
from evergold.model.case import Case
from evergold.model.conversation import plain_messages
from evergold.model.rejected import Rejected

HELD = {"id", "input", "expected"}


class Inspect:
    suffix: ClassVar[str] = ".inspect.jsonl"
    joining: ClassVar[Joining] = JoinedLines
    expresses: ClassVar[frozenset[str]] = frozenset({"messages"})

    def accepts(self, head: bytes) -> bool:
        return {"input", "target"} <= first_record(head).keys()

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines(map(record_of, with_reference(cases, options.get("rejected", []))), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, case_of)


def record_of(case: Case) -> Record:
    """A conversation is the input itself, as a solver wants it."""
    talk = spelled(plain_messages(case.messages))
    given, held = (talk, HELD - {"input"}) if talk else (case.input, HELD)
    return {"id": case.id, "input": given, "target": shown_reference(case) or "", "metadata": metadata_of(case, held)}


def case_of(record: Record) -> Case:
    """A foreign sample may hold messages as its input and several targets; the first target is the expected answer."""
    target = record.get("target")
    metadata = dict(record.get("metadata") or {})
    if isinstance(target, list):
        metadata.setdefault("targets", target)
    shown = _asked(record)
    held = {
        "id": str(record["id"]) if record.get("id") is not None else None,
        "input": shown["input"],
        "expected": (target[0] if target else None) if isinstance(target, list) else target,
    }
    unread = unread_of(record, "id", "input", "target", "metadata")
    case = rebuilt(held, metadata, guessed=shown, unread=unread)
    return with_edited_reference(with_edits(case, shown, _asked(record_of(case))), held["expected"])


def _asked(record: Record) -> Record:
    given = record["input"]
    messages = unspelled(given) if isinstance(given, list) else []
    return {"input": last_user_text(messages) if messages else given, "messages": messages}
