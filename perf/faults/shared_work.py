"""shared-work: two servers on one PostgreSQL, one of them killed in each round: alerts, curation and checks are done once.

In each round a rule begins to fire, conversations come to both servers in turn, a backfill of checks runs, and one server is
killed and started again. At the end every rule has one alert with one notification, every trace is curated once and as a single
program would, and no trace was set aside.
"""

import json
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import psycopg

from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.faults.postgres import own_database
from perf.faults.server import EVERGOLD, JSON, Server, Summary

SESSIONS, TURNS = 6, 4  # of a round
KILL_SECONDS = 2.0  # at most, between the first request of a round and the kill
SETTLED_SECONDS = 120.0
QUESTIONS = ("Where is my order?", "No, that is wrong, I said Tuesday.", "Thanks!")
ANSWERS = ("It is on its way to Lisbon.", "You are right, it is Tuesday.", "I am sorry, something went wrong.")
RULE = '[[alerts.rules]]\nkind = "failing_rate"\ncheck = "c{}"\nabove = 0.1\nwindow = "24h"\nleast = 3\n'


class Receiver:
    """A webhook that notes which notifications it was sent, and for which rule."""

    def __init__(self) -> None:
        self.received: Counter[tuple[str, str]] = Counter()
        noted = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                noted[self.headers["x-evergold-delivery"], body["metadata"]["event_payload"]["rule"]] += 1
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    @contextmanager
    def listening(self) -> Iterator[None]:
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()


def run(home: Path, rounds: int, seed: int) -> Summary:
    summary, source, receiver = Summary(), random.Random(seed), Receiver()
    config = home / "evergold.toml"
    rules = "".join(RULE.format(number) for number in range(rounds))
    config.write_text(f'[alerts]\nwebhook = "{receiver.url}"\nevery_seconds = 1\n{rules}', encoding="utf-8")
    with ExitStack() as stack:
        room = stack.enter_context(tempfile.TemporaryDirectory(prefix="evergold-pg-", ignore_cleanup_errors=True))
        url = stack.enter_context(own_database(Path(room)))
        stack.enter_context(receiver.listening())
        servers = [Server(home, url, EVERGOLD_CONFIG=str(config), EVERGOLD_CHECKS_BUILTIN="true") for _ in range(2)]
        for server in servers:
            server.start()
            stack.callback(_kill, server)
        for number in range(rounds):
            _round(servers, number, source, summary)
        _settle(url, rounds, receiver, summary)
        for server in servers:
            server.end()
        _check(home, url, rounds, receiver, summary)
    return summary


def _kill(server: Server) -> None:
    if server.process is not None:
        server.process.kill()


def _round(servers: list[Server], number: int, source: random.Random, summary: Summary) -> None:
    up = list(servers)
    sending = threading.Thread(target=_send, args=(up, number, random.Random(source.random()), summary))
    sending.start()
    checking = subprocess.Popen(
        [EVERGOLD, "check-traces", "--backfill"], env=servers[0].env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    time.sleep(source.uniform(0, KILL_SECONDS))
    victim = source.choice(servers)
    victim.end(signal.SIGKILL)
    up.remove(victim)  # as a load balancer does, until it is ready again
    if source.random() < 0.5:
        checking.kill()
    checking.communicate()
    victim.start()
    up.append(victim)
    sending.join()


def _send(servers: list[Server], number: int, source: random.Random, summary: Summary) -> None:
    """Send conversations turn by turn, each turn to either server; one that is down is answered for by the other."""
    for session in range(SESSIONS):
        for turn in range(TURNS):
            name = f"r{number}-s{session}-t{turn}"
            trace = {
                "id": name,
                "session_id": f"r{number}-s{session}",
                "started_at": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
                "input": source.choice(QUESTIONS),
                "output": source.choice(ANSWERS),
                "scores": [{"name": f"c{number}", "value": 0.0, "source": "system", "key": "own"}],
            }
            while True:
                own = Summary()
                status = source.choice(servers).post("/api/v1/traces", json.dumps(trace).encode(), JSON, own)
                summary.add(own)
                if status == "201":
                    summary.acknowledged.add(name)
                    break
                time.sleep(0.1)


def _settle(url: str, rounds: int, receiver: Receiver, summary: Summary) -> None:
    """Wait until nothing waits for curation and every rule was notified of; leases of the dead run out meanwhile."""
    until = time.monotonic() + SETTLED_SECONDS
    with psycopg.connect(url, autocommit=True) as connection:
        query = """SELECT (SELECT count(*) FROM curation_queue) + (SELECT count(*) FROM alert_deliveries WHERE status = 'pending')
            + %s - (SELECT count(DISTINCT rule) FROM alerts)"""
        while (connection.execute(query, (rounds,)).fetchone() or (0,))[0] or len(receiver.received) < rounds:
            if time.monotonic() > until:
                summary.problems.append(f"work was left after {SETTLED_SECONDS:.0f} s")
                return
            time.sleep(0.2)


COUNTS = {
    "an alert of one rule twice": "SELECT count(*) FROM (SELECT rule FROM alerts GROUP BY 1 HAVING count(*) > 1) AS x",
    "a notification twice": "SELECT count(*) FROM (SELECT alert_id FROM alert_deliveries GROUP BY 1 HAVING count(*) > 1) AS x",
    "an entry twice": """SELECT count(*) FROM (SELECT trace_id, policy FROM eval_dataset WHERE policy IS NOT NULL
        GROUP BY 1, 2 HAVING count(*) > 1) AS x""",
    "added twice": """SELECT count(*) FROM (SELECT entry_id FROM case_revisions WHERE action = 'added'
        GROUP BY 1 HAVING count(*) > 1) AS x""",
    "set aside": "SELECT coalesce(sum(value), 0) FROM counters WHERE name = 'curation.failed'",
}


def _check(home: Path, url: str, rounds: int, receiver: Receiver, summary: Summary) -> None:
    with psycopg.connect(url) as connection:
        for name, query in COUNTS.items():
            number = int((connection.execute(query).fetchone() or (0,))[0])
            if number:
                summary.problems.append(f"{name}: {number}")
        stored = {row[0] for row in connection.execute("SELECT id FROM traces").fetchall()}
    summary.lost += len(summary.acknowledged - stored)
    again = sum(number - 1 for number in receiver.received.values())
    # A server that dies between the answer of the webhook and its note leaves the notification to be sent again.
    summary.notes.append(
        f"{rounds} alerts, {len(receiver.received)} notifications, {again} posted again under their number"
    )
    if len({rule for _, rule in receiver.received}) != rounds or len(receiver.received) != rounds:
        summary.problems.append(f"notifications received: {sorted(receiver.received)}")
    with Workspace.open(Settings(home=home, database_url=url, checks_builtin="true")) as workspace:
        workspace.live.curate()
        left = sum(changes.total for changes in workspace.live.curation.dry_run().values())
    summary.notes.append(f"{len(stored)} traces; a backfill by one program would change {left} entries")
    if left:
        summary.problems.append(f"{left} entries differ from what one program makes of the same traces")
