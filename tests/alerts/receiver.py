"""A webhook receiver over real HTTP that answers as a test wants, and keeps what it got."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from tests.patience import PATIENCE


class Got(NamedTuple):
    body: bytes
    headers: dict[str, str]

    @property
    def text(self) -> str:
        return str(json.loads(self.body)["text"])

    @property
    def facts(self) -> dict[str, Any]:
        facts: dict[str, Any] = json.loads(self.body)["metadata"]["event_payload"]
        return facts


class Receiver:
    """Answers with `status` and `headers`; while `held` is set, it answers only when `released` is."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.got: list[Got] = []
        self.status = 200
        self.headers: dict[str, str] = {}
        self.held = False
        self.released = threading.Event()
        self.arrived = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/hooks/T000/secret"

    @property
    def texts(self) -> list[str]:
        return [got.text for got in self.got]

    def wait_for(self, count: int) -> None:
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.got) >= count, PATIENCE), f"{len(self.got)} of {count} came"


@contextmanager
def receiving() -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            with receiver.arrived:
                receiver.got.append(Got(body, {name.lower(): value for name, value in self.headers.items()}))
                receiver.arrived.notify_all()
            if receiver.held:
                receiver.released.wait(PATIENCE)
            self.send_response(receiver.status)
            for name, value in receiver.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        receiver = Receiver(server)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            receiver.released.set()
            server.shutdown()
            thread.join(PATIENCE)
