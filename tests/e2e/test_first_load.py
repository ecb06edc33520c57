"""The first load of the web app stays small: heavy parts (charts, differences) come when they are needed."""

import gzip
import re
from pathlib import Path

import pytest

import evergold

pytestmark = pytest.mark.slow

DIST = Path(evergold.__file__).parent / "web_dist"
MOST_KB = 350


def test_the_first_load_is_small(built_app: None) -> None:
    page = (DIST / "index.html").read_text(encoding="utf-8")
    loaded = re.findall(r'(?:src|href)="/(assets/[^"]+)"', page)
    assert loaded
    assert sum(len(gzip.compress((DIST / file).read_bytes())) for file in loaded) < MOST_KB * 1024
