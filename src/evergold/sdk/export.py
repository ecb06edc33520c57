"""The living dataset as a file, from a workspace here or from a server. Called by people and jobs, so it may raise."""

from collections.abc import Iterator
from http.client import HTTPException
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import HTTPRedirectHandler, Request, build_opener

import orjson

from evergold.errors import Unavailable
from evergold.formats.lines import write_lines
from evergold.model.case import EntryType
from evergold.settings import Settings

FORMAT = "live-jsonl"
LONGEST_LINE = 64 << 20
SECONDS = 300  # a server writes the whole file before its first byte


def export_from_workspace(settings: Settings, path: Path, entry_type: str | None, limit: int | None) -> int:
    from evergold.workspace import Workspace

    with Workspace.open(settings) as workspace:
        return workspace.dataset.export_to_jsonl(path, entry_type, limit)


def export_from_server(url: str, token: str, path: Path, entry_type: str | None, limit: int | None) -> int:
    """Write the lines that the server exports: there each has the integer of `eval_dataset` as its `id`."""
    return write_lines(islice(_read_lines(url, token, entry_type), limit), path)


def _read_lines(url: str, token: str, entry_type: str | None) -> Iterator[dict[str, Any]]:
    query = {"dataset": "live", "format": FORMAT}
    if entry_type is not None:
        query["entry_type"] = EntryType(entry_type)
    request = Request(f"{url.rstrip('/')}/api/v1/cases/export?{urlencode(query)}")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with build_opener(_NoRedirects).open(request, timeout=SECONDS) as response:
            while line := response.readline(LONGEST_LINE):
                yield orjson.loads(line)
            # The standard reader takes a connection that is cut off for the end of the file.
            if getattr(response, "length", None):
                raise HTTPException(f"the answer ended {response.length:,} bytes early")
    except (OSError, HTTPException) as problem:
        raise Unavailable(f"cannot read cases from {url}: {problem}; check the address and the token") from problem
    except orjson.JSONDecodeError as problem:
        raise Unavailable(f"{url} did not answer with lines of cases: {problem}; check the address") from problem


class _NoRedirects(HTTPRedirectHandler):
    """Takes a redirect for the error it is: the standard handler would send the token on to any other host."""

    def redirect_request(self, *_: Any) -> None:
        return None
