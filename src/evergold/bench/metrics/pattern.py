"""Regular expressions: the answer has a shape, whatever its words."""

from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.text.markers import compile_pattern


@dataclass(frozen=True)
class Regex:
    """1 when the pattern is found in the answer (`full`: is the whole answer), else 0.

    The pattern is a parameter; without one, each case's expected answer is its pattern. Time is linear in the answer.
    """

    version: ClassVar[str] = "2"
    pattern: str | None = None
    full: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                compile_pattern(self.pattern.strip(), ignore_case=self.ignore_case)
            # The pattern of the metric is compiled once before the run; a pattern of a case only when it is met.
            except BadInput as problem:
                raise BadInput(f"metric regex: {problem}") from problem

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        pattern = self.pattern if self.pattern is not None else reference_text(case)
        if pattern is None:
            return Measurement.not_applicable(NO_REFERENCE)
        try:
            compiled = compile_pattern(pattern.strip(), ignore_case=self.ignore_case)
        except BadInput as problem:
            return Measurement.unscored(f"the expected answer cannot be used as a pattern: {problem}")
        matches = compiled.fullmatch(attempt.output.strip()) if self.full else compiled.search(attempt.output)
        return Measurement.of(float(matches))
