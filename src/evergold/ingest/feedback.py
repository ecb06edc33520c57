"""Apply scores, corrections and reactions to their traces; one whose trace has not come yet is kept until it does.

The report of a delivery counts every record, also those that are dropped.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from pydantic import TypeAdapter
from sqlalchemy import Connection

from evergold.model.operations import IngestReport
from evergold.model.trace import REACTION_SCORE, Correction, Reaction, Score, ScoreLine, ScoreSource, reaction_value
from evergold.store.trace.scores import drop_score, keep_pending, put_scores
from evergold.store.trace.traces import known_traces, put_correction

Feedback = ScoreLine | Correction | Reaction
FEEDBACK: TypeAdapter[Feedback] = TypeAdapter(Feedback)


def apply_feedback(connection: Connection, records: Sequence[Feedback], report: IngestReport) -> None:
    """Apply each record to its trace, or keep it until the trace comes."""
    known = known_traces(connection, {record.trace_id for record in records})
    # `groupby` keeps the order: a reaction and its removal in one delivery must be applied in turn.
    for are_scores, some in groupby(records, lambda one: isinstance(one, ScoreLine) and one.trace_id in known):
        if are_scores:
            # Scores that follow one another, as in a file of them, are stored together.
            scores = [(record.trace_id, record) for record in some if isinstance(record, ScoreLine)]
            changed = put_scores(connection, scores)
            report.scores += changed
            report.duplicates += len(scores) - changed
            continue
        for record in some:
            if record.trace_id in known:
                _apply(connection, record, report)
            else:
                kept = keep_pending(connection, record.trace_id, record.model_dump_json())
                report.pending += kept
                # The same record sent twice before its trace came waits once.
                report.duplicates += not kept


def apply_pending(connection: Connection, waiting: Iterable[str], report: IngestReport) -> None:
    """Apply records that waited for traces which are now there."""
    for body in waiting:
        _apply(connection, FEEDBACK.validate_json(body), report)


def _apply(connection: Connection, record: Feedback, report: IngestReport) -> None:
    if isinstance(record, ScoreLine):
        changed = put_scores(connection, [(record.trace_id, record)])
        report.scores += changed
    elif isinstance(record, Reaction):
        # One score per person: a changed reaction replaces the earlier one, a removed one takes it away.
        if record.emoji is None:
            changed = int(drop_score(connection, record.trace_id, record.key))
        else:
            value, by_user = reaction_value(record.emoji), {"source": ScoreSource.USER, "key": record.key}
            score = Score(name=REACTION_SCORE, value=value, comment=record.emoji, **by_user)
            changed = put_scores(connection, [(record.trace_id, score)])
        report.reactions += changed
    else:
        changed = int(put_correction(connection, record))
        report.corrections += changed
    report.duplicates += not changed
