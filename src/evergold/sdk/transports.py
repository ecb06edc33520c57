"""Deliver records to a server's REST interface or to a workspace in this process. All of it runs in the background thread.

A transport raises `Away` when the other side cannot be reached now, which is no reason to lose anything, and returns
the records the other side would not take at any time.

Records are sent as plain JSON, times as text, ids and names as the texts they have to be. An app gives what it has: a number
as user id, an object of its own in the metadata, half a character that JSON has no word for. None of that is a reason to
lose the trace.
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import orjson

from evergold.credentials import Secret, hide, hide_bytes
from evergold.errors import EvergoldError
from evergold.sdk.steps import safe_repr

if TYPE_CHECKING:
    from http.client import HTTPConnection

    from evergold.settings import Settings
    from evergold.workspace import Workspace

TEXTS = ("trace_id", "session_id", "user_id", "comment", "author", "emoji")
DEEPEST = 50
TIMEOUT_SECONDS = 30.0
PATHS = {kind: f"/api/v1/{kind}s" for kind in ("trace", "score", "correction", "reaction")}


class Away(EvergoldError):
    """The other side cannot be reached now."""


class Transport(Protocol):
    def send(self, records: list[dict[str, Any]]) -> list[str]:
        """Deliver; returns why records were refused for good, one line each. Raises `Away` to be tried again."""
        ...

    def close(self) -> None: ...

    def forget(self) -> None:
        """Let go without closing: in a child process, where what is open belongs to the parent."""
        ...


def group_by_kind(records: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Group records by type, traces first, so that what is said of a trace comes after it."""
    groups = {kind: [record for record in records if record["type"] == kind] for kind in PATHS}
    return {kind: result for kind, result in groups.items() if result}


class HttpTransport:
    """A server, over one kept-alive connection."""

    def __init__(self, url: str, token: str) -> None:
        self._url = urlsplit(Secret(url))
        self._headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {Secret(token)}"} if token else {}),
        }
        self._name = hide(self._url.netloc)
        self._connection: HTTPConnection | None = None

    def send(self, records: list[dict[str, Any]]) -> list[str]:
        parts = group_by_kind(records).items()
        return [line for kind, part in parts for line in self._post_all(PATHS[kind], part)]

    def _post_all(self, path: str, part: list[dict[str, Any]]) -> list[str]:
        """One request; when the server cannot read it, one for each record, so that a bad one sinks no other."""
        status, answer = self._post(path, orjson.dumps(part))
        if status < 300:
            return list(answer.get("problems") or ())
        # Not `Away`: waiting does not help, so the caller sends the records one by one to find the bad one.
        if status == 500:  # it is there, and stumbles over what it was given
            raise RuntimeError(f"{self._name} answered 500")
        if status in (408, 425, 429) or status > 500:
            raise Away(f"{self._name} answered {status}")
        # A wrong token is mended by people: the records wait on the disk meanwhile.
        if status in (401, 403):
            raise Away(f"{self._name} answered {status}: check the token")
        if len(part) == 1:
            return [str(answer.get("error", f"status {status}"))]
        return [line for record in part for line in self._post_all(path, [record])]

    def _post(self, path: str, body: bytes) -> tuple[int, dict[str, Any]]:
        from http.client import HTTPException

        try:
            connection = self._open()
            connection.request("POST", self._url.path.rstrip("/") + path, body, self._headers)
            response = connection.getresponse()
            raw = hide_bytes(response.read())
        except (OSError, HTTPException) as problem:
            self.close()
            raise Away(f"{self._name}: {problem or type(problem).__name__}") from problem
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

        from evergold.model.faults import first_fault
        from evergold.model.trace import Record

        adapter: TypeAdapter[Any] = TypeAdapter(Record)
        good, refused = [], []
        for kind, part in group_by_kind(records).items():
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
            self._workspace.store.db.wait_briefly_for_locks()
        return self._workspace

    def close(self) -> None:
        if self._workspace is not None:
            self._workspace.close()
            self._workspace = None

    def forget(self) -> None:
        self._inherited, self._workspace = self._workspace or self._inherited, None


def encode_record(kind: str, record: dict[str, Any]) -> dict[str, Any]:
    """Make the record what the other side reads."""
    outgoing = {"type": kind, **record}
    for step in (outgoing, *outgoing.get("spans", ())):
        for name in ("started_at", "ended_at"):
            if isinstance(step.get(name), float):
                step[name] = datetime.fromtimestamp(step[name], UTC).isoformat().replace("+00:00", "Z")
        for name in ("name", "kind"):
            if name in step:
                step[name] = _as_name(step[name])
    for name in TEXTS:
        if outgoing.get(name) is not None:
            outgoing[name] = _as_name(outgoing[name])
    if outgoing.get("tags"):
        outgoing["tags"] = [_as_name(tag) for tag in outgoing["tags"] if tag is not None]
    try:
        written = orjson.dumps(outgoing, default=str, option=orjson.OPT_NON_STR_KEYS)
    except (TypeError, ValueError, RecursionError):
        written = orjson.dumps(_to_plain(outgoing, DEEPEST))
    read: dict[str, Any] = orjson.loads(written)
    return read


def _as_name(value: Any) -> str:
    """Write an id or a name as text, whatever type the app keeps it in."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:
        return safe_repr(value)


def _to_plain(value: Any, depth: int) -> Any:
    """Make a value of nothing but what JSON has; slower, and never at a loss."""
    # 2⁵³: larger integers lose digits in JavaScript and other readers, so they become text.
    if value is None or isinstance(value, (bool, float)) or (isinstance(value, int) and -(2**53) < value < 2**53):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict) and depth:
        return {str(_to_plain(_as_name(key), 0)): _to_plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)) and depth:
        return [_to_plain(item, depth - 1) for item in value]
    return _to_plain(safe_repr(value), 0)
