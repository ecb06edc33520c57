"""Remarks found in what users write: a remark is a user's score of an earlier answer, and if it is a correction, a pair.

Turns may come out of order. When one arrives that lies between an answer and the message that was taken for a remark on it,
the message is looked at again, and what no longer holds is taken back.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial

from sqlalchemy import Connection

from evergold.curate.detectors import CORRECTION_SCORE, LOW, VALUES, ValueDetector, call_guarded
from evergold.model.check import Remark, RemarkKind
from evergold.model.trace import DETECTED_KEY, Correction, CorrectionKind, Score, ScoreSource
from evergold.seams import Detector
from evergold.store.trace.scores import drop_score, enqueue, put_scores
from evergold.store.trace.traces import put_correction
from evergold.store.verdict.corrections import (
    BY_DETECTOR,
    Detected,
    detected_among,
    detected_traces,
    drop_remarks,
    forget_remarks,
    is_dismissed,
    messages_after,
    put_remark,
    take_back,
)

SHOWN = 200
NOT_KNOWN: Remark | None = Remark(RemarkKind.NONE, "", 0.0)  # instead of a remark where the detector failed


@dataclass(frozen=True)
class RemarkFinding:
    """What a detector sees in a message, None for nothing; `held` is what was found in it before, each with its trace."""

    message_id: str
    message: str
    remark: Remark | None
    held: tuple[tuple[str, Detected], ...] = ()

    @property
    def traces(self) -> set[str]:
        """The traces on which the finding has an effect: those it speaks of, and its own."""
        on = {self.remark.trace_id} if self.remark is not None else set()
        return {self.message_id} | on | {trace_id for trace_id, _ in self.held}


def findings_in(connection: Connection, trace_ids: Sequence[str], detector: Detector) -> list[RemarkFinding]:
    """Look for remarks in the messages of these traces and of those behind them, and for remarks that no longer hold.

    Where the detector raises, what was found before stays.
    """
    # Plug-ins of the first interface have `detect` alone.
    look = getattr(detector, "remark", None) or ValueDetector(detector).remark
    messages = messages_after(connection, trace_ids)
    held: dict[str, list[tuple[str, Detected]]] = {}
    answers = {turn.id for message in messages for turn in message.earlier}
    for trace_id, detections in detected_among(connection, answers).items():
        for before in detections:
            held.setdefault(before.next_id, []).append((trace_id, before))
    findings: list[RemarkFinding] = []
    for message in messages:
        remark = call_guarded(connection, "detector", detector, partial(look, message), NOT_KNOWN)
        before_it = tuple(held.get(message.id, ()))
        # Nothing now and nothing before needs no write.
        if remark is not NOT_KNOWN and (remark is not None or before_it):
            findings.append(RemarkFinding(message.id, message.text, remark, before_it))
    return findings


def put_finding(
    connection: Connection, finding: RemarkFinding, detector: str = "", at_hand: Collection[str] = ()
) -> bool:
    """Keep a finding with its trace; whether it is a correction that nobody had made yet.

    The trace of the message itself is curated again, unless it is `at_hand`.
    """
    comment, remark = finding.message[:SHOWN], finding.remark
    # A reviewer who dismissed the correction has the last word on it.
    if is_dismissed(connection, finding.message_id):
        remark = None
    for trace_id, before in finding.held:
        gone = remark is None or remark.trace_id != trace_id
        if gone:
            drop_score(connection, trace_id, DETECTED_KEY + finding.message_id)
        # A correction of the same message that changed is taken back and made again.
        if gone or before.comment != comment or (remark is not None and remark.kind is not RemarkKind.CORRECTION):
            take_back(connection, trace_id, before.comment)
    if remark is None:
        if drop_remarks(connection, [finding.message_id]) and finding.message_id not in at_hand:
            enqueue(connection, [finding.message_id])
        return False
    if put_remark(connection, finding.message_id, remark, detector) and finding.message_id not in at_hand:
        enqueue(connection, [finding.message_id])
    score = Score(
        name=CORRECTION_SCORE,
        value=VALUES[remark.kind] if remark.grounded else max(VALUES[remark.kind], LOW),
        source=ScoreSource.USER,
        comment=comment,
        key=DETECTED_KEY + finding.message_id,
    )
    put_scores(connection, [(remark.trace_id, score)])
    if remark.kind is not RemarkKind.CORRECTION:
        return False
    correction = Correction(
        trace_id=remark.trace_id, text=finding.message, author=BY_DETECTOR, kind=CorrectionKind.REMARK
    )
    return put_correction(connection, correction)


def forget_findings(connection: Connection) -> int:
    """Take back everything that a detector found: it was switched off. Cases that somebody worked on stay."""
    traces = detected_traces(connection)
    for trace_id, findings in detected_among(connection, traces).items():
        for before in findings:
            drop_score(connection, trace_id, DETECTED_KEY + before.next_id)
            take_back(connection, trace_id, before.comment)
    forget_remarks(connection)
    return len(traces)
