"""Each question counts once in a weighted mean."""

from evergold.model.report import Mean
from evergold.model.run import Scale
from evergold.report.scores import Groups, by_case, count_attempts, means_of
from evergold.store.run.attempts import Value

BY_QUESTION = Groups(questions={"a1": "a1", "a2": "a1", "a3": "a1", "b": "b"})


def mean_of(*rows: Value) -> Mean:
    return next(means_of(by_case(rows), count_attempts(rows), {"m": Scale()}, BY_QUESTION, (2, 4)))


def test_a_question_that_is_asked_three_times_counts_once() -> None:
    mean = mean_of(
        *(Value(case, 0, "m", value) for case, value in zip(("a1", "a2", "a3", "b"), (1, 1, 0.4, 0), strict=True))
    )
    assert mean.value is not None and round(mean.value, 9) == 0.4
    assert (mean.n, mean.of) == (2, 2)


def test_a_question_is_left_out_only_where_no_case_of_it_is_scored() -> None:
    apart = [Value(case, 0, "m", None, applies=False) for case in ("a2", "b")]
    mean = mean_of(Value("a1", 0, "m", 0.5), Value("a3", 0, "m", 1.0, own=True), *apart)
    assert (mean.value, mean.n, mean.of, mean.not_applicable) == (0.5, 1, 1, 1)


def test_answers_that_are_all_their_own_reference_are_counted_as_such() -> None:
    mean = mean_of(Value("a2", 0, "m", 1.0, own=True))
    assert (mean.value, mean.n, mean.of, mean.self_compared) == (1.0, 1, 2, 1)
