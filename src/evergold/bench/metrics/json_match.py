"""JSON match: the same value, however it is laid out."""

import re
from dataclasses import dataclass
from typing import Any, ClassVar

import orjson

from evergold.bench.metrics.reference import NO_REFERENCE, reference_text
from evergold.model.case import Case
from evergold.model.likeness import likeness
from evergold.model.run import Attempt, Measurement

_FENCED = re.compile(r"\A\s*```(?:json)?\s*\n(.*?)\n?\s*```\s*\Z", re.DOTALL | re.IGNORECASE)


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
    fenced = _FENCED.match(text)
    return orjson.loads(fenced.group(1) if fenced else text)
