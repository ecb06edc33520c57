"""The loop that `perf.curate_bulk` compares with: the scores of one trace, a verdict, an entry, a commit, then the next trace.

The loop is given every advantage: prepared statements on the bare driver, no network, commits that do not wait for the disk.
"""

import asyncio
import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from evergold.curate.classify import Verdict, classify
from evergold.model.policy import Policy, Tier
from evergold.model.trace import Score, ScoreSource, Trace
from evergold.store.values import now

ENTRY = (
    *("trace_id", "entry_type", "input_text", "output_text", "metadata", "dataset", "case_id", "body", "session_id"),
    *("policy", "policy_rev", "confirmed", "created_at", "updated_at"),
)


class Session:
    """A connection of the bare driver, to a file of SQLite or to PostgreSQL."""

    def __init__(self, database: Path | str) -> None:
        self.connection: Any
        if isinstance(database, Path):
            self.connection, self._mark = sqlite3.connect(database, check_same_thread=False), "?"
            self.connection.execute("PRAGMA synchronous=NORMAL")
            self.connection.execute("PRAGMA foreign_keys=ON")
        else:
            self.connection, self._mark = psycopg.connect(database, prepare_threshold=0), "%s"
            self.connection.execute("SET synchronous_commit = off")
            self.connection.commit()

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self.connection.execute(query.replace("?", self._mark), values).fetchall()
        return found

    def put(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self.connection.cursor().executemany(statement.replace("?", self._mark), rows)

    def close(self) -> None:
        self.connection.close()


class Loop:
    """One trace at a time, each step awaited on the database's own thread, as async drivers do."""

    def __init__(self, session: Session, policy: Policy) -> None:
        self.session, self.policy = session, policy
        provenance = {"source": "policy", "inclusion_probability": 1.0}
        self.body = json.dumps({"provenance": provenance}, separators=(",", ":"))

    async def run(self, ids: Sequence[str]) -> int:
        made = 0
        for trace_id in ids:
            made += await self.curate(trace_id)
        return made

    async def curate(self, trace_id: str) -> int:
        rows = await asyncio.to_thread(self.scores, trace_id)
        found, held = await asyncio.to_thread(self.trace, trace_id)
        trace = Trace(id=trace_id, session_id=found[0], input=found[1], output=found[2], status=found[3])
        scores = [Score(name=name, value=value, source=ScoreSource(source)) for name, value, source in rows]
        verdict = classify(trace, scores, self.policy)
        if verdict.tier.entry_type is None or held:
            return 0
        tags = {f"model:{found[4]}"} | {
            f"failed:{score.name}" for score in scores if score.source is ScoreSource.SYSTEM and score.value < 0.3
        }
        await asyncio.to_thread(self.add, trace, verdict, tags)
        return 1

    def scores(self, trace_id: str) -> list[tuple[str, float, str]]:
        query = "SELECT name, value, source FROM trace_scores WHERE trace_id = ? ORDER BY source, name"
        return [(name, value, source) for name, value, source in self.session.rows(query, trace_id)]

    def trace(self, trace_id: str) -> tuple[tuple[Any, ...], bool]:
        """The trace, and whether it has an entry already."""
        query = "SELECT session_id, input_text, output_text, status, model FROM traces WHERE id = ?"
        row = self.session.rows(query, trace_id)[0]
        held = "SELECT id FROM eval_dataset WHERE trace_id = ? AND policy = ?"
        return row, bool(self.session.rows(held, trace_id, self.policy.name))

    def add(self, trace: Trace, verdict: Verdict, tags: set[str]) -> None:
        policy, confirmed, moment = self.policy, verdict.tier is Tier.CONFIRMED, now()
        metadata = {} if verdict.tier is Tier.FAILURE else {"confirmed": confirmed}
        ((entry,),) = self.session.rows(
            f"INSERT INTO eval_dataset ({', '.join(ENTRY)}) VALUES ({', '.join('?' * len(ENTRY))}) RETURNING id",
            *(trace.id, verdict.tier.entry_type, trace.input, trace.output),
            *(json.dumps(metadata, separators=(",", ":")), policy.dataset, f"{policy.name}:{trace.id}", self.body),
            *(trace.session_id, policy.name, policy.rev, int(confirmed), moment, moment),
        )
        self.session.put("INSERT INTO eval_dataset_tags VALUES (?, ?)", [(entry, tag) for tag in tags])
        scores = [{"name": s.name, "source": s.source, "value": s.value} for s in verdict.deciding]
        evidence = {"was": "none", "is": verdict.tier.value, "scores": scores}
        revision = (entry, f"policy {policy.label}", policy.explain(verdict.reason), json.dumps(evidence), moment)
        self.session.put(
            "INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at) "
            "VALUES (?, 1, 'added', ?, ?, ?, ?)",
            [revision],
        )
        self.session.connection.commit()


def written(session: Session, ids: Sequence[str]) -> list[object]:
    """Everything that is stored for these traces, but for when and under which number it was written."""
    entry = """SELECT d.trace_id, d.entry_type, d.input_text, d.output_text, d.metadata, d.dataset, d.case_id, d.body,
        d.session_id, d.policy, d.policy_rev, d.confirmed, d.status, d.version, r.version, r.action, r.who, r.why,
        r.evidence FROM eval_dataset d JOIN case_revisions r ON r.entry_id = d.id WHERE d.trace_id = ?"""
    tags = "SELECT tag FROM eval_dataset_tags g JOIN eval_dataset d ON d.id = g.dataset_id WHERE d.trace_id = ?"
    found: list[object] = []
    for trace_id in ids:
        rows = session.rows(entry, trace_id)
        found.append(([(row[:-1], _decided(row[-1])) for row in rows], sorted(session.rows(tags, trace_id))))
    return found


def _decided(evidence: str) -> dict[str, Any]:
    """What decided a verdict; in which order scores were read says nothing."""
    said: dict[str, Any] = json.loads(evidence)
    return said | {"scores": sorted(said["scores"], key=lambda score: (score["source"], score["name"]))}
