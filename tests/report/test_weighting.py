"""Each question counts once in a weighted mean."""

from evergold.report.scores import Groups, Outside

BY_QUESTION = Groups(questions={"a1": "a1", "a2": "a1", "a3": "a1", "b": "b"})


def test_a_question_that_is_asked_three_times_counts_once() -> None:
    (mean,) = BY_QUESTION.means({"m": {"a1": 1.0, "a2": 1.0, "a3": 0.4, "b": 0.0}}, {}, ["m"], 2)
    assert mean.value is not None and round(mean.value, 9) == 0.4
    assert (mean.n, mean.of) == (2, 2)


def test_a_question_is_left_out_only_where_no_case_of_it_is_scored() -> None:
    cut = Outside(not_applicable={"a2", "b"}, own={"a3"})
    (mean,) = BY_QUESTION.means({"m": {"a1": 0.5}}, {"m": cut}, ["m"], 2)
    assert (mean.value, mean.n, mean.of, mean.not_applicable, mean.self_compared) == (0.5, 1, 1, 1, 0)


def test_answers_that_are_all_their_own_reference_are_counted_as_such() -> None:
    (mean,) = BY_QUESTION.means({"m": {"a2": 1.0}}, {"m": Outside(own={"a2"})}, ["m"], 2)
    assert (mean.value, mean.n, mean.of, mean.self_compared) == (1.0, 1, 2, 1)
