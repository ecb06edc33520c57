"""The facade of scores that need no database: retrieval predictions against golden cases, and checks of benchmark files."""

from pathlib import Path
from typing import Any

from evergold.bench.datasets import FileCheck, check_files
from evergold.bench.retrieval_run import ScoringQuery, score_retrieval, write_per_case
from evergold.formats.atomic import write_bytes
from evergold.formats.task_files import json_schema
from evergold.report.documents import as_rows, compare_rows
from evergold.report.html import as_html
from evergold.spread import spread_over


class RetrievalScores:
    """Scores of retrieval predictions."""

    def score(
        self,
        golden: Path,
        predictions: Path,
        other: Path | None = None,
        query: ScoringQuery | None = None,
        *,
        per_case: Path | None = None,
        html: Path | None = None,
        cluster: str | None = None,
    ) -> dict[str, Any]:
        """Score predictions against golden cases; optionally write the single scores (JSONL) and a report (HTML).

        With the address of a Dask cluster its workers score the cases; they see the repository under the same path.
        """
        with spread_over(cluster) as spread:
            figures, scores = score_retrieval(golden, predictions, other, query, spread)
        if per_case is not None:
            write_per_case(scores, per_case)
        if html is not None:
            write_bytes(html, as_html(figures, golden.name, predictions.name).encode(), private=True)
        return figures

    def rows(self, figures: dict[str, Any]) -> list[tuple[object, ...]]:
        """List figures as rows of a table: level, figure, value, interval."""
        return list(as_rows(figures))

    def comparison_rows(self, figures: dict[str, Any]) -> list[tuple[object, ...]]:
        """List the paired differences of two files of predictions as rows of a table."""
        return list(compare_rows(figures))


class TaskFileChecks:
    """Checks of benchmark files."""

    def lint(self, path: Path) -> FileCheck:
        """Check every YAML file below a folder, or one file."""
        return check_files(path)

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of a dataset file, for editors."""
        return json_schema()
