"""Bulk curation against the loop everybody writes first: fetch the scores of one trace, classify, insert, commit, next.

Both run on copies of the same data, one after the other, on SQLite or on a PostgreSQL started for it. The loop is given every
advantage: prepared statements on the bare driver, no network, commits that do not wait for the
disk. What the two wrote for the same traces is compared row by row: entries, tags and revisions.
Contents are written after that, and measured apart.

    python -m perf.curate_bulk --traces 1000000 --loop 20000
    python -m perf.curate_bulk --postgres --traces 100000

Filling a million traces takes longer than curating them; `--data FOLDER` keeps those of SQLite there for the next time. CPU: of
this process and of PostgreSQL.
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
from typing import Any, NamedTuple

import psycopg
from sqlalchemy import Connection

from evergold.curate.classify import Verdict, classify
from evergold.curate.live import Curation
from evergold.model.policy import Policy, Tier
from evergold.model.trace import Score, ScoreSource, Trace
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.case.content import fill_contents
from evergold.store.database.rows import now
from evergold.store.trace.scores import put_scores
from evergold.store.verdict.curation import Changes, curate_traces, take_queued
from perf.postgres_intake import postgres_seconds
from tests.faults.postgres import own_database

POLICY = Policy()
TEXT = "A sentence of ordinary length, as people and models write them. " * 8
TRACES = "traces (id, session_id, name, input_text, output_text, model)"
SCORES = "trace_scores (trace_id, name, value, source, key)"
FILLED = "curate_filled"  # the database in PostgreSQL that is copied
COPIES = ("curate_loop", "curate_bulk")


def trace_ids(count: int) -> Iterator[str]:
    pick = random.Random(7)
    for _ in range(count):
        yield f"{pick.getrandbits(128):032x}"


def trace_rows(count: int) -> Iterator[tuple[str, ...]]:
    for n, trace_id in enumerate(trace_ids(count)):
        yield trace_id, f"s{n // 4}", "chat", f"{n} {TEXT}", TEXT, "m1"


def score_rows(count: int) -> Iterator[tuple[str | float, ...]]:
    """Three scores for each trace."""
    pick = random.Random(8)
    for trace_id in trace_ids(count):
        yield trace_id, "format", pick.choice([1.0, 0.95, 0.9, 0.85, 0.2]), "system", "a"
        yield trace_id, "grounded", pick.choice([1.0, 0.95, 0.9, 0.85, 0.6]), "system", "b"
        yield trace_id, "thumbs", pick.choice([1.0, 0.9, 0.5, 0.1]), pick.choice(["user", "llm_judge"]), "c"


def fill_sqlite(path: Path, count: int) -> None:
    """Write past our own intake: it is not what is measured here."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("PRAGMA cache_size=-500000")
    connection.executemany(f"INSERT INTO {TRACES} VALUES (?, ?, ?, ?, ?, ?)", trace_rows(count))
    connection.executemany(f"INSERT INTO {SCORES} VALUES (?, ?, ?, ?, ?)", score_rows(count))
    connection.commit()
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def fill_postgres(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for table, rows in ((TRACES, trace_rows(count)), (SCORES, score_rows(count))):
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
        connection.execute("VACUUM ANALYZE")


def in_bulk(store: Store) -> Changes:
    return Curation(store, [POLICY], detector=None).backfill()


class Copy(NamedTuple):
    """A copy of the filled database: as the loop's driver opens it, and as Evergold does."""

    database: Path | str
    settings: Settings

    def cpu_seconds(self) -> float:
        return time.process_time() + (0.0 if isinstance(self.database, Path) else sum(map(postgres_seconds, COPIES)))


@dataclass(frozen=True)
class Rate:
    """Traces a second, by the clock and by CPU time; the second one holds on a machine that others use too."""

    wall: float
    cpu: float

    @classmethod
    def of(cls, count: int, copy: Copy, work: Callable[[], object]) -> "Rate":
        cpu, wall = copy.cpu_seconds(), time.perf_counter()
        work()
        return cls(count / (time.perf_counter() - wall), count / (copy.cpu_seconds() - cpu))

    def __str__(self) -> str:
        return f"{self.wall:>10,.0f} traces/s   {self.cpu:>10,.0f} per CPU second"


def late_score(store: Store, trace_id: str) -> float:
    """Seconds from a new score to its re-curated entry, committed."""
    started = time.perf_counter()

    def work(connection: Connection) -> None:
        put_scores(connection, [(trace_id, Score(name="late", value=0.0, source=ScoreSource.USER))])
        curate_traces(connection, POLICY, take_queued(connection))

    store.db.write(work)
    return time.perf_counter() - started


@contextmanager
def on_sqlite(count: int, kept: Path | None) -> Iterator[tuple[Copy, Copy]]:
    """Two copies of the same traces; `kept` is where they stay for the next time."""
    with tempfile.TemporaryDirectory(dir=kept) as folder:
        source = (kept or Path(folder)) / f"{count}-traces.db"
        if not source.exists():
            home = Path(folder) / "new"
            home.mkdir()
            Store.open(Settings(home=home)).close()
            fill_sqlite(home / "evergold.db", count)
            (home / "evergold.db").rename(source)
        homes = Path(folder) / "loop", Path(folder) / "bulk"
        for home in homes:
            home.mkdir()
            shutil.copyfile(source, home / "evergold.db")
        yield Copy(homes[0] / "evergold.db", Settings()), Copy(homes[1] / "evergold.db", Settings(home=homes[1]))


@contextmanager
def on_postgres(count: int, kept: Path | None) -> Iterator[tuple[Copy, Copy]]:
    with (
        tempfile.TemporaryDirectory(dir=kept, ignore_cleanup_errors=True) as folder,
        own_database(Path(folder), FILLED) as url,
    ):
        Store.open(Settings(home=Path(folder), database_url=url)).close()
        fill_postgres(url, count)
        with psycopg.connect(url.replace(f"/{FILLED}?", "/postgres?"), autocommit=True) as admin:
            for name in COPIES:
                admin.execute(f"CREATE DATABASE {name} TEMPLATE {FILLED}")
        urls = [url.replace(f"/{FILLED}?", f"/{name}?") for name in COPIES]
        loop, bulk = (Copy(one, Settings(home=Path(folder), database_url=one)) for one in urls)
        yield loop, bulk


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--loop", type=int, default=10_000, help="how many of them the loop is given")
    parser.add_argument("--postgres", action="store_true", help="a PostgreSQL of its own instead of SQLite")
    parser.add_argument("--data", type=Path, help="an existing folder where the filled database is kept")
    options = parser.parse_args(arguments)
    with (on_postgres if options.postgres else on_sqlite)(options.traces, options.data) as (looped, curated):
        compare(looped, curated, sorted(trace_ids(options.traces)), options.loop)


def compare(looped: Copy, curated: Copy, ids: Sequence[str], size: int) -> None:
    sample = ids[:size]  # neighbours, as in a walk through all of them
    session = Session(looped.database)
    loop = Rate.of(len(sample), looped, lambda: asyncio.run(Loop(session, POLICY).run(sample)))
    store = Store.open(curated.settings)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    done: list[Changes] = []
    bulk = Rate.of(len(ids), curated, lambda: done.append(in_bulk(store)))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    other = Session(curated.database)
    same = written(session, sample) == written(other, sample)
    again = Rate.of(len(ids), curated, lambda: done.append(in_bulk(store)))
    # Contents are written after the tiers, and measured on a part: the others are written by the first who reads them.
    filled: list[int] = []
    fill = Rate.of(1, curated, lambda: filled.append(fill_contents(store.db, most=size)))
    late = sorted(late_score(store, trace_id) for trace_id in random.Random(9).sample(ids, 200))
    # Not before: the processor time of a session of PostgreSQL is no longer seen when it is closed.
    for one in (store, session, other):
        one.close()
    print(f"  {len(ids):,} traces, {done[0].total:,} entries with revisions and tags; memory grew {grown:.0f} MB")
    print(f"  per-trace async loop   {loop}")
    print(f"  set-based              {bulk}")
    print(f"  again, {done[1].total} changes       {again}")
    limit = 15 if isinstance(curated.database, Path) else 10
    ratios = f"{bulk.wall / loop.wall:>10.1f} x          {bulk.cpu / loop.cpu:>10.1f} x"
    print(f"  ratio                  {ratios}   (limit {limit})")
    print(f"  rows of both           {'the same' if same else 'DIFFERENT'}")
    each = f"{1000 / fill.wall / filled[0]:.2f} ms, {1000 / fill.cpu / filled[0]:.2f} ms of CPU a case"
    print(f"  contents written       {each} ({filled[0]:,} cases; goal 1)")
    print(f"  one late score        {late[100] * 1000:>12.2f} ms median, {late[190] * 1000:.2f} ms p95")


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
        metadata: dict[str, Any] = {} if verdict.tier is Tier.FAILURE else {"confirmed": confirmed}
        metadata |= {"evidence": verdict.evidence} if verdict.evidence else {}
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
        entries = [(row[:4], json.loads(row[4]), row[5:-1], _decided(row[-1])) for row in rows]
        found.append((entries, sorted(session.rows(tags, trace_id))))
    return found


def _decided(evidence: str) -> dict[str, Any]:
    """What decided a verdict; in which order scores were read says nothing."""
    said: dict[str, Any] = json.loads(evidence)
    return said | {"scores": sorted(said["scores"], key=lambda score: (score["source"], score["name"]))}


if __name__ == "__main__":
    main(sys.argv[1:])
