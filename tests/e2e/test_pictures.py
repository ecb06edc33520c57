"""The pictures of the docs, taken of the real pages.

`EVERGOLD_PICTURES=1 pytest tests/e2e/test_pictures.py` renews those in docs/img; otherwise they are only taken and weighed.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs" / "img"
FRAME = {"width": 1200, "height": 750}
MOST_BYTES = 150 * 1024


@pytest.mark.parametrize(
    ("name", "path", "landmark"),
    [
        ("overview", "/", "260 traces in all"),
        ("cases", "/cases/handbook/qa-17", "handbook/large.md"),
        ("traces", "/traces/tr-00004", "What would change it"),
    ],
)
def test_picture(
    opened: Callable[..., Page], address: str, tmp_path: Path, name: str, path: str, landmark: str
) -> None:
    page = opened(address + path, viewport=FRAME, color_scheme="light", reduced_motion="reduce")
    expect(page.get_by_text(landmark).first).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator(".mantine-Skeleton-root")).to_have_count(0)
    folder = DOCS if os.environ.get("EVERGOLD_PICTURES") else tmp_path
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.png"
    page.screenshot(path=file)
    assert file.stat().st_size < MOST_BYTES
