"""Comparing two runs: verdicts, the gate's exit codes, and what is said about cases that were not compared."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.model.report import PairedVerdict
from evergold.model.run import MetricSpec, Run, RunSpec, RunStatus
from evergold.report.compare import RunValues, board_of, by_version, compare, newest_per_model
from evergold.report.scores import Groups, by_case, outside
from evergold.store.run.attempts import Value
from tests.rows import each_row


def a_run(id: str, values: Mapping[str, Any], metric: str = "correctness", **more: Any) -> RunValues:
    rows = [Value(case, trial, metric, v) for case, given in values.items() for trial, v in enumerate(_listed(given))]
    trials = max(row.trial for row in rows) + 1
    run = Run(
        id=id,
        spec=RunSpec(dataset="d", model=more.pop("model", "m"), metrics=(metric,), trials=trials),
        status=RunStatus.COMPLETED,
        created_at=datetime.now(UTC),
        total=len(values) * trials,
        provenance={"dataset": {"name": "d", "version": "1", "content_hash": more.pop("hash", "sha256:1")}},
        **more,
    )
    return RunValues(run, rows)


def _listed(given: Any) -> list[float | None]:
    return given if isinstance(given, list) else [given]


def passes(count: int, of: int) -> dict[str, float]:
    return {f"c{i:03}": float(i < count) for i in range(of)}


@each_row(
    ("before", "after", "verdict", "exit_code"),
    [
        (passes(50, 100), passes(80, 100), PairedVerdict.BETTER, 0),
        (passes(80, 100), passes(50, 100), PairedVerdict.WORSE, 1),
        (passes(80, 100), passes(80, 100), PairedVerdict.TIED, 0),
        (passes(80, 100), passes(77, 100), PairedVerdict.INCONCLUSIVE, 3),
        (passes(5, 5), passes(0, 5), PairedVerdict.INCONCLUSIVE, 3),
    ],
)
def test_the_verdict_and_the_gate(
    before: dict[str, float], after: dict[str, float], verdict: PairedVerdict, exit_code: int
) -> None:
    found = compare(a_run("a", before), a_run("b", after))
    assert found.metrics[0].verdict is verdict
    assert found.exit_code == exit_code
    assert found.metrics[0].test == "exact McNemar"


def test_flips_are_named() -> None:
    found = compare(a_run("a", {"x": 1.0, "y": 0.0, "z": 1.0}), a_run("b", {"x": 0.0, "y": 1.0, "z": 1.0})).metrics[0]
    assert (found.lost, found.gained) == (("x",), ("y",))


def test_unscored_cases_are_left_out_counted_and_make_the_gate_unsure() -> None:
    before = passes(80, 100)
    after: dict[str, float | None] = {**before, **{f"c{i:03}": None for i in range(30)}}
    found = compare(a_run("a", before), a_run("b", after))
    assert (found.metrics[0].n, found.metrics[0].unpaired) == (70, 30)
    assert found.exit_code == 3


def test_trials_are_averaged_before_cases_are_compared() -> None:
    found = compare(a_run("a", {"x": [0.0, 1.0], "y": [1.0, None]}), a_run("b", {"x": [1.0, 1.0], "y": [1.0, 1.0]}))
    assert found.metrics[0].difference == pytest.approx(0.25)
    assert found.metrics[0].test == "paired bootstrap"


def test_clustered_cases_are_compared_by_cluster() -> None:
    before, after = passes(40, 100), passes(60, 100)
    clusters = {case: f"session {int(case[1:]) // 20}" for case in before}
    alone = compare(a_run("a", before), a_run("b", after)).metrics[0]
    together = compare(a_run("a", before), a_run("b", after), Groups(clusters)).metrics[0]
    assert alone.verdict is PairedVerdict.BETTER
    assert together.verdict is PairedVerdict.INCONCLUSIVE and together.test == "paired bootstrap over clusters"


def test_differences_in_dataset_and_judge_are_said() -> None:
    spec = MetricSpec(name="correctness", version="1", judge="openai/a")
    first = a_run("a", passes(5, 10), metrics=(spec,))
    second = a_run(
        "b", passes(5, 10), metrics=(spec.model_copy(update={"judge": "offline"}),), hash="sha256:2", failed=2
    )
    warnings = " ".join(compare(first, second).warnings)
    assert "the datasets differ" in warnings and "correctness: the judge differs" in warnings
    assert "b: 2 attempts failed" in warnings


def test_runs_without_a_shared_metric_cannot_be_compared() -> None:
    with pytest.raises(BadInput, match="nothing to compare: a has correctness, b has chrf"):
        compare(a_run("a", passes(1, 2)), a_run("b", passes(1, 2), metric="chrf"))


def test_nothing_scored_in_both_is_no_pass() -> None:
    found = compare(a_run("a", {"x": 1.0, "y": None}), a_run("b", {"x": None, "y": 1.0}))
    assert found.metrics == () and found.exit_code == 3
    assert found.warnings == ("correctness: no case was scored in both runs",)


def test_a_mean_counts_zeros_leaves_nulls_out_and_says_so() -> None:
    values = by_case([Value("a", 0, "m", 0.0), Value("b", 0, "m", 1.0), Value("c", 0, "m", None)])
    mean = next(Groups().means(values, {}, ["m"], 3))
    assert (mean.value, mean.n, mean.of) == (0.5, 2, 3)
    assert str(mean) == "0.500 ±0.405 (n=2/3, 1 unscored)"
    lopsided = next(Groups().means({"m": {str(i): float(i == 0) for i in range(8)}}, {}, ["m"], 8))
    assert (str(lopsided), lopsided.interval) == ("0.125 [0.022, 0.471] (n=8/8)", "Wilson")
    assert str(next(Groups().means({}, {}, ["m"], 3))) == "– (n=0/3)"


def test_a_leaderboard_never_mixes_versions_and_takes_the_newest_run() -> None:
    newest = a_run("r3", passes(9, 10), model="m1")
    older = a_run("r2", passes(1, 10), model="m1")
    better = a_run("r1", passes(10, 10), model="m2")
    elsewhere = a_run("r0", passes(10, 10), model="m1", hash="sha256:old")
    all_of_them = {values.run.id: values for values in (newest, older, better, elsewhere)}
    kept = newest_per_model(values.run for values in all_of_them.values())
    boards = [
        board_of([RunValues(run, all_of_them[run.id].rows, Groups()) for run in runs]) for runs in by_version(kept)
    ]
    assert [[entry.run_id for entry in board.entries] for board in boards] == [["r1", "r3"], ["r0"]]


def test_a_leaderboard_ranks_by_the_metric_that_most_cases_were_scored_by() -> None:
    thin = a_run("r2", {"c000": 1.0, "c001": None}, metric="token_f1", model="partly")
    spec = thin.run.spec.model_copy(update={"metrics": ("token_f1", "correctness")})
    partly = RunValues(thin.run.model_copy(update={"spec": spec}), [*thin.rows, *a_run("r2", passes(1, 10)).rows])
    wholly = a_run("r1", passes(9, 10), model="wholly")
    board = board_of([RunValues(values.run, values.rows, Groups()) for values in (partly, wholly)])
    assert board.metrics == ("correctness", "token_f1")
    assert [entry.model for entry in board.entries] == ["wholly", "partly"]


def test_a_leaderboard_ranks_by_questions_where_each_counts_once() -> None:
    often = a_run("r1", {"a": 1.0, "b": 1.0, "c": 1.0, "d": 0.0, "e": 0.0}, model="repeats")
    seldom = a_run("r2", {"a": 0.0, "b": 0.0, "c": 0.0, "d": 1.0, "e": 1.0}, model="others")
    asked = {"a": "greeting", "b": "greeting", "c": "greeting", "d": "price", "e": "opening hours"}

    def ranks(groups: Groups) -> tuple[bool, list[str], list[int]]:
        board = board_of([RunValues(values.run, values.rows, groups) for values in (often, seldom)])
        return board.weighted, [entry.model for entry in board.entries], [entry.means[0].of for entry in board.entries]

    assert ranks(Groups()) == (False, ["repeats", "others"], [5, 5])
    assert ranks(Groups(questions=asked)) == (True, ["others", "repeats"], [3, 3])


def test_a_case_a_metric_does_not_apply_to_is_outside_mean_and_coverage() -> None:
    rows = [Value("a", 0, "m", 0.5), Value("b", 0, "m", None, applies=False), Value("c", 0, "m", None)]
    mean = next(Groups().means(by_case(rows), outside(rows), ["m"], 3))
    assert (mean.value, mean.n, mean.of, mean.not_applicable) == (0.5, 1, 2, 1)
    assert str(mean).endswith("(n=1/2, 1 unscored, 1 not applicable)")


def test_an_answer_compared_with_itself_is_outside_a_mean_that_has_other_cases() -> None:
    rows = [Value("a", 0, "m", 0.5), Value("b", 0, "m", 1.0, own=True)]
    mean = next(Groups().means(by_case(rows), outside(rows), ["m"], 2))
    assert (mean.value, mean.n, mean.of, mean.self_compared) == (0.5, 1, 1, 1)
    alone = next(Groups().means(by_case(rows[1:]), outside(rows[1:]), ["m"], 1))
    assert (alone.value, alone.n, alone.of, alone.self_compared) == (1.0, 1, 1, 1)


def test_cases_a_metric_does_not_apply_to_are_not_unpaired() -> None:
    def run(name: str) -> RunValues:
        found = a_run(name, passes(5, 10))
        extra = [Value(f"x{number}", 0, "correctness", None, applies=False) for number in range(5)]
        total = found.run.model_copy(update={"total": found.run.total + 5})
        return RunValues(total, [*found.rows, *extra])

    assert compare(run("a"), run("b")).metrics[0].unpaired == 0


def test_each_question_is_compared_once_on_request() -> None:
    asked = {f"r{n}": "r0" for n in range(30)} | {f"c{n}": f"c{n}" for n in range(30)}
    before = dict.fromkeys(asked, 0.0)
    after = {case: float(case.startswith("r")) for case in asked}
    runs = a_run("a", before), a_run("b", after)
    by_question = compare(*runs, Groups(questions=asked))
    (by_case_,), (once,) = compare(*runs).metrics, by_question.metrics
    assert (by_case_.n, by_case_.difference, by_case_.verdict) == (60, 0.5, PairedVerdict.BETTER)
    assert (once.n, once.unpaired, once.gained) == (31, 0, ("r0",))
    assert once.difference == pytest.approx(1 / 31) and once.verdict is PairedVerdict.INCONCLUSIVE
    assert by_question.weighted and not compare(*runs).weighted


def test_a_question_that_both_runs_scored_by_other_cases_is_not_paired() -> None:
    asked = {"a1": "a1", "a2": "a1", "b": "b"}
    first, second = a_run("a", {"a1": 1.0, "a2": None, "b": 1.0}), a_run("b", {"a1": None, "a2": 0.0, "b": 1.0})
    (metric,) = compare(first, second, Groups(questions=asked)).metrics
    assert (metric.n, metric.unpaired) == (1, 1)
