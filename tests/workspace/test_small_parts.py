"""Small parts of the workspace: names of files, ages, progress, remembered looks, provenance, rows and alignments."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.bench.setup import judged_by
from evergold.build.check import check_validated_rows
from evergold.build.versions import _list_before, _order
from evergold.checks.switch import builtin_on
from evergold.errors import BadInput
from evergold.formats.columns import attempt_row, case_row, trace_row
from evergold.model.case import CaseKind, Conversation, EntryType, ReviewState
from evergold.model.case_actions import Picking
from evergold.model.overview import Period
from evergold.model.run import Measurement, MetricSpec, StepSpent
from evergold.model.trace import Trace
from evergold.review.agreement import overlap
from evergold.review.case_actions import _case
from evergold.review.rows import cases_of_rows, every_row_of, rows_of_cases
from evergold.settings import Settings
from evergold.storage import LONGEST_NAME, file_name
from evergold.store.case.cases import case_filter
from evergold.upkeep.archives import cutoff
from evergold.upkeep.backups import _Steps, build_folders, remove_unused, restore_builds, restore_rest
from evergold.workspace.bench_results import is_failing
from evergold.workspace.overview import _Remembered
from evergold.workspace.replays import _spent_by_call
from evergold.workspace.retrieval import TaskFileChecks
from tests.builders import a_case, an_attempt
from tests.rows import each_row


@each_row(
    ("dataset", "expected"),
    [
        ("live", "live"),
        ("team/faq", "team%2Ffaq"),
        ("..", "%2E."),
        (".hidden", "%2Ehidden"),
        ("a b%", "a%20b%25"),
        ("日本語", "日本語"),
        ("v1.2-x_y", "v1.2-x_y"),
    ],
)
def test_a_name_of_a_file_for_any_name_of_a_dataset(dataset: str, expected: str) -> None:
    assert file_name(dataset) == expected


@given(st.text(min_size=1, max_size=300), st.text(min_size=1, max_size=300))
def test_different_datasets_have_different_files_inside_one_folder(one: str, other: str) -> None:
    name = file_name(one)
    assert "/" not in name and name not in (".", "..") and len(name.encode()) <= LONGEST_NAME
    assert (name == file_name(other)) is (one == other)


@each_row(("age", "days"), [("90d", 90), ("2w", 14), (" 48h ", 2), ("1440m", 1), ("86400s", 1)])
def test_an_age_reaches_back_from_now(age: str, days: int) -> None:
    back = datetime.now(UTC) - datetime.fromisoformat(cutoff(age))
    assert abs(back.total_seconds() - days * 86_400) < 60


@each_row("age", ["", "90", "d", "90 years", "-5d", "1.5d", "9" * 9 + "w", "9" * 5000 + "d"])
def test_an_age_that_is_none_is_one_clear_line(age: str) -> None:
    with pytest.raises(BadInput, match="age "):
        cutoff(age)


@given(st.lists(st.floats(0, 50), max_size=30), st.integers(1, 1000))
def test_progress_in_parts_never_goes_back_or_beyond_its_end(amounts: list[float], last: int) -> None:
    reported: list[int] = []
    steps = _Steps(reported.append)
    first = steps.upto(last // 2, 100.0)
    for amount in amounts:
        first(amount)
    second = steps.upto(last, 1.0)
    second(1.0)
    assert all(step >= 0 for step in reported) and sum(reported) == last


def test_a_look_is_remembered_for_each_period_by_itself() -> None:
    looks: list[Period] = []

    def look(period: Period) -> str:
        looks.append(period)
        return f"look {len(looks)}"

    remembered = _Remembered[str]()
    assert [remembered.get(Period.DAY, look) for _ in range(3)] == ["look 1"] * 3
    assert remembered.get(Period.WEEK, look) == "look 2" and looks == [Period.DAY, Period.WEEK]


@each_row(
    ("model", "judges", "itself"),
    [
        ("openai/a", ["openai/a"], True),
        (" openai/a ", ["panel(openai/a at http://x, offline/6)"], True),
        ("openai/a", ["openai/ab"], False),
        ("openai/a", [], False),
    ],
)
def test_a_model_that_judges_itself_is_found_inside_a_panel(model: str, judges: list[str], itself: bool) -> None:
    specs = [MetricSpec(name=f"m{n}", version="1", judge=judge) for n, judge in enumerate(judges)]
    known = judged_by(model, [*specs, MetricSpec(name="plain", version="1")])
    assert known == {"judge": ", ".join(judges) or None, "self_judged": itself}


def test_versions_are_ordered_as_numbers() -> None:
    assert sorted(["v10", "v9", "v2.1", "v2"], key=_order) == ["v2", "v2.1", "v9", "v10"]


def test_the_builds_before_a_version_are_all_for_a_new_one() -> None:
    builds: Any = [type("B", (), {"version": name})() for name in ("v1", "v2", "v3")]
    assert _list_before("v2", builds) == builds[:1] and _list_before("v9", builds) == builds


def test_a_filter_names_fields_of_cases_alone() -> None:
    assert case_filter("d", {"entry_type": "golden"}).status is None
    for filters in ({"status": "active"}, {"colour": "red"}, {"entry_type": "shiny"}):
        with pytest.raises(BadInput, match="filter"):
            case_filter("d", filters)


@each_row(
    ("word", "began", "on"),
    [("auto", "on", True), ("auto", None, False), ("", "off", False), (" TRUE ", None, True), ("no", "on", False)],
)
def test_checks_are_on_as_the_settings_say_or_as_the_workspace_began(word: str, began: str | None, on: bool) -> None:
    assert builtin_on(Settings(checks_builtin=word), began) is on
    with pytest.raises(BadInput, match="is none of true, false, auto"):
        builtin_on(Settings(checks_builtin="perhaps"), None)


def test_rows_of_tables_have_a_cell_for_each_column() -> None:
    trace = trace_row(Trace(id="t", input="q", tags=("a",), metadata={"n": 1}))
    assert (trace["tags"], trace["metadata"], trace["scores"], trace["status"]) == (["a"], '{"n":1}', None, "completed")
    case = case_row(a_case(tags=("x",)))
    assert (case["reference"], case["reference_origin"], case["messages"]) == ("Lima.", "candidate", None)
    attempt = an_attempt(measurements={"m": Measurement.unscored("why")})
    row = attempt_row(attempt, None, ["m", "n"])
    assert (row["m"], row["n"], row["input"], row["cached"]) == (None, None, None, False)


def a_picking(**more: Any) -> Picking:
    return Picking(**{"trace_ids": ("t",), "dataset": "picked", **more})


@each_row(
    ("answer", "kind", "review"),
    [
        (None, EntryType.GOLDEN, ReviewState.UNVALIDATED),
        ("  ", EntryType.GOLDEN, ReviewState.UNVALIDATED),
        (" Lima. ", EntryType.GOLDEN, ReviewState.VALIDATED),
        ("Quito.", EntryType.FAILURE, ReviewState.VALIDATED),
    ],
)
def test_a_written_answer_is_a_persons_word(answer: str | None, kind: EntryType, review: ReviewState) -> None:
    trace = Trace(id="t", input="q", output="Lima.", tags=("a",))
    case = _case(trace, Conversation(), a_picking(answer=answer, tags=("b",), note="n"))
    assert (case.entry_type, case.review, case.tags) == (kind, review, ("a", "b"))
    assert case.metadata["note"] == "n"


def spent(message: int) -> StepSpent:
    return StepSpent(message=message, input_tokens=message, output_tokens=0, cost=None, latency_ms=None)


def test_what_a_request_took_stands_at_its_first_call() -> None:
    def calling(*ids: str) -> dict[str, Any]:
        return {"role": "assistant", "tool_calls": [{"id": one} for one in ids]}

    trajectory = [calling("a", "b"), {"role": "tool"}, {"role": "assistant"}, calling("c")]
    paid = _spent_by_call(trajectory, [spent(0), spent(2), spent(3)])
    assert {call: one.message for call, one in paid.items()} == {"a": 0, "c": 3}


@each_row(
    ("replay", "value", "failing"),
    [({}, 0.4, True), ({}, 0.5, False), ({}, None, False), ({"stopped": "no answer"}, 1.0, True)],
)
def test_a_replay_fails_by_stopping_or_by_a_metric(replay: dict[str, Any], value: float | None, failing: bool) -> None:
    made = Measurement.unscored("why") if value is None else Measurement.of(value)
    assert is_failing(an_attempt(measurements={"m": made}, metadata={"replay": replay})) is failing


ROW_A = {"caseId": "c", "query": "q", "baseCommit": "a" * 40, "filePaths": [{"path": "f", "sources": ["golden_diff"]}]}
ROW_B = {**ROW_A, "lineRanges": [{"path": "f", "startLine": 1, "endLine": 2, "sources": ["golden_diff"]}]}
del ROW_B["filePaths"]


def test_two_rows_of_one_case_are_one_case() -> None:
    (case,), problems = cases_of_rows([ROW_A, ROW_B], "context")
    assert problems == [] and case.dataset == "context" and case.paths[0].path == case.ranges[0].path == "f"


@each_row(
    ("rows", "reason"),
    [
        ([{"caseId": "c"}], "row 1: needs caseId, and filePaths"),
        ([{**ROW_A, "caseId": " "}], "row 1: needs caseId"),
        ([ROW_A, ROW_A], "row 2: case 'c' has a row of dataset A already"),
        ([{**ROW_A, "filePaths": [{"sources": []}]}], "case 'c'"),
        ([{**ROW_A, "filePaths": 5}], "case 'c'"),
    ],
)
def test_a_row_that_is_none_is_named(rows: list[dict[str, Any]], reason: str) -> None:
    _, problems = cases_of_rows(rows, "context")
    assert len(problems) == 1 and problems[0].startswith(reason)


def test_rows_are_given_for_validated_cases_and_the_others_say_what_they_lack() -> None:
    (case,), _ = cases_of_rows([ROW_A, ROW_B], "context")
    done = case.model_copy(update={"review": ReviewState.VALIDATED})
    given_rows = rows_of_cases([done, case.model_copy(update={"id": "d", "review": ReviewState.UNVALIDATED}), a_case()])
    assert [row["caseId"] for row in given_rows["a"]] == ["c"]
    assert given_rows["left_out"] == [{"id": "d", "lacks": ["validation"]}]
    assert every_row_of([case, a_case()])["versions"] == {"c": case.version}
    assert case.kind is CaseKind.CONTEXT


def test_a_file_of_rows_is_checked_row_by_row(tmp_path: Path) -> None:
    import json

    path = tmp_path / "rows.jsonl"
    path.write_text("\n".join([json.dumps(ROW_A), json.dumps({**ROW_A, "query": ""}), "broken"]) + "\n")
    report = check_validated_rows(path)
    outcomes = {finding.check: finding.outcome for finding in report.findings}
    assert outcomes["rows are JSON"] == outcomes["rows are complete"] == outcomes["ids are unique"] == "failed"
    with pytest.raises(BadInput, match="no file"):
        check_validated_rows(tmp_path / "none.jsonl")


def a_build(folder: Path, content: str = "x") -> dict[str, str]:
    source = folder / "builds" / "d" / "v1"
    source.mkdir(parents=True)
    (source / "manifest.json").write_text(content)
    return {"dataset": "d", "version": "v1", "path": "builds/d/v1", "location": "manifest.json"}


def test_files_of_builds_are_restored_beside_others_of_the_same_name(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for number, content in enumerate(["one", "one", "two"]):
        entry = a_build(tmp_path / f"scratch{number}", content)
        located = restore_builds(home, tmp_path / f"scratch{number}", [entry])["d", "v1"]
        assert Path(located).read_text() == content
    assert {folder.name for folder in build_folders(home)} == {"v1", "v1-restored2"}
    remove_unused(build_folders(home), [str(home.resolve() / "builds/d/v1/manifest.json")])
    assert {folder.name for folder in build_folders(home)} == {"v1"}


@pytest.mark.parametrize("change", [{"path": "../outside"}, {"location": "../../x"}, {"path": "/etc"}])
def test_a_backup_cannot_put_files_outside_the_workspace(tmp_path: Path, change: dict[str, str]) -> None:
    entry = a_build(tmp_path / "scratch")
    with pytest.raises(BadInput, match="outside the workspace"):
        restore_builds(tmp_path / "home", tmp_path / "scratch", [entry | change])


def test_restored_settings_change_nothing_by_themselves_and_a_spooled_record_is_not_overwritten(tmp_path: Path) -> None:
    scratch, home = tmp_path / "scratch", tmp_path / "home"
    for name, text in (("settings/evergold.toml", "a"), ("spool/one.jsonl", "new"), ("spool/two.jsonl", "2")):
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        (scratch / name).write_text(text)
    (home / "spool").mkdir(parents=True)
    (home / "spool" / "one.jsonl").write_text("old")
    restore_rest(home, scratch)
    assert (home / "restored-settings" / "evergold.toml").read_text() == "a"
    assert [(home / "spool" / name).read_text() for name in ("one.jsonl", "two.jsonl")] == ["old", "2"]


def test_benchmark_files_are_linted_and_have_a_schema(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_text("tasks: 5\n")
    checked = TaskFileChecks().lint(tmp_path)
    assert checked.files == 1 and checked.tasks == 0 and checked.problems[0].startswith("bad.yaml:")
    assert TaskFileChecks().schema()["type"] == "object"


MARKS = st.lists(st.tuples(st.integers(0, 9), st.integers(1, 5)), min_size=1, max_size=3).map(
    lambda pairs: [{"label": "x", "start": start, "end": start + size} for start, size in pairs]
)


@settings(max_examples=60, deadline=None)
@given(MARKS, MARKS)
def test_the_overlap_of_marked_passages_is_a_share(one: list[dict[str, Any]], other: list[dict[str, Any]]) -> None:
    share = overlap(one, other)
    assert 0.0 <= share <= 1.0 and share == overlap(other, one)
    assert overlap(one, one) == 1.0
