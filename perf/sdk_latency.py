"""What the SDK adds to a traced call: a trace with one span and one score around nothing, thousands of times.

    python -m perf.sdk_latency --calls 20000

Three times: with no server at the address, with a real server, and with an embedded workspace. Calls are spaced like an
app's, a few hundred microseconds apart, so that the background thread has its share of the processor as it would there.
Limit: 50 µs in the median, wherever the records go.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import evergold
from evergold.sdk import Client
from perf.measuring import print_figure

EVERGOLD = str(Path(sys.executable).parent / "evergold")
TEXT = "A question of ordinary length, as people ask them. " * 4
WORK_SECONDS = 0.0003
LIMIT_US = 50.0


def busy(seconds: float) -> None:
    """The app's own work: it keeps the processor, as parsing and templating do."""
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        pass


def one_call(eg: Client) -> float:
    """Seconds spent in the SDK by one traced call."""
    began = time.perf_counter()
    with eg.trace(input=TEXT, name="chat", session_id="s") as t:
        with t.span("search", kind="tool", input="query") as s:
            s.output = "found"
        t.output = TEXT
        t.score("check", 1.0)
    return time.perf_counter() - began


def measure(title: str, eg: Client, calls: int) -> None:
    for _ in range(200):
        one_call(eg)
    samples = []
    for _ in range(calls):
        samples.append(one_call(eg))
        busy(WORK_SECONDS)
    eg.close()
    samples.sort()
    middle, high = samples[len(samples) // 2] * 1e6, samples[int(len(samples) * 0.99)] * 1e6
    counts = eg.counts()
    print_figure(f"a traced call, {title}", middle, "µs", LIMIT_US)
    kept = f"delivered {counts.delivered}, spooled {counts.spooled}, dropped {counts.dropped} of {counts.recorded}"
    print(f"    p99 {high:.1f} µs, {kept}")


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=5_000)
    calls = parser.parse_args(arguments).calls
    with tempfile.TemporaryDirectory() as folder:
        measure("server down", evergold.connect("http://127.0.0.1:9", home=f"{folder}/down"), calls)
        command = [EVERGOLD, "--home", f"{folder}/served", "serve", "--port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONUNBUFFERED": "1"}) as server:
            assert server.stdout is not None
            url = server.stdout.readline().split()[1]
            measure("server up", evergold.connect(url, home=f"{folder}/up"), calls)
            server.terminate()
        measure("embedded workspace", evergold.connect(f"{folder}/embedded"), calls)


if __name__ == "__main__":
    main(sys.argv[1:])
