"""Reports of runs, and calibration of the judges behind them."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from evergold.bench.calibrate import Label, calibrate, compare_judges, read_labels
from evergold.bench.metrics import make_metrics
from evergold.calls.caller import close_all
from evergold.errors import BadInput, NotFound
from evergold.formats.atomic import write_bytes
from evergold.formats.lines import open_rows
from evergold.judge.names import DEFAULT_JUDGE, check_judge, judge_named, make_judge
from evergold.model.case import Case, CaseStatus, EntryType, Origin, ReviewState
from evergold.model.judge import Calibration, CalibrationInfo, JudgeComparison, JudgeInfo
from evergold.model.report import ComparedCases, RunComparison
from evergold.model.run import Run
from evergold.report.documents import (
    Table,
    changed_table,
    comparison_markdown,
    comparison_tables,
    tables_of,
    to_junit,
    to_markdown,
)
from evergold.report.html import to_html
from evergold.report.summary import CALIBRATED, Options, RunReport, summarise
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.cases import CaseFilter, iterate_cases
from evergold.store.run.attempts import AttemptStore
from evergold.store.run.runs import CalibrationStore, RunStore
from evergold.workspace.bench_results import calibration_states, groups_of, missing_labels


class Judging:
    tables = staticmethod(tables_of)
    comparison_markdown = staticmethod(comparison_markdown)

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._runs = RunStore(store.db)
        self._attempts = AttemptStore(store.db)
        self._calibrations = CalibrationStore(store.db)

    def report(self, run_id: str, options: Options | None = None) -> RunReport:
        """What a run found, with intervals, coverage, slices, failures, costs and provenance."""
        run = self._runs.get(run_id)
        return summarise(
            run,
            self._attempts.cases(run_id),
            self._attempts.attempts(run_id),
            groups=groups_of(self._attempts, [run], None if options is None else options.weighted),
            calibrations=self.states(run),
            options=options,
        )

    def render(self, run_id: str, form: str, options: Options | None = None, *, weighted: bool | None = None) -> str:
        """Render the report as markdown, html, json or junit."""
        chosen = options or Options(weighted=weighted)
        if form == "junit":
            return to_junit(self._runs.get(run_id), self._attempts.attempts(run_id), chosen.passing)
        report = self.report(run_id, chosen)
        if form == "json":
            return report.model_dump_json(indent=2) + "\n"
        return to_html(report) if form == "html" else to_markdown(report)

    def write_report(self, run_id: str, form: str, options: Options, path: Path) -> None:
        """Write the rendered report into a file for its owner alone: it quotes what people asked and were answered."""
        write_bytes(path, self.render(run_id, form, options).encode(), private=True)

    def states(self, run: Run) -> dict[str, str]:
        """Per judged metric: `calibrated`, or why the judge of this run is not."""
        return calibration_states(self._calibrations, run)

    def judges(self) -> list[JudgeInfo]:
        """The judges one can name here, the default first, each with its newest calibration per metric."""
        default = judge_named(None, self._settings)
        names = dict.fromkeys([default, DEFAULT_JUDGE])
        return [
            JudgeInfo(name=name, default=name == default, calibrations=tuple(self._calibrations_of(name)))
            for name in names
        ]

    def _calibrations_of(self, name: str) -> Iterator[CalibrationInfo]:
        # A calibration belongs to an exact judge: model, address and version, not to the name one types.
        identity = make_judge(name, self._settings).identity
        for row in self._calibrations.list_newest():
            if row.judge == identity:
                body = json.loads(row.body)
                kappa = body.get("kappa") or {}
                figures = {figure: kappa.get(figure) for figure in ("value", "low", "high")}
                yield CalibrationInfo(
                    metric=row.metric,
                    labels=body["labels"],
                    made_at=row.created_at,
                    missing=missing_labels(body),
                    **figures,
                )

    def comparison_tables(self, compared: Sequence[RunComparison], changed: Sequence[ComparedCases]) -> list[Table]:
        """What comparisons with one baseline rest on, and the cases that changed."""
        cases = (changed_table(*pair) for pair in zip(compared, changed, strict=True))
        return [*comparison_tables(compared), *(table for table in cases if table[2])]

    def require_calibrated(self, run_id: str, least: float) -> list[str]:
        """Name the judged metrics of a run whose judge does not reach Cohen's kappa `least` at the lower end."""
        run = self._runs.get(run_id)
        problems = []
        for name, state in self.states(run).items():
            spec = next(metric for metric in run.metrics if metric.name == name)
            rows = self._calibrations.of_metric(name.partition(":")[0])
            # The lower end of the interval is required: a few labels give any kappa by chance.
            same = [row for row in rows if (row.judge, row.prompt_hash) == (spec.judge, spec.prompt_hash)]
            kappa = json.loads(same[0].body).get("kappa") if same else None
            low = kappa.get("low") if kappa else None
            if state != CALIBRATED:
                problems.append(f"{name}: judge {spec.judge} is uncalibrated ({state})")
            elif low is None or low < least:
                shown = "unknown" if low is None else f"{low:.2f}"
                problems.append(f"{name}: judge {spec.judge} agrees with people by a kappa of at least {shown} only")
        return problems

    def compare(
        self, first: str, second: str, metric: str, labels: list[Label], passing: float = 0.5
    ) -> JudgeComparison:
        """Measure two judges on the same labels and say which one to use."""
        return compare_judges(
            self.calibrate(first, metric, labels, passing), self.calibrate(second, metric, labels, passing)
        )

    def calibrate(self, judge: str, metric: str, labels: list[Label], passing: float = 0.5) -> Calibration:
        """Measure a judge against human labels and remember it."""
        check_judge(judge)
        named = make_metrics([metric])[0]
        if not named.needs_judge:
            raise BadInput(f"metric {metric!r} asks no judge; there is nothing to calibrate")
        result = asyncio.run(_calibrate(named.metric, metric, make_judge(judge, self._settings), labels, passing))
        name = metric.partition(":")[0]
        self._calibrations.add(result.judge, name, result.prompt_hash, result.model_dump_json())
        return result

    def calibrate_run(self, run_id: str, dataset: str | None = None) -> list[Calibration]:
        """Measure the judge of a run against people's verdicts on a dataset, for each judged metric of the run.

        The dataset is the run's own where none is named.
        """
        run = self._runs.get(run_id)
        judged = [metric.name for metric in run.metrics if metric.judge is not None]
        if not judged:
            raise BadInput(f"run {run_id} has no judged metric; there is nothing to calibrate")
        # `dataset@version` names a build; verdicts of people belong to the dataset.
        labels = self.labels_from_review(dataset or run.spec.dataset.partition("@")[0])
        judge = judge_named(run.spec.judge, self._settings)
        return [self.calibrate(judge, name, labels) for name in judged]

    def labels_from_file(self, path: Path) -> list[Label]:
        if not path.is_file():
            raise NotFound(f"no labels at {str(path)!r}; give a JSONL file with input, output and label per line")
        with open_rows(path) as lines:
            return read_labels(lines, path.name)

    def labels_from_review(self, dataset: str) -> list[Label]:
        """People's verdicts: a validated golden answer is right, a validated failure is wrong."""
        # Entries of other types do not say whether the given answer was right.
        marks = {EntryType.GOLDEN: 1.0, EntryType.FAILURE: 0.0}
        with self._store.db.read() as connection:
            chosen = CaseFilter(dataset=dataset, review=ReviewState.VALIDATED, status=CaseStatus.ACTIVE)
            cases = list(iterate_cases(connection, chosen))
        results = [
            Label(
                input=case.input,
                output=case.output,
                expected=_state_of(case),
                contexts=tuple(context.text for context in case.contexts if context.text),
                tool_calls=case.tool_calls,
                expected_tools=case.expected_tools,
                label=marks[case.entry_type],
            )
            for case in cases
            if case.output and case.entry_type in marks
        ]
        if not results:
            raise BadInput(f"dataset {dataset!r} has no validated cases with an output; review some first")
        return results


def _state_of(case: Case) -> str | None:
    """What the answer is compared with: a person's, the source's or the corrected answer, never the answer itself."""
    reference = case.reference()
    own = (Origin.CONFIRMED, Origin.UNCONFIRMED, Origin.CANDIDATE)
    return None if reference is None or reference.origin in own else reference.text


def try_offline(
    metric: str, question: str, answer: str, reference: str = "", contexts: Sequence[str] = ()
) -> dict[str, Any]:
    """Judge one answer by the offline judge: value, verdict, claims with their evidence, language."""
    from evergold.judge.offline import METRICS, OfflineJudge, try_metric

    if metric not in METRICS:
        raise BadInput(f"cannot try metric {metric!r}; choose one of {', '.join(METRICS)}")
    if metric == "correctness" and not reference.strip():
        raise BadInput("correctness compares with a reference; give --reference TEXT")
    if metric == "faithfulness" and not any(context.strip() for context in contexts):
        raise BadInput("faithfulness holds an answer against contexts; give --context TEXT, as often as needed")
    if metric == "answer_relevancy" and not question.strip():
        raise BadInput("answer_relevancy asks whether the answer fits its question; give --question TEXT")
    return try_metric(OfflineJudge(), metric, question, answer, reference, contexts)


def is_uncertain(metric: str, p: float) -> bool:
    """Whether the offline judge may be wrong either way: a probability is near the threshold of its metric."""
    from evergold.judge import offline

    return offline.is_uncertain(metric, p)


def offline_figures() -> dict[str, Any]:
    """How the offline judge agrees with people on public data it was not fitted on."""
    figures: dict[str, Any] = json.loads(files("evergold.judge").joinpath("figures.json").read_text())
    return figures


async def _calibrate(metric: Any, name: str, judge: Any, labels: list[Label], passing: float) -> Calibration:
    try:
        return await calibrate(metric, name, judge, labels, passing)
    finally:
        await close_all(judge)
