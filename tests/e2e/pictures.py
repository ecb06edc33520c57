"""Where the browser tests put their pictures: into docs/img when EVERGOLD_PICTURES is set, else out of the way."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "img"


def _out_of_the_way() -> Path:
    folder = tempfile.mkdtemp(prefix="evergold-pictures-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


PICTURES = DOCS if os.environ.get("EVERGOLD_PICTURES") else _out_of_the_way()
