"""The files of each page's first visit stay small, as a real browser counts what a real server sends."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

MOST_KB = 350


@pytest.mark.parametrize(
    "path", ["/", "/traces", "/cases", "/review?dataset=handbook&id=qa-17", "/datasets", "/benchmarks", "/settings"]
)
def test_the_first_visit_is_small(opened: Callable[..., Page], address: str, path: str) -> None:
    page = opened("about:blank")
    names: dict[str, str] = {}
    sizes: dict[str, int] = {}
    network = page.context.new_cdp_session(page)
    network.on("Network.responseReceived", lambda event: names.update({event["requestId"]: event["response"]["url"]}))
    network.on("Network.loadingFinished", lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}))
    network.send("Network.enable")
    page.goto(address + path)
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    page.wait_for_load_state("networkidle")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    sent = {names[key].removeprefix(address): size for key, size in sizes.items()}
    assert any(name.endswith(".js") for name in sent)
    files = {name: size for name, size in sent.items() if not name.startswith("/api/")}
    total = sum(files.values())
    print(f"{path}: {total / 1024:.0f} KB of files, {(sum(sent.values()) - total) / 1024:.0f} KB of answers")
    assert total < MOST_KB * 1024, sorted(files.items(), key=lambda one: -one[1])[:10]
