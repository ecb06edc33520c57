"""Bound what connections may hold: how many there are, how long a head may take to come and an answer to be fetched.

uvicorn waits for ever for the first request of a connection, and for a client that does not read its answer. A stranger who
opens a thousand connections and sends nothing would take the last file handle of the server, and one who asks for large pages
and reads none of them its memory.
"""

import asyncio
import socket
import struct
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from uvicorn.protocols.http.auto import AutoHTTPProtocol
from uvicorn.server import ServerState

HEAD_SECONDS = 20.0  # for the head of a request, from its connection or the answer before it
STALLED_SECONDS = 30.0  # without progress in sending an answer
ENDING_SECONDS = 2.0  # the same while the server ends, which waits for answers to be fetched
PROGRESS = 1 << 16  # bytes of an answer that a client fetches in that time at least
LOOK_SECONDS = 2.0
WANTED_FILES = 4096
ACCEPTED_AT_ONCE = 128  # in one turn of the loop; some turns pass before the first of them is looked at
OTHER_FILES = 256 + 4 * ACCEPTED_AT_ONCE  # database, files, pipes of processes, connections not looked at yet
LEAST = 64
RESET = struct.pack("ii", 1, 0)  # lingers for no time at all


def file_handles() -> int:
    """Raise the limit of file handles, which is often 1,024, as far as it may be raised; the limit now in force."""
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return WANTED_FILES
    soft, hard = (
        WANTED_FILES if limit == resource.RLIM_INFINITY else limit
        for limit in resource.getrlimit(resource.RLIMIT_NOFILE)
    )
    wanted = min(hard, WANTED_FILES)
    if soft < wanted:
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
            return wanted
    return soft


def most_connections(handles: int) -> int:
    """Give the number of connections that leaves handles for everything else."""
    return max(LEAST, handles - OTHER_FILES)


class Watch:
    """The connections of one server: those that wait for a request, longest first, and a regular look at all of them."""

    def __init__(self, state: ServerState, loop: asyncio.AbstractEventLoop, most: int) -> None:
        self._state, self._loop = state, loop
        self._looking = False
        self.most = most
        self.ending = False
        self.waiting: dict[Connection, float] = {}

    def make_room(self, new: "Connection") -> None:
        """Make room for a new connection. Of too many, the one that has waited longest for a request is closed."""
        if len(self._state.connections) > self.most:
            # The new one is among them where nobody waits: all others have requests under way.
            next(iter(self.waiting), new).give_up()
        if not self._looking:
            self._looking = True
            self._loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        now = self._loop.time()
        for connection in tuple(self._state.connections):
            if isinstance(connection, Connection) and connection.is_overdue(now):
                connection.give_up()
        # A server without connections needs no look; the next one that joins begins anew.
        self._looking = bool(self._state.connections)
        if self._looking:
            self._loop.call_later(LOOK_SECONDS, self._look)


_watches: "WeakKeyDictionary[ServerState, Watch]" = WeakKeyDictionary()


class Connection(AutoHTTPProtocol):  # type: ignore[misc,valid-type]
    """A connection of uvicorn that does not wait for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        watch = _watches.get(self.server_state)
        if watch is None:
            watch = Watch(self.server_state, self.loop, most_connections(file_handles()))
            _watches[self.server_state] = watch
        self._watch = watch
        self._unsent, self._moved = 0, self.loop.time()
        watch.waiting[self] = self._moved
        watch.make_room(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._watch.waiting.pop(self, None)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.answering:
            self._watch.waiting.pop(self, None)

    def on_response_complete(self) -> None:
        self._watch.waiting[self] = self._moved = self.loop.time()
        super().on_response_complete()
        # The next request may have been sent already, behind the one before.
        if self.answering:
            self._watch.waiting.pop(self, None)

    def shutdown(self) -> None:
        self._watch.ending = True
        if self.answering:
            # Read as `request.state.ending` by answers that would not end by themselves.
            self.cycle.scope["state"]["ending"] = True
        super().shutdown()

    def resume_writing(self) -> None:
        # The client fetched most of what waited: an answer in pieces goes on.
        self._moved = self.loop.time()
        super().resume_writing()

    @property
    def answering(self) -> bool:
        """Whether a request is under way."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def is_overdue(self, now: float) -> bool:
        """Whether the client keeps the server waiting, with a request or with fetching its answer."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent <= self._unsent - PROGRESS:
            self._moved = now
        # Compared with the size at the last progress, so that many small steps add up.
        if unsent > self._unsent or self._moved == now:
            self._unsent = unsent
        if unsent:
            return bool(now - self._moved > (ENDING_SECONDS if self._watch.ending else STALLED_SECONDS))
        waited: float = now - self._watch.waiting.get(self, now)
        return waited > HEAD_SECONDS

    def give_up(self) -> None:
        """Close at once: a client that reads nothing would not fetch what a polite end still sends."""
        self._watch.waiting.pop(self, None)
        # A reset instead of an end: the system too forgets what it still had to send.
        if (handle := self.transport.get_extra_info("socket")) is not None:
            # macOS refuses it where the client has gone already.
            with suppress(OSError):
                handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        self.transport.abort()
