"""The facade of tables: traces, datasets and runs for pandas, Polars and Arrow."""

from collections.abc import Iterator
from typing import Any

import orjson

from evergold.formats.columns import Frame
from evergold.formats.records import shown_reference
from evergold.model.case import Case
from evergold.model.run import Attempt
from evergold.model.trace import Trace
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace.bench import Bench
from evergold.workspace.cases import Cases
from evergold.workspace.intake import Intake

PAGE = 500
TRACE_COLUMNS = {
    "id": "text",
    "session_id": "text",
    "user_id": "text",
    "name": "text",
    "input": "text",
    "output": "text",
    "status": "text",
    "started_at": "time",
    "ended_at": "time",
    "tags": "texts",
    "scores": "text",
    "metadata": "text",
}
CASE_COLUMNS = {
    "id": "text",
    "dataset": "text",
    "kind": "text",
    "entry_type": "text",
    "input": "text",
    "output": "text",
    "reference": "text",
    "reference_origin": "text",
    "review": "text",
    "tags": "texts",
    "trace_id": "text",
    "session_id": "text",
    "created_at": "time",
    "messages": "text",
    "tools": "text",
    "metadata": "text",
}
ATTEMPT_COLUMNS = {
    "case_id": "text",
    "trial": "count",
    "input": "text",
    "reference": "text",
    "output": "text",
    "error": "text",
    "latency_ms": "number",
    "input_tokens": "count",
    "output_tokens": "count",
    "cost": "number",
    "cached": "flag",
}


class Frames:
    """Tables of what a workspace holds. What has no column of its own is JSON text."""

    def __init__(self, intake: Intake, cases: Cases, bench: Bench) -> None:
        self._intake = intake
        self._cases = cases
        self._bench = bench

    def traces(self, wanted: TraceFilter | None = None) -> Frame:
        """Traces, newest first; `scores` is a JSON list of name, value, source and comment."""

        def rows() -> Iterator[dict[str, Any]]:
            before: str | None = None
            while True:
                # Pages by cursor, so that a table of a million traces is never held as objects.
                page, before = self._intake.page(wanted or TraceFilter(), limit=PAGE, before=before, scores=True)
                yield from map(trace_row, page)
                if before is None:
                    return

        return Frame("traces", TRACE_COLUMNS, rows)

    def dataset(self, name: str = "live", wanted: CaseFilter | None = None) -> Frame:
        """Cases of a dataset, oldest first; `reference` is the answer they are measured by."""
        if wanted is None:
            self._cases.require_dataset(name)
        chosen = wanted or CaseFilter(dataset=name)
        return Frame(f"dataset {name}", CASE_COLUMNS, lambda: map(case_row, self._cases.iterate(chosen)))

    def run(self, run_id: str) -> Frame:
        """Attempts of a run with a column for each metric; an attempt that has no score has an empty cell."""
        run = self._bench.get(run_id)
        names = [spec.name for spec in run.metrics]
        # Metrics are columns of the run, so two runs with the same metrics have the same table.
        columns = {**ATTEMPT_COLUMNS, **dict.fromkeys(names, "number")}

        def rows() -> Iterator[dict[str, Any]]:
            # Held, because attempts come by case and trial and ask for the same case again.
            cases = {case.id: case for case in self._bench.cases(run_id)}
            for attempt in self._bench.attempts(run_id):
                yield attempt_row(attempt, cases.get(attempt.case_id), names)

        return Frame(f"run {run_id}: {run.spec.dataset} against {run.spec.model}", columns, rows)


def trace_row(trace: Trace) -> dict[str, Any]:
    shown = ("name", "value", "source", "comment")
    row = {name: getattr(trace, name) for name in TRACE_COLUMNS if name not in ("tags", "scores", "metadata")}
    row["status"] = trace.status.value
    row["tags"] = list(trace.tags)
    row["scores"] = _json([{name: getattr(score, name) for name in shown} for score in trace.scores])
    return row | {"metadata": _json(trace.metadata)}


def case_row(case: Case) -> dict[str, Any]:
    reference = case.reference()
    plain = ("id", "dataset", "input", "output", "created_at")
    return {name: getattr(case, name) for name in plain} | {
        "kind": case.kind.value,
        "entry_type": case.entry_type.value,
        "review": case.review.value,
        "reference": shown_reference(case),
        "reference_origin": None if reference is None else reference.origin.value,
        "tags": list(case.tags),
        "trace_id": case.provenance.trace_id,
        "session_id": case.provenance.session_id,
        "messages": _json(case.messages),
        "tools": _json(case.tools),
        "metadata": _json(case.metadata),
    }


def attempt_row(attempt: Attempt, case: Case | None, metrics: list[str]) -> dict[str, Any]:
    row: dict[str, Any] = {
        name: getattr(attempt, name) for name in ("case_id", "trial", "output", "error", "latency_ms")
    }
    row |= {name: getattr(attempt.usage, name) for name in ("input_tokens", "output_tokens", "cost")}
    row |= {"cached": attempt.cached, "input": case and case.input, "reference": case and shown_reference(case)}
    for name in metrics:
        measurement = attempt.measurements.get(name)
        row[name] = None if measurement is None else measurement.value
    return row


def _json(value: Any) -> str | None:
    return orjson.dumps(value, default=str).decode() if value else None
