"""Replayed trajectories beside the recorded ones: of one run, of two runs, of a case; failing ones become cases."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from evergold.bench.metrics.trajectory import align, recorded_side
from evergold.errors import BadInput, NotFound
from evergold.model.run import (
    AlignedCall,
    AlignedTrajectory,
    CaseReplay,
    ResultOrigin,
    Run,
    StepSpent,
    TrajectoryDifference,
)
from evergold.report.scores import by_case
from evergold.store.case.cases import get_case
from evergold.store.run.attempts import METRIC, AttemptStore, replays_in_dataset, replays_in_runs
from evergold.store.run.runs import RunStore
from evergold.workspace.bench_results import FEEDBACK_DATASET, is_failing

if TYPE_CHECKING:
    from evergold.store import Store
    from evergold.workspace.bench import Bench


class Trajectories:
    def __init__(self, store: "Store", bench: "Bench") -> None:
        self._store, self._bench = store, bench
        self._runs = RunStore(store.db)
        self._attempts = AttemptStore(store.db)

    def align(self, run_id: str, case_id: str, trial: int = 0) -> AlignedTrajectory:
        """Align a trajectory of a run with the recorded one, call by call."""
        case = self._bench.case(run_id, case_id)
        attempt = next((one for one in self._bench.attempts(run_id, case_id) if one.trial == trial), None)
        if attempt is None or "replay" not in attempt.metadata:
            raise NotFound(f"run {run_id!r} has no replayed attempt {trial} at case {case_id!r}")
        result, replay = align(recorded_side(case, attempt), attempt.metadata["trajectory"]), attempt.metadata["replay"]
        # strict=False: a replay that was cut off has fewer origins than calls.
        origins = dict(zip((call.id for call in attempt.tool_calls), replay.get("calls", ()), strict=False))
        spent = [StepSpent.model_validate(one) for one in replay.get("spent", ())]
        paid = _spent_by_call(attempt.metadata["trajectory"], spent)
        return AlignedTrajectory(
            case_id=case_id,
            trial=trial,
            rows=[_with_origin(row, origins, paid) for row in result.rows()],
            first_divergence=result.first_divergence(),
            why=result.describe_divergence(),
            recorded_answer=case.output,
            answer=attempt.output,
            ended=replay.get("ended"),
            stopped=replay.get("stopped"),
            spent=spent,
        )

    def find_differing(self, first: str, second: str, limit: int = 100) -> list[TrajectoryDifference]:
        """List the cases of two replays that left the record in either, the largest loss of the second run first."""
        before, after = (self._values(self._replay(run_id)) for run_id in (first, second))
        # Cases at 1 in both runs followed the record twice: nothing to look at.
        shared = [case for case in before.keys() & after.keys() if min(before[case], after[case]) < 1]
        shared.sort(key=lambda case: (after[case] - before[case], case))
        asked = self._bench.results.read_questions(second, shared[:limit])
        return [
            TrajectoryDifference(
                case_id=case,
                question=asked[case].question if case in asked else case,
                first=before[case],
                second=after[case],
            )
            for case in shared[:limit]
        ]

    def of_case(self, dataset: str, case_id: str) -> list[CaseReplay]:
        """List the replays of a case, newest run first; of a case made from a replay, that one comes first."""
        case = self._store.read(get_case, dataset, case_id)
        replays: list[CaseReplay] = []
        origin = case.metadata.get("run") if case.provenance.source == "benchmark" else None
        if isinstance(origin, str):
            # A case id may hold slashes; the trial is what stands behind the last one.
            played, _, trial = case.id.removeprefix(f"{origin}/").rpartition("/")
            replays += [one for one in replays_in_runs(self._store.db, [origin], played) if str(one.trial) == trial]
        return replays + replays_in_dataset(self._store.db, dataset, case_id)

    def failing_to_review(self, run_id: str, *, dataset: str = FEEDBACK_DATASET, who: str = "system") -> int:
        """Make every failing replay of a run a case to review; give how many there are."""
        self._replay(run_id)
        failing = [
            (attempt.case_id, attempt.trial)
            for attempt in self._attempts.attempts(run_id)
            if attempt.error is None and is_failing(attempt)
        ]
        for case_id, trial in failing:
            self._bench.results.to_review(run_id, case_id, trial, dataset=dataset, who=who)
        return len(failing)

    def _replay(self, run_id: str) -> Run:
        run = self._runs.get(run_id)
        if run.spec.replay is None:
            raise BadInput(f"run {run_id!r} is no replay; start one with --replay")
        return run

    def _values(self, run: Run) -> Mapping[str, float]:
        if METRIC not in run.spec.metrics:
            how = f"evergold runs rescore {run.id} --metric {METRIC}"
            raise BadInput(f"run {run.id!r} was not measured by {METRIC}; do it with: {how}")
        rows = [row for row in self._attempts.values(run.id) if row.metric == METRIC]
        return by_case(rows).get(METRIC, {})


def _with_origin(row: AlignedCall, origins: Mapping[Any, str], paid: Mapping[str, StepSpent]) -> AlignedCall:
    if row.made is None or row.made.id is None or row.made.id not in origins:
        return row
    known = {"origin": ResultOrigin(origins[row.made.id]), "spent": paid.get(row.made.id)}
    return row.model_copy(update=known)


def _spent_by_call(trajectory: Sequence[Mapping[str, Any]], spent: Sequence[StepSpent]) -> dict[str, StepSpent]:
    """What the request of a call took, by the id of the first call that it made."""
    paid: dict[str, StepSpent] = {}
    for number, one in enumerate(spent):
        end = spent[number + 1].message if number + 1 < len(spent) else len(trajectory)
        calls = [call for message in trajectory[one.message : end] for call in message.get("tool_calls") or ()]
        if calls:
            paid[str(calls[0]["id"])] = one
    return paid
