"""Bulk curation against the loop everybody writes first: fetch the scores of one trace, classify, insert, commit, next.

Both run on the same data in one process, one after the other, on SQLite. The loop is given every advantage: prepared
statements on the bare driver, no network, commits that do not wait for the disk. It writes what ours writes: the
entry, its tags and its revision.

    python -m perf.curate_bulk --traces 1000000 --loop 20000
"""

import argparse
import asyncio
import json
import random
import resource
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from evergold.curate.classify import classify
from evergold.curate.live import Curation
from evergold.model.policy import Policy
from evergold.model.trace import Score, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.curation import Changes, curate_traces, take_queued
from evergold.store.traces import put_scores

POLICY = Policy()
TEXT = "A sentence of ordinary length, as people and models write them. " * 8


def trace_ids(count: int) -> Iterator[str]:
    pick = random.Random(7)
    for _ in range(count):
        yield f"{pick.getrandbits(128):032x}"


def fill(path: Path, count: int) -> None:
    """Traces and three scores each, written past our own intake: it is not what is measured here."""
    pick = random.Random(8)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    connection.executemany(
        "INSERT INTO traces (id, session_id, name, input_text, output_text, model) VALUES (?, ?, 'chat', ?, ?, 'm1')",
        ((trace_id, f"s{n // 4}", f"{n} {TEXT}", TEXT) for n, trace_id in enumerate(trace_ids(count))),
    )

    def scores() -> Iterator[tuple[str, str, float, str, str]]:
        for trace_id in trace_ids(count):
            yield trace_id, "format", pick.choice([1.0, 0.95, 0.9, 0.85, 0.2]), "system", "a"
            yield trace_id, "grounded", pick.choice([1.0, 0.95, 0.9, 0.85, 0.6]), "system", "b"
            yield trace_id, "thumbs", pick.choice([1.0, 0.9, 0.5, 0.1]), pick.choice(["user", "llm_judge"]), "c"

    connection.executemany(
        "INSERT INTO trace_scores (trace_id, name, value, source, key) VALUES (?, ?, ?, ?, ?)", scores()
    )
    connection.commit()
    connection.close()


def in_bulk(store: Store) -> Changes:
    return Curation(store, [POLICY], detector=None).backfill()


@dataclass(frozen=True)
class Rate:
    """Traces a second, by the clock and by CPU time; the second one holds on a machine that others use too."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, count: int, work: Callable[[], object]) -> "Rate":
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        return cls(count / (time.perf_counter() - wall), count / (time.process_time() - cpu))

    def __str__(self) -> str:
        return f"{self.wall:>10,.0f} traces/s   {self.cpu:>10,.0f} per CPU second"


class Loop:
    """One trace at a time, each step awaited on the database's own thread, as async drivers do."""

    def __init__(self, path: Path) -> None:
        self.connection = sqlite3.connect(path, check_same_thread=False)
        self.connection.execute("PRAGMA synchronous=NORMAL")
        self.connection.execute("PRAGMA foreign_keys=ON")

    async def run(self, ids: list[str]) -> int:
        made = 0
        for trace_id in ids:
            made += await self.curate(trace_id)
        return made

    async def curate(self, trace_id: str) -> int:
        rows = await asyncio.to_thread(self.scores, trace_id)
        row = await asyncio.to_thread(self.trace, trace_id)
        trace = Trace(id=trace_id, input=row[0], output=row[1], status=row[2])
        scores = [Score(name=name, value=value, source=ScoreSource(source)) for name, value, source in rows]
        verdict = classify(trace, scores, POLICY)
        if verdict.tier.entry_type is None:
            return 0
        evidence = json.dumps([[score.name, score.value] for score in verdict.deciding])
        await asyncio.to_thread(self.add, trace, verdict.tier.entry_type, str(verdict.reason), evidence)
        return 1

    def scores(self, trace_id: str) -> list[tuple[str, float, str]]:
        query = "SELECT name, value, source FROM trace_scores WHERE trace_id = ?"
        return self.connection.execute(query, (trace_id,)).fetchall()

    def trace(self, trace_id: str) -> tuple[str, str, str]:
        query = "SELECT input_text, output_text, status FROM traces WHERE id = ?"
        row: tuple[str, str, str] = self.connection.execute(query, (trace_id,)).fetchone()
        return row

    def add(self, trace: Trace, entry_type: str, why: str, evidence: str) -> None:
        entry = self.connection.execute(
            "INSERT INTO eval_dataset (trace_id, entry_type, input_text, output_text, policy) VALUES (?, ?, ?, ?, 'loop')",
            (trace.id, entry_type, trace.input, trace.output),
        ).lastrowid
        self.connection.execute("INSERT INTO eval_dataset_tags VALUES (?, 'model:m1')", (entry,))
        self.connection.execute(
            "INSERT INTO case_revisions (entry_id, version, action, why, evidence) VALUES (?, 1, 'added', ?, ?)",
            (entry, why, evidence),
        )
        self.connection.commit()


def late_score(store: Store, trace_id: str) -> float:
    """Seconds from a new score to its re-curated entry, committed."""
    started = time.perf_counter()

    def work(connection: Connection) -> None:
        put_scores(connection, trace_id, [Score(name="late", value=0.0, source=ScoreSource.USER)])
        curate_traces(connection, POLICY, take_queued(connection))

    store.db.write(work)
    return time.perf_counter() - started


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--loop", type=int, default=10_000, help="how many of them the loop is given")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder))
        Store.open(settings).close()
        path = Path(folder) / "evergold.db"
        fill(path, options.traces)
        sample = list(trace_ids(options.loop))
        loop = Rate.of(len(sample), lambda: asyncio.run(Loop(path).run(sample)))
        store = Store.open(settings)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done: list[Changes] = []
        bulk = Rate.of(options.traces, lambda: done.append(in_bulk(store)))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        again = Rate.of(options.traces, lambda: done.append(in_bulk(store)))
        late = sorted(late_score(store, trace_id) for trace_id in sample[:200])
        store.close()
    print(f"  {options.traces:,} traces, {done[0].total:,} entries with revisions and tags; memory grew {grown:.0f} MB")
    print(f"  per-trace async loop   {loop}")
    print(f"  set-based              {bulk}")
    print(f"  again, {done[1].total} changes       {again}")
    print(
        f"  ratio                  {bulk.wall / loop.wall:>10.1f} x          {bulk.cpu / loop.cpu:>10.1f} x   (limit 15)"
    )
    print(f"  one late score        {late[100] * 1000:>12.2f} ms median, {late[190] * 1000:.2f} ms p95")


if __name__ == "__main__":
    main(sys.argv[1:])
