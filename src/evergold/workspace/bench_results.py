"""Results of finished runs: comparisons, leaderboards, and cases to review from attempts that failed."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import Connection

from evergold.bench.metrics.tools import AlignedCalls, align_calls
from evergold.build.groups import clusters_of
from evergold.errors import BadInput, NotFound
from evergold.machine import open_file
from evergold.model.case import Case, CaseStatus, EntryType, Provenance, ReviewState
from evergold.model.report import CaseSide, CaseTrials, ChangeKind, ComparedCase, ComparedCases, Mean, RunComparison
from evergold.model.run import Asked, Attempt, Board, Run, RunStatus
from evergold.report.compare import (
    PASS_MARK,
    RunValues,
    always_failing,
    board_of,
    by_version,
    compare,
    find_differences,
    newest_per_model,
)
from evergold.report.scores import Groups, run_means
from evergold.report.summary import CALIBRATED, warn_uncalibrated
from evergold.stats.scores import MARGIN
from evergold.storage import RemotePath
from evergold.store import Store
from evergold.store.case.cases import get_case
from evergold.store.case.writes import Author, put_cases
from evergold.store.run.attempts import AttemptOrder, AttemptStore
from evergold.store.run.runs import CalibrationStore, RunStore, read_questions, shorten

FEEDBACK_DATASET = "failures"


class BenchResults:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._runs = RunStore(store.db)
        self._attempts = AttemptStore(store.db)
        self._calibrations = CalibrationStore(store.db)

    def means(self, run: Run, *, weighted: bool | None = None, exclude_errors: bool = False) -> list[Mean]:
        """Every metric's mean over cases, with interval and coverage; weighted: over questions, each counted once.

        None counts as the run was started.
        """
        groups = groups_of(self._attempts, [run], weighted)
        rows = self._attempts.values(run.id)
        return run_means(run, rows, run.spec.metrics, groups, exclude_errors=exclude_errors)

    def problems_of(self, run: Run, means: Sequence[Mean]) -> list[str]:
        """Say for each metric that applies and measured nothing why not: the commonest reasons, with how often."""
        if not run.status.ended:
            return []
        empty = [mean.metric for mean in means if mean.is_empty]
        return [f"{name}: {why}" for name in empty for why in self._attempts.reasons(run.id, name)]

    def trials(self, run: Run) -> list[CaseTrials]:
        """How many of a case's trials pass each metric; empty where every case is tried once."""
        specs = {spec.name: spec for spec in run.metrics if spec.scale is not None}
        counted: dict[tuple[str, str], list[bool]] = {}
        for row in self._attempts.values(run.id) if run.spec.trials > 1 else ():
            if row.value is not None and row.metric in specs:
                passes = not specs[row.metric].is_failing(row.value)
                counted.setdefault((row.case_id, row.metric), []).append(passes)
        return [
            CaseTrials(case_id=case, metric=metric, passes=sum(passes), trials=len(passes))
            for (case, metric), passes in sorted(counted.items())
        ]

    def count_cached(self, run_id: str) -> tuple[int, int]:
        """How many answers of the model and how many replies of the judge came from the response cache."""
        return self._attempts.cached_count(run_id), self._attempts.cached_judgements(run_id)

    def align_calls(self, case: Case, attempt: Attempt) -> list[AlignedCalls]:
        """Lay the calls of an attempt beside those that its case expects; none where nothing is known of them."""
        expected = case.expected_calls()
        if expected is None:
            return [AlignedCalls(None, call) for call in attempt.tool_calls]
        return align_calls(expected, attempt.tool_calls, ordered=case.ordered)

    def page(self, run_id: str, *, order: AttemptOrder = "case", limit: int = 100, offset: int = 0) -> list[Attempt]:
        """Some of a run's attempts: by case and trial, or the worst of all first."""
        return self._attempts.page(run_id, order, limit, offset)

    def read_questions(self, run_id: str, case_ids: Iterable[str]) -> dict[str, Asked]:
        """Question and reference of these cases of a run, in short."""
        return read_questions(self._store.db, run_id, case_ids)

    def compare(
        self,
        first: str,
        second: str,
        *,
        margin: float = MARGIN,
        weighted: bool | None = None,
        metrics: Sequence[str] = (),
        exclude_errors: bool = False,
    ) -> RunComparison:
        """Second run (the candidate) against the first, paired by case; weighted: by question.

        None is weighted where both runs are.
        """
        one, other = (
            RunValues(self._runs.get(id), self._attempts.values(id), spent=self._attempts.read_costs(id))
            for id in (first, second)
        )
        groups = self._shared_groups(one.run, other.run, weighted)
        result = compare(one, other, groups, margin=margin, metrics=metrics, exclude_errors=exclude_errors)
        doubts = (
            warning
            for run in (one.run, other.run)
            for warning in warn_uncalibrated(run, calibration_states(self._calibrations, run))
        )
        return result.model_copy(update={"warnings": tuple(dict.fromkeys((*result.warnings, *doubts)))})

    def compare_cases(
        self,
        first: str,
        second: str,
        *,
        metric: str | None = None,
        show: ChangeKind = ChangeKind.CHANGED,
        weighted: bool | None = None,
        limit: int = 50,
        offset: int = 0,
    ) -> ComparedCases:
        """A page of the cases that changed from the first run to the second by one metric, worst first."""
        sides = [RunValues(self._runs.get(id), self._attempts.values(id)) for id in (first, second)]
        groups = self._shared_groups(sides[0].run, sides[1].run, weighted)
        differences = find_differences(sides[0], sides[1], groups, metric)
        page = differences.of_kind(show)[offset : offset + limit]
        asked = {**self.read_questions(first, page), **self.read_questions(second, page)}
        before, after = (
            self._sides(id, page, values) for id, values in zip((first, second), differences.values, strict=True)
        )
        return ComparedCases(
            metric=differences.metric,
            counts={change: len(differences.of_kind(change)) for change in ChangeKind},
            cases=tuple(
                ComparedCase(
                    case_id=case,
                    question=asked[case].question if case in asked else case,
                    reference=asked[case].reference if case in asked else "",
                    first=before[case],
                    second=after[case],
                    difference=differences.differences.get(case),
                )
                for case in page
            ),
        )

    def _sides(self, run_id: str, cases: Sequence[str], values: Mapping[str, float]) -> dict[str, CaseSide]:
        """What a run made of these cases: of several trials one without an answer, or one that failed."""
        shown: dict[str, Attempt] = {}
        for attempt in sorted(self._attempts.of_cases(run_id, cases), key=_badness):
            shown[attempt.case_id] = attempt
        return {case: _describe_side(shown.get(case), values.get(case)) for case in cases}

    def _shared_groups(self, first: Run, second: Run, weighted: bool | None) -> Groups:
        """The groups of cases of two runs; weighted where both runs are, if None."""
        same = first.provenance.get("dataset") == second.provenance.get("dataset")
        runs = [first] if same and first.total == second.total else [second, first]
        return groups_of(
            self._attempts, runs, first.spec.weighted and second.spec.weighted if weighted is None else weighted
        )

    def cases_that_always_fail(self, run: Run, metrics: Sequence[str]) -> set[str]:
        """The cases of which no trial passes by all of these metrics that apply to it."""
        return always_failing(run, [row for row in self._attempts.values(run.id) if row.metric in metrics])

    def leaderboard(self, dataset: str | None = None, *, weighted: bool | None = None) -> Sequence[Board]:
        """The newest completed run of every model, per dataset version; weighted: each question counts once.

        None is weighted where all runs of a version were started so: one board counts in one way.
        """
        result, _ = self._runs.page(dataset=dataset, status=RunStatus.COMPLETED, limit=1000)
        boards = []
        for runs in by_version(newest_per_model(result)):
            once = all(run.spec.weighted for run in runs) if weighted is None else weighted
            groups = [groups_of(self._attempts, [run], once) for run in runs]
            values = (self._attempts.values(run.id) for run in runs)
            boards.append(board_of(list(map(RunValues, runs, values, groups))))
        return boards

    def append_log(self, run_id: str, path: Path) -> int:
        """Add every attempt of a run to a JSONL log, each line with the dataset's version and hash; gives how many."""
        run = self._runs.get(run_id)
        head = {"run": run_id, "model": run.spec.model, "dataset": run.provenance.get("dataset")}
        head["metrics"] = [metric.model_dump(mode="json", exclude_defaults=True) for metric in run.metrics]
        count = 0
        with path.open("ab") if isinstance(path, RemotePath) else open_file(path, "ab", private=True) as log:
            for attempt in self._attempts.attempts(run_id):
                line = {**head, **attempt.model_dump(mode="json", exclude_defaults=True)}
                if "trajectory" in attempt.metadata:
                    line["trajectory"] = attempt.metadata["trajectory"]
                log.write(orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE))
                count += 1
        return count

    def cases_to_review(
        self, run_id: str, cases: Sequence[str], *, dataset: str = FEEDBACK_DATASET, who: str = "system"
    ) -> int:
        """Turn the worst answered attempt at each of these cases into a case to review; give how many were answered."""
        self._runs.get(run_id)
        answered = [attempt for attempt in self._attempts.of_cases(run_id, cases) if attempt.error is None]
        worst = {attempt.case_id: attempt.trial for attempt in sorted(answered, key=_badness)}
        for case_id, trial in worst.items():
            self.to_review(run_id, case_id, trial, dataset=dataset, who=who)
        return len(worst)

    def to_review(
        self, run_id: str, case_id: str, trial: int = 0, *, dataset: str = FEEDBACK_DATASET, who: str = "system"
    ) -> Case:
        """Turn an attempt into a case to review: the question, what was expected, and the answer that was given."""
        asked = self._attempts.case(run_id, case_id)
        given = next((a for a in self._attempts.attempts(run_id, case_id=case_id) if a.trial == trial), None)
        if asked is None or given is None:
            raise NotFound(f"run {run_id!r} has no attempt {trial} at case {case_id!r}")
        if given.error is not None:
            raise BadInput(f"attempt {trial} at case {case_id!r} has no answer to review: {given.error}")
        run = self._runs.get(run_id)
        judged = {name: m.model_dump(mode="json", exclude_defaults=True) for name, m in given.measurements.items()}
        case = asked.model_copy(
            update={
                # The id says which attempt it is: sending the same one
                # again updates the case instead of adding another.
                "id": f"{run_id}/{case_id}/{trial}",
                "dataset": dataset,
                "entry_type": EntryType.FAILURE,
                "output": given.output,
                "tool_calls": given.tool_calls,
                "review": ReviewState.UNVALIDATED,
                "status": CaseStatus.ACTIVE,
                "version": 1,
                "created_at": None,
                "updated_at": None,
                "provenance": Provenance(source="benchmark"),
                "metadata": {**asked.metadata, "run": run_id, "model": run.spec.model, "measurements": judged},
            }
        )
        author = Author(who=who, action="fed back", why=f"attempt {trial} of run {run_id}")

        def work(connection: Connection) -> Case:
            put_cases(connection, [case], author)
            return get_case(connection, dataset, case.id)

        return self._store.db.write(work)


def is_failing(attempt: Attempt) -> bool:
    """Whether a replay stopped before an answer, or a metric of an attempt lies below the pass mark."""
    stopped = attempt.metadata.get("replay", {}).get("stopped") is not None
    return stopped or any(one.value is not None and one.value < PASS_MARK for one in attempt.measurements.values())


def _badness(attempt: Attempt) -> tuple[bool, bool, int]:
    return attempt.error is not None, is_failing(attempt), -attempt.trial


def _describe_side(attempt: Attempt | None, value: float | None) -> CaseSide:
    if attempt is None:
        return CaseSide(value=value)
    calls = ", ".join(call.name for call in attempt.tool_calls)
    answer = attempt.output or (f"called {calls}" if calls else "")
    return CaseSide(value=value, answer=shorten(answer), error=attempt.error, trial=attempt.trial)


def groups_of(attempts: AttemptStore, runs: Sequence[Run], weighted: bool | None = None) -> Groups:
    """The cases of runs that belong together; the questions too where each counts once (None: as the runs were started)."""
    clusters: dict[str, str] = {}
    for run in runs:
        clusters |= attempts.clusters(run.id)
    if not (all(run.spec.weighted for run in runs) if weighted is None else weighted):
        return Groups(clusters)
    cases = {case.id: case for run in runs for case in attempts.cases(run.id)}
    return Groups(clusters, clusters_of(cases.values()).name_of)


def missing_labels(calibration: Mapping[str, Any]) -> str | None:
    """What a stored calibration lacks: "12 of 30 labels"; None where it is enough."""
    if calibration.get("usable"):
        return None
    return calibration.get("missing") or "measured before labels were counted; calibrate again"


def calibration_states(calibrations: CalibrationStore, run: Run) -> dict[str, str]:
    """Per judged metric: `calibrated`, or why the judge of this run is not."""
    results = {}
    for spec in run.metrics:
        if spec.judge is None:
            continue
        # A metric with parameters (`rubric:politeness`) is calibrated under its base name.
        rows = calibrations.of_metric(spec.name.partition(":")[0])
        same = [row for row in rows if row.judge == spec.judge]
        asked_alike = [row for row in same if row.prompt_hash == spec.prompt_hash]
        if asked_alike:
            # The newest counts: a calibration on fewer labels replaces the one before it.
            results[spec.name] = missing_labels(orjson.loads(asked_alike[0].body)) or CALIBRATED
        elif same:
            results[spec.name] = f"its prompts changed since {same[0].created_at[:10]}"
        elif rows:
            results[spec.name] = f"only {rows[0].judge} was calibrated"
        else:
            results[spec.name] = "never calibrated against human labels"
    return results
