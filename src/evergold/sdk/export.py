"""The living dataset of a server as a file. Called by people and jobs, so it may raise."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from evergold.credentials import hide
from evergold.errors import Unavailable
from evergold.formats.lines import write_lines
from evergold.model.case import EntryType
from evergold.sdk.server import Server

FORMAT = "live-jsonl"
LONGEST_LINE = 64 << 20


def export_from_server(url: str, token: str, path: Path, entry_type: str | None, limit: int | None) -> int:
    """Write the lines that the server exports: there each has the integer of `eval_dataset` as its `id`."""
    return write_lines(islice(_read_lines(url, token, entry_type), limit), path)


def _read_lines(url: str, token: str, entry_type: str | None) -> Iterator[dict[str, Any]]:
    query = {"dataset": "live", "format": FORMAT, "entry_type": EntryType(entry_type) if entry_type else None}
    with Server(url, token).open("GET", "/cases/export", query=query) as response:
        try:
            while line := response.readline(LONGEST_LINE):
                yield orjson.loads(line)
        except orjson.JSONDecodeError as problem:
            raise Unavailable(
                f"{hide(url)} did not answer with lines of cases: {problem}; check the address"
            ) from problem
