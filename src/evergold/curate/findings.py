"""Corrections found in what people say next: a finding is a user's score, and if it is plain, a correction."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection

from evergold.curate.detectors import CORRECTION_SCORE, HIGH
from evergold.model.trace import Correction, Score, ScoreSource
from evergold.seams import Detector
from evergold.store.corrections import exchanges
from evergold.store.traces import put_correction, put_scores


@dataclass(frozen=True)
class Finding:
    """A correction that the detector sees: in what was said after the reply of a trace, and how plainly."""

    trace_id: str
    next_id: str
    message: str
    value: float


def findings_in(connection: Connection, trace_ids: Sequence[str], detector: Detector) -> list[Finding]:
    """Look for corrections in the message after each reply."""
    said = ((each, detector.detect(each.message, each.reply)) for each in exchanges(connection, trace_ids))
    return [Finding(each.trace_id, each.next_id, each.message, value) for each, value in said if value is not None]


def put_finding(connection: Connection, finding: Finding) -> bool:
    """Keep a finding with its trace; whether it is a correction that nobody had made yet."""
    score = Score(
        name=CORRECTION_SCORE,
        value=finding.value,
        source=ScoreSource.USER,
        comment=finding.message[:200],
        key=f"detected:{finding.next_id}",
    )
    put_scores(connection, finding.trace_id, [score])
    plain = Correction(trace_id=finding.trace_id, text=finding.message, author="detected")
    return finding.value == HIGH and put_correction(connection, plain)
