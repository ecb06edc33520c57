"""outage: the database fails while requests come; each is answered, nothing acknowledged is lost, and the next one works.

SQLite: another program holds the lock; the disk is full; one of two servers is killed. PostgreSQL: restarted as after a crash;
paused with SIGSTOP; refusing connections; full; one of two servers killed. At the end SIGTERM while the database is away.
"""

import random
import signal
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.postgres import Postgres, filled, small_disk
from tests.faults.server import JSON, Server, Summary, a_request, check_stored

SENDERS = 6
REQUESTS = 2  # of each sender during a fault
DISK_MB = 160
RECOVERY_SECONDS = 15.0  # after the end of a fault
KILL_SECONDS = 0.6  # at most, between the first request and the kill
ANSWER_SECONDS = 15.0  # ten, and what a busy machine adds

FAULTS = ("locked", "full", "restarted", "paused", "refusing", "killed")

Fault = Callable[[], AbstractContextManager[None]]


@dataclass
class Outage:
    """A server, what is sent to it, and what became of it."""

    server: Server
    source: random.Random
    summary: Summary
    ids: threading.Lock = field(default_factory=threading.Lock)
    kills: Counter[str] = field(default_factory=Counter)  # of the server that was there, and of the one beside it

    def one(self, server: Server | None = None) -> str:
        with self.ids:
            ids = [f"{self.source.getrandbits(128) | 1:032x}" for _ in range(5)]
        own = Summary()
        status = (server or self.server).post("/v1/traces", a_request(ids, "word " * 3000), JSON, own)
        with self.ids:
            self.summary.add(own)
            if status == "200":
                self.summary.acknowledged.update(ids)
        return status

    def during(self, name: str, fault: Fault) -> None:
        """Send while the fault lasts; then wait for the first request that is stored."""
        with fault():
            threads = [threading.Thread(target=self._several) for _ in range(SENDERS)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        began = time.perf_counter()
        while (status := self.one()) != "200" and time.perf_counter() - began < RECOVERY_SECONDS:
            time.sleep(0.1)
        if status != "200":
            self.summary.problems.append(f"{name}: no recovery within {RECOVERY_SECONDS:.0f} s")
        self.summary.notes.append(f"{name}: works again {time.perf_counter() - began:.1f} s after its end")
        self.summary.memory_mb.append(self.server.memory_mb())

    def until(self, dead: threading.Event, server: Server) -> None:
        """Send to this server until the kill, so that it meets requests under way."""
        while not dead.is_set():
            self.one(server)

    def _several(self) -> None:
        for _ in range(REQUESTS):
            self.one()


def run(folder: Path, rounds: int, seed: int, kinds: Sequence[str] = (), only: Sequence[str] = ()) -> Summary:
    """Go through the faults of each kind of database (`sqlite`, `postgresql`) so often."""
    summary = Summary()
    for kind in kinds or ("sqlite", "postgresql"):
        own = Summary()
        with _database(kind, folder) as (home, url, faults):
            _go_through(Outage(Server(home, url), random.Random(seed), own), home, url, (rounds, faults, only))
        summary.add(own)
        summary.lost, summary.doubled = summary.lost + own.lost, summary.doubled + own.doubled
        summary.half += own.half
        summary.memory_mb += own.memory_mb
        summary.notes += [f"{kind}: {note}" for note in own.notes]
        summary.problems += [f"{kind}: {problem}" for problem in own.problems]
    if summary.seconds and max(summary.seconds) > ANSWER_SECONDS:
        summary.problems.append(f"one answer took {max(summary.seconds):.1f} s")
    return summary


def _go_through(outage: Outage, home: Path, url: str, plan: tuple[int, Mapping[str, Fault], Sequence[str]]) -> None:
    rounds, faults, only = plan
    chosen = {name: fault for name, fault in faults.items() if not only or name in only}
    outage.server.start()
    outage.one()
    for _ in range(rounds):
        for name, fault in chosen.items():
            outage.during(name, fault)
        if not only or "killed" in only:
            _one_of_two_killed(outage, home, url)
    if outage.kills:
        shown = ", ".join(f"{number} of the {name} server" for name, number in sorted(outage.kills.items()))
        outage.summary.notes.append(f"kills: {shown}")
    if last := chosen.get("locked") or chosen.get("paused"):
        with last():
            outage.one()
            outage.summary.notes.append(f"SIGTERM meanwhile: ended in {outage.server.end():.1f} s")
    else:
        outage.server.end()
    check_stored(home, url, outage.summary)


def _one_of_two_killed(outage: Outage, home: Path, url: str) -> None:
    """Kill one of two servers on the same database, chosen by chance, while both are sent to; the other one goes on."""
    other = Server(home, url)
    other.start()
    outage.one(other)
    pair = [outage.server, other]
    # The moment is drawn too: an early kill meets requests that are read, a later one transactions and curation.
    moment = outage.source.uniform(0, KILL_SECONDS)
    outage.source.shuffle(pair)
    outage.server, killed = pair
    dead = threading.Event()
    threads = [threading.Thread(target=outage.until, args=(dead, server)) for server in pair * SENDERS]
    for thread in threads:
        thread.start()
    time.sleep(moment)
    killed.end(signal.SIGKILL)
    dead.set()
    for thread in threads:
        thread.join()
    outage.kills["older" if killed is not other else "newer"] += 1
    if outage.one() != "200":
        outage.summary.problems.append("one server was killed, and the other one does not work")


@contextmanager
def _database(kind: str, folder: Path) -> Iterator[tuple[Path, str, dict[str, Fault]]]:
    """A workspace on this kind of database, and its faults."""
    if kind == "sqlite":
        home = folder / "sqlite"
        with small_disk(home, DISK_MB) as bounded:
            faults: dict[str, Fault] = {"locked": lambda: _locked(home)}
            yield home, "", {**faults, "full": lambda: filled(home)} if bounded else faults
        return
    with ExitStack() as stack:
        # Not in the campaign's folder: PostgreSQL runs as another user, which must reach it.
        place = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True))
        )
        postgres = Postgres(place)
        stack.callback(postgres.close)
        named: dict[str, Fault] = {
            "restarted": lambda: _restarted(postgres),
            "paused": postgres.paused,
            "refusing": postgres.refusing,
        }
        yield folder / "postgresql", postgres.url, {**named, "full": postgres.full} if postgres.is_bounded else named


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    connection = sqlite3.connect(home / "evergold.db", isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


@contextmanager
def _restarted(postgres: Postgres) -> Iterator[None]:
    restart = threading.Thread(target=postgres.restart)
    restart.start()
    yield
    restart.join()
