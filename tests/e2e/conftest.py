"""A real server with sample data, and a real browser that fails a test on any error the page reports."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request

import evergold
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.e2e.pages import a_browser, a_page
from tests.e2e.sample import cases, records

TRACES = 260
FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.when == "call":
        item.stash[FAILED] = report.failed
    return report


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One per module, and none after it: other tests cannot start an event loop beside Playwright."""
    with a_browser() as launched:
        yield launched


@pytest.fixture(scope="session")
def built_app() -> None:
    index = Path(evergold.__file__).parent / "web_dist" / "index.html"
    assert index.is_file(), "the web app is not built; `make setup` builds it"


@pytest.fixture(scope="session")
def address(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over three weeks of sample data. Tests share it, so they only read."""
    folder = tmp_path_factory.mktemp("sample")
    fill(folder / ".evergold")
    with served(folder) as found:
        yield found


@pytest.fixture(scope="session")
def empty_address(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server into which nothing has come yet."""
    with served(tmp_path_factory.mktemp("empty")) as found:
        yield found


def fill(home: Path, count: int = TRACES) -> None:
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept(records(count))
        workspace.live.curate()
        workspace.cases.put(cases())


DRAWN = """() => new Promise((drawn) => {
  const look = () =>
    performance.getEntriesByName("first-contentful-paint").length ? drawn(true) : requestAnimationFrame(look);
  look();
})"""


@dataclass
class Opener:
    """Opens pages, each in a profile of its own, and keeps what they complained about.

    A page that outlives its server would complain of that: a test that starts a server closes its pages first.
    """

    browser: Browser
    complaints: list[str] = field(default_factory=list)
    contexts: list[BrowserContext] = field(default_factory=list)
    waiting: list[Request] = field(default_factory=list)

    def __call__(self, url: str, *, expected: str = "", **options: Any) -> Page:
        """`expected` is a text that a console error of this page may contain: a test of a failure provokes it."""
        page = a_page(self.browser, **options)
        self.contexts.append(page.context)

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not (expected and expected in message.text):
                self.complaints.append(f"{message.type}: {message.text}")

        page.on("console", heard)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on("request", lambda request: self.waiting.append(request))
        page.on("requestfinished", lambda request: self.waiting.remove(request))
        page.on("requestfailed", lambda request: self.waiting.remove(request))
        page.goto(url)
        if url.startswith("http"):
            # Chromium may drop clicks on a page that it has not drawn yet.
            page.evaluate(DRAWN)
        return page


@pytest.fixture
def opened(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Callable[..., Page]]:
    opener = Opener(browser)
    yield opener
    if request.node.stash.get(FAILED, False):
        for context in opener.contexts:
            for page in context.pages:
                print(f"{page.url} shows:\n{page.locator('body').inner_text()}")  # pytest shows it with the failure
        print("requests without an answer:", *(waiting.url for waiting in opener.waiting), sep="\n")
    for context in opener.contexts:
        context.close()
    assert opener.complaints == []
