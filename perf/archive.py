"""How fast traces go into an archive, are searched and judged there, and come back, beside a bulk import of the same traces.

Traces of several days are ingested from a file of JSON lines, archived and restored, on SQLite. Megabytes are those of the JSON
that the archive holds; seconds are CPU seconds of this process.
"""

import argparse
import json
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from evergold.settings import Settings
from evergold.store.text_index.words import learn_words
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace
from evergold.workspace.archive_days import ArchivedDays

DAYS = 5
WORDS = (
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
)


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


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = time.process_time()
    result = work()
    return time.process_time() - begun, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=10_000)
    parser.add_argument("--words", type=int, default=120, help="of each of the six texts of a trace")
    given = parser.parse_args()
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        lines = home / "traces.jsonl"
        with lines.open("w") as out:
            # One day after the other, as traffic comes.
            numbered = ((number, DAYS * number // given.traces) for number in range(given.traces))
            out.writelines(json.dumps(a_trace(number, day, given.words, chance)) + "\n" for number, day in numbered)
        with Workspace.open(Settings(home=home / "home", checks_builtin="false")) as workspace:
            importing, _ = timed(lambda: workspace.intake.ingest([lines]))
            # Words of old traces are known to the index, and have to be forgotten there.
            while workspace.store.db.write(learn_words):
                pass
            # The libraries are loaded before: a second at the start is no part of a rate.
            workspace.archives.move("9999d", home / "none")
            moving, done = timed(lambda: workspace.archives.move("1d", home / "archive"))
            days = ArchivedDays(home / "archive")
            workspace.archives.search(days.source, TraceFilter(search="nowhere", since="2026-01-05"), 10)
            searching, _ = timed(lambda: workspace.archives.search(days.source, TraceFilter(search="nowhere"), 10))
            judging, _ = timed(lambda: workspace.archived_work.dry_run(days))
            names = sorted(path.name.removeprefix("day=") for path in (home / "archive").iterdir())
            back, count = timed(lambda: sum(workspace.archives.restore(day, home / "archive") for day in names))
    megabytes = done.json_bytes / 1e6
    print(f"{done.traces} traces, {megabytes:.0f} MB of JSON, {done.bytes / 1e6:.0f} MB in Parquet; {count} restored")
    print(f"bulk import  {given.traces / importing:8.0f} traces/s")
    print(f"archive      {given.traces / moving:8.0f} traces/s  {megabytes / moving:6.1f} MB/s of JSON a core")
    print(f"search       {given.traces / searching:8.0f} traces/s  {megabytes / searching:6.1f} MB/s of JSON")
    print(f"curate       {given.traces / judging:8.0f} traces/s  judged in the archive, as a dry run")
    print(f"restore      {given.traces / back:8.0f} traces/s  {importing / back:6.2f} of the bulk import's speed")


if __name__ == "__main__":
    main()
