"""How fast traces go into an archive and come back, beside a bulk import of the same traces.

    python -m perf.archive                               # SQLite, 7 KB a trace
    python -m perf.archive --traces 1500 --words 960     # 50 KB a trace
    python -m perf.archive --postgres                    # a PostgreSQL started for it

Traces of several days are ingested from a file of JSON lines, archived and restored. Megabytes are those of that file; seconds
are CPU seconds of this process and, with `--postgres`, of those that serve the database, which are also given alone.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.postgres_intake import postgres_seconds
from tests.faults.postgres import own_database

DAYS = 5
WORDS = [
    "order",
    "refund",
    "late",
    "parcel",
    "account",
    "email",
    "change",
    "address",
    "thank",
    "when",
    "where",
    "total",
]


def a_trace(number: int, day: int, words: int, chance: random.Random) -> dict[str, Any]:
    texts = [" ".join(chance.choices(WORDS, k=words)) for _ in range(6)]
    moment = f"2026-01-{day + 1:02}T10:00:00Z"
    span: dict[str, Any] = {"id": "s1", "name": "chat", "kind": "llm", "input": texts[0], "output": texts[1]}
    span["metadata"] = {"attributes": {f"app.part.{index}": text for index, text in enumerate(texts[2:])}}
    return {
        "type": "trace",
        "id": f"t{number}",
        "input": texts[0],
        "output": texts[1],
        "started_at": moment,
        "spans": [span],
        "scores": [{"name": "ok", "value": 1.0}],
    }


class Clock:
    """CPU seconds of work: in all, and of those the database's."""

    def __init__(self, postmaster: int | None) -> None:
        self._postmaster = postmaster
        self.of_database: list[float] = []

    def timed(self, work: Callable[[], Any]) -> tuple[float, Any]:
        begun, there = time.process_time(), self._database()
        result = work()
        self.of_database.append(self._database() - there)
        return time.process_time() - begun + self.of_database[-1], result

    def _database(self) -> float:
        return 0.0 if self._postmaster is None else postgres_seconds(postmaster=self._postmaster)


@contextmanager
def _database(folder: Path, *, postgres: bool) -> Iterator[tuple[str, int | None]]:
    """The address of a database and the process that started its server; nothing of both for SQLite."""
    if not postgres:
        yield "", None
        return
    with own_database(folder) as url:
        yield url, int((folder / "data" / "postmaster.pid").read_text().split()[0])


def write_traces(path: Path, count: int, words: int) -> None:
    chance = random.Random(0)
    with path.open("w") as out:
        # One day after the other, as traffic comes.
        numbered = ((number, DAYS * number // count) for number in range(count))
        out.writelines(json.dumps(a_trace(number, day, words, chance)) + "\n" for number, day in numbered)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=120, help="of each of the six texts of a trace")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        _database(Path(folder), postgres=given.postgres) as (url, postmaster),
    ):
        clock = Clock(postmaster)
        home = Path(folder) / "own"
        home.mkdir()
        lines, archive = home / "traces.jsonl", home / "archive"
        write_traces(lines, given.traces, given.words)
        with Workspace.open(Settings(home=home / "home", checks_builtin="false", database_url=url)) as workspace:
            importing, _ = clock.timed(lambda: workspace.intake.ingest([lines]))
            # Words of old traces are known to the index, and have to be forgotten there.
            workspace.intake.index()
            # The libraries are loaded before: a second at the start is no part of a rate.
            pyarrow.array([""])
            moving, done = clock.timed(lambda: workspace.archives.move("1d", archive))
            days = sorted(path.name.removeprefix("day=") for path in archive.iterdir())
            back, count = clock.timed(lambda: sum(workspace.archives.restore(day, archive) for day in days))
        megabytes = lines.stat().st_size / 1e6
    print(f"{done.traces} traces, {megabytes:.1f} MB of JSON, {done.bytes / 1e6:.2f} MB in Parquet; {count} restored")
    print(f"bulk import  {given.traces / importing:8.0f} traces/s")
    for verb, seconds in (("archive", moving), ("restore", back)):
        rate = f"{given.traces / seconds:8.0f} traces/s  {megabytes / seconds:6.1f} MB/s of JSON a core"
        print(f"{verb:12} {rate}  {importing / seconds:6.2f} of the bulk import's speed")
    if given.postgres:
        imported, moved, restored = (seconds / given.traces * 1e6 for seconds in clock.of_database)
        print(f"of a trace in PostgreSQL: import {imported:.0f} µs, archive {moved:.0f} µs, restore {restored:.0f} µs")


if __name__ == "__main__":
    main()
