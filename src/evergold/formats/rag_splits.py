"""The records of the qa and summaries splits, as cases and back."""

from itertools import zip_longest
from typing import ClassVar

from evergold.formats.lines import Record, first_record
from evergold.formats.records import RecordLines, metadata_of, rebuild_case, unread_of
from evergold.model.case import Case, CaseKind

HELD = {"id", "input", "expected", "prompt", "citations"}
LISTS = ("contexts", "sources", "retrieved", "citations", "answer_citations")
KNOWN = ("task_id", "task_type", "rag_prompt", "metadata", "extra", *LISTS)


class _Split(RecordLines):
    suffix: ClassVar[str] = ".jsonl"
    kind: CaseKind
    task_type: str
    question: str
    reference: str

    def accepts(self, head: bytes) -> bool:
        return {"task_id", self.question, self.reference} <= first_record(head).keys()

    def record(self, case: Case) -> Record:
        return {
            "task_id": case.id,
            "task_type": case.extra.get("task_type", self.task_type),
            self.question: case.input,
            self.reference: case.expected or "",
            "rag_prompt": case.prompt or "",
            "contexts": [context.text or "" for context in case.contexts],
            "sources": [context.source or "" for context in case.contexts],
            "retrieved": [context.retrieved or {} for context in case.contexts],
            "citations": list(case.citations),
            "metadata": metadata_of(case, HELD),
        }

    def case(self, record: Record) -> Case:
        metadata = dict(record.get("metadata") or {})
        held: Record = {
            "id": record["task_id"],
            "input": record[self.question],
            "expected": record[self.reference],
            "prompt": record.get("rag_prompt"),
            "citations": record.get("citations"),
        }
        guessed: Record = {
            "kind": self.kind,
            "answer_citations": record.get("answer_citations"),
            **self.read_shown(record),
        }
        if isinstance(metadata.get("document"), str):
            guessed["provenance"] = {"source": "rag", "document": metadata["document"]}
        # Builds write what the split has no key for under `extra`; other tools write it beside the known keys.
        unread = {**(record.get("extra") or {}), **unread_of(record, *KNOWN, self.question, self.reference)}
        case = rebuild_case(held, metadata, guessed=guessed, dataset=self.task_type, unread=unread)
        return self.take_edits(case, record)

    def read_shown(self, record: Record) -> Record:
        lists = (record.get(name) or [] for name in ("contexts", "sources", "retrieved"))
        return {
            "contexts": [
                {"text": text, "source": source or None, "retrieved": retrieved or None}
                # The three lists are parallel in the seed's format; a shorter one lacks values, never passages.
                for text, source, retrieved in zip_longest(*lists)
            ]
        }


class QaPairs(_Split):
    """`qa_pairs.jsonl`: question, reference answer, numbered contexts."""

    suffix: ClassVar[str] = ".qa.jsonl"
    kind = CaseKind.QA
    task_type = "qa"
    question = "question"
    reference = "reference_answer"

    def record(self, case: Case) -> Record:
        # Where nothing is known of the answer's own citations, they are those of the record.
        answer_citations = case.citations if case.answer_citations is None else case.answer_citations
        return super().record(case) | {"answer_citations": list(answer_citations)}


class Summaries(_Split):
    """`summaries.jsonl`: instruction, reference summary, contexts."""

    suffix: ClassVar[str] = ".summaries.jsonl"
    kind = CaseKind.SUMMARY
    task_type = "summaries"
    question = "instruction"
    reference = "reference_summary"


class OwnSplit(_Split):
    """A split of one's own: which of its texts is asked and which is the reference is said by the manifest."""

    kind = CaseKind.QA

    def __init__(self, task_type: str, question: str, reference: str) -> None:
        self.task_type, self.question, self.reference = task_type, question, reference
