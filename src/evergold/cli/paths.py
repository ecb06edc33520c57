"""Paths on the command line: of this machine, or of an object store (`s3://`, `gs://`, `az://`, `hf://`)."""

from pathlib import Path
from typing import Any

import click

from evergold.storage import is_url, location


class PathOrUrl(click.Path):
    """A path, or a URL of an object store; what a path must be is asked of paths of this machine alone."""

    name = "path"

    def __init__(self, **options: Any) -> None:
        super().__init__(path_type=Path, **options)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        # Whether an object exists is asked when it is opened: a check here would cost a request for each argument.
        if isinstance(value, str) and is_url(value):
            return location(value)
        return super().convert(value, param, ctx)


A_PATH = PathOrUrl()
