"""MLflow evaluation records: `{inputs, outputs, expectations, tags, source}` as JSON lines."""

from typing import Any, ClassVar

import orjson

from evergold.formats.lines import Record
from evergold.formats.records import (
    KEY,
    RecordLines,
    carry_fields,
    rebuild_case,
    shown_reference,
    unread_of,
    with_edited_reference,
)
from evergold.model.case import Case

HELD = {"input", "output", "expected"}
QUESTION_KEYS = ("question", "query", "input", "prompt", "request")


class MLflow(RecordLines):
    suffix: ClassVar[str] = ".mlflow.jsonl"
    expresses: ClassVar[frozenset[str]] = frozenset()
    keys = frozenset({"inputs", "expectations"})

    def record(self, case: Case) -> Record:
        """Tags are texts there, so what is carried travels as the JSON text of one tag."""
        return {
            "inputs": {"question": case.input},
            "outputs": case.output,
            "expectations": {} if (reference := shown_reference(case)) is None else {"expected_response": reference},
            "tags": {KEY: orjson.dumps(carry_fields(case, HELD)).decode()},
            "source": {"source_type": "CODE", "source_data": {"dataset": case.dataset, "id": case.id}},
        }

    def case(self, record: Record) -> Case:
        inputs, tags = record["inputs"], dict(record.get("tags") or {})
        rest = orjson.loads(tags.pop(KEY)) if KEY in tags else None
        key = next((key for key in QUESTION_KEYS if isinstance(inputs.get(key), str)), None)
        expectations = record.get("expectations") or {}
        held = {
            "input": inputs[key] if key is not None else orjson.dumps(inputs).decode(),
            "output": _as_text(record.get("outputs")),
            "expected": _as_text(expectations.get("expected_response")),
            "tags": sorted(f"{name}:{value}" if value else name for name, value in tags.items()) or None,
        }
        # `source` of a record of ours only repeats its name; of another's it is information.
        unread = unread_of(
            record, "inputs", "outputs", "expectations", "tags", *(("source",) if rest is not None else ())
        )
        more = {
            "inputs": unread_of(inputs, key) if key else {},
            "expectations": unread_of(expectations, "expected_response"),
        }
        unread |= {name: value for name, value in more.items() if value}
        case = rebuild_case(held, {KEY: rest} if rest is not None else None, unread=unread)
        return with_edited_reference(case, _as_text(expectations.get("expected_response")))


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else orjson.dumps(value).decode()
