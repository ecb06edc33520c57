"""Run the real console script, or one that has its imports done, in a folder of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.console import script_for
from tests.patience import PATIENCE


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def evergold(*args: str, cwd: Path, stdin: str = "", **env: str) -> Ran:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    done = subprocess.run(
        [str(script_for(env)), *args],
        cwd=cwd,
        env={**clean, "EVERGOLD_CHECKS_BUILTIN": "false", **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
