"""Labels of people, one JSON line each: `{"trace_id": "t1", "label": "golden"}`.

A label is `golden`, `failure` or `none`. Lines of `evergold export --format live-jsonl` are labels too (`entry_type`). A line
with an `input` is a whole trace with its label, for trying a policy on traces that are not stored.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from evergold.errors import BadInput, NotFound
from evergold.formats.lines import numbered_lines, record_in
from evergold.model.faults import first_fault
from evergold.model.trace import Trace

CLASSES = {
    "golden": "golden",
    "confirmed": "golden",
    "candidate": "golden",
    "failure": "failure",
    "correction": "failure",
    "none": "none",
}
KEYS = ("label", "entry_type", "expected", "tier")


@dataclass
class Labelled:
    """Labels by trace, and the traces that came with them."""

    labels: dict[str, str] = field(default_factory=dict)
    traces: list[Trace] = field(default_factory=list)


def read_labels(path: Path) -> Labelled:
    """Read a file of labels; every mistake names its line."""
    labelled = Labelled()
    try:
        for number, line in numbered_lines(path):
            _take(labelled, line, f"{path}:{number}")
    except FileNotFoundError as problem:
        raise NotFound(f"file of labels {str(path)!r} does not exist") from problem
    except OSError as problem:
        raise BadInput(f"file of labels {str(path)!r} cannot be read: {problem.strerror}") from problem
    if not labelled.labels:
        raise BadInput(f'{path} holds no labels; write lines like {{"trace_id": "t1", "label": "golden"}}')
    return labelled


def _take(labelled: Labelled, line: bytes, where: str) -> None:
    try:
        record = record_in(line)
    except BadInput as problem:
        raise BadInput(f"{where}: {problem.message}; a line is an object with trace_id and label") from problem
    key = next((key for key in KEYS if key in record), "label")
    # null in `entry_type` of an export means that the trace has no entry.
    label = "none" if record.get(key, "") is None else record.get(key)
    if not isinstance(label, str) or label not in CLASSES:
        raise BadInput(f"{where}: {key} = {label!r}; a label is golden, failure or none")
    trace_id = record.get("trace_id", record.get("id"))
    if not isinstance(trace_id, str) or not trace_id:
        raise BadInput(f"{where}: trace_id = {trace_id!r}; it is the id of a trace")
    if labelled.labels.get(trace_id, CLASSES[label]) != CLASSES[label]:
        raise BadInput(f"{where}: trace {trace_id!r} has two different labels; keep one")
    # A trace that comes with its label is judged in a workspace of its own.
    if "input" in record and "trace_id" not in record and trace_id not in labelled.labels:
        labelled.traces.append(_trace({name: value for name, value in record.items() if name != key}, where))
    labelled.labels[trace_id] = CLASSES[label]


def _trace(record: dict[str, Any], where: str) -> Trace:
    try:
        return Trace.model_validate(record)
    except ValidationError as problem:
        raise BadInput(f"{where}: {first_fault(problem, Trace)}") from problem
