"""Reports: figures with their coverage, failures first, nothing of a case able to break out of the page."""

import json
from datetime import UTC, datetime
from typing import Any
from xml.etree import ElementTree

import pytest

from evergold.errors import BadInput
from evergold.model.case import Case, Difficulty
from evergold.model.run import Attempt, Measurement, MetricSpec, Run, RunSpec, RunStatus, Usage
from evergold.report.documents import to_junit, to_markdown
from evergold.report.html import to_html
from evergold.report.scores import Groups
from evergold.report.summary import Options, RunReport, summarise
from tests.builders import a_case, an_attempt
from tests.rows import each_row

NASTY = '</script><img src=x onerror=alert(1)> | `x` \x00 "quoted"'


def a_run(**more: Any) -> Run:
    spec = RunSpec(dataset="qa", model="openai/m", metrics=("correctness", "exact_match"), trials=2)
    metrics = (
        MetricSpec(name="correctness", version="1", judge="openai/j", prompt_hash="sha256:abc"),
        MetricSpec(name="exact_match", version="1", params={"ignore_case": False}),
    )
    fields: dict[str, Any] = {
        "id": "run_1",
        "spec": spec,
        "status": RunStatus.COMPLETED,
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "total": 8,
        "done": 8,
        "failed": 1,
        "metrics": metrics,
        "usage": Usage(input_tokens=1000, output_tokens=50, cost=0.25),
        "judge_usage": Usage(input_tokens=7, output_tokens=3),
        "provenance": {"dataset": {"name": "qa", "version": "v1", "content_hash": "sha256:d"}, "judge": "openai/j"},
    }
    return Run(**fields | more)


def attempt(case: str, trial: int, correctness: Measurement, exact: float = 1.0, **more: Any) -> Attempt:
    made = {"correctness": correctness, "exact_match": Measurement.of(exact)}
    return an_attempt(f"answer {case}", case, trial=trial, measurements=made, latency_ms=10.0 * (trial + 1), **more)


CASES = [
    a_case("a", difficulty=Difficulty.EASY, tags=("red",)),
    a_case("b", difficulty=Difficulty.HARD, tags=("red", "blue"), expected=NASTY),
    a_case("c", difficulty=Difficulty.HARD),
    a_case("d", difficulty=Difficulty.HARD),
]
ATTEMPTS = [
    attempt("a", 0, Measurement.of(1.0, judge_ms=40.0)),
    attempt("a", 1, Measurement.of(0.0, NASTY, judge_ms=60.0)),
    attempt("b", 0, Measurement.of(0.4, "half")),
    attempt("b", 1, Measurement.of(0.6)),
    attempt("c", 0, Measurement.unscored("refused")),
    attempt("c", 1, Measurement.error("the judge broke")),
    attempt("d", 0, Measurement.of(0.0, "wrong")),
    an_attempt("", "d", trial=1, error="timeout"),
]


def report(run: Run | None = None, cases: list[Case] = CASES, **options: Any) -> RunReport:
    return summarise(run or a_run(), cases, ATTEMPTS, options=Options(**options))


def test_a_mean_is_over_cases_and_says_how_many() -> None:
    correctness, exact = report().metrics
    assert correctness.mean.value == pytest.approx((0.5 + 0.5 + 0.0) / 3)
    assert (correctness.mean.n, correctness.mean.of) == (3, 4)
    assert (correctness.unscored, correctness.errors) == (2, 1)
    assert correctness.reasons == {"refused": 1, "the judge broke": 1}
    assert correctness.histogram == (3, 0, 0, 0, 1, 0, 1, 0, 0, 1)
    assert (exact.mean.value, exact.mean.n, exact.mean.errors) == (0.875, 4, 1)


def test_failures_come_first_the_calls_that_failed_then_the_worst() -> None:
    found = report()
    assert found.failing == 4
    assert [(f.case_id, f.trial, f.value) for f in found.failures] == [
        ("d", 1, None),
        ("a", 1, 0.0),
        ("d", 0, 0.0),
        ("b", 0, 0.4),
    ]
    assert found.failures[0].reason == "timeout"
    assert [f.case_id for f in report(failures=1).failures] == ["d"]
    assert report(failures=0).failing == 4


def test_slices_are_by_difficulty_and_tag_and_a_single_kind_is_none() -> None:
    names = [(part.by, part.name, part.cases) for part in report().slices]
    kinds = [("difficulty", "hard", 3), ("difficulty", "easy", 1), ("tag", "red", 2), ("tag", "blue", 1)]
    assert names == [*kinds, ("reference", "candidate", 3), ("reference", "source", 1)]


def test_cost_and_time_of_target_and_judge_are_apart() -> None:
    found = report()
    assert (found.target.usage.cost, found.target.calls, found.target.median_ms) == (0.25, 8, 10.0)
    assert (found.judge.usage.input_tokens, found.judge.usage.cost, found.judge.p95_ms) == (7, None, 60.0)


def test_trials_are_reduced_as_asked_and_too_few_scored_trials_are_no_value() -> None:
    assert report(reducer="max").metrics[0].mean.value == pytest.approx((1.0 + 0.6 + 0.0) / 3)
    both = report(reducer="pass^2").metrics[0].mean
    assert (both.value, both.n) == (0.0, 3)
    with pytest.raises(BadInput, match="unknown reducer"):
        report(reducer="average")


def test_what_a_reader_must_know_is_said() -> None:
    provenance = a_run().provenance | {"self_judged": True}
    told = " / ".join(report(a_run(status=RunStatus.CANCELLED, provenance=provenance)).warnings)
    for part in (
        "is cancelled",
        "1 of 8 attempts have no answer",
        "model under test",
        "75% of the attempts have a value",
        "openai/j is uncalibrated",
    ):
        assert part in told
    quiet = summarise(a_run(failed=0), CASES[:2], ATTEMPTS[:4], calibrations={"correctness": "calibrated"})
    assert quiet.warnings == (
        "correctness, exact_match: fewer than 6 cases cannot tell two models apart",
        "correctness, exact_match: 1 of 2 references are answers that no person has confirmed",
    )


def test_html_stands_alone_and_shows_text_as_text() -> None:
    page = to_html(report())
    assert "<script" not in page and "<img" not in page and "src=" not in page.replace("src=x", "")
    assert "http" not in page.replace("http-equiv", "").replace("http://www.w3.org/2000/svg", "")
    assert page.count("<svg") == 3
    assert "sha256:d" in page and "&lt;img src=x" in page


def test_markdown_cells_cannot_break_the_table() -> None:
    text = to_markdown(report())
    assert "<img" not in text
    for line in text.splitlines():
        if line.startswith("| correctness"):
            assert line.replace("\\|", "").count("|") == 8
    assert "## Failures (4)" in text and "No attempt failed" in to_markdown(summarise(a_run(), [], []))


def test_junit_has_a_test_per_attempt_and_metric_and_is_xml() -> None:
    suite = ElementTree.fromstring(to_junit(a_run(), ATTEMPTS)).find("testsuite")
    assert suite is not None
    assert [suite.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["16", "3", "3", "1"]
    assert suite.find("testcase/failure") is not None


def test_an_answer_of_megabytes_does_not_make_a_report_of_megabytes() -> None:
    huge = an_attempt("x" * 3_000_000, "a", measurements={"correctness": Measurement.of(0.0)})
    found = summarise(a_run(), CASES, [huge])
    assert found.failures[0].output.endswith("… (2,996,000 characters more)")
    assert len(to_html(found)) < 50_000 and len(to_junit(a_run(), [huge])) < 50_000


def test_json_is_the_report_whole() -> None:
    loaded = json.loads(report().model_dump_json())
    assert loaded["metrics"][0]["mean"]["n"] == 3
    assert RunReport.model_validate(loaded) == report()


def test_a_run_without_attempts_has_a_report() -> None:
    found = summarise(a_run(done=0), CASES, [])
    assert found.metrics[0].mean.value is None
    assert "no score" in to_html(found)


def test_each_question_counts_once_on_request_in_means_and_slices() -> None:
    questions = {"a": "a", "b": "b", "c": "c", "d": "b"}
    made = summarise(a_run(), CASES, ATTEMPTS, groups=Groups(questions=questions))
    mean = made.metrics[0].mean
    assert mean.value == pytest.approx((0.5 + (0.5 + 0.0) / 2) / 2) and (mean.n, mean.of) == (2, 3)
    assert (made.cases, made.questions, report().questions) == (4, 3, None)
    hard = next(part for part in made.slices if part.name == "hard").means[0]
    assert (hard.value, hard.n, hard.of) == (0.25, 1, 2)
    assert "each question counts once: 3 questions, 4 cases" in made.warnings
    assert "each question counts once" in to_markdown(made) and "each question counts once" in to_html(made)


@each_row(
    ("asked", "shown"),
    [
        ("When does\n  the shop open?", "<b>When does the shop open?</b>"),
        ("word " * 100, "<b>" + ("word " * 20).rstrip() + "…</b>"),
        ("東" * 300, "<b>" + "東" * 100 + "…</b>"),
        ("<i>?", "<b>&lt;i&gt;?</b>"),
    ],
)
def test_a_failure_is_known_by_its_question(asked: str, shown: str) -> None:
    cases = [a_case("id-of-a-case", input=asked)]
    page = to_html(summarise(a_run(), cases, [attempt("id-of-a-case", 0, Measurement.of(0.0, "wrong"))]))
    line = page[page.index("<summary>") : page.index("</summary>")]
    assert shown in line and "id-of-a-case" in line and "wrong" in line


def test_a_failure_whose_case_is_gone_is_known_by_its_id() -> None:
    page = to_html(summarise(a_run(), [], [attempt("gone", 0, Measurement.of(0.0))]))
    assert "<summary><b>gone</b>" in page


def test_answers_that_were_tested_unisolated_are_told_in_every_form() -> None:
    made = [an_attempt("x", id, measurements={"correctness": Measurement.of(1.0, unisolated="why")}) for id in "ab"]
    report = summarise(a_run(), CASES, made)
    (warning,) = [one for one in report.warnings if "unisolated" in one]
    assert warning.startswith(
        "correctness: 2 answers were tested unisolated; their code could have changed the verdict"
    )
    assert warning in to_markdown(report) and warning in to_html(report)
    assert warning in json.loads(report.model_dump_json())["warnings"]
