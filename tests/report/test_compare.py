"""Comparing two runs: verdicts, the gate's exit codes, and what is said about cases that were not compared."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from evergold.errors import BadInput
from evergold.model.report import Mean, PairedVerdict, RunDecision
from evergold.model.run import AttemptOutcome, MetricSpec, Run, RunSpec, RunStatus, Scale, Usage
from evergold.report.compare import RunValues, board_of, by_version, compare, newest_per_model
from evergold.report.scores import Groups, by_case, count_attempts, means_of
from evergold.store.run.attempts import AttemptCost, Value
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
        (passes(80, 100), passes(80, 100), PairedVerdict.SAME, 0),
        (passes(80, 100), passes(77, 100), PairedVerdict.INCONCLUSIVE, 3),
        (passes(80, 100), passes(83, 100), PairedVerdict.INCONCLUSIVE, 0),
        (passes(5, 5), passes(0, 5), PairedVerdict.INCONCLUSIVE, 3),
        (passes(6, 6), passes(6, 6), PairedVerdict.INCONCLUSIVE, 3),
    ],
)
def test_the_verdict_and_the_gate(
    before: dict[str, float], after: dict[str, float], verdict: PairedVerdict, exit_code: int
) -> None:
    found = compare(a_run("a", before), a_run("b", after))
    assert found.metrics[0].verdict is verdict
    assert found.decide_gate()[0] == exit_code


def test_flips_are_named() -> None:
    found = compare(a_run("a", {"x": 1.0, "y": 0.0, "z": 1.0}), a_run("b", {"x": 0.0, "y": 1.0, "z": 1.0})).metrics[0]
    assert (found.lost, found.gained) == (("x",), ("y",))


def test_unscored_cases_are_left_out_counted_and_make_the_gate_unsure() -> None:
    before = passes(80, 100)
    after: dict[str, float | None] = {**before, **{f"c{i:03}": None for i in range(30)}}
    found = compare(a_run("a", before), a_run("b", after))
    assert (found.metrics[0].n, found.metrics[0].unpaired) == (70, 30)
    assert found.decide_gate() == (3, "correctness: 70% of the attempts have a value, 95% are needed")


def test_trials_are_averaged_before_cases_are_compared() -> None:
    found = compare(a_run("a", {"x": [0.0, 1.0], "y": [1.0, None]}), a_run("b", {"x": [1.0, 1.0], "y": [1.0, 1.0]}))
    assert found.metrics[0].difference == pytest.approx(0.25)
    assert found.metrics[0].test == "t"


def test_clustered_cases_are_compared_by_cluster() -> None:
    before, after = passes(40, 100), passes(60, 100)
    clusters = {case: f"session {int(case[1:]) // 20}" for case in before}
    alone = compare(a_run("a", before), a_run("b", after)).metrics[0]
    together = compare(a_run("a", before), a_run("b", after), Groups(clusters)).metrics[0]
    assert alone.verdict is PairedVerdict.BETTER
    assert together.verdict is PairedVerdict.INCONCLUSIVE and together.test == "clustered t"


def test_differences_in_dataset_and_judge_are_said() -> None:
    spec = MetricSpec(name="correctness", version="1", judge="openai/a")
    first = a_run("a", passes(5, 10), metrics=(spec,))
    second = a_run("b", passes(5, 10), metrics=(spec.model_copy(update={"judge": "offline"}),), hash="sha256:2")
    warnings = " ".join(compare(first, second).warnings)
    assert "the datasets differ" in warnings and "correctness: the judge differs" in warnings


def test_runs_without_a_shared_metric_cannot_be_compared() -> None:
    with pytest.raises(BadInput, match="nothing to compare: a has correctness, b has chrf"):
        compare(a_run("a", passes(1, 2)), a_run("b", passes(1, 2), metric="chrf"))


def test_nothing_scored_in_both_is_no_pass() -> None:
    with pytest.raises(BadInput, match="no case with a value of correctness in both"):
        compare(a_run("a", {"x": 1.0, "y": None}), a_run("b", {"x": None, "y": 1.0}))


def test_a_mean_counts_zeros_leaves_nulls_out_and_says_so() -> None:
    mean = mean_of([Value("a", 0, "m", 0.0), Value("b", 0, "m", 1.0), Value("c", 0, "m", None)], 3)
    assert (mean.value, mean.n, mean.of, round(mean.coverage or 0, 3)) == (0.5, 2, 3, 0.667)
    assert str(mean) == "0.500 ±0.405 (n=2/3, 1 unscored)"
    lopsided = mean_of([Value(str(i), 0, "m", float(i == 0)) for i in range(8)], 8)
    assert (str(lopsided), lopsided.interval) == ("0.125 [0.022, 0.471] (n=8)", "Wilson")
    assert str(mean_of([], 3)) == "– (n=0/3)"


def mean_of(rows: list[Value], cases: int, groups: Groups | None = None) -> Mean:
    """The mean of metric `m` over one trial of each case."""
    return next(means_of(by_case(rows), count_attempts(rows), {"m": Scale()}, groups or Groups(), (cases, cases)))


def test_an_attempt_without_an_answer_counts_as_the_worst_value_and_is_named() -> None:
    lost = Value("c", 0, "m", 0.0, outcome=AttemptOutcome.ERROR)
    rows = [Value("a", 0, "m", 1.0), Value("b", 0, "m", 1.0, truncated=True), lost]
    mean = mean_of(rows, 3)
    assert (round(mean.value or 0, 3), mean.errors, mean.truncated) == (0.667, 1, 1)
    assert str(mean).endswith("(n=3, 1 error, 1 truncated)")


def crashes(count: int, *, right: int, of: int = 100, model: str = "m") -> RunValues:
    """A run that has no reply to the last cases, is right on the first ones and wrong between."""
    found = a_run(model, passes(right, of), model=model)
    lost = {f"c{i:03}" for i in range(of - count, of)}
    rows = [row._replace(value=0.0, outcome=AttemptOutcome.ERROR) if row.case_id in lost else row for row in found.rows]
    return RunValues(found.run, rows, spent=[AttemptCost(row.case_id, row.outcome, False, None, None) for row in rows])


def test_crashes_on_hard_cases_win_nothing() -> None:
    whole, crashing = crashes(0, right=90, model="whole"), crashes(10, right=90, model="crashing")
    board = board_of([whole, crashing])
    assert [entry.means[0].value for entry in board.entries] == [0.9, 0.9]
    assert [entry.means[0].errors for entry in board.entries] == [10, 0]
    assert compare(whole, crashing).metrics[0].difference == 0
    worse = compare(whole, crashes(20, right=80, model="worse"))
    assert worse.decide_gate()[0] == 1
    assert "20 errors against 0, retried" in worse.sentence
    assert "on the 80 that both answered no difference was shown" in worse.sentence
    left_out = compare(whole, crashes(20, right=80), exclude_errors=True)
    assert left_out.metrics[0].n == 80 and left_out.decide_gate()[0] == 3


def test_the_sentence_tells_errors_cost_and_latency_on_the_cases_that_both_answered() -> None:
    good, bad = crashes(0, right=91, of=91, model="good-model"), crashes(14, right=77, of=91, model="bad-model")
    priced = [
        RunValues(
            side.run.model_copy(update={"usage": Usage(cost=1.0)}),
            side.rows,
            spent=[s._replace(cost=cost * (1 + at % 3), latency_ms=ms + at) for at, s in enumerate(side.spent)],
        )
        for side, cost, ms in ((bad, 0.1, 2000.0), (good, 0.062, 800.0))
    ]
    found = compare(priced[0], priced[1])
    assert found.sentence == (
        "Ship good-model: better on 91 cases (+0.15, between +0.09 and +0.24); 0 errors against 14, retried; on the 77 that "
        "both answered no difference was shown; 38 % cheaper, 1.2 s faster."
    )
    errors, cost, latency = found.figures
    assert (cost.n, latency.n, errors.n) == (77, 77, 91)
    assert (errors.low or 0) > 0.05 and errors.difference == pytest.approx(14 / 91)
    assert cost.first == pytest.approx((77 + 76) * 0.1, abs=0.2), (
        "cases that one run did not answer are not billed to the other"
    )


def test_what_could_not_be_measured_is_not_shipped() -> None:
    before: dict[str, float | None] = {**passes(20, 100)}
    after: dict[str, float | None] = {**passes(90, 100), **{f"c{i:03}": None for i in range(70, 100)}}
    found = compare(a_run("a", before), a_run("b", after))
    assert found.decision is RunDecision.UNDECIDED
    assert found.sentence.startswith("Not decided: better on the 70 cases that could be measured (+0.71")
    assert found.sentence.endswith("; only 70 % of the attempts have a value of correctness, 95 % are needed.")


def test_a_correction_for_several_metrics_is_told_with_how_many_more_cases_would_decide() -> None:
    def several(id: str, right: int) -> RunValues:
        metrics = ("a", "b", "c", "d")
        runs = [a_run(id, passes(right if metric == "a" else 50, 100), metric=metric) for metric in metrics]
        spec = runs[0].run.spec.model_copy(update={"metrics": metrics})
        return RunValues(runs[0].run.model_copy(update={"spec": spec}), [row for one in runs for row in one.rows])

    found = compare(several("one", 50), several("other", 56))
    alone = compare(a_run("one", passes(50, 100)), a_run("other", passes(56, 100)))
    assert alone.decision is RunDecision.SHIP and found.decision is RunDecision.UNDECIDED
    assert found.metrics[0].p > 0.05 and 0 < (found.metrics[0].more or 0) < 100


def test_a_run_of_which_too_little_was_measured_is_not_ranked() -> None:
    thin = a_run("r1", {f"c{i}": None if i < 2 else 1.0 for i in range(10)}, model="thin")
    board = board_of([thin, a_run("r2", passes(5, 10), model="whole")])
    assert [entry.model for entry in board.entries] == ["whole"]
    assert [(one.model, one.why) for one in board.excluded] == [
        ("thin", "correctness: 80% of the attempts have a value, 95% are needed")
    ]


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
    thin = a_run("r2", {"c000": 1.0, "c001": 0.5}, metric="token_f1", model="partly")
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
    mean = mean_of(rows, 3)
    assert (mean.value, mean.n, mean.of, mean.not_applicable) == (0.5, 1, 2, 1)
    assert str(mean).endswith("(n=1/2, 1 unscored, 1 not applicable)")


def test_an_answer_compared_with_itself_is_outside_a_mean_that_has_other_cases() -> None:
    rows = [Value("a", 0, "m", 0.5), Value("b", 0, "m", 1.0, own=True)]
    mean = mean_of(rows, 2)
    assert (mean.value, mean.n, mean.of, mean.self_compared) == (0.5, 1, 1, 1)
    alone = mean_of(rows[1:], 1)
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
