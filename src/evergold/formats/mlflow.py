"""MLflow evaluation records: `{inputs, outputs, expectations, tags, source}` as JSON lines."""

from typing import ClassVar

import orjson

from evergold.formats.lines import Record
from evergold.formats.records import (
    KEY,
    RecordLines,
    answer_of,
    carry_fields,
    question_of,
    rebuild_case,
    unread_of,
    with_edited_reference,
)
from evergold.model.case import Case

HELD = {"input", "output", "expected"}


class MLflow(RecordLines):
    suffix: ClassVar[str] = ".mlflow.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset()
    keys = frozenset({"inputs", "expectations"})

    def record(self, case: Case) -> Record:
        """Tags are texts there, so what is carried travels as the JSON text of one tag."""
        return {
            "inputs": {"question": case.input},
            "outputs": case.output,
            "expectations": {} if (reference := case.reference_text()) is None else {"expected_response": reference},
            "tags": {KEY: orjson.dumps(carry_fields(case, HELD)).decode()},
            "source": {"source_type": "CODE", "source_data": {"dataset": case.dataset, "id": case.id}},
        }

    def case(self, record: Record) -> Case:
        inputs, tags = record["inputs"], dict(record.get("tags") or {})
        rest = {KEY: orjson.loads(tags.pop(KEY))} if KEY in tags else None
        question, messages, key = question_of(inputs)
        expectations = record.get("expectations") or {}
        expected = answer_of(expectations.get("expected_response"))[0]
        held = {
            "input": question,
            "output": answer_of(record.get("outputs"))[0],
            "expected": expected,
            "tags": sorted(f"{name}:{value}" if value else name for name, value in tags.items()) or None,
        }
        unread = unread_of(record, "inputs", "outputs", "expectations", "tags")
        if rest:
            unread.pop("source", None)  # of ours it only repeats the name; of another's it is information
        trace = ((record.get("source") or {}).get("source_data") or {}).get("trace_id")
        guessed = {"messages": messages, "provenance": {"source": "mlflow", "trace_id": trace} if trace else None}
        more = {
            "inputs": unread_of(inputs, key) if key else {},
            "expectations": unread_of(expectations, "expected_response"),
        }
        unread |= {name: value for name, value in more.items() if value}
        case = rebuild_case(held, rest, guessed=guessed, unread=unread)
        return with_edited_reference(case, expected)
