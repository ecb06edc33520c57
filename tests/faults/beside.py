"""beside: every verb that writes, one after the other, on the SQLite workspace of a server that is sent OTLP without a pause.

Each verb waits its turn and ends with 0; meanwhile no request is refused. Noted for each side: the longest wait for SQLite's lock
and the longest time that it was held, by `watched.py`.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evergold.model.case import Case
from tests.faults.load import PROTOBUF, SPANS, TRACES, number_of, templates
from tests.faults.server import Server, Summary, ids_stored
from tests.faults.soak import Load

SENDERS = 3
FIRST_DAY = datetime(2025, 6, 1, tzinfo=UTC)  # of the history that the verbs work on; the load's traces are of 2026
OLDER_THAN = datetime(2025, 12, 1, tzinfo=UTC)
DAYS = 3
VERB_SECONDS = 900.0
WATCHED = (sys.executable, "-m", "tests.faults.watched")
TOO_LONG = 8.0  # seconds: a server answers 503 after that


@dataclass
class Sending:
    """The load: what its senders saw since somebody last looked."""

    state: Load
    pause: float
    ended: threading.Event = field(default_factory=threading.Event)
    seen: Summary = field(default_factory=Summary)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def look(self) -> Summary:
        """Give what was seen since the last look."""
        with self.lock:
            seen, self.seen = self.seen, Summary()
        return seen

    def run(self) -> None:
        following = time.perf_counter()
        with self.state.server.connection() as connection:
            while not self.ended.is_set():
                number, own = self.state.take(), Summary()
                body = self.state.bodies[number % len(self.state.bodies)].request(number * TRACES)
                if connection.post("/v1/traces", body, PROTOBUF, own) == "200":
                    self.state.acknowledged[number] = 1
                with self.lock:
                    self.seen.add(own)
                following = max(following + self.pause, time.perf_counter() - self.pause)
                self.ended.wait(max(0.0, following - time.perf_counter()))


def run(home: Path, traces: int, rate: float, seed: int) -> Summary:
    summary = Summary()
    server = Watched(home)
    server.start()
    sending = Sending(Load(server, templates(seed)), SENDERS * TRACES * SPANS / rate if rate else 0.0)
    with _sent(sending):
        for arguments in _verbs(home, traces):
            if "--from" in arguments and not Path(arguments[-1]).exists():
                summary.notes.append(
                    "traces restore: left out, every trace of the history is cited and nothing was archived"
                )
                continue
            _beside(home, arguments, sending, server, summary)
    summary.notes.append(f"server: ended in {server.end():.1f} s; {_waits(server.noted)}")
    _check(home, sending.state, summary)
    return summary


class Watched(Server):
    """A server whose waits are noted when it ends."""

    @property
    def noted(self) -> Path:
        return Path(self.env["EVERGOLD_HOME"]) / "server-waits.json"

    def command(self) -> Sequence[str]:
        return (*WATCHED, str(self.noted), "serve", "--port", str(self.port))


@contextmanager
def _sent(sending: Sending) -> Iterator[None]:
    threads = [threading.Thread(target=sending.run) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        sending.ended.set()
        for thread in threads:
            thread.join()


def _beside(home: Path, arguments: Sequence[str], sending: Sending, server: Server, summary: Summary) -> None:
    """Run one verb to its end; note what both sides saw."""
    noted = home / "verb-waits.json"
    noted.unlink(missing_ok=True)
    summary.add(sending.look())
    began = time.perf_counter()
    done = subprocess.run(
        (*WATCHED, str(noted), *arguments),
        env=server.env,
        capture_output=True,
        text=True,
        timeout=VERB_SECONDS,
        check=False,
    )
    took = time.perf_counter() - began
    seen = sending.look()
    summary.add(seen)
    name = " ".join(arguments[:2])
    summary.notes.append(
        f"{name}: exit {done.returncode} after {took:.1f} s; {_waits(noted)}; "
        f"{len(seen.seconds)} requests, the longest {max(seen.seconds, default=0.0):.2f} s, 503: {seen.statuses['503']}"
    )
    if done.returncode:
        summary.problems.append(f"{name}: {done.stderr.strip().splitlines()[-1:]}")
    if seen.statuses["503"]:
        summary.problems.append(f"{name}: {seen.statuses['503']} requests were refused meanwhile")


def _waits(path: Path) -> str:
    if not path.exists():
        return "no transactions noted"
    noted = json.loads(path.read_text(encoding="utf-8"))
    longest = ", ".join(f"{name} {held:.2f} s" for held, name in noted["longest"][:2])
    return f"{noted['transactions']} transactions, waited {noted['waited']:.2f} s at most, held {noted['held']:.2f} s ({longest})"


def _verbs(home: Path, traces: int) -> list[tuple[str, ...]]:
    """The verbs that write, in an order in which each has something to do."""
    history, cases, archive = home / "history.jsonl", home / "cases.jsonl", home / "archive"
    _write_history(history, traces)
    made = (Case(id=f"k{at}", input=f"What is {at}?", output=f"{at}.", expected=f"{at}.") for at in range(traces // 4))
    cases.write_text("".join(f"{case.model_dump_json()}\n" for case in made), encoding="utf-8")
    age = f"{(datetime.now(UTC) - OLDER_THAN).days}d"
    return [
        ("ingest", str(history)),
        ("check-traces", "--backfill"),
        ("curate",),
        ("curate", "--backfill"),
        ("curate", "--refresh"),
        ("import", str(cases), "--format", "case-jsonl", "--dataset", "bench"),
        ("cases", "tag", "bench", "k1", "--add", "old"),
        ("review", "decide", "bench", "k1", "approve"),
        ("build", "--dataset", "bench", "--out", str(home / "built")),
        ("run", "bench", "--model", "recorded", "--metric", "exact_match"),
        ("backup", str(home / "backup.tar")),
        ("traces", "archive", "--older-than", age, "--to", str(archive)),
        ("traces", "restore", f"{FIRST_DAY:%Y-%m-%d}", "--from", str(archive)),
        ("traces", "prune", "--older-than", age),
        ("traces", "erase", "--user", "u1"),
    ]


def _write_history(path: Path, traces: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        for at in range(traces):
            moment = FIRST_DAY + timedelta(days=DAYS) * at / traces
            started = moment.isoformat().replace("+00:00", "Z")
            trace = {
                "id": f"h{at}",
                "session_id": f"s{at // 4}",
                "user_id": f"u{at % 50}",
                "started_at": started,
                "input": f"Where is order {at}?" if at % 4 else f"No, that is wrong, I meant order {at}.",
                "output": f"Order {at} is on its way to Lisbon. " * 8,
                "spans": [
                    {"id": f"{step}", "name": "step", "started_at": started, "input": f"order {at} " * 20}
                    for step in range(3)
                ],
                "scores": [{"name": "ok", "value": float(at % 3 > 0), "source": "system"}] if at % 4 == 1 else [],
            }
            file.write(json.dumps(trace) + "\n")


def _check(home: Path, state: Load, summary: Summary) -> None:
    """Count the traces of acknowledged requests that are not stored, and those stored twice."""
    stored = bytearray(len(state.acknowledged) * TRACES)
    for ident in ids_stored(home):
        if not ident.startswith("h"):
            stored[number_of(ident)] += 1
    summary.acknowledged_count = TRACES * sum(state.acknowledged)
    summary.lost = sum(1 for at, seen in enumerate(stored) if state.acknowledged[at // TRACES] and not seen)
    summary.doubled = sum(seen - 1 for seen in stored if seen > 1)
