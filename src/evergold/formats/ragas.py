"""Ragas samples: `user_input, response, reference, retrieved_contexts, reference_contexts` as JSON lines."""

from typing import ClassVar

from evergold.formats.lines import Record
from evergold.formats.records import RecordLines, metadata_of, read_asked, unread_of
from evergold.model.case import Case, CaseKind

HELD = {"input", "output", "expected"}


class Ragas(RecordLines):
    suffix: ClassVar[str] = ".ragas.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset({"contexts"})
    keys = frozenset({"user_input"})

    def record(self, case: Case) -> Record:
        """Contexts stand in their Ragas place as texts; their sources and gaps are carried with the rest."""
        return {
            "user_input": case.input,
            "response": case.output,
            "reference": case.reference_text(),
            # Ragas takes texts only: a passage that was lost has no place in the list.
            "retrieved_contexts": [context.text for context in case.contexts if context.text is not None],
            "metadata": metadata_of(case, HELD),
        }

    def case(self, record: Record) -> Case:
        asked = read_asked(record["user_input"])
        held = {
            "input": asked["input"],
            "output": record.get("response"),
            "expected": record.get("reference"),
        }
        known = ["user_input", "response", "reference", "retrieved_contexts", "metadata"]
        if not record.get("retrieved_contexts"):
            # They serve as the contexts then, so they are not kept a second time as unread.
            known.append("reference_contexts")
        guessed = {"kind": CaseKind.QA, **asked, **self.read_shown(record)}
        return self.edited_case(record, held, record.get("metadata"), guessed, unread_of(record, *known))

    def read_shown(self, record: Record) -> Record:
        texts = record.get("retrieved_contexts") or record.get("reference_contexts") or []
        return {"contexts": [{"text": text} for text in texts]}
