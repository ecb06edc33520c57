"""The living dataset as a file, from a workspace here or from a server. Called by people and jobs, so it may raise."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

import orjson

from evergold.errors import Unavailable
from evergold.formats.live_jsonl import LiveJsonl
from evergold.model.case import Case, EntryType
from evergold.settings import Settings

PAGE = 500


def export_from_workspace(settings: Settings, path: Path, entry_type: str | None, limit: int | None) -> int:
    from evergold.workspace import Workspace

    with Workspace.open(settings) as workspace:
        return workspace.dataset.export_to_jsonl(path, entry_type, limit)


def export_from_server(url: str, token: str, path: Path, entry_type: str | None, limit: int | None) -> int:
    return LiveJsonl().write(islice(_cases(url, token, entry_type), limit), path)


def _cases(url: str, token: str, entry_type: str | None) -> Iterator[Case]:
    query = {"dataset": "live", "limit": str(PAGE)}
    if entry_type is not None:
        query["entry_type"] = EntryType(entry_type)
    before: str | None = None
    while True:
        asked = query | ({"before": before} if before else {})
        request = Request(f"{url.rstrip('/')}/api/v1/cases?{urlencode(asked)}")
        if token:
            request.add_header("Authorization", f"Bearer {token}")
        try:
            with urlopen(request, timeout=30) as response:
                page = orjson.loads(response.read())
        except (HTTPError, URLError) as problem:
            raise Unavailable(f"cannot read cases from {url}: {problem}; check the address and the token") from problem
        yield from (Case.model_validate(case) for case in page["cases"])
        before = page["next"]
        if not before:
            return
