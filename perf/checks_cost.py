"""Measure what checks without a judge cost a trace: the checks alone, and a backfill beside a loop over single traces.

    python -m perf.checks_cost [TRACES]
    python -m perf.checks_cost [TRACES] --postgres      # a PostgreSQL started for it

The loop does what a backfill does, one trace and one commit at a time. `again` replaces every score, as after a change of all
checks. CPU: of this process and of PostgreSQL.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from sqlalchemy import Connection

from evergold.checks.stage import CheckStage
from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.checks import turns_of
from evergold.store.queues import enqueue
from evergold.workspace import Workspace
from perf.faults.postgres import own_database
from perf.postgres_intake import postgres_seconds

DEFAULT = 5000
BATCH = 500
ROUNDS = 5
NAME = "checked"  # the database in PostgreSQL


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="?", type=int, default=DEFAULT)
    parser.add_argument("--loop", type=int, default=500, help="how many of them the loop is given")
    parser.add_argument("--postgres", action="store_true", help="a PostgreSQL of its own instead of SQLite")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder, ExitStack() as stack:
        url = stack.enter_context(own_database(Path(folder), NAME)) if chosen.postgres else ""
        settings = Settings(home=Path(folder), database_url=url, checks_builtin="true", checks_off=("grounded",))
        with Workspace.open(settings) as workspace:
            ids = [f"t{at:06}" for at in range(chosen.traces)]
            workspace.intake.accept([_trace(at, one) for at, one in enumerate(ids)])
            _measure(workspace, ids, chosen.loop)


def _measure(workspace: Workspace, ids: Sequence[str], size: int) -> None:
    costs = sorted(_alone(workspace, ids) for _ in range(ROUNDS))
    middle = costs[ROUNDS // 2]
    print(f"{len(ids)} traces: {costs[0]:.3f} ms of CPU a trace at best, {middle:.3f} in the middle of {ROUNDS}")
    stage = workspace.live.checks.stage
    loop = _cost(size, lambda: _one_by_one(workspace, stage, ids[:size]))
    bulk = _cost(len(ids), lambda: stage.backfill(everything=True))
    workspace.store.db.write(_make_stale)
    again = _cost(len(ids), lambda: stage.backfill(everything=True))
    for name, (cpu, wall) in {"one by one": loop, "backfill": bulk, "again": again}.items():
        print(f"  {name:12} {cpu:7.3f} ms of CPU a trace, {wall:7.3f} ms by the clock")
    print(f"  ratio        {loop[0] / bulk[0]:7.1f} x by CPU, {loop[1] / bulk[1]:7.1f} x by the clock")


def _cost(count: int, work: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds a trace, of CPU and by the clock."""
    cpu, wall = _cpu_seconds(), time.perf_counter()
    work()
    return (_cpu_seconds() - cpu) * 1000 / count, (time.perf_counter() - wall) * 1000 / count


def _cpu_seconds() -> float:
    return time.process_time() + postgres_seconds(NAME)


def _alone(workspace: Workspace, ids: Sequence[str]) -> float:
    """CPU milliseconds a trace: reading the turns and running every check; writing the scores is not counted."""
    suite = workspace.live.checks.stage.suite

    def run() -> None:
        with workspace.store.db.read() as connection:
            for at in range(0, len(ids), BATCH):
                for _ in suite.run(turns_of(connection, ids[at : at + BATCH])):
                    pass

    return _cost(len(ids), run)[0]


def _one_by_one(workspace: Workspace, stage: CheckStage, ids: Iterable[str]) -> None:
    def check(connection: Connection, trace_id: str) -> None:
        _, changed = stage.put(connection, [trace_id])
        if changed:
            enqueue(connection, [trace_id])

    for trace_id in ids:
        workspace.store.db.write(partial(check, trace_id=trace_id))


def _make_stale(connection: Connection) -> None:
    """Let every score be of an earlier version of its check."""
    connection.exec_driver_sql("UPDATE trace_scores SET version = 'earlier'")


def _trace(at: int, trace_id: str) -> Trace:
    minutes = at % 5
    return Trace(
        id=trace_id,
        session_id=f"s{at // 5}",
        started_at=f"2026-01-{1 + at % 28:02}T10:{minutes:02}:00Z",
        input=f"How long does order {at} take to Lisbon, and may I change the address afterwards?",
        output=f"Order {at} takes three to five working days to Lisbon. You can change the address until it is sent, "
        "under My orders. We write to you when it leaves the warehouse.",
    )


if __name__ == "__main__":
    main(sys.argv[1:])
