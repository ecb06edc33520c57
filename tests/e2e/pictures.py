"""Where the browser tests put their pictures: into docs/img when EVERGOLD_PICTURES is set, else out of the way."""

import os
import tempfile
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs" / "img"
PICTURES = DOCS if os.environ.get("EVERGOLD_PICTURES") else Path(tempfile.mkdtemp(prefix="evergold-pictures-"))
