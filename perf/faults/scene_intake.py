"""Intake over HTTP by a real server that is killed while several senders send."""

import random
import signal
import threading

from perf.faults.killing import Room
from perf.faults.server import JSON, PATIENCE, Server, Summary, a_request
from perf.faults.stored import check_stored

SENDERS = 4


class Intake:
    def __init__(self, room: Room) -> None:
        self._room = room
        self._server = Server(room.home, room.database_url)

    def kill(self, source: random.Random, summary: Summary) -> None:
        """Start the server, send until it is killed, and note what was acknowledged."""
        self._server.start()
        summary.memory_mb.append(self._server.memory_mb())
        answered, dead = threading.Event(), threading.Event()
        counts = [Summary() for _ in range(SENDERS)]
        seeds = [source.random() for _ in range(SENDERS)]
        threads = [
            threading.Thread(target=self._send, args=(random.Random(seed), own, answered, dead))
            for seed, own in zip(seeds, counts, strict=True)
        ]
        for thread in threads:
            thread.start()
        answered.wait(PATIENCE)  # the port is open before the server answers; a kill before that proves nothing
        dead.wait(source.uniform(0.0, 0.5))
        self._server.end(signal.SIGKILL)
        dead.set()
        for thread, own in zip(threads, counts, strict=True):
            thread.join()
            summary.add(own)

    def _send(self, own: random.Random, counted: Summary, answered: threading.Event, dead: threading.Event) -> None:
        while not dead.is_set():
            ids = [f"{own.getrandbits(128) | 1:032x}" for _ in range(own.randint(1, 20))]
            body = a_request(ids, "word " * own.randint(1, 500))
            if self._server.post("/v1/traces", body, JSON, counted) == "200":
                answered.set()
                counted.acknowledged.update(ids)

    def check(self, summary: Summary) -> None:
        check_stored(self._room.home, self._room.database_url, summary, alone=False)
