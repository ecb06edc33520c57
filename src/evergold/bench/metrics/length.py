"""Length: whether an answer is as long as it should be."""

from dataclasses import dataclass
from typing import ClassVar

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.bench.metrics.tokens import words
from evergold.errors import BadInput, unknown
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement

UNITS = ("words", "characters")


@dataclass(frozen=True)
class Length:
    """With limits: 1 inside `least`…`most`, else 0. Without: shorter over longer of answer and expected answer."""

    version: ClassVar[str] = "1"
    unit: str = "words"
    least: int | None = None
    most: int | None = None

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise BadInput(f"metric length: {unknown('unit', self.unit, UNITS)}")

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        got = self._count(attempt.output)
        if self.least is not None or self.most is not None:
            inside = (self.least is None or got >= self.least) and (self.most is None or got <= self.most)
            return Measurement.of(float(inside), f"{got} {self.unit}", length=got)
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(f"{NO_REFERENCE} and the metric has no limits", length=got)
        want = self._count(reference)
        # Two empty texts are equally long.
        ratio = min(got, want) / max(got, want) if max(got, want) else 1.0
        return Measurement.of(ratio, f"{got} {self.unit}, expected {want}", length=got)

    def _count(self, text: str) -> int:
        return len(words(text)) if self.unit == "words" else len(text.strip())
