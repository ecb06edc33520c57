"""Corrections found in what people say next: a finding is a user's score, and if it is plain, a correction.

Turns may come out of order. When one arrives that lies between a reply and the message that was taken for its correction,
what was found is taken back: the message is about the turn that came between.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from evergold.curate.detectors import CORRECTION_SCORE, HIGH
from evergold.curate.guarded import guarded
from evergold.model.trace import DETECTED_KEY, Correction, CorrectionKind, Score, ScoreSource
from evergold.seams import Detector
from evergold.store.authority import is_dismissed
from evergold.store.corrections import DETECTED, Detected, detected_among, detected_traces, exchanges, take_back
from evergold.store.scores import drop_score, put_scores
from evergold.store.traces import put_correction

SHOWN = 200
NOT_KNOWN: float | None = float("nan")  # instead of a value where the detector failed


@dataclass(frozen=True)
class Finding:
    """What the detector sees in what was said after the reply of a trace: a correction, and how plainly; None for nothing.
    `held` is what was found before."""

    trace_id: str
    next_id: str
    message: str
    value: float | None
    held: tuple[Detected, ...] = ()


def findings_in(connection: Connection, trace_ids: Sequence[str], detector: Detector) -> list[Finding]:
    """Look for corrections in the message after each reply, and for findings that no longer hold.

    Where the detector raises, what was found before stays.
    """
    said = list(exchanges(connection, trace_ids))
    held = detected_among(connection, {each.trace_id for each in said})
    findings: list[Finding] = []
    for each in said:
        look = partial(detector.detect, each.message, each.reply)
        value = guarded(connection, "detector", look, NOT_KNOWN)
        before = tuple(held.get(each.trace_id, ()))
        if value is not NOT_KNOWN and (value is not None or before):
            findings.append(Finding(each.trace_id, each.next_id, each.message, value, before))
    return findings


def put_finding(connection: Connection, finding: Finding) -> bool:
    """Keep a finding with its trace; whether it is a correction that nobody had made yet."""
    comment, found = finding.message[:SHOWN], finding.value is not None
    for before in finding.held:
        if not found or before.next_id != finding.next_id:
            drop_score(connection, finding.trace_id, DETECTED_KEY + before.next_id)
        if not found or (before.next_id, before.comment) != (finding.next_id, comment):
            take_back(connection, finding.trace_id, before.comment)
    if finding.value is None or is_dismissed(connection, finding.next_id):
        return False
    score = Score(
        name=CORRECTION_SCORE,
        value=finding.value,
        source=ScoreSource.USER,
        comment=comment,
        key=DETECTED_KEY + finding.next_id,
    )
    put_scores(connection, finding.trace_id, [score])
    plain = Correction(trace_id=finding.trace_id, text=finding.message, author=DETECTED, kind=CorrectionKind.REMARK)
    return finding.value == HIGH and put_correction(connection, plain)


def forget_findings(connection: Connection) -> int:
    """Take back everything that a detector found: it was switched off. Cases that somebody worked on stay."""
    traces = detected_traces(connection)
    for trace_id, findings in detected_among(connection, traces).items():
        for before in findings:
            drop_score(connection, trace_id, DETECTED_KEY + before.next_id)
            take_back(connection, trace_id, before.comment)
    return len(traces)
