"""The process in which a server's run is worked on; started by `bench/supervise.py`, which sends an `Order`.

It gives up everything that would let it harm others: it is the first to go when memory is short, it may not hold more than
`benchmark.memory_mb`, and it ends with its server.
"""

import asyncio
import ctypes
import os
import pickle
import resource
import signal
import sys
import threading
from contextlib import suppress
from pathlib import Path

from evergold.bench.overrun import Slot
from evergold.bench.supervise import Order
from evergold.model.run import RunStatus
from evergold.workspace import Workspace

PR_SET_PDEATHSIG = 1
TICK_SECONDS = 0.5


def main() -> None:
    """Work on the run of the order until it ends, or until a SIGTERM puts it back into the queue."""
    # The order comes from the parent process over a pipe, never from outside.
    order: Order = pickle.load(sys.stdin.buffer)
    # End when the server ends, however it does: its lease is free then, and another server may take the run.
    if sys.platform == "linux":
        # The kernel kills this process with its parent, also when the parent is killed without a chance to say so.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have ended before the line above took effect.
    if os.getppid() != order.parent:
        os._exit(1)
    # Elsewhere than on Linux, the end of the parent shows as the end of the pipe.
    threading.Thread(target=_wait_for_end_of_input, daemon=True).start()
    megabytes = order.settings.benchmark_memory_mb
    with suppress(OSError):
        # The largest value: the kernel ends this process before the server that started it.
        Path("/proc/self/oom_score_adj").write_text("1000")
    size = megabytes * 1024 * 1024
    with suppress(ValueError, OSError):
        # Data only: an address-space limit would also count libraries that are mapped and never touched.
        resource.setrlimit(resource.RLIMIT_DATA, (size, size))
    with Workspace.open(order.settings) as workspace, suppress(asyncio.CancelledError):
        asyncio.run(_work(workspace, order, Slot(order.slot)))


async def _work(workspace: Workspace, order: Order, slot: Slot) -> None:
    run = workspace.bench.get(order.run_id)
    work = asyncio.ensure_future(workspace.bench.execute(run, order.owner, RunStatus.QUEUED, slot))
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, work.cancel)
    while not work.done():
        slot.show()
        await asyncio.wait([work], timeout=TICK_SECONDS)
    await work


def _wait_for_end_of_input() -> None:
    """Read past Python's buffer, whose lock would be in the way of an orderly end."""
    while os.read(sys.stdin.fileno(), 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
