"""What a reader is warned of, how a mean is written, and the rows that say what a report rests on."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from evergold.model.report import Mean
from evergold.model.run import MetricSpec, Run, RunSpec, RunStatus, Usage
from evergold.report.documents import provenance_rows, spending_rows
from evergold.report.scores import candidate_warnings, origin_of
from evergold.report.summary import Options, shorten, summarise, warnings_of
from tests.builders import a_case
from tests.rows import each_row


def a_run(*specs: MetricSpec, **more: Any) -> Run:
    fields: dict[str, Any] = {
        "id": "run_1",
        "spec": RunSpec(dataset="qa", model="openai/m", metrics=tuple(spec.name for spec in specs) or ("m",)),
        "status": RunStatus.COMPLETED,
        "created_at": datetime(2026, 1, 2, tzinfo=UTC),
        "total": 10,
        "done": 10,
        "metrics": specs,
    }
    return Run(**fields | more)


def a_mean(metric: str = "m", n: int = 10, of: int = 10, **more: Any) -> Mean:
    return Mean(**{"metric": metric, "value": 0.5, "low": None, "high": None, "n": n, "of": of, **more})


def warned(run: Run, *means: Mean, attempts: int = 10, **calibrations: str) -> list[str]:
    return list(warnings_of(run, means, attempts, calibrations))


def test_a_whole_run_without_a_judge_is_no_reason_to_warn() -> None:
    assert warned(a_run(MetricSpec(name="m", version="1")), a_mean()) == []


@each_row(
    ("more", "expected"),
    [
        ({"status": RunStatus.RUNNING, "done": 3}, "the run is running: 3 of 10 attempts are in"),
        ({"failed": 2}, "2 of 10 attempts have no answer and count as the worst value; `evergold runs retry run_1`"),
        (
            {"provenance": {"self_judged": True}},
            "judged by the model under test, which tends to favour its own answers",
        ),
        (
            {"provenance": {"derived_tools": 4}},
            "4 cases expect calls and offer no tools: their schemas are derived from the expected calls",
        ),
    ],
)
def test_what_is_odd_about_a_run_is_named(more: dict[str, Any], expected: str) -> None:
    assert warned(a_run(**more), a_mean()) == [expected]


@each_row(
    ("coverage", "thin"),
    [(0.95, False), (0.94, True), (None, False), (0.0, True)],
)
def test_thin_coverage_begins_below_what_a_gate_needs(coverage: float | None, thin: bool) -> None:
    said = warned(a_run(), a_mean(coverage=coverage))
    assert any("the rest may be the harder ones" in line for line in said) is thin


def test_few_cases_share_one_warning_and_none_scored_is_no_case_of_it() -> None:
    said = warned(a_run(), a_mean("a", n=5, of=5), a_mean("b", n=1, of=1), a_mean("c", n=0, of=0))
    assert said == ["a, b: fewer than 6 cases cannot tell two models apart"]


def test_metrics_of_one_judge_in_one_state_share_a_warning() -> None:
    specs = [MetricSpec(name=name, version="1", judge=judge) for name, judge in (("a", "j"), ("b", "j"), ("c", "k"))]
    said = warned(a_run(*specs, MetricSpec(name="d", version="1")), c="changed since it was calibrated")
    assert said == [
        "a, b: judge j is uncalibrated (never calibrated against human labels); see `evergold judge calibrate`",
        "c: judge k is uncalibrated (changed since it was calibrated); see `evergold judge calibrate`",
    ]
    assert warned(a_run(*specs), a="calibrated", b="calibrated", c="calibrated") == []


def test_means_on_the_same_candidates_share_a_warning() -> None:
    cases = {name: a_case(name) for name in ("a", "b")}
    scores = {"m": {"a": 1.0, "b": 0.0}, "n": {"a": 1.0, "b": 0.0}, "o": {"a": 1.0}, "p": {}}
    assert {origin_of(case) for case in cases.values()} == {"candidate"}
    assert list(candidate_warnings({name: origin_of(case) for name, case in cases.items()}, scores)) == [
        "m, n: 2 of 2 references are answers that no person has confirmed",
        "o: 1 of 1 references are answers that no person has confirmed",
    ]


def test_a_case_without_an_answer_has_no_reference() -> None:
    assert origin_of(a_case(output=None)) == "none"


@each_row(
    ("mean", "expected"),
    [
        (a_mean(value=None, n=0), "– (n=0/10)"),
        (a_mean(), "0.500 (n=10)"),
        (a_mean(low=0.4, high=0.6), "0.500 ±0.100 (n=10)"),
        (a_mean(low=0.35, high=0.6), "0.500 [0.350, 0.600] (n=10)"),
        (a_mean(errors=14, failed=1), "0.500 (n=10, 14 errors, 1 failed)"),
        (a_mean(errors=3, excluded=True), "0.500 (n=10, 3 errors left out)"),
        (
            a_mean(n=8, not_applicable=3, self_compared=1),
            "0.500 (n=8/10, 2 unscored, 3 not applicable, 1 compared with itself)",
        ),
    ],
)
def test_a_mean_is_written_with_what_it_rests_on(mean: Mean, expected: str) -> None:
    assert str(mean) == expected


@given(st.text(max_size=60), st.integers(1, 40))
def test_a_shortened_text_keeps_its_beginning_and_says_what_is_missing(text: str, longest: int) -> None:
    cut = shorten(text, longest)
    assert cut == text if len(text) <= longest else cut.startswith(text[:longest])
    assert len(text) <= longest or cut.endswith(f"({len(text) - longest:,} characters more)")


def test_provenance_names_what_was_not_recorded() -> None:
    report = summarise(a_run(MetricSpec(name="m", version="2", params={"k": 3, "unset": None})), [], [])
    rows = dict(provenance_rows(report))
    assert rows["dataset"] == "qa" and rows["dataset hash"] == "not recorded" and rows["code"] == "not recorded"
    assert (rows["target"], rows["judge"], rows["seed"]) == ("openai/m", "none", "none")
    assert (rows["started"], rows["ended"]) == ("–", "–")
    assert rows["metric m"] == "version 2 (k=3)"


def test_provenance_shows_versions_hashes_and_times() -> None:
    dataset = {"name": "team/qa", "version": "v7", "content_hash": "sha256:d"}
    provenance = {"dataset": dataset, "judge": "openai/j", "target": "http://localhost/v1 m", "code": "evergold 0.1"}
    spec = MetricSpec(name="m", version="1", judge="openai/j", prompt_hash="sha256:0123456789abcdefghij")
    moment = datetime(2026, 1, 2, 3, 4, tzinfo=UTC)
    run = a_run(spec, provenance=provenance, started_at=moment, ended_at=moment)
    rows = dict(provenance_rows(summarise(run, [], [], options=Options(reducer="max"))))
    assert (rows["dataset"], rows["dataset hash"], rows["code"]) == ("team/qa v7", "sha256:d", "evergold 0.1")
    assert (rows["target"], rows["trials"]) == ("http://localhost/v1 m", "1 (reduced by max)")
    assert rows["started"] == "2026-01-02T03:04:00+00:00"
    assert rows["metric m"] == "version 1, prompts sha256:0123456789ab"


@each_row(
    ("usage", "cost"),
    [
        (Usage(), "–"),
        (Usage(input_tokens=5), "unknown"),
        (Usage(input_tokens=1_234_567, output_tokens=8, cost=0.5), "$0.5000"),
        (Usage(cost=0.0), "$0.0000"),
    ],
)
def test_spending_tells_no_call_from_an_unknown_price(usage: Usage, cost: str) -> None:
    target, judge = spending_rows(summarise(a_run(usage=usage), [], []))
    assert target == ("target", "0", "0", f"{usage.input_tokens:,}", f"{usage.output_tokens:,}", cost, "–", "–")
    assert judge[0] == "judge" and judge[5] == "–"
