"""What to review next: cases by what a look at them is worth, each with the reason.

The value of a case is how uncertain it is, times the traffic of its topic, what the topic lacks, and how long the case waits. How
uncertain a case is comes from what it rests on and its lowest check, and from what people decided about cases that ask alike,
the more the nearer: each review changes what comes next. Plain failures are left out: a look at them makes no reference true.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import log1p
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from evergold.model.upkeep import ReviewNext
from evergold.store import Store
from evergold.store.case.reviews import question_text
from evergold.store.database.rows import rows_among, run_sql, stamp
from evergold.store.schema import EVIDENCE, TIER
from evergold.store.topics import LETTERS, TopicCounts, count_topics, newest_start
from evergold.upkeep.coverage import BEFORE
from evergold.upkeep.regions import Ground, embed_texts
from evergold.upkeep.topics import ENOUGH_GOLDEN, Topics

MOST_CASES = 5_000  # the newest that wait
UNCERTAIN = {"candidate": 0.35, "unconfirmed": 0.25, "confirmed": 0.08}  # by what the tier rests on
DISPUTED, QUESTIONED, NO_REFERENCE = 0.9, 0.8, 0.7
PRIOR = 0.3  # reviews of the same question that what is known without reviews counts as
ALIKE = 0.3  # how near questions lie whose reviews say something of each other
MOST_REVIEWS = 1_000  # the newest that are learnt from
SHOWN = 160
STANDING = """(SELECT s.standing FROM review_standings s
    WHERE s.entry_id = eval_dataset.id AND s.version = eval_dataset.version)"""
OPEN = f"""SELECT eval_dataset.id, eval_dataset.dataset, eval_dataset.case_id, eval_dataset.entry_type, {TIER},
    eval_dataset.question, {STANDING}, eval_dataset.created_at, eval_dataset.trace_id,
    substr(eval_dataset.input_text, 1, {LETTERS}), m.topic, {EVIDENCE}
    FROM eval_dataset LEFT JOIN case_topics m ON m.entry_id = eval_dataset.id
    WHERE eval_dataset.status = 'active' AND (CAST(:dataset AS text) IS NULL OR eval_dataset.dataset = :dataset)
    AND (eval_dataset.question <> '' OR eval_dataset.review = 'unvalidated')
    AND (eval_dataset.entry_type = 'golden' OR {STANDING} = 'disputed' OR (eval_dataset.entry_type = 'correction'
      AND eval_dataset.body NOT LIKE '%"revised"%' AND eval_dataset.body NOT LIKE '%"approved"%'))
    ORDER BY eval_dataset.id DESC LIMIT {MOST_CASES}"""
REVIEWED = f"""SELECT substr(e.input_text, 1, {LETTERS}), CASE WHEN e.status = 'dismissed' OR EXISTS (
      SELECT 1 FROM case_revisions v WHERE v.entry_id = e.id AND v.action IN ('approve', 'edited')
        AND v.changes LIKE '%"expected"%') THEN 1.0 ELSE 0.0 END
    FROM eval_dataset e WHERE (e.review = 'validated' OR e.status = 'dismissed')
    AND EXISTS (SELECT 1 FROM case_reviews r WHERE r.entry_id = e.id) ORDER BY e.id DESC LIMIT {MOST_REVIEWS}"""
LOWEST = "SELECT trace_id, value, name FROM trace_scores WHERE source IN ('system', 'llm_judge') AND trace_id"


class ReviewOrder:
    def __init__(self, store: Store, topics: Topics) -> None:
        self._store, self._topics = store, topics

    def list_next(self, limit: int = 50, dataset: str | None = None, seconds: float = 5.0) -> list[ReviewNext]:
        """List the cases whose review is worth most now, for a dataset or for all."""
        return [one for _, one in self._value(dataset, seconds)[:limit]]

    def reasons(self, dataset: str | None = None, seconds: float = 1.0) -> dict[int, str]:
        """Say why entries are worth a review, those that are worth most first."""
        return {entry: one.why for entry, one in self._value(dataset, seconds)}

    def _value(self, dataset: str | None, seconds: float) -> list[tuple[int, ReviewNext]]:
        self._topics.refresh(seconds)
        with self._store.db.read() as connection:
            return _value_cases(connection, dataset)


def _value_cases(connection: Connection, dataset: str | None) -> list[tuple[int, ReviewNext]]:
    rows = run_sql(connection, OPEN, dataset=dataset).all()
    lowest: dict[str, tuple[float, str]] = {}
    for trace, value, name in rows_among(connection, LOWEST, {row[8] for row in rows if row[8]}):
        lowest[trace] = min(lowest.get(trace, (value, name)), (value, name))
    learnt = _learn([row[9] or "" for row in rows], run_sql(connection, REVIEWED).all())
    newest = newest_start(connection)
    end = datetime.now(UTC) if newest is None else datetime.fromisoformat(newest)
    recent, held = count_topics(connection, str(stamp(end - BEFORE))), count_topics(connection)
    valued = [
        (row[0], row[10], *_value(row, lowest.get(row[8] or ""), like, recent, held))
        for row, like in zip(rows, learnt, strict=True)
    ]
    listed, before = [], Counter[int | None]()
    for entry, topic, doubt, one in sorted(valued, key=lambda row: -row[3].value):
        # The next case of a topic says little that the one before it will not have said, unless most of them are wrong.
        less = 1 + before[topic] * (1 - doubt) if topic is not None else 1
        before[topic] += 1
        listed.append((entry, one.model_copy(update={"value": round(one.value / less, 4)})))
    return sorted(listed, key=lambda row: -row[1].value)


class _Like(NamedTuple):
    """What reviews of cases that ask alike say: how many there are, and how many were wrong; both again by nearness."""

    number: int
    wrong: int
    weight: float
    doubt: float


def _learn(waiting: Sequence[str], reviewed: Sequence[Any]) -> list[_Like]:
    """Say of each question that waits what reviews of like questions say."""
    if not reviewed or not waiting:
        return [_Like(0, 0, 0.0, 0.0) for _ in waiting]
    points = Ground(embed_texts([*waiting, *(row[0] or "" for row in reviewed)])).points
    near = points[: len(waiting)] @ points[len(waiting) :].T
    wrong, weights = np.array([row[1] for row in reviewed], dtype=np.float64), np.maximum(near - ALIKE, 0) / (1 - ALIKE)
    columns = ((weights > 0).sum(1), (weights > 0) @ wrong, weights.sum(1), weights @ wrong)
    return [_Like(int(a), int(b), float(c), float(d)) for a, b, c, d in zip(*columns, strict=True)]


def _value(
    row: Any,
    lowest: tuple[float, str] | None,
    like: _Like,
    recent: Mapping[int, TopicCounts],
    held: Mapping[int, TopicCounts],
) -> tuple[float, ReviewNext]:
    _, dataset, case_id, kind, tier, question, standing, created, _, title, topic, evidence = row
    if standing == "disputed":
        doubt, reasons = DISPUTED, ["reviewers disagree"]
    elif question:
        doubt, reasons = QUESTIONED, [question_text(question) or "something speaks against it"]
    elif kind == "correction":
        doubt, reasons = NO_REFERENCE, ["a correction without a right answer"]
    else:
        doubt, reasons = UNCERTAIN[tier], [tier]
        if lowest is not None and lowest[0] < 1:
            doubt = max(doubt, 1 - lowest[0])
            reasons.append(f"{lowest[1]} {lowest[0]:.2f}")
        doubt = (like.doubt + PRIOR * doubt) / (like.weight + PRIOR)
        if like.number:
            reasons.append(f"{like.wrong} of {like.number} reviewed cases like it were wrong")
    traces = recent.get(topic, TopicCounts()).traces
    lacking = max(0, ENOUGH_GOLDEN - held.get(topic, TopicCounts()).golden)
    days = max(0.0, (datetime.now(UTC) - datetime.fromisoformat(created)) / timedelta(days=1))
    value = doubt * (1 + log1p(traces) / 10) * (1 + lacking / 6) * (1 + log1p(days) / 20)
    if traces:
        reasons.append(
            f"its topic has {traces} traces in 28 days" + (f" and lacks {lacking} golden cases" if lacking else "")
        )
    reasons.append(f"waits {days:.0f} days")
    return doubt, ReviewNext(
        dataset=dataset,
        id=case_id,
        tier=tier,
        evidence=evidence,
        title=(title or "")[:SHOWN],
        value=value,
        why="; ".join(reasons),
    )
