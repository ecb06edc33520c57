"""Bulk curation against the loop everybody writes first: fetch the scores of one trace, classify, insert, commit, next.

Both run on copies of the same data in one process, one after the other, on SQLite. The loop is given every advantage:
prepared statements on the bare driver, no network, commits that do not wait for the disk. What the two wrote for the
same traces is compared row by row: entries, tags and revisions.

    python -m perf.curate_bulk --traces 1000000 --loop 20000

Filling a million traces takes longer than curating them; `--data FOLDER` keeps them there for the next time.
"""

import argparse
import asyncio
import json
import random
import resource
import shutil
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Connection

from evergold.curate.classify import Verdict, classify
from evergold.curate.live import Curation
from evergold.model.policy import Policy, Tier
from evergold.model.trace import Score, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.curation import Changes, curate_traces, take_queued
from evergold.store.scores import put_scores
from evergold.store.values import now

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
    connection.execute("PRAGMA cache_size=-500000")
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
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
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
        self.body = json.dumps(
            {"provenance": {"source": "policy", "inclusion_probability": 1.0}}, separators=(",", ":")
        )

    async def run(self, ids: list[str]) -> int:
        made = 0
        for trace_id in ids:
            made += await self.curate(trace_id)
        return made

    async def curate(self, trace_id: str) -> int:
        rows = await asyncio.to_thread(self.scores, trace_id)
        found, held = await asyncio.to_thread(self.trace, trace_id)
        trace = Trace(id=trace_id, session_id=found[0], input=found[1], output=found[2], status=found[3])
        scores = [Score(name=name, value=value, source=ScoreSource(source)) for name, value, source in rows]
        verdict = classify(trace, scores, POLICY)
        if verdict.tier.entry_type is None or held is not None:
            return 0
        tags = {f"model:{found[4]}"} | {
            f"failed:{score.name}" for score in scores if score.source is ScoreSource.SYSTEM and score.value < 0.3
        }
        await asyncio.to_thread(self.add, trace, verdict, tags)
        return 1

    def scores(self, trace_id: str) -> list[tuple[str, float, str]]:
        query = "SELECT name, value, source FROM trace_scores WHERE trace_id = ? ORDER BY source, name"
        return self.connection.execute(query, (trace_id,)).fetchall()

    def trace(self, trace_id: str) -> tuple[tuple[str, str, str, str, str], int | None]:
        """The trace, and the entry it has already."""
        query = "SELECT session_id, input_text, output_text, status, model FROM traces WHERE id = ?"
        row: tuple[str, str, str, str, str] = self.connection.execute(query, (trace_id,)).fetchone()
        held = self.connection.execute(
            "SELECT id FROM eval_dataset WHERE trace_id = ? AND policy = ?", (trace_id, POLICY.name)
        ).fetchone()
        return row, held and held[0]

    def add(self, trace: Trace, verdict: Verdict, tags: set[str]) -> None:
        confirmed = verdict.tier is Tier.CONFIRMED
        said = "{}" if verdict.tier is Tier.FAILURE else json.dumps({"confirmed": confirmed}, separators=(",", ":"))
        moment = now()
        columns = (
            "trace_id, entry_type, input_text, output_text, metadata, dataset, case_id, body, session_id, policy, "
            "policy_rev, confirmed, created_at, updated_at"
        )
        entry = self.connection.execute(
            f"INSERT INTO eval_dataset ({columns}) VALUES ({', '.join('?' * 14)})",
            (
                *(trace.id, verdict.tier.entry_type, trace.input, trace.output, said, POLICY.dataset),
                *(f"{POLICY.name}:{trace.id}", self.body, trace.session_id, POLICY.name, POLICY.rev, confirmed),
                *(moment, moment),
            ),
        ).lastrowid
        self.connection.executemany("INSERT INTO eval_dataset_tags VALUES (?, ?)", [(entry, tag) for tag in tags])
        scores = [{"name": s.name, "source": s.source, "value": s.value} for s in verdict.deciding]
        evidence = {"was": "none", "is": verdict.tier.value, "scores": scores}
        self.connection.execute(
            "INSERT INTO case_revisions (entry_id, version, action, who, why, evidence, created_at) "
            "VALUES (?, 1, 'added', ?, ?, ?, ?)",
            (
                *(entry, f"policy {POLICY.label}", POLICY.explain(verdict.reason)),
                *(json.dumps(evidence, separators=(",", ":")), moment),
            ),
        )
        self.connection.commit()


def written(path: Path, ids: Sequence[str]) -> list[tuple[object, ...]]:
    """Everything that stands about these traces, but for when and under which number it was written."""
    connection = sqlite3.connect(path)
    query = """SELECT d.trace_id, d.entry_type, d.input_text, d.output_text, d.metadata, d.dataset, d.case_id, d.body,
        d.session_id, d.policy, d.policy_rev, d.confirmed, d.status, d.version, r.version, r.action, r.who, r.why,
        r.evidence, (SELECT group_concat(tag) FROM (SELECT tag FROM eval_dataset_tags WHERE dataset_id = d.id ORDER BY tag))
        FROM eval_dataset d JOIN case_revisions r ON r.entry_id = d.id WHERE d.trace_id = ?"""
    rows = [row for trace_id in ids for row in connection.execute(query, (trace_id,))]
    connection.close()
    return rows


def late_score(store: Store, trace_id: str) -> float:
    """Seconds from a new score to its re-curated entry, committed."""
    started = time.perf_counter()

    def work(connection: Connection) -> None:
        put_scores(connection, trace_id, [Score(name="late", value=0.0, source=ScoreSource.USER)])
        curate_traces(connection, POLICY, take_queued(connection))

    store.db.write(work)
    return time.perf_counter() - started


@contextmanager
def filled(count: int, kept: Path | None) -> Iterator[tuple[Path, Path]]:
    """Two copies of the same traces; `kept` is where they stay for the next time."""
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        source = (kept or Path(folder)) / f"{count}-traces.db"
        if not source.exists():
            home = Path(folder) / "new"
            home.mkdir()
            Store.open(Settings(home=home)).close()
            fill(home / "evergold.db", count)
            (home / "evergold.db").rename(source)
        homes = Path(folder) / "loop", Path(folder) / "bulk"
        for home in homes:
            home.mkdir()
            shutil.copyfile(source, home / "evergold.db")
        yield homes


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--loop", type=int, default=10_000, help="how many of them the loop is given")
    parser.add_argument("--data", type=Path, help="an existing folder where the filled database is kept")
    options = parser.parse_args(arguments)
    with filled(options.traces, options.data) as (loop_home, bulk_home):
        ids = sorted(trace_ids(options.traces))
        sample = ids[: options.loop]  # neighbours, as in a walk through all of them
        loop = Rate.of(len(sample), lambda: asyncio.run(Loop(loop_home / "evergold.db").run(sample)))
        store = Store.open(Settings(home=bulk_home))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        done: list[Changes] = []
        bulk = Rate.of(options.traces, lambda: done.append(in_bulk(store)))
        grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        same = written(loop_home / "evergold.db", sample) == written(bulk_home / "evergold.db", sample)
        again = Rate.of(options.traces, lambda: done.append(in_bulk(store)))
        late = sorted(late_score(store, trace_id) for trace_id in random.Random(9).sample(ids, 200))
        store.close()
    print(f"  {options.traces:,} traces, {done[0].total:,} entries with revisions and tags; memory grew {grown:.0f} MB")
    print(f"  per-trace async loop   {loop}")
    print(f"  set-based              {bulk}")
    print(f"  again, {done[1].total} changes       {again}")
    print(
        f"  ratio                  {bulk.wall / loop.wall:>10.1f} x          {bulk.cpu / loop.cpu:>10.1f} x   (limit 15)"
    )
    print(f"  rows of both           {'the same' if same else 'DIFFERENT'}")
    print(f"  one late score        {late[100] * 1000:>12.2f} ms median, {late[190] * 1000:.2f} ms p95")


if __name__ == "__main__":
    main(sys.argv[1:])
