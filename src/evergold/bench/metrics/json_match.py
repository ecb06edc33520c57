"""JSON match: the same value, however it is laid out."""

from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.model.case import Case
from evergold.model.run import Attempt, Measurement
from evergold.model.values import likeness

FENCE = "```"


@dataclass(frozen=True)
class JsonMatch:
    """1 when the answer is the expected JSON value; `partial` gives the share of it that is right.

    A Markdown fence around the answer is taken off. An answer that is not JSON is wrong (0); an expected answer that
    is not JSON cannot be compared with (unscored).
    """

    version: ClassVar[str] = "1"
    compares: ClassVar[bool] = True
    partial: bool = False

    def measure(self, case: Case, attempt: Attempt) -> Measurement:
        reference = reference_text(case)
        if reference is None:
            return Measurement.not_applicable(NO_REFERENCE)
        try:
            want = _parse(reference)
        except orjson.JSONDecodeError as problem:
            return Measurement.unscored(f"the expected answer is not JSON: {problem}")
        try:
            got = _parse(attempt.output)
        except orjson.JSONDecodeError as problem:
            return Measurement.of(0.0, f"the answer is not JSON: {problem}")
        alike = likeness(want, got)
        return Measurement.of(alike if self.partial else float(alike == 1.0))


def _parse(text: str) -> Any:
    return orjson.loads(_without_fence(text))


def _without_fence(text: str) -> str:
    """The text inside a Markdown fence; the text itself where it stands in none."""
    body = text.strip()
    if not (body.startswith(FENCE) and body.endswith(FENCE) and len(body) > 2 * len(FENCE)):
        return text
    language, newline, inside = body[len(FENCE) : -len(FENCE)].partition("\n")
    # A fence of another language is part of the answer, and the answer is then not JSON.
    return inside if newline and language.strip().lower() in ("", "json") else text
