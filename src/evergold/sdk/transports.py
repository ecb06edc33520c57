"""Deliver records to a server's REST interface or to a workspace in this process. Both run in the background thread.

A transport raises `Away` when the other side cannot be reached now, which is no reason to lose anything, and returns
the records the other side would not take at any time.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import orjson

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from evergold.settings import Settings
    from evergold.workspace import Workspace

TIMEOUT_SECONDS = 30.0
PATHS = {
    "trace": "/api/v1/traces",
    "score": "/api/v1/scores",
    "correction": "/api/v1/corrections",
    "reaction": "/api/v1/reactions",
}


class Away(Exception):
    """The other side cannot be reached now."""


class Transport(Protocol):
    def send(self, records: list[dict[str, Any]]) -> list[str]:
        """Deliver; returns why records were refused for good, one line each. Raises `Away` to be tried again."""
        ...

    def close(self) -> None: ...

    def forget(self) -> None:
        """Let go without closing: in a child process, where what is open belongs to the parent."""
        ...


def by_kind(records: Iterable[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Records by type, traces first, so that what is said of a trace comes after it."""
    sorted_out: dict[str, list[dict[str, Any]]] = {kind: [] for kind in PATHS}
    for record in records:
        sorted_out[record["type"]].append(record)
    return {kind: result for kind, result in sorted_out.items() if result}


class HttpTransport:
    """A server, over one kept-alive connection."""

    def __init__(self, url: str, token: str) -> None:
        self._url = urlsplit(url)
        self._headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
        self._connection: HTTPConnection | None = None

    def send(self, records: list[dict[str, Any]]) -> list[str]:
        refused: list[str] = []
        for kind, part in by_kind(records).items():
            refused += self._post_all(PATHS[kind], part)
        return refused

    def _post_all(self, path: str, part: list[dict[str, Any]]) -> list[str]:
        """One request; when the server cannot read it, one for each record, so that a bad one sinks no other."""
        status, answer = self._post(path, orjson.dumps(part))
        if status < 300:
            return list(answer.get("problems") or ())
        # Not `Away`: waiting does not help, so the caller sends the records one by one to find the bad one.
        if status == 500:  # it is there, and stumbles over what it was given
            raise RuntimeError(f"{self._url.netloc} answered 500")
        if status in (408, 425, 429) or status > 500:
            raise Away(f"{self._url.netloc} answered {status}")
        # A wrong token is mended by people: the records wait on the disk meanwhile.
        if status in (401, 403):
            raise Away(f"{self._url.netloc} answered {status}: check the token")
        if len(part) == 1:
            return [str(answer.get("error", f"status {status}"))]
        return [line for record in part for line in self._post_all(path, [record])]

    def _post(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        from http.client import HTTPException

        try:
            connection = self._open()
            connection.request("POST", self._url.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            raw = response.read()
        except (OSError, HTTPException) as problem:
            self.close()
            raise Away(f"{self._url.netloc}: {problem or type(problem).__name__}") from problem
        try:
            answer = orjson.loads(raw)
        except orjson.JSONDecodeError:
            answer = {}
        return response.status, answer if isinstance(answer, dict) else {}

    def _open(self) -> "HTTPConnection":
        if self._connection is None:
            from http.client import HTTPConnection, HTTPSConnection

            make = HTTPSConnection if self._url.scheme == "https" else HTTPConnection
            self._connection = make(self._url.hostname or "", self._url.port, timeout=TIMEOUT_SECONDS)
        return self._connection

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self.forget()

    def forget(self) -> None:
        self._connection = None


class EmbeddedTransport:
    """A workspace in this process, opened in the background thread when the first record comes.

    SQLite's locks belong to a process and its library remembers them, so a child of a process that has the database
    open must not open it again, nor even close what it inherited. Such a child spools, and its parent delivers.
    """

    def __init__(self, settings: "Settings") -> None:
        self._settings = settings
        self._workspace: Workspace | None = None
        self._inherited: Workspace | None = None

    def send(self, records: list[dict[str, Any]]) -> list[str]:
        # A forked child: see the class docstring.
        if self._inherited is not None:
            raise Away("the workspace was opened before a fork; the parent process delivers what is spooled here")
        from pydantic import TypeAdapter, ValidationError

        from evergold.errors import EvergoldError
        from evergold.model.faults import first_fault
        from evergold.model.trace import Record

        adapter: TypeAdapter[Any] = TypeAdapter(Record)
        good, refused = [], []
        for kind, part in by_kind(records).items():
            for record in part:
                try:
                    good.append(adapter.validate_python(record))
                except ValidationError as problem:
                    refused.append(f"{kind}: {first_fault(problem, Record)}")
        try:
            workspace = self._open()
            refused += workspace.intake.accept(good).problems
            # No server runs beside an embedded workspace, so nobody else would curate.
            if self._settings.eval_auto_curate:
                workspace.live.curate()
        except EvergoldError as problem:
            raise Away(problem.message) from problem
        return refused

    def _open(self) -> "Workspace":
        if self._workspace is None:
            from evergold.workspace import Workspace

            self._workspace = Workspace.open(self._settings)
            # What cannot be written soon goes to the spool: an app does not wait for the database.
            self._workspace.store.db.answer_soon()
        return self._workspace

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def forget(self) -> None:
        self._inherited, self._workspace = self._workspace or self._inherited, None
