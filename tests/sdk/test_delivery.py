"""Delivery to a server that comes and goes: spooled while it is away, delivered when it is back, nothing twice."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

import evergold
from evergold.sdk.delivery import Delivery, Spool
from evergold.sdk.transports import Away


class Fake:
    """A transport that is away, or takes everything but records named `bad`."""

    def __init__(self) -> None:
        self.away = False
        self.got: list[dict[str, Any]] = []

    def send(self, records: list[dict[str, Any]]) -> list[str]:
        if self.away:
            raise Away("nobody there")
        self.got += [record for record in records if record.get("name") != "bad"]
        return ["bad record"] * sum(record.get("name") == "bad" for record in records)

    def close(self) -> None: ...

    def forget(self) -> None: ...


def delivery(transport: Fake, folder: Path, **limits: int) -> Delivery:
    room = {"max_records": 1000, "max_bytes": 10**9, **limits}
    return Delivery(transport, Spool(folder, 10**9), **room)


def hand(to: Delivery, count: int, name: str = "good") -> None:
    for number in range(count):
        to.hand("score", {"name": name, "number": number}, 100)


def test_what_is_refused_is_counted_and_sinks_nothing_else(tmp_path: Path) -> None:
    there = Fake()
    to = delivery(there, tmp_path)
    hand(to, 3)
    hand(to, 2, "bad")
    to.close(300)
    counts = to.counts()
    assert (counts.recorded, counts.delivered, counts.refused, counts.last_error) == (5, 3, 2, "bad record")


def test_while_away_records_go_to_the_disk_and_the_next_process_delivers_them(tmp_path: Path) -> None:
    gone = Fake()
    gone.away = True
    to = delivery(gone, tmp_path)
    hand(to, 250)
    to.close(300)
    assert (to.counts().spooled, to.counts().dropped, gone.got) == (250, 0, [])
    back = Fake()
    after = delivery(back, tmp_path)
    hand(after, 1)
    after.close(300)
    assert Counter(record["number"] for record in back.got) == Counter([*range(250), 0])
    assert list(tmp_path.iterdir()) == []


def test_a_torn_line_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "0-1-a.jsonl").write_text('{"type":"score","name":"x"}\n{"type":"sco')
    there = Fake()
    to = delivery(there, tmp_path)
    hand(to, 1)
    to.close(300)
    assert [record["name"] for record in there.got] == ["x", "good"]
    assert to.counts().dropped == 1


def test_memory_is_bounded_and_what_finds_no_room_is_counted(tmp_path: Path) -> None:
    held = threading.Event()

    class Slow(Fake):
        def send(self, records: list[dict[str, Any]]) -> list[str]:
            held.wait()
            return super().send(records)

    to = delivery(Slow(), tmp_path, max_records=300)
    hand(to, 1000)
    counts = to.counts()
    assert 500 <= counts.dropped <= 700
    held.set()
    to.close(300)
    done = to.counts()
    assert done.delivered + done.dropped == done.recorded == 1000


def test_a_full_disk_is_counted(tmp_path: Path) -> None:
    gone = Fake()
    gone.away = True
    to = Delivery(gone, Spool(tmp_path, 500), max_records=1000, max_bytes=10**9)
    hand(to, 100)
    to.close(300)
    counts = to.counts()
    assert 0 < counts.spooled < 20
    assert counts.spooled + counts.dropped == 100


class Handler(BaseHTTPRequestHandler):
    """Answers as the server does, and remembers."""

    seen: ClassVar[Counter[str]] = Counter()
    status = 201

    def do_POST(self) -> None:
        records = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = 400 if any(record.get("name") == "bad" for record in records) else type(self).status
        if status == 201:
            type(self).seen.update(f"{self.path} {record.get('id') or record.get('name')}" for record in records)
        body = b'{"problems": [], "error": "bad"}'
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None: ...


@pytest.fixture
def taken() -> Iterator[socket.socket]:
    """An address that is ours and at which nobody answers yet."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield bound


@contextmanager
def a_server(address: socket.socket) -> Iterator[None]:
    server = ThreadingHTTPServer(address.getsockname(), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = address
    server.server_activate()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_server_that_was_away_gets_everything_once(taken: socket.socket, tmp_path: Path) -> None:
    Handler.seen, Handler.status = Counter(), 201
    url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    eg = evergold.connect(url, home=str(tmp_path))
    for number in range(20):
        with eg.trace(id=f"t{number}", input="q") as t:
            t.output = "a"
        eg.score(t.id, f"s{number}", 1.0)
    eg.close(300)
    assert eg.counts().spooled == 40
    with a_server(taken):
        again = evergold.connect(url, home=str(tmp_path))
        again.score("t0", "bad", 1.0)
        again.score("t0", "more", 1.0)
        again.close(300)
    assert Handler.seen == Counter(
        [f"/api/v1/traces t{n}" for n in range(20)]
        + [f"/api/v1/scores s{n}" for n in range(20)]
        + ["/api/v1/scores more"]
    )
    assert again.counts().refused == 1


def test_a_killed_program_leaves_its_spool_to_the_next(tmp_path: Path) -> None:
    program = (
        "import evergold, os, signal\n"
        "eg = evergold.connect('http://127.0.0.1:9', home='.')\n"
        "for n in range(100):\n"
        "    with eg.trace(id=f'k{n}', input='q'): pass\n"
        "eg.flush(300)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, timeout=300, env={**os.environ}, check=False)
    assert done.returncode == -signal.SIGKILL
    (folder,) = (tmp_path / "spool").iterdir()
    there = Fake()
    to = delivery(there, folder)
    hand(to, 1)
    to.close(300)
    assert {record.get("id") for record in there.got} >= {f"k{n}" for n in range(100)}


def test_what_a_forked_child_records_arrives_too(tmp_path: Path) -> None:
    program = (
        "import evergold, os\n"
        "eg = evergold.connect('.')\n"
        "with eg.trace(id='parent', input='q'): pass\n"
        "assert eg.flush(300)\n"
        "child = os.fork()\n"
        "with eg.trace(id='child' if child == 0 else 'parent again', input='q'): pass\n"
        "if child: os.waitpid(child, 0)\n"
        "eg.close(300)\n"
        "if child == 0: os._exit(0)\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, check=True, timeout=300)
    with evergold.Workspace.open(home=str(tmp_path)) as ws:
        assert len({ws.intake.get(name).id for name in ("parent", "child", "parent again")}) == 3


def test_worker_processes_deliver_before_they_leave(tmp_path: Path) -> None:
    program = (
        "import evergold, multiprocessing, os, evergold.sdk.delivery as delivery\n"
        "delivery.Delivery.close.__defaults__ = (300.0,)  # as long as it takes here\n"
        "eg = evergold.connect('.')\n"
        "def work(name):\n"
        "    with eg.trace(id=name, input='q'): pass\n"
        "with eg.trace(id='around', input='q') as t:\n"
        "    child = multiprocessing.get_context('fork').Process(target=work, args=('worker',))\n"
        "    child.start()\n"
        "    child.join()\n"
        "    if os.fork() == 0:\n"
        "        t.end()\n"
        "        eg.close(300)\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "    t.output = 'done'\n"
    )
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, check=True, timeout=300)
    with evergold.Workspace.open(home=str(tmp_path)) as ws:
        assert (ws.intake.get("worker").input, ws.intake.get("around").output) == ("q", "done")


def test_a_record_over_which_the_other_side_stumbles_holds_up_no_other(tmp_path: Path) -> None:
    class Stumbling(Fake):
        def send(self, records: list[dict[str, Any]]) -> list[str]:
            if any(record.get("name") == "poison" for record in records):
                raise RuntimeError("answered 500")
            return super().send(records)

    there = Stumbling()
    to = delivery(there, tmp_path)
    hand(to, 3)
    hand(to, 1, "poison")
    hand(to, 3)
    to.close(300)
    counts = to.counts()
    assert (counts.delivered, counts.refused, counts.spooled, len(there.got)) == (6, 1, 0, 6)
    assert counts.last_error == "RuntimeError: answered 500"


def test_what_waited_on_the_disk_goes_first_and_only_its_owner_may_read_it(tmp_path: Path) -> None:
    there = Fake()
    before = Spool(tmp_path, 10**9)
    before.keep([{"type": "score", "name": "old"}])
    (file,) = tmp_path.glob("*.jsonl")
    assert file.stat().st_mode & 0o077 == 0
    before.seal()
    to = delivery(there, tmp_path)
    hand(to, 1, "new")
    to.close(300)
    assert [record["name"] for record in there.got] == ["old", "new"]


def test_closing_too_soon_leaves_the_rest_on_the_disk(tmp_path: Path) -> None:
    held, entered = threading.Event(), threading.Event()

    class Stuck(Fake):
        def send(self, records: list[dict[str, Any]]) -> list[str]:
            entered.set()
            held.wait()
            return super().send(records)

    to = delivery(Stuck(), tmp_path)
    hand(to, 300)
    entered.wait()
    to.close(0.0)
    assert to.counts().spooled == 300
    held.set()
