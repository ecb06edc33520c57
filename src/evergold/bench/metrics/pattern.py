"""Regular expressions: the answer has a shape, whatever its words."""

import re
from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.errors import BadInput
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement


@dataclass(frozen=True)
class Regex:
    """1 when the pattern is found in the answer (`full`: is the whole answer), else 0.

    The pattern is a parameter; without one, each case's expected answer is its pattern.
    """

    version: ClassVar[str] = "1"
    pattern: str | None = None
    full: bool = False
    ignore_case: bool = False

    def __post_init__(self) -> None:
        if self.pattern is not None:
            try:
                re.compile(self.pattern)
            except re.error as problem:
                raise BadInput(f"metric regex: {self.pattern!r} is not a regular expression: {problem}") from problem

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        pattern = self.pattern if self.pattern is not None else reference_text(case)
        if pattern is None:
            return Measurement.not_applicable(NO_REFERENCE)
        try:
            compiled = re.compile(pattern.strip(), re.IGNORECASE if self.ignore_case else 0)
        except re.error as problem:
            return Measurement.unscored(f"the expected answer is not a regular expression: {problem}")
        found = compiled.fullmatch(attempt.output.strip()) if self.full else compiled.search(attempt.output)
        return Measurement.of(float(found is not None))
