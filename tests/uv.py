"""The uv that `make setup` used: the machine's own, or the one it installed beside Python."""

import shutil
import sys
from pathlib import Path

BIN = Path(sys.executable).parent


def the_uv() -> str:
    found = shutil.which("uv") or shutil.which("uv", path=str(BIN))
    assert found, "uv is needed; `make setup` brings it"
    return found
