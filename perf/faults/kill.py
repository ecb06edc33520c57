"""kill: end the server with SIGKILL in the middle of intake, again and again; nothing acknowledged may be lost or doubled."""

import random
import signal
import threading
from pathlib import Path

from perf.faults.server import JSON, PATIENCE, Server, Summary, a_request
from perf.faults.stored import check_stored

SENDERS = 4


def run(home: Path, times: int, seed: int, database_url: str = "") -> Summary:
    source = random.Random(seed)
    summary = Summary()
    server = Server(home, database_url)
    for _ in range(times):
        server.start()
        summary.memory_mb.append(server.memory_mb())
        _send_until_killed(server, source, summary)
    check_stored(home, database_url, summary)
    summary.notes.append(f"{times} kills, seed {seed}")
    return summary


def _send_until_killed(server: Server, source: random.Random, summary: Summary) -> None:
    lock, dead, answered = threading.Lock(), threading.Event(), threading.Event()
    seeds = [source.random() for _ in range(SENDERS)]

    def send(seed: float) -> None:
        own = random.Random(seed)
        while not dead.is_set():
            ids = [f"{own.getrandbits(128) | 1:032x}" for _ in range(own.randint(1, 20))]
            counted = Summary()
            status = server.post("/v1/traces", a_request(ids, "word " * own.randint(1, 500)), JSON, counted)
            with lock:
                summary.statuses += counted.statuses
                summary.seconds += counted.seconds
                if status == "200":
                    answered.set()
                    summary.acknowledged.update(ids)

    threads = [threading.Thread(target=send, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    answered.wait(PATIENCE)  # the port is open before the server answers; a kill before that proves nothing
    dead.wait(source.uniform(0.0, 0.5))
    server.end(signal.SIGKILL)
    dead.set()
    for thread in threads:
        thread.join()
