"""Tests passed: the code of an answer is run in a sandbox, against the tests of its case."""

from dataclasses import dataclass
from typing import ClassVar

from evergold.bench import sandbox
from evergold.errors import BadInput
from evergold.model.case import Case, CodeTests
from evergold.model.run import Attempt, Measurement
from evergold.text.markers import code_of

MOST_SHOWN = 3
SHOWN_CHARACTERS = 600
LONGEST_CODE = 200_000


@dataclass(frozen=True)
class TestsPassed:
    """The share of the case's tests that the answer's code passes.

    All tests of an answer have `seconds` together, or the case's own `timeout`, and `memory_mb` of memory. A test that is stopped
    has not passed. `unisolated` in the details says why tests had to share a process or a folder with the code that they test,
    which could then decide by itself.
    """

    # pytest would otherwise collect this class because of its name.
    __test__: ClassVar[bool] = False
    version: ClassVar[str] = "2"
    seconds: float = 8.0
    memory_mb: int = 512

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= 600 or not 32 <= self.memory_mb <= 65_536:
            raise BadInput(
                f"metric tests_passed: seconds={self.seconds:g}, memory_mb={self.memory_mb}; "
                "seconds is over 0 and at most 600, memory_mb 32 to 65536"
            )

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        if case.tests is None:
            return Measurement.not_applicable("the case has no tests")
        # Without a sandbox nothing is run: an answer is code of a stranger.
        tests = case.tests
        problem = sandbox.missing_sandbox(tests)
        if problem is not None:
            return Measurement.unscored(problem)
        code = code_of(attempt.output, tests.language)
        if not code.strip():
            return Measurement.of(0.0, "the answer has no code", passed=0, tests=len(tests))
        if len(code) > LONGEST_CODE:
            return Measurement.of(0.0, f"the code has over {LONGEST_CODE} characters", passed=0, tests=len(tests))
        bounds = sandbox.Bounds(seconds=tests.timeout or self.seconds, memory=self.memory_mb * 2**20)
        if tests.programs:
            results = sandbox.run_programs(code, tests, bounds)
        elif tests.command:
            results = sandbox.run_command(code, tests, bounds)
        else:
            results = sandbox.run_tests(code, tests.code, execute=tests.runs_answer, bounds=bounds)
        failed = [result for result in results if not result.passed]
        passed = len(results) - len(failed)
        shown = [_describe_failure(result, tests) for result in failed[:MOST_SHOWN]]
        more = [f"and {len(failed) - MOST_SHOWN} more failed"] if len(failed) > MOST_SHOWN else []
        head = f"{passed} of {len(results)} tests passed"
        details: dict[str, int | str] = {"passed": passed, "tests": len(results)}
        if why := sandbox.why_unisolated(tests):
            head += f" (unisolated: {why})"
            details["unisolated"] = why
        return Measurement.of(passed / len(results), "\n".join([head, *shown, *more]), **details)


def _describe_failure(result: sandbox.TestResult, tests: CodeTests) -> str:
    """A failing test as people read it: which one, why, and the end of what it printed."""
    output = result.output.strip()
    tail = output if len(output) <= SHOWN_CHARACTERS else f"… {output[-SHOWN_CHARACTERS:]}"
    if tests.code:
        text = tests.code[result.test].strip()
    else:
        text = f"input {tests.programs[result.test].stdin!r}" if tests.programs else " ".join(tests.command)
    first_line = (text.splitlines() or [""])[0]
    return "\n".join(part for part in (f"test {result.test + 1} ({first_line[:100]}): {result.reason}", tail) if part)
