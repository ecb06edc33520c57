"""The live export: one line per case with the keys people's offline tests read.

`id, case_id, trace_id, entry_type, evidence, input, output, expected_output, metadata, created_at`, plus `tags`, `reference` and
`reference_from`. `expected_output` of a correction is its reference; the user's words are in `correction_text`. `id` is the
integer of `eval_dataset`, so that a line joins with SQL; `case_id` names the case anywhere. What these keys cannot hold
travels in its metadata under the key `evergold`, only where there is something to hold, so that a file read back gives
the same case: there are no further keys.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

from evergold.formats.lines import Record, write_lines
from evergold.formats.records import KEY, MOVING, RecordLines, unread_of, with_edited_reference
from evergold.model.case import Case, EntryType, TierEvidence

KEYS = (
    "id",
    "case_id",
    "trace_id",
    "entry_type",
    "evidence",
    "input",
    "output",
    "expected_output",
    "metadata",
    "created_at",
    "tags",
    "correction_text",
    "reference",
    "reference_from",
)
BATCH = 500
Numbers = Callable[[Sequence[Case]], Mapping[tuple[str, str], int]]
OWN = {
    "id",
    "entry_type",
    "evidence",
    "input",
    "output",
    "expected",
    "metadata",
    "tags",
    "provenance",
    "created_at",
} | MOVING


class LiveJsonl(RecordLines):
    suffix: ClassVar[str] = ".jsonl"
    numbered: ClassVar[bool] = True  # lines are named by the integer of `eval_dataset`, where a store knows it
    keys = frozenset({"entry_type", "expected_output"})

    def write(self, cases: Iterable[Case], path: Path, **options: Any) -> int:
        return write_lines(_lines(cases, options.get("numbers")), path)

    def case(self, line: Record) -> Case:
        metadata = dict(line.get("metadata") or {})
        more = dict(metadata.pop(KEY, None) or {})
        metadata = more.pop("metadata", metadata)
        provenance = dict(more.pop("provenance", {}), trace_id=line.get("trace_id"))
        if unread := unread_of(line, *KEYS):
            more["extra"] = {**more.get("extra", {}), **unread}
        shown = line.get("expected_output")
        # Lines of earlier versions have the words that corrected as `expected_output`, and no `correction_text`.
        corrects = line["entry_type"] == EntryType.CORRECTION and "correction_text" in line
        if corrects and KEY not in (line.get("metadata") or {}) and shown:
            more["revised"] = {"text": shown}
        case = Case.model_validate(
            more
            | {
                "id": str(line.get("case_id") or line["id"]),
                "entry_type": line["entry_type"],
                "evidence": line.get("evidence") or TierEvidence.SOURCE,
                "input": line["input"],
                "output": line.get("output"),
                "expected": line["correction_text"] if corrects else shown,
                "metadata": metadata,
                "created_at": line.get("created_at"),
                "tags": tuple(line.get("tags") or ()),
                "provenance": provenance,
            }
        )
        return with_edited_reference(case, shown) if corrects else case


def _lines(cases: Iterable[Case], numbers: Numbers | None) -> Iterator[dict[str, Any]]:
    """The lines of cases, a batch at a time; a case that no store knows is named by its own id alone."""
    remaining = iter(cases)
    while batch := list(islice(remaining, BATCH)):
        known = numbers(batch) if numbers else {}
        yield from (line_of(case, known.get((case.dataset, case.id))) for case in batch)


def line_of(case: Case, number: int | None = None) -> dict[str, Any]:
    more = case.model_dump(mode="json", exclude=OWN, exclude_defaults=True)
    provenance = case.provenance.model_dump(mode="json", exclude_defaults=True, exclude={"trace_id"})
    if provenance:
        more["provenance"] = provenance
    metadata = case.metadata
    # The user's own metadata has our key: all of it moves inside ours, so that nothing is overwritten.
    if KEY in metadata:
        more["metadata"], metadata = metadata, {}
    return {
        "id": case.id if number is None else number,
        "case_id": case.id,
        "trace_id": case.provenance.trace_id,
        "entry_type": case.entry_type,
        "evidence": case.evidence,
        "input": case.input,
        "output": case.output,
        "metadata": metadata | ({KEY: more} if more else {}),
        "created_at": case.created_at,
        "tags": case.tags,
        **case.shown_answers(),
    }
