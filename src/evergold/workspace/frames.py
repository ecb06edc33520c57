"""The facade of tables: traces, datasets and runs for pandas, Polars and Arrow."""

from collections.abc import Iterator
from typing import Any

from evergold.formats.columns import (
    ATTEMPT_COLUMNS,
    CASE_COLUMNS,
    TRACE_COLUMNS,
    Frame,
    attempt_row,
    case_row,
    trace_row,
)
from evergold.store.case.cases import CaseFilter
from evergold.store.trace.filter import TraceFilter
from evergold.workspace.bench import Bench
from evergold.workspace.cases import Cases
from evergold.workspace.intake import Intake

PAGE = 500


class Frames:
    """Tables of what a workspace holds. What has no column of its own is JSON text."""

    def __init__(self, intake: Intake, cases: Cases, bench: Bench) -> None:
        self._intake, self._cases, self._bench = intake, cases, bench

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
