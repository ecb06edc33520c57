"""Requests to a server's REST interface on behalf of a person or a job: they wait, and raise what the server answers.

The logger of an app (`client.py`) does neither.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import IO, Any
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import orjson

from evergold.credentials import Secret, hide
from evergold.errors import (
    BadInput,
    Conflict,
    EvergoldError,
    Incomplete,
    NotFound,
    Refused,
    TooLarge,
    Unauthorized,
    Unavailable,
)

ERRORS = {kind.status: kind for kind in (BadInput, Unauthorized, Refused, NotFound, Conflict, TooLarge, Incomplete)}
LONGEST_LINE = 64 << 20
Values = Mapping[str, Any] | None  # of the query, or of the headers, by name
SECONDS = 300  # a server writes the whole file of an export before its first byte


class Server:
    """A server by its URL, and the token it is asked with."""

    def __init__(self, url: str, token: str = "") -> None:
        if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
            raise BadInput(f"{hide(url)!r} is not the URL of a server; write for example http://127.0.0.1:8321")
        self.url = Secret(url.rstrip("/"))
        self._headers = {"Authorization": f"Bearer {Secret(token)}"} if token else {}

    def get(self, path: str, query: Values = None) -> Any:
        return self.send("GET", path, query=query)

    def post(self, path: str, body: Any, query: Values = None, **headers: str) -> Any:
        return self.send("POST", path, orjson.dumps(body), query, headers)

    def send(
        self, method: str, path: str, body: bytes | None = None, query: Values = None, headers: Values = None
    ) -> Any:
        """Send a request below `/api/v1` and read the JSON of its answer."""
        with self.open(method, path, body, query, headers) as answer:
            raw = answer.read()
        try:
            return orjson.loads(raw) if raw else None
        except orjson.JSONDecodeError as problem:
            raise Unavailable(f"{hide(self.url)} did not answer with JSON: {problem}; check the address") from problem

    def read_lines(self, path: str, query: Values) -> Iterator[dict[str, Any]]:
        """Read an answer of JSON lines, one at a time."""
        with self.open("GET", path, query=query) as answer:
            try:
                while line := answer.readline(LONGEST_LINE):
                    yield orjson.loads(line)
            except orjson.JSONDecodeError as problem:
                raise Unavailable(
                    f"{hide(self.url)} did not answer with lines of cases: {problem}; check the address"
                ) from problem

    @contextmanager
    def open(
        self, method: str, path: str, body: bytes | None = None, query: Values = None, headers: Values = None
    ) -> Iterator[IO[bytes]]:
        """Send a request and give its answer to be read; what the server refuses is raised as its own kind of error."""
        given = {name: value for name, value in (query or {}).items() if value not in (None, ())}
        address = f"{self.url}/api/v1{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")
        sent = {"Content-Type": "application/json", **self._headers, **(headers or {})}
        request = Request(address, body, sent, method=method)
        try:
            with build_opener(_NoRedirects).open(request, timeout=SECONDS) as answer:
                yield answer
                # The standard reader takes a connection that is cut off for the end of the answer.
                if getattr(answer, "length", None):
                    raise HTTPException(f"the answer ended {answer.length:,} bytes early")
        except HTTPError as problem:
            raise self._error(problem) from None
        except (OSError, HTTPException) as problem:
            reason = getattr(problem, "reason", None) or problem
            raise Unavailable(
                f"cannot reach {hide(self.url)}: {reason}; check the address, and that evergold serve runs there"
            ) from None

    def _error(self, problem: HTTPError) -> EvergoldError:
        try:
            answer = orjson.loads(problem.read())
        except orjson.JSONDecodeError:
            answer = {}
        answer = answer if isinstance(answer, dict) else {}
        if not answer.get("error"):  # not a server of ours
            answered = f"{hide(self.url)} answered {problem.code} {problem.reason}"
            return Unavailable(f"{answered}; check the address and the token")
        message = str(answer["error"])
        if problem.code == Unauthorized.status:
            message += "; give the token of this server as token="
        kind = ERRORS.get(problem.code, Unavailable if problem.code >= 500 else BadInput)
        return kind(message, problems=[str(line) for line in answer.get("problems") or ()])


def part(name: str) -> str:
    """Write a name as one part of a path."""
    return quote(name, safe="")


class _NoRedirects(HTTPRedirectHandler):
    """Takes a redirect for the error it is: the standard handler would send the token on to any other host."""

    def redirect_request(self, *_: Any) -> None:
        return None
