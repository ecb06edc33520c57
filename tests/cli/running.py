"""Run the real console script, or one that has its imports done, in a folder of its own."""

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.console import SCRIPT, warm_script
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
    """Run one command. Variables of the interpreter itself need an interpreter of their own."""
    script = SCRIPT if any(name.startswith("PYTHON") for name in env) else warm_script()
    clean = {name: value for name, value in os.environ.items() if not name.startswith("EVERGOLD_")}
    done = subprocess.run(
        [str(script), *args],
        cwd=cwd,
        env={**clean, "EVERGOLD_CHECKS_BUILTIN": "false", **env},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
