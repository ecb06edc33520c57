"""A way to a server that speaks S3, on which the caller's credentials are good for so many requests and then have expired."""

import http.client
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Self

EXPIRED = (
    b'<?xml version="1.0"?><Error><Code>ExpiredToken</Code><Message>The provided token has expired.</Message></Error>'
)


class ExpiringProxy:
    """Passes requests on to a port of this machine; after `expire_after` of them it answers 403 as S3 does."""

    def __init__(self, target: int) -> None:
        self.left: int | None = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler_of(self, target))
        self.port: int = self._server.server_address[1]

    def expire_after(self, requests: int) -> None:
        self.left = requests

    def renew(self) -> None:
        self.left = None

    def is_expired(self) -> bool:
        """Count one request; whether it comes too late."""
        if self.left is None:
            return False
        self.left -= 1
        return self.left < 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()


def _handler_of(proxy: ExpiringProxy, target: int) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            if proxy.is_expired():
                self._answer(403, {"Content-Type": "application/xml", "Content-Length": str(len(EXPIRED))}, EXPIRED)
                return
            upstream = http.client.HTTPConnection("127.0.0.1", target)
            upstream.request(self.command, self.path, body, dict(self.headers))
            reply = upstream.getresponse()
            data = reply.read()
            named = {name: value for name, value in reply.getheaders() if name.lower() not in DROPPED}
            length = reply.getheader("Content-Length") if self.command == "HEAD" else None
            self._answer(reply.status, named | {"Content-Length": length or str(len(data))}, data)
            upstream.close()

        def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _pass_on

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    return Handler


DROPPED = ("content-length", "transfer-encoding", "connection")
