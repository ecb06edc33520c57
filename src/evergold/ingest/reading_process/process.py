"""The reading process: requests come in, arrivals go back, one after the other, until the other side closes.

It holds nothing that is not also held by the server, so it may be killed at any moment. It imports neither the database nor
the web framework, which keeps it small. Whatever it cannot read it hands back unread: the server then reads it itself
and meets the same error, so that there is one place where an error becomes an answer.

Messages are a length and that many bytes; what is in them is written by `marshal`, the quickest way to hand texts from one
interpreter to another of the same version. Neither side ever gets bytes from anyone else.
"""

import gc
import marshal
import os
import socket
import struct
import sys
from collections import Counter
from dataclasses import astuple

from evergold.ingest.decode import ReadingRules, Request, RequestReader
from evergold.ingest.prepare import PreparedSpans
from evergold.sources.otlp import Wire
from evergold.sources.scores import WireScore
from evergold.store.rows import SpanRow, TraceRow

LENGTH = struct.Struct("!Q")
READY, UNREAD = b"ready", b""  # no arrivals are packed into nothing
STDIN = 0
YOUNG_OBJECTS = 20_000  # made between two searches for cycles; Python's default of 700 are those of twenty spans


def send(channel: socket.socket, message: bytes) -> None:
    channel.sendall(LENGTH.pack(len(message)))
    channel.sendall(message)


def receive(channel: socket.socket) -> bytearray:
    """The next message; EOFError when the other side is gone."""
    (size,) = LENGTH.unpack(_exactly(channel, LENGTH.size))
    return _exactly(channel, size)


def _exactly(channel: socket.socket, size: int) -> bytearray:
    message = bytearray(size)
    rest = memoryview(message)
    while rest:
        arrived = channel.recv_into(rest)
        if not arrived:
            raise EOFError
        rest = rest[arrived:]
    return message


def send_request(channel: socket.socket, request: Request) -> None:
    send(channel, f"{request.what} {request.wire.name}".encode())
    send(channel, request.body)


def receive_request(channel: socket.socket) -> Request:
    what, wire = receive(channel).decode().split()
    return Request(what, Wire[wire], bytes(receive(channel)))


def packed(prepared: PreparedSpans) -> bytes:
    return marshal.dumps(
        (
            list(map(tuple, prepared.rows)),
            list(map(tuple, prepared.summaries.values())),
            [astuple(score) for score in prepared.scores],
            prepared.refused,
            prepared.cut,
            prepared.ignored,
            dict(prepared.redacted),
        )
    )


def unpacked(message: bytearray) -> PreparedSpans:
    rows, summaries, scores, refused, cut, ignored, redacted = marshal.loads(message)
    return PreparedSpans(
        list(map(SpanRow._make, rows)),
        {summary[0]: TraceRow._make(summary) for summary in summaries},
        [WireScore(*score) for score in scores],
        refused,
        cut,
        ignored,
        Counter(redacted),
    )


def introduce(channel: socket.socket, rules: ReadingRules) -> None:
    """Tell a new process where modules are found here, plug-ins among them, and how to read."""
    send(channel, marshal.dumps((sys.path, tuple(rules))))


def _answer(reader: RequestReader, request: Request) -> bytes:
    try:
        return packed(reader.read(request))
    except Exception:
        return UNREAD


def main() -> None:
    """Serve the process at the other end of standard input, which is a socket."""
    with socket.socket(fileno=os.dup(STDIN)) as channel:
        try:
            sys.path[:], rules = marshal.loads(receive(channel))
            reader = RequestReader(ReadingRules(*rules))
            gc.freeze()  # what is loaded by now stays: no search for cycles need look at it
            gc.set_threshold(YOUNG_OBJECTS)
            send(channel, READY)
            while True:
                send(channel, _answer(reader, receive_request(channel)))
        except (EOFError, OSError):
            return


if __name__ == "__main__":
    main()
