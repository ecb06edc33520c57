"""upgrade: two versions on one filled PostgreSQL under requests: the older serves, the newer migrates and joins.

Without a commit the older version is today's, and the two after it add a column and remove it again; the first must refuse
what the last one has migrated. With `--commit` the older one is of an earlier commit, and today's program takes its tables over.
"""

import json
import random
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg

from perf.faults.filling import fill
from perf.faults.lock_watch import locks_watched
from perf.faults.postgres import own_database
from perf.faults.programs import TODAY, Program, earlier, later
from perf.faults.server import JSON, Server, Summary, a_request

ADD = "ALTER TABLE traces ADD COLUMN coming TEXT NOT NULL DEFAULT 'later'"
REMOVE = "ALTER TABLE traces DROP COLUMN coming"
CASE = "case "  # before the id of an acknowledged verdict
LONGEST_SECONDS = 5.0  # that a request may wait
CONVERTED_SECONDS = 300.0
TOGETHER_SECONDS = 10.0  # in which both versions serve


@dataclass
class Traffic:
    """Requests to every server that is up: traces, lists, cases with a verdict, checks. What became of them is counted."""

    summary: Summary
    seed: int
    servers: list[Server] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    longest: dict[str, float] = field(default_factory=dict)

    def run(self, work: Callable[[Server, random.Random, Summary], str]) -> None:
        source = random.Random(f"{self.seed} {work.__name__}")
        while not self.ended.is_set():
            for server in list(self.servers):
                own = Summary()
                kind = work(server, source, own)
                self._note(own, kind)

    def _note(self, own: Summary, kind: str) -> None:
        with self.lock:
            self.summary.add(own)
            self.longest[kind] = max(self.longest.get(kind, 0.0), *own.seconds)
            for status in own.statuses:
                problem = f"{kind}: answered {status}"
                if status[0] != "2" and problem not in self.summary.problems:
                    self.summary.problems.append(problem)

    def phase(self, name: str) -> None:
        """Note the longest requests since the last phase."""
        with self.lock:
            slow = ", ".join(f"{kind} {seconds:.2f} s" for kind, seconds in sorted(self.longest.items()))
            self.summary.notes.append(f"{name}; longest requests meanwhile: {slow}")
            if max(self.longest.values(), default=0.0) > LONGEST_SECONDS:
                self.summary.problems.append(f"{name}: a request took longer than {LONGEST_SECONDS:.0f} s")
            self.longest.clear()


def send_traces(server: Server, source: random.Random, own: Summary) -> str:
    ids = [f"{source.getrandbits(128) | 1:032x}" for _ in range(5)]
    if server.post("/v1/traces", a_request(ids, "word " * 300), JSON, own) == "200":
        own.acknowledged.update(ids)
    return "write"


def list_traces(server: Server, source: random.Random, own: Summary) -> str:
    with server.connection() as sender:
        sender.send("GET", "/api/v1/traces?limit=50", None, {}, own)
        sender.send("GET", f"/api/v1/traces?limit=50&user_id=u{source.randrange(9973)}", None, {}, own)
    time.sleep(0.1)  # a page is read before the next
    return "list"


def review(server: Server, source: random.Random, own: Summary) -> str:
    """Write a case and approve it."""
    case = {"dataset": "reviewed", "input": f"Where is order {source.getrandbits(64)}?", "expected": "Here."}
    decision = json.dumps({"version": 1, "verdict": "approve"}).encode()
    with server.connection() as sender:
        if sender.post("/api/v1/cases", json.dumps(case).encode(), JSON, own) == "201":
            name = json.loads(sender.body)["id"]
            if sender.post(f"/api/v1/decisions?dataset=reviewed&id={name}", decision, JSON, own) == "200":
                own.acknowledged.add(CASE + name)
    time.sleep(0.2)
    return "review"


def check(server: Server, source: random.Random, own: Summary) -> str:
    """Run the checks over one of the traces that were there, and curate it."""
    number = source.randrange(1, 1000)
    with psycopg.connect(server.env["EVERGOLD_DATABASE_URL"]) as connection:
        ident = connection.execute("SELECT id FROM traces ORDER BY seq LIMIT 1 OFFSET %s", (number,)).fetchone()
    if ident is not None:
        server.post(f"/api/v1/traces/{ident[0]}/curate", b"", JSON, own)
    time.sleep(0.2)
    return "check"


@contextmanager
def flowing(traffic: Traffic) -> Iterator[None]:
    threads = [threading.Thread(target=traffic.run, args=(one,)) for one in (send_traces, list_traces, review, check)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        traffic.ended.set()
        for thread in threads:
            thread.join()


@dataclass
class Upgrade:
    """One upgrade from a version to the next, on a database that holds traces."""

    home: Path
    url: str
    traffic: Traffic
    ending: ExitStack

    def migrate(self, program: Program) -> None:
        began = time.perf_counter()
        done = program.run(self.home, self.url, "db", "status")
        if done.returncode:
            self.traffic.summary.problems.append(f"{program.name} did not migrate: {done.stderr.strip()}")
        self.traffic.phase(f"migrated to {program.head} in {time.perf_counter() - began:.1f} s")

    def start(self, program: Program) -> Server:
        server = program.server(self.home, self.url)
        server.start()
        assert server.process is not None
        self.ending.callback(server.process.kill)  # whatever goes wrong; one that has ended is left alone
        self.traffic.servers.append(server)
        return server

    def end(self, server: Server) -> None:
        self.traffic.servers.remove(server)
        time.sleep(1.0)  # requests under way are answered; a load balancer waits as well
        server.end(signal.SIGTERM)

    def converted(self) -> None:
        """Wait until the spans lie in partitions."""
        began = time.perf_counter()
        with psycopg.connect(self.url, autocommit=True) as connection:
            query = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'spans'::regclass"
            while not (connection.execute(query).fetchone() or (0,))[0]:
                if time.perf_counter() - began > CONVERTED_SECONDS:
                    self.traffic.summary.problems.append("spans were not turned into partitions")
                    return
                time.sleep(0.05)
        self.traffic.phase(f"spans in partitions {time.perf_counter() - began:.1f} s after the newer server started")

    def opens(self, program: Program, *, works: bool) -> None:
        """Open the database once more with a program, as after a restart; one that cannot work on it says so in one line."""
        done = program.run(self.home, self.url, "db", "status")
        said = done.stderr.strip()
        if (done.returncode == 0) != works or (not works and (program.head not in said or len(said.splitlines()) != 1)):
            self.traffic.summary.problems.append(f"{program.name} opened again: exit {done.returncode}, {said!r}")
        self.traffic.summary.notes.append(f"program of {program.head} opens it again: {said or 'works'}")


def run(home: Path, traces: int, seed: int, commit: str = "") -> Summary:
    summary = Summary()
    with ExitStack() as stack:
        room = stack.enter_context(tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True))
        url = stack.enter_context(own_database(Path(room)))
        traffic = Traffic(summary, seed)
        upgrade = Upgrade(home, url, traffic, stack)
        _upgraded(upgrade, traces, _programs(home, commit), knows_the_rule=not commit)
        _check_stored(url, summary)
    return summary


def _check_stored(url: str, summary: Summary) -> None:
    """Count what was acknowledged and is not there, and traces whose one span is missing or there twice."""
    with psycopg.connect(url) as connection:
        spans: dict[str, int] = dict(
            connection.execute(
                "SELECT t.id, count(s.id) FROM traces t LEFT JOIN spans s ON s.trace_seq = t.seq WHERE t.id = ANY(%s) GROUP BY 1",
                (list(summary.acknowledged),),
            ).fetchall()
        )
        decided = connection.execute("SELECT case_id FROM eval_dataset WHERE review = 'validated'").fetchall()
    known = {*spans, *(CASE + name for (name,) in decided)}
    summary.lost += len(summary.acknowledged - known)
    summary.half += sum(number == 0 for number in spans.values())
    summary.doubled += sum(number > 1 for number in spans.values())


def _programs(home: Path, commit: str) -> list[Program]:
    if commit:
        return [earlier(home / "earlier", commit), TODAY]
    adds = later(home / "adds", TODAY, ADD)
    return [TODAY, adds, later(home / "removes", adds, REMOVE, removes=adds.head)]


def _upgraded(upgrade: Upgrade, traces: int, programs: Sequence[Program], *, knows_the_rule: bool) -> None:
    older, newer, *last = programs
    traffic = upgrade.traffic
    older.run(upgrade.home, upgrade.url, "db", "status")
    began = time.perf_counter()
    fill(upgrade.url, traces)
    traffic.summary.notes.append(f"{traces:,} traces in {time.perf_counter() - began:.0f} s; the older is {older.name}")
    with locks_watched(upgrade.url) as watch:
        first = upgrade.start(older)
        with flowing(traffic):
            time.sleep(TOGETHER_SECONDS)
            traffic.phase("the older alone")
            upgrade.migrate(newer)
            second = upgrade.start(newer)
            upgrade.converted()
            time.sleep(TOGETHER_SECONDS)
            traffic.phase("both side by side")
            upgrade.end(first)
            upgrade.opens(older, works=knows_the_rule)
            for program in last:
                upgrade.migrate(program)
                third = upgrade.start(program)
                time.sleep(TOGETHER_SECONDS)
                traffic.phase(f"{program.head} beside {newer.head}")
                upgrade.opens(older, works=False)
                upgrade.opens(newer, works=True)
                upgrade.end(third)
        second.end()
    traffic.summary.notes += watch.lines()
