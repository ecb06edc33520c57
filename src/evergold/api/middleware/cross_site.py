"""Refuses requests that a web page of another site makes through the user's browser.

Two attacks, two checks:

- DNS rebinding. A page of `evil.example` lets its own name resolve to 127.0.0.1; for the browser it is then the same origin.
  Only the `Host` header shows it: every request must name a loopback address, `server.host`, or an entry of `server.hosts`.
- Cross-site requests. A page of another origin posts a form, or loads an address of the API. Browsers say so in
  `Sec-Fetch-Site`; older ones at least send `Origin` with a request that changes something.

Health and metrics are exempt from the first: probes and scrapers reach a server by the address of its container.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Receive, Scope, Send

from evergold.api.errors import refusal
from evergold.errors import BadInput
from evergold.settings import Settings

EXEMPT = frozenset({"/api/v1/health", "/api/v1/ready", "/metrics"})
GUARDED = ("/api/", "/v1/")
READING = frozenset({"GET", "HEAD", "OPTIONS"})
SAME = (b"same-origin", b"none")  # "none": the user typed the address or opened a bookmark
WILDCARDS = ("0.0.0.0", "::", "")
SHOWN = 100

_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[^\s\[\]:/@?#\\,]+)(?::[0-9]{0,5})?\Z")


class CrossSiteCheck:
    """A plain ASGI layer: OTLP passes it thousands of times a second."""

    def __init__(self, app: ASGIApp, known: Callable[[bytes], bool]) -> None:
        self._app = app
        self._known = known

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        problem = self._problem(scope) if scope["type"] in ("http", "websocket") else None
        if problem is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await refusal(403, problem)(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        hosts, origin, site, mode = [], None, None, b""
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value)
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-site":
                site = value.strip().lower()
            elif name == b"sec-fetch-mode":
                mode = value.strip().lower()
        # Two Host headers are an attack on proxies that read another one than we do.
        if scope["path"] not in EXEMPT and not (len(hosts) == 1 and self._known(hosts[0])):
            return (
                f"this server is not called {_shown(b', '.join(hosts))}: call it by a loopback address, "
                "or add the name to the setting server.hosts"
            )
        if not scope["path"].startswith(GUARDED):
            return None
        reading = scope.get("method", "GET") in READING
        if site is not None:
            # A link from another site may open a page (navigate), not call the API from its scripts.
            foreign = site not in SAME and not (reading and mode == b"navigate")
        else:
            # Without Sec-Fetch-Site, Origin tells; a request without either is no browser's.
            foreign = origin is not None and not reading and not _is_host(origin, hosts)
        return f"a page of another site ({_shown(origin or site or b'')}) may not call this server" if foreign else None


def known_host(settings: Settings) -> Callable[[bytes], bool]:
    """Make the function that decides whether a `Host` header names this server."""
    names = {_name(entry, "server.hosts") for entry in settings.server_hosts}
    if settings.server_host not in WILDCARDS:
        names.add(_plain(settings.server_host))

    # The same few hosts come thousands of times a second.
    @lru_cache(maxsize=256)
    def known(header: bytes) -> bool:
        match = _HOST.match(header.decode("latin-1").strip())
        name = _plain(match["name"]) if match else ""
        return bool(name) and (name == "localhost" or name in names or _is_loopback(name))

    return known


def _name(entry: str, setting: str) -> str:
    """Read an entry of the setting, which may carry a port; the port is not compared."""
    # An IPv6 address without brackets would be read as a name with a port.
    bare = f"[{entry}]" if entry.count(":") > 1 and not entry.startswith("[") else entry
    match = _HOST.match(bare)
    if match is None or "*" in entry:
        raise BadInput(
            f"{setting}: {entry!r} is not a host name; write it as in an address, for example eval.example.org"
        )
    return _plain(match["name"])


def _plain(name: str) -> str:
    return name.strip("[]").removesuffix(".").lower()


def _is_loopback(name: str) -> bool:
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _is_host(origin: bytes, hosts: list[bytes]) -> bool:
    """Whether an origin is the address the request was sent to. The scheme may differ: a proxy may end TLS."""
    try:
        parts = urlsplit(origin.decode("latin-1"))
        return parts.scheme in ("http", "https") and [parts.netloc.lower().encode("latin-1")] == [
            host.strip().lower() for host in hosts
        ]
    except ValueError:
        return False


def _shown(value: bytes) -> str:
    return repr(value[:SHOWN].decode("latin-1"))
