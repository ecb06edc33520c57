"""Replays: freeze cases that can be replayed; trajectories beside the recorded ones; failing ones become cases."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from evergold.bench.metrics.trajectory import align, recorded_side
from evergold.bench.replay.play import obstacles, requests_of
from evergold.errors import BadInput, NotFound
from evergold.model.case import Candidates, Case, CaseStatus, candidates_left_out, ways_to_confirm
from evergold.model.run import (
    AlignedCall,
    AlignedTrajectory,
    CaseReplay,
    Plan,
    Replay,
    ResultOrigin,
    Run,
    RunSpec,
    StepSpent,
    TrajectoryDifference,
)
from evergold.model.tool_calls import calls_in
from evergold.report.scores import by_case
from evergold.store.case.builds import require_dataset
from evergold.store.case.cases import case_filter, get_case, iterate_cases
from evergold.store.case.writes import Author, put_cases
from evergold.store.run.attempts import METRIC, AttemptStore, replays_in_dataset, replays_in_runs
from evergold.store.run.runs import RunStore
from evergold.workspace.bench_results import FEEDBACK_DATASET, is_failing

if TYPE_CHECKING:
    from evergold.build.versions import Builds
    from evergold.store import Store
    from evergold.workspace.bench import Bench

MOST_NAMED = 100


class ReplaySet(BaseModel, frozen=True):
    """A frozen set of cases that can be replayed. `left_out` counts reasons, `cases_left_out` names the first cases.

    `requests` counts what a model that follows the record is asked; `with_calls` the cases that `trajectory` applies to.
    """

    dataset: str
    version: str
    cases: int
    with_calls: int
    requests: int
    left_out: dict[str, int]
    candidates_left_out: int
    cases_left_out: dict[str, list[str]]
    plan: Plan


class Replays:
    def __init__(self, store: "Store", builds: "Builds", bench: "Bench") -> None:
        self._store, self._builds, self._bench = store, builds, bench
        self._runs, self._attempts = RunStore(store.db), AttemptStore(store.db)

    def freeze_set(self, source: str, out: str, filters: Mapping[str, Any], *, model: str = "recorded") -> ReplaySet:
        """Copy the cases of a dataset that can be replayed into another and freeze it; estimate a run of it.

        `out` is DATASET or DATASET@VERSION; a tag in `filters` may be a pattern (`tool:*`). Candidates are left out
        unless `filters` asks for them.
        """
        name, _, version = out.partition("@")
        if not name or name == source:
            raise BadInput(f"--out {out!r} must name another dataset than {source!r}, for example agents@v1")
        reasons: Counter[str] = Counter()
        named: dict[str, list[str]] = {}
        ready: list[Case] = []
        for case in self._choose(source, filters):
            problems = list(obstacles(case))
            if not problems:
                ready.append(case.model_copy(update={"dataset": name}))
                continue
            reasons.update(problems)
            if len(named) < MOST_NAMED:
                named[case.id] = problems
        waiting = 0
        if case_filter(source, filters).leaves_candidates:
            waiting = sum(1 for _ in self._choose(source, {**filters, "candidates": Candidates.ONLY}))
        if not ready and not reasons:
            how = "evergold curate makes cases of traces, evergold cases list shows them with their tags"
            how = ways_to_confirm(waiting) if waiting else how
            raise BadInput(f"no case of {source!r} passes the filter; {how}")
        if not ready:
            why = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common(5))
            beside = f"; {candidates_left_out(waiting)}" if waiting else ""
            raise BadInput(f"no case of {source!r} can be replayed ({why}){beside}")
        self._store.write(put_cases, ready, Author(action="copied", why=f"replay set of {source}"))
        # An earlier set under this name may have left candidates there.
        kept = {one: filters[one] for one in ("candidates", "evidence") if one in filters}
        build, _ = self._builds.freeze_as(name, version or None, filters=kept)
        frozen = f"{name}@{build.version}"
        spec = RunSpec(dataset=frozen, model=model, metrics=("trajectory",), replay=Replay())
        return ReplaySet(
            dataset=name,
            version=build.version,
            cases=build.cases,
            with_calls=sum(bool(calls_in([*case.messages, *case.turn])) for case in ready),
            requests=sum(requests_of(case, Replay()).calls for case in ready),
            left_out=dict(reasons.most_common()),
            candidates_left_out=waiting,
            cases_left_out=named,
            plan=self._bench.plan(spec, local=True),
        )

    def _choose(self, source: str, filters: Mapping[str, Any]) -> Iterator[Case]:
        given = filters.get("tag") or ()
        tags = [given] if isinstance(given, str) else list(given)
        patterns = [tag for tag in tags if "*" in tag]
        # The store matches tags exactly; patterns are applied to what it returns.
        exact = {**filters, "tag": [tag for tag in tags if "*" not in tag]}
        wanted = case_filter(source, exact).model_copy(update={"status": CaseStatus.ACTIVE})
        with self._store.db.read() as connection:
            require_dataset(connection, source)
            for case in iterate_cases(connection, wanted):
                if all(any(fnmatchcase(tag, pattern) for tag in case.tags) for pattern in patterns):
                    yield case

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
        shown = sorted(shared, key=lambda case: (after[case] - before[case], case))[:limit]
        asked = self._bench.results.read_questions(second, shown)
        questions = {case: asked[case].question if case in asked else case for case in shown}
        return [
            TrajectoryDifference(case_id=case, question=questions[case], first=before[case], second=after[case])
            for case in shown
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
        attempts = self._attempts.attempts(run_id)
        failing = [(one.case_id, one.trial) for one in attempts if one.error is None and is_failing(one)]
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
