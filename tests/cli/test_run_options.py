"""Options of the command line as values: budgets, thresholds, parameters, replay; and what is printed of results."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
import pytest

from evergold.cli.admin import _status_lines
from evergold.cli.build import _compact, _one_line, _print_build, _print_summary, print_report
from evergold.cli.curate import _changes_text, _counts, _print_checks
from evergold.cli.datasets import _trust, case_lines
from evergold.cli.extract import _round_text
from evergold.cli.judge import _print_calibration
from evergold.cli.options import parse_filters
from evergold.cli.output import JSON_WANTED, emit_json, one_line, progress, table
from evergold.cli.run import (
    _parse_param,
    _parse_thresholds,
    _price,
    _read_spec,
    summary_line,
)
from evergold.cli.runs import _choose_format, _score_texts
from evergold.cli.traces import _order_spans, _span_line
from evergold.errors import BadInput
from evergold.model.build import Manifest
from evergold.model.case import EntryType, ReviewState
from evergold.model.check import Checked, CheckResult
from evergold.model.generation import GenerationReport, Skipped
from evergold.model.judge import Calibration
from evergold.model.operations import DatabaseStatus
from evergold.model.run import (
    Measurement,
    MetricSpec,
    Replay,
    Run,
    RunSpec,
    RunStatus,
    Scale,
    Usage,
    _read_replay,
    parse_budget,
)
from evergold.model.trace import Span, Trace, TraceStatus
from evergold.store.verdict.curation import Changes
from tests.builders import a_case, an_attempt
from tests.rows import each_row

BEGAN = datetime(2026, 1, 2, tzinfo=UTC)


@each_row(
    ("text", "expected"),
    [
        (None, {}),
        ("50000", {"budget_tokens": 50_000}),
        ("50_000", {"budget_tokens": 50_000}),
        ("1e3", {"budget_tokens": 1000}),
        ("$2.50", {"budget_money": 2.5}),
    ],
)
def test_a_budget_is_tokens_or_dollars(text: str | None, expected: dict[str, Any]) -> None:
    assert parse_budget(text) == expected


@each_row("text", ["", "$", "many", "0", "-5", "$-1", "nan", "inf", "$nan", "$inf", "1e999"])
def test_a_budget_that_is_no_amount_is_one_clear_line(text: str) -> None:
    with pytest.raises(BadInput, match="neither a number of tokens"):
        parse_budget(text)


def test_thresholds_by_metric() -> None:
    assert _parse_thresholds(("correctness=0.8", "length:most=5=1")) == {"correctness": 0.8, "length:most=5": 1.0}


@each_row("text", ["correctness", "correctness=", "correctness=high", "=0.8", "0.8", "x=nan", "x=inf"])
def test_a_threshold_that_could_never_be_decided_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not METRIC=VALUE"):
        _parse_thresholds((text,))


@each_row(
    ("text", "expected"),
    [
        ("temperature=0", ("temperature", 0)),
        ("stop=[1, 2]", ("stop", [1, 2])),
        ("model=gpt", ("model", "gpt")),
        ("a=b=c", ("a", "b=c")),
        ("empty=", ("empty", "")),
    ],
)
def test_a_parameter_is_json_where_it_can_be(text: str, expected: tuple[str, Any]) -> None:
    assert _parse_param(text) == expected


@each_row("text", ["temperature", "=1", ""])
def test_a_parameter_without_a_name_or_a_value_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="is not KEY=VALUE"):
        _parse_param(text)


@each_row(
    ("given", "names"),
    [
        ("a,b", ["a", "b"]),
        ("a", ["a"]),
        ("length:most=5,unit=words", ["length:most=5,unit=words"]),
        ("a,,b,", ["a", "b"]),
    ],
)
def test_commas_part_metrics_and_not_their_parameters(given: str, names: list[str]) -> None:
    spec = RunSpec.from_options({"dataset": "d", "model": "recorded", "metrics": (given,)})
    assert spec.metrics == tuple(names)


def run_options(**more: Any) -> dict[str, Any]:
    empty = dict.fromkeys(("judge", "limit", "seed", "budget", "repo", *Replay.model_fields))
    shared = {"dataset": "d", "model": "recorded", "metrics": (), "trials": 1, "concurrency": 2, "params": ()}
    return {**empty, **shared, "no_cache": False, "weighted": False, "replay": False, **more}


def test_a_retriever_is_measured_by_lines_and_files_where_no_metric_is_given() -> None:
    spec = _read_spec(run_options(model="retriever:bm25", repo="."))
    assert "line_recall" in spec.metrics and spec.params == {"repo": "."}
    assert _read_spec(run_options(metrics=("a,b", "c"))).metrics == ("a", "b", "c")
    for name in ("dataset", "model"):
        with pytest.raises(BadInput, match=f"{name} is missing; for example"):
            _read_spec(run_options(**{name: None}))


def test_options_of_a_replay_need_the_replay() -> None:
    options: dict[str, Any] = dict.fromkeys(Replay.model_fields)
    assert _read_replay({**options, "replay": False}) is None
    with pytest.raises(BadInput, match="--max-steps says how to replay; add --replay"):
        _read_replay({**options, "replay": False, "max_steps": 3})
    made = _read_replay({**options, "replay": True, "max_steps": 3})
    assert made is not None and made.max_steps == 3


def a_run(**more: Any) -> Run:
    spec = RunSpec(dataset="d", model="m", metrics=("x",))
    fields = {"id": "run_1", "spec": spec, "status": RunStatus.COMPLETED, "created_at": BEGAN, "total": 4, "done": 4}
    return Run(**{**fields, **more})


def test_a_run_in_one_line() -> None:
    assert summary_line(a_run()) == "run_1 completed: 4 of 4 attempts, 0 failed, 0 tokens"
    usage, judge = Usage(input_tokens=1000, output_tokens=5, cost=0.5), Usage(input_tokens=7, cost=0.001)
    provenance = {"judge": "openai/j", "self_judged": True}
    line = summary_line(a_run(usage=usage, judge_usage=judge, provenance=provenance), (2, 3))
    assert line.endswith(
        "1,005 tokens ($0.5000), 2 from the cache, 7 tokens of the judge ($0.0010), 3 judge replies from the cache; "
        "judged by openai/j (the model under test)"
    )


def test_prices_and_figures_that_are_not_known_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert (_price(None), _price(1.5)) == ("unknown price", "about $1.5000")
    figures = dict.fromkeys(("agreement", "kappa", "spearman", "false_pass", "false_fail"))
    asked = {"judge": "j", "metric": "m", "version": "1", "prompt_hash": None, "passing": 0.5, "labels": 0}
    _print_calibration(Calibration.model_validate({**asked, **figures, "unscored": {}}))
    assert "kappa\t–\tnot defined on these labels\t0" in capsys.readouterr().out
    assert (_round_text(0.12345), _round_text(7), _round_text(None)) == ("0.123", 7, None)


@each_row(
    ("measurements", "error", "failing"),
    [({"m": 0.4}, None, True), ({"m": 0.5}, None, False), ({"m": None}, None, False), ({}, "timeout", True)],
)
def test_which_attempts_are_failures(measurements: dict[str, float | None], error: str | None, failing: bool) -> None:
    made = {n: Measurement.of(v) if v is not None else Measurement.unscored("why") for n, v in measurements.items()}
    attempt = an_attempt(measurements=made, error=error)
    assert a_run(metrics=(MetricSpec(name="m", version="1"),)).is_failure(attempt) is failing
    assert len(_score_texts(attempt)) == len(made)


def test_a_value_fails_by_the_scale_of_its_metric() -> None:
    rate = MetricSpec(name="rate", version="1", scale=Scale(lower_is_better=True))
    steps = MetricSpec(name="steps", version="1", scale=None)
    assert [rate.is_failing(value) for value in (0.0, 0.5, 0.6)] == [False, False, True]
    assert not steps.is_failing(0.0)


@pytest.mark.parametrize(
    ("form", "name", "chosen"),
    [
        ("terminal", "r.html", "html"),
        ("terminal", "r.xml", "junit"),
        ("terminal", "r.txt", "markdown"),
        ("json", "r.html", "json"),
        ("terminal", None, "terminal"),
    ],
)
def test_the_format_of_a_report_follows_the_name_of_its_file(
    form: str, name: str | None, chosen: str, tmp_path: Any
) -> None:
    assert _choose_format(form, tmp_path / name if name else None) == chosen


def test_filters_are_fields_with_one_value_each() -> None:
    assert parse_filters(["entry-type = golden", "tag=a=b"]) == {"entry_type": "golden", "tag": "a=b"}
    assert parse_filters(["a=1", "a=1"]) == {"a": "1"}
    with pytest.raises(BadInput, match="a case can pass only one"):
        parse_filters(["a=1", "a=2"])
    with pytest.raises(BadInput, match="is not FIELD=VALUE"):
        parse_filters(["golden"])


def test_notes_on_repeats_of_a_build(capsys: pytest.CaptureFixture[str]) -> None:
    def notes(repeats: dict[str, Any], group_by: str) -> list[str]:
        made = {"version": "v1", "generated_at_utc": "", "repeats": repeats, "group_by": group_by}
        _print_build(Manifest.model_validate(made), Path("m.json"))
        return capsys.readouterr().err.splitlines()[:-1]

    assert notes({"clusters": 2, "cases": 5, "mode": "keep", "ungrouped": 3}, "session") == [
        "2 questions are asked more than once, by 5 cases: each kept in one split",
        "3 cases name no session; each is a group of its own",
    ]
    assert notes({"clusters": 1, "cases": 2, "mode": "one", "left_out": 1, "ungrouped": 3}, "auto") == [
        "1 questions are asked more than once, by 2 cases: 1 left out"
    ]
    assert notes({}, "user") == []


def test_how_far_a_case_can_be_trusted() -> None:
    assert _trust(a_case(review=ReviewState.VALIDATED)) == "validated"
    assert _trust(a_case(entry_type=EntryType.FAILURE)) == "unvalidated"
    assert _trust(a_case(entry_type=EntryType.GOLDEN)) == "unconfirmed"
    assert _trust(a_case(entry_type=EntryType.GOLDEN, metadata={"confirmed": True})) == "confirmed"


def test_a_case_is_shown_with_its_conversation_and_reference() -> None:
    messages = (
        {"role": "user", "content": "One\ntwo"},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "content": {"a": 1}},
    )
    lines = list(case_lines(a_case(messages=messages)))
    assert "  user: One" in lines and "    two" in lines and "  assistant calls f({})" in lines
    assert '  tool: {"a":1}' in lines and lines[-1] == "  Lima."
    assert list(case_lines(a_case(output=None)))[-1] == "reference: none yet"


def test_what_a_check_says_of_a_trace(capsys: pytest.CaptureFixture[str]) -> None:
    good = Checked("t", "c", "1", CheckResult(0.5, "half", "words"))
    broken, silent = Checked("t", "c", "1", error="it broke"), Checked("t", "c", "1")
    _print_checks([good, broken, silent])
    rows = ["c\t0.5\thalf\twords", "c\terror\tit broke\t", "c\t-\tdoes not apply\t"]
    assert capsys.readouterr().out.splitlines()[1:] == rows
    with click.Context(click.Command("check-traces")) as context:
        context.meta[JSON_WANTED] = True
        _print_checks([good, broken])
    first, second = json.loads(capsys.readouterr().out)
    assert first["evidence"] == "words" and second["value"] is None


def test_changes_of_a_curation_in_words_and_numbers() -> None:
    changes = Changes(traces=5, by_tier={"confirmed": 1, "failure": 2}, by_kind={"corrected": 1})
    assert _changes_text(changes) == "1 golden (confirmed), 2 failure, 1 correction"
    assert _changes_text(Changes()) == "nothing changed"
    counts = _counts(changes)
    assert (counts["examined"], counts["unchanged"], counts["golden_unconfirmed"]) == (5, 2, 0)


def a_report(**more: Any) -> GenerationReport:
    fields: dict[str, Any] = {
        "run_id": "g", "writer": "w", "label": "l", "retrieval": "bm25", "output": "o", "rejected_output": "r", "log": None,
        "documents": 1, "passages": 1, "skipped": (), "records": {}, "methods": {}, "rejected": {}, "rewritten": 0,
    }  # fmt: skip
    return GenerationReport(**fields | more)


def test_skipped_files_are_listed_by_reason_and_not_without_end(capsys: pytest.CaptureFixture[str]) -> None:
    files = [Skipped(name=f"f{n:02}", reason="binary") for n in range(12)] + [Skipped(name="x", reason="empty")]
    _print_summary(a_report(skipped=tuple(files)), Path("out.jsonl"))
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "skipped: binary\t12\t" + ", ".join(f"f{n:02}" for n in range(10)) + " …",
        "skipped: empty\t1\tx",
    ]


def test_the_cost_of_a_generation(capsys: pytest.CaptureFixture[str]) -> None:
    usage = Usage(input_tokens=1200, output_tokens=3)
    _print_summary(a_report(usage=usage, calls=1), Path("out.jsonl"))
    assert "calls\t1\t1,200 tokens in, 3 out, price unknown\n" in capsys.readouterr().out
    _print_summary(a_report(usage=usage, calls=1, failed_calls=2), Path("out.jsonl"))
    assert "price unknown; 2 failed\n" in capsys.readouterr().out


def test_rows_are_lines_with_tabs_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    table("title", ("a", "b"), [("one\ntwo", None), (3, "x\ty")])
    assert capsys.readouterr().out == "a\tb\none two\t\n3\tx y\n"
    assert one_line("  a \n b ") == "a b" and one_line(None) == ""


def test_json_takes_models_numbers_as_keys_and_times(capsys: pytest.CaptureFixture[str]) -> None:
    emit_json({1: a_case(), "at": BEGAN, "odd": io.BytesIO})
    printed = json.loads(capsys.readouterr().out)
    assert printed["1"]["id"] == "c1" and printed["at"].startswith("2026-01-02")


def test_progress_is_silent_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 3) as advance:
        advance(2)
    assert capsys.readouterr().err == ""


def a_span(id: str, parent: str | None = None, **more: Any) -> Span:
    return Span(**{"id": id, "parent_id": parent, "name": id, "kind": "llm", **more})


def test_steps_stand_under_their_parents_and_a_lost_parent_is_no_loss() -> None:
    spans = (a_span("child", "root"), a_span("root"), a_span("lost", "gone"), a_span("leaf", "child"))
    tree = _order_spans(Trace(id="t", input="q", spans=spans))
    assert [(depth, span.id) for depth, span in tree] == [(0, "root"), (1, "child"), (2, "leaf"), (0, "lost")]


def test_a_chain_of_a_thousand_steps_is_shown() -> None:
    spans = tuple(a_span(str(n), str(n - 1) if n else None) for n in range(3000))
    assert _order_spans(Trace(id="t", input="q", spans=spans))[-1][0] == 2999


def test_a_step_shows_time_model_and_failure() -> None:
    span = a_span(
        "s",
        started_at=BEGAN,
        ended_at=BEGAN + timedelta(seconds=1.5),
        metadata={"model": "m"},
        status=TraceStatus.FAILED,
    )
    assert _span_line(0, span) == "- llm s m 1.500 s FAILED"
    assert _span_line(1, span).startswith("  ")


def test_samples_of_a_check_are_cut_to_a_few_lines() -> None:
    record = {"task_id": "x", "question": "q" * 200, "contexts": ["a", "b", "c", "d"], "empty": "", "n": {"a": 1}}
    shown = dict(_compact(record))
    assert list(shown) == ["question", "contexts 1/4", "contexts 2/4", "contexts 3/4", "n"]
    assert shown["question"].endswith("… (200 characters)") and shown["n"] == '{"a":1}' and _one_line("a\n b") == "a b"


def test_a_finding_in_one_note(capsys: pytest.CaptureFixture[str]) -> None:
    from evergold.build.manifest import BuildFinding, Report

    finding = BuildFinding("drift", "qa", measured={"type": 0.1})
    print_report(Report("manifest.json", "v1", [finding]))
    assert capsys.readouterr().out.endswith("\tqa\ttype 0.1\n")
    finding.fail("one")
    finding.fail("two")
    print_report(Report("manifest.json", "v1", [finding]))
    assert capsys.readouterr().out.endswith("\tqa\t2 times: one\n")


def test_an_empty_database_has_no_growth_to_show() -> None:
    empty = DatabaseStatus.model_construct(engine="sqlite", bytes=0, traces=0)
    assert _status_lines(empty) == ["no traces yet"]
