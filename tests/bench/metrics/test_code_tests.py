from typing import Any

import pytest

from evergold.bench.datasets import SAMPLES
from evergold.bench.metrics import make_metric
from evergold.bench.metrics.code_tests import TestsPassed
from evergold.bench.sandbox import missing_sandbox
from evergold.errors import BadInput
from evergold.formats import task_files as yaml_tasks
from evergold.model.run import Attempt, Measurement, MeasurementState
from tests.builders import a_case
from tests.rows import each_row

needs_sandbox = pytest.mark.skipif(missing_sandbox() is not None, reason=str(missing_sandbox()))


def measured(output: str, tests: Any) -> Measurement:
    return TestsPassed().measure(a_case(tests=tests), Attempt(case_id="c1", output=output))


@needs_sandbox
def test_the_share_of_tests_passed_with_the_output_of_failing_ones() -> None:
    answer = "Here:\n```python\ndef double(n):\n    return n + n if n < 10 else 0\n```\nCall it with `double(2)`."
    made = measured(answer, ["assert double(2) == 4", "assert double(20) == 40, 'twenty'"])
    assert made.value == 0.5
    assert (made.reason or "").startswith(
        "1 of 2 tests passed\ntest 2 (assert double(20) == 40, 'twenty'): exit code 1"
    )
    assert "AssertionError: twenty" in (made.reason or "")
    assert made.details == {"passed": 1, "tests": 2}


@needs_sandbox
def test_code_of_another_language_is_given_to_the_tests_as_text() -> None:
    tests = {
        "language": "sql",
        "code": "import sqlite3\nassert sqlite3.connect(':memory:').execute(answer).fetchone() == (2,)",
    }
    assert measured("```sql\nSELECT 1 + 1\n```", tests).value == 1.0
    assert measured("SELECT 3", tests).value == 0.0


@needs_sandbox
def test_an_answer_that_is_no_code_passes_nothing() -> None:
    assert measured("I cannot help with that.", ["assert f() == 1"]).value == 0.0
    assert measured("", ["assert f() == 1"]).reason == "the answer has no code"
    assert measured("def f(:", ["assert f() == 1"]).value == 0.0


@needs_sandbox
def test_the_reference_answers_of_the_bundled_benchmark_pass_their_tests() -> None:
    tasks = yaml_tasks.parse_tasks((SAMPLES / "basic-coding.yaml").read_bytes(), "basic-coding.yaml").tasks
    cases = [task.case("basic-coding") for task in tasks if task.tests]
    assert len(cases) >= 4
    for case in cases:
        made = TestsPassed().measure(case, Attempt(case_id=case.id, output=case.expected or ""))
        assert made.value == 1.0, made.reason


def test_a_case_without_tests_is_not_applicable() -> None:
    assert measured("x", None).state is MeasurementState.NOT_APPLICABLE


def test_without_the_sandbox_nothing_is_run_and_nothing_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    made = measured("x = 1", ["assert x == 1"])
    assert made.state is MeasurementState.UNSCORED
    assert "install bubblewrap" in (made.reason or "")


def test_limits_out_of_range_are_refused_before_the_run() -> None:
    with pytest.raises(BadInput, match="at most 600"):
        make_metric("tests_passed:seconds=0")


@each_row(
    ("written", "code"),
    [
        ("tests: assert f() == 1", ("assert f() == 1",)),
        ("tests: [assert f() == 1, assert f() != 2]", ("assert f() == 1", "assert f() != 2")),
        ("tests: {language: sql, code: assert answer}", ("assert answer",)),
    ],
)
def test_tests_are_written_as_a_text_a_list_or_a_mapping(written: str, code: tuple[str, ...]) -> None:
    text = f"name: n\ntasks:\n  - id: a\n    name: a\n    input: i\n    expected_output: o\n    {written}\n"
    (task,) = yaml_tasks.parse_tasks(text, "n.yaml").tasks
    assert task.tests is not None
    assert task.tests.code == code
    assert yaml_tasks.parse_tasks(yaml_tasks.write_tasks("n", "", [task]), "again.yaml").tasks == (task,)


def test_a_mistake_in_tests_is_named_with_its_line() -> None:
    text = "name: n\ntasks:\n  - id: a\n    name: a\n    input: i\n    expected_output: o\n    tests: []\n"
    with pytest.raises(BadInput, match=r"n.yaml:7: tasks\[0\].tests"):
        yaml_tasks.parse_tasks(text, "n.yaml")
