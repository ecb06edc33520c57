"""Measure the CPU that checks without a judge cost a trace, in batches as curation runs them.

python -m perf.checks_cost [TRACES]
"""

import sys
import tempfile
import time
from pathlib import Path

from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.store.checks import turns_of
from evergold.workspace import Workspace

DEFAULT = 5000
BATCH = 500
ROUNDS = 5


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(home=Path(folder), checks_builtin="true", checks_off=("grounded",))
        with Workspace.open(settings) as workspace:
            ids = [f"t{at:06}" for at in range(number)]
            workspace.intake.accept([_trace(at, one) for at, one in enumerate(ids)])
            costs = sorted(_cost(workspace, ids) for _ in range(ROUNDS))
    print(
        f"{number} traces: {costs[0]:.3f} ms of CPU a trace at best, {costs[ROUNDS // 2]:.3f} in the middle of {ROUNDS}"
    )


def _cost(workspace: Workspace, ids: list[str]) -> float:
    """CPU milliseconds a trace: reading the turns and running every check; writing the scores is not counted."""
    suite, started = workspace.live.checks.stage.suite, time.process_time()
    with workspace.store.db.read() as connection:
        for at in range(0, len(ids), BATCH):
            for _ in suite.run(turns_of(connection, ids[at : at + BATCH])):
                pass
    return (time.process_time() - started) * 1000 / len(ids)


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
    main()
