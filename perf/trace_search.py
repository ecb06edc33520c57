"""Listing and searching a million traces: the 95th percentile of what the Traces page asks for.

    python -m perf.trace_search --traces 1000000

Limit: 100 ms. The rows are written straight into the tables, so the word index and every other index are the real ones.
`--data FOLDER` keeps the filled database there for the next time. The first question is asked of a workspace just opened.
"""

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from evergold.model.trace import TraceStatus
from evergold.settings import Settings
from evergold.store.rows import insert_rows
from evergold.store.trace_filter import TraceFilter
from evergold.workspace import Workspace
from perf.otlp_load import WORDS

LIMIT_MS = 100.0
RARE = 50_000  # distinct rare words
COLUMNS = ("id", "session_id", "user_id", "name", "input_text", "output_text", "status", "model", "started_at")
BATCH = 10_000


def fill(workspace: Workspace, traces: int) -> None:
    source = random.Random(1)
    begin = datetime(2026, 1, 1, tzinfo=UTC)

    def row(number: int) -> tuple[str, ...]:
        question = f"{' '.join(source.choices(WORDS, k=20))} w{source.randrange(RARE)}"
        return (
            f"{source.getrandbits(128):032x}",
            f"session-{number // 5}",
            f"user-{number % 10_000}",
            source.choice(("chat", "search", "plan")),
            question,
            " ".join(source.choices(WORDS, k=40)),
            "failed" if source.random() < 0.01 else "completed",
            source.choice(("small-1", "large-1")) if source.random() > 0.001 else "rare-1",
            (begin + timedelta(seconds=number)).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        )

    for start in range(0, traces, BATCH):
        rows = [row(number) for number in range(start, min(start + BATCH, traces))]
        workspace.store.db.write(partial(insert_rows, table="traces", columns=COLUMNS, rows=rows))


def questions(traces: int) -> dict[str, Callable[[random.Random], TraceFilter]]:
    return {
        "newest": lambda _: TraceFilter(),
        "status=failed": lambda _: TraceFilter(status=TraceStatus.FAILED),
        "rare model": lambda _: TraceFilter(model="rare-1"),
        "session": lambda r: TraceFilter(session_id=f"session-{r.randrange(traces // 5)}"),
        "user": lambda r: TraceFilter(user_id=f"user-{r.randrange(10_000)}"),
        "rare word": lambda r: TraceFilter(search=f"w{r.randrange(RARE)}"),
        "common word": lambda r: TraceFilter(search=r.choice(WORDS)),
        "two common words": lambda r: TraceFilter(search=" ".join(r.sample(WORDS, 2))),
        "common and rare": lambda r: TraceFilter(search=f"{r.choice(WORDS)} w{r.randrange(RARE)}"),
        "beginning of a word": lambda r: TraceFilter(search=f"the w{r.randrange(100)}"),
        "word and failed": lambda r: TraceFilter(search=r.choice(WORDS), status=TraceStatus.FAILED),
    }


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--asks", type=int, default=40)
    parser.add_argument("--data", type=Path, help="an existing folder where the filled database is kept")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        home = (chosen.data or Path(folder)) / f"{chosen.traces}-to-search"
        if not home.exists():
            home.mkdir()
            with Workspace.open(Settings(home=home)) as workspace:
                fill(workspace, chosen.traces)
                workspace.intake.page(TraceFilter(search="words"), limit=1)  # learns them, as intake does on its way
        ask(home, chosen.traces, chosen.asks)


def ask(home: Path, traces: int, asks: int) -> None:
    source = random.Random(2)
    with Workspace.open(Settings(home=home)) as workspace:
        intake = workspace.intake  # a server has it open before the first question comes
        began = time.perf_counter()
        intake.page(TraceFilter(), limit=50)
        print(f"  the first page of all  {(time.perf_counter() - began) * 1000:11.1f} ms")
        for name, make in questions(traces).items():
            took = []
            for _ in range(asks):
                wanted = make(source)
                began = time.perf_counter()
                intake.page(wanted, limit=50)
                took.append((time.perf_counter() - began) * 1000)
            took.sort()
            print(
                f"  {name:<22} p50 {took[len(took) // 2]:7.1f} ms   p95 {took[int(len(took) * 0.95)]:7.1f} ms",
                flush=True,
            )
        print(f"  over {traces} traces; limit {LIMIT_MS:.0f} ms (p95)")


if __name__ == "__main__":
    main(sys.argv[1:])
