"""Ragas samples: `user_input, response, reference, retrieved_contexts, reference_contexts` as JSON lines."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.lines import Record, first_record, read_lines, write_lines
from evergold.formats.parts import JoinedLines, Joining
from evergold.formats.records import (
    last_user_text,
    metadata_of,
    rebuild_case,
    shown_reference,
    unread_of,
    with_edited_reference,
    with_edits,
)
from evergold.model.case import Case, CaseKind
from evergold.model.faults import Rejected

HELD = {"input", "output", "expected"}


class Ragas:
    suffix: ClassVar[str] = ".ragas.jsonl"
    joining: ClassVar[Joining] = JoinedLines
    expresses: ClassVar[frozenset[str]] = frozenset({"contexts"})

    def accepts(self, head: bytes) -> bool:
        return "user_input" in first_record(head)

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines(map(record_of, cases), path)

    def read(self, path: Path) -> Iterator[Case | Rejected]:
        return read_lines(path, case_of)


def record_of(case: Case) -> Record:
    """Contexts stand in their Ragas place as texts; their sources and gaps are carried with the rest."""
    return {
        "user_input": case.input,
        "response": case.output,
        "reference": shown_reference(case),
        # Ragas takes texts only: a passage that was lost has no place in the list.
        "retrieved_contexts": [context.text for context in case.contexts if context.text is not None],
        "metadata": metadata_of(case, HELD),
    }


def case_of(record: Record) -> Case:
    held = {
        "input": _read_question(record)["input"],
        "output": record.get("response"),
        "expected": record.get("reference"),
    }
    shown = _contexts(record)
    known = ["user_input", "response", "reference", "retrieved_contexts", "metadata"]
    if not record.get("retrieved_contexts"):
        # They serve as the contexts then, so they are not kept a second time as unread.
        known.append("reference_contexts")
    case = rebuild_case(
        held,
        record.get("metadata"),
        guessed={"kind": CaseKind.QA, **_read_question(record), **shown},
        unread=unread_of(record, *known),
    )
    return with_edited_reference(with_edits(case, shown, _contexts(record_of(case))), held["expected"])


def _read_question(record: Record) -> Record:
    given = record["user_input"]
    messages = given if isinstance(given, list) else []
    return {"input": last_user_text(messages) if messages else given, "messages": messages}


def _contexts(record: Record) -> Record:
    texts = record.get("retrieved_contexts") or record.get("reference_contexts") or []
    return {"contexts": [{"text": text} for text in texts]}
