"""Exact match: the strictest question one can ask of an answer."""

from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement


@dataclass(frozen=True)
class ExactMatch:
    """1 when the answer equals the expected text, else 0; white space around either does not count."""

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True
    ignore_case: bool = False

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        want, got = reference.strip(), attempt.output.strip()
        if self.ignore_case:
            want, got = want.casefold(), got.casefold()
        return Measurement.of(float(want == got))


@dataclass(frozen=True)
class Contains:
    """1 when the answer contains `text` (by default the expected answer), else 0."""

    version: ClassVar[str] = "1"
    text: str | None = None
    ignore_case: bool = True

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        want = self.text if self.text is not None else reference_text(case)
        if want is None:
            return Measurement.not_applicable(NO_REFERENCE)
        # The empty text is contained in every answer: 1 everywhere would look like a result.
        if not want.strip():
            return Measurement.unscored("the text to look for is empty, and every answer contains it")
        want, got = want.strip(), attempt.output
        if self.ignore_case:
            want, got = want.casefold(), got.casefold()
        return Measurement.of(float(want in got))
