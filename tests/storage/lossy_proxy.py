"""A TCP connection to a server that ends after so many bytes, and stays ended."""

import socket
import struct
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class LossyProxy:
    """Passes bytes on to a port of this machine; after `cut_after`, counting both ways, every connection ends."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._left: int | None = None
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []

    def cut_after(self, count: int) -> None:
        self._left = count

    def restore(self) -> None:
        self._left = None

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for one in self._sockets:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._left == 0:
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self._target))
            self._sockets += [client, server]
            threading.Thread(target=self._connect, args=(client, server), daemon=True).start()

    def _connect(self, client: socket.socket, server: socket.socket) -> None:
        """Pass bytes on in both ways; then end both connections at once, with all that was not read."""
        back = threading.Thread(target=self._pass_on, args=(server, client), daemon=True)
        back.start()
        self._pass_on(client, server)
        back.join()
        for one in (client, server):
            # A reset: a sender whose bytes nobody reads would wait for ever after a mere shutdown.
            with suppress(OSError):  # closed at the end of the test
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            one.close()

    def _pass_on(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(1 << 14):
                if self._left is not None:
                    self._left = max(0, self._left - len(data))
                    if not self._left:
                        break
                target.sendall(data)
        except OSError:
            pass
        for one in (source, target):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
