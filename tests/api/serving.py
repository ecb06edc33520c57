"""A real server: `evergold serve` in a process of its own, on a free port, and a client for it."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.console import script_for
from tests.patience import PATIENCE


def calling(url: str, **options: Any) -> httpx.Client:
    """A client that waits as long for an answer as a test waits for anything."""
    return httpx.Client(base_url=url, timeout=PATIENCE, **options)


@contextmanager
def served(folder: Path, *words: str, **env: str) -> Iterator[str]:
    """Yields its address once it answers; stops it as Ctrl-C would. `words`: another command than `serve`."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    process = subprocess.Popen(
        [str(script_for(env)), *(words or ("serve",)), "--port", "0"],
        cwd=folder,
        env={**clean, "PYTHONUNBUFFERED": "1", "EVERGOLD_CHECKS_BUILTIN": "false", **env},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, f"the server did not start: {line!r}"
        yield line.split()[1]
    finally:
        process.terminate()
        process.wait(PATIENCE)
        if process.stdout is not None:
            process.stdout.close()
