"""Requests whose end is ambiguous, over a plain socket: refused, and nothing behind them is taken for a request."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.api.serving import served
from tests.patience import PATIENCE
from tests.rows import each_row

BODY = b'{"resourceSpans":[]}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
CHUNKS = b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY)
CODED = b"Transfer-Encoding: chunked\r\n"
HOST = b"Host: 127.0.0.1\r\nContent-Type: application/json\r\n"
BEHIND = b"GET /api/v1/health HTTP/1.1\r\n" + HOST + b"Connection: close\r\n\r\n"
AMBIGUOUS = {
    "length and chunks": LENGTH + CODED + b"\r\n" + CHUNKS,
    "chunks and length": CODED + LENGTH + b"\r\n" + CHUNKS,
    "chunks on a second line": b"Transfer-Encoding:\r\n chunked\r\n" + LENGTH + b"\r\n" + CHUNKS,
    "length and another coding": LENGTH + b"Transfer-Encoding: identity\r\n\r\n" + BODY,
    "two lengths": LENGTH + b"Content-Length: 3\r\n\r\n" + BODY,
    "two lengths in one": b"Content-Length: 20, 3\r\n\r\n" + BODY,
    "a length with a sign": b"Content-Length: +20\r\n\r\n" + BODY,
    "a length with a space before its colon": b"Content-Length : 20\r\n\r\n" + BODY,
    "a coding with a space before its colon": b"Transfer-Encoding : chunked\r\n\r\n" + CHUNKS,
    "an unknown coding": b"Transfer-Encoding: xchunked\r\n\r\n" + CHUNKS,
    "chunked twice": CODED + CODED + b"\r\n" + CHUNKS,
    "a chunk with a hexadecimal prefix": CODED + b"\r\n0x" + CHUNKS,
    "chunks without returns": CODED + b"\r\n" + CHUNKS.replace(b"\r", b""),
}


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    with served(tmp_path_factory.mktemp("framing")) as url:
        parts = urlsplit(url)
        yield str(parts.hostname), int(parts.port or 0)


def answers(address: tuple[str, int], sent: bytes) -> list[bytes]:
    """The statuses of all answers until the server closes the connection."""
    with socket.create_connection(address, timeout=PATIENCE) as client:
        client.sendall(sent)
        received = b""
        while piece := client.recv(1 << 16):
            received += piece
    return re.findall(rb"HTTP/1\.1 (\d{3})", received)


@each_row("rest", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_an_ambiguous_request_is_400_and_the_last_of_its_connection(address: tuple[str, int], rest: bytes) -> None:
    assert answers(address, b"POST /v1/traces HTTP/1.1\r\n" + HOST + rest + BEHIND) == [b"400"]


def test_chunks_of_http_1_0_are_refused(address: tuple[str, int]) -> None:
    assert answers(address, b"POST /v1/traces HTTP/1.0\r\n" + HOST + CODED + b"\r\n" + CHUNKS) == [b"400"]


@each_row("rest", [LENGTH + b"\r\n" + BODY, CODED + b"\r\n" + CHUNKS, LENGTH + LENGTH + b"\r\n" + BODY])
def test_a_request_with_one_end_is_answered_and_so_is_the_next(address: tuple[str, int], rest: bytes) -> None:
    assert answers(address, b"POST /v1/traces HTTP/1.1\r\n" + HOST + rest + BEHIND) == [b"200", b"200"]


def test_a_client_that_leaves_in_the_middle_of_a_body_leaves_no_traceback(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(tmp_path) as url:
        parts = urlsplit(url)
        address = str(parts.hostname), int(parts.port or 0)
        for path in (b"/v1/traces", b"/v1/logs", b"/api/v1/traces", b"/api/v1/uploads"):
            with socket.create_connection(address, timeout=PATIENCE) as client:
                client.sendall(b"POST " + path + b" HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY[:5])
        assert answers(address, BEHIND) == [b"200"]
    assert "Traceback" not in capfd.readouterr().err
