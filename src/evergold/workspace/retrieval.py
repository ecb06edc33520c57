"""The facade of scores that need no database: retrieval predictions against golden cases, and checks of benchmark files."""

from pathlib import Path
from typing import Any

from evergold.bench.datasets import check_files
from evergold.bench.retrieval_run import ScoringQuery, score_retrieval, write_per_case
from evergold.formats.atomic import write_bytes
from evergold.formats.task_files import json_schema
from evergold.report.documents import as_rows, compare_rows
from evergold.report.html import as_html
from evergold.spread import spread_over


class RetrievalScores:
    """Scores of retrieval predictions; `rows` and `comparison_rows` write their figures as rows of tables."""

    rows = staticmethod(as_rows)
    comparison_rows = staticmethod(compare_rows)

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


class TaskFileChecks:
    """Checks of benchmark files."""

    lint = staticmethod(check_files)
    schema = staticmethod(json_schema)
