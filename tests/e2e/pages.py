"""A browser and its pages, as every test here wants them: patient, and without animations, so that what is seen is there."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any

from playwright.sync_api import Browser, Page, expect, sync_playwright

CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
"""The same browser without its windows comes first: half the time."""
DESK = {"width": 1280, "height": 800}
PHONE = {"width": 390, "height": 844}
WAIT_MS = 120_000
REBOUND = "rebound.example"
"""A name that this browser resolves to this machine."""

expect.set_options(timeout=WAIT_MS)


@contextmanager
def a_browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    assert path, "no Chromium found; scripts/ensure_chromium.sh installs it"
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path,
            args=["--no-sandbox", f"--host-resolver-rules=MAP {REBOUND} 127.0.0.1"],
            timeout=WAIT_MS,
        )
        yield launched
        launched.close()


def a_page(browser: Browser, **options: Any) -> Page:
    """A page in a profile of its own."""
    context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
    context.set_default_timeout(WAIT_MS)
    return context.new_page()


def wait_until(page: Page, expression: str) -> None:
    """Wait for an expression of JavaScript; the page's own waiting evaluates text, which our pages forbid."""
    deadline = monotonic() + WAIT_MS / 1000
    while not page.evaluate(expression):
        assert monotonic() < deadline, f"never true: {expression}"
        page.wait_for_timeout(50)
