"""The traffic of the overview: cost, tokens, latency, errors and checks over time, by model and by name."""

import re
import time
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.api.serving import calling
from tests.e2e.review_data import serious_faults
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
TRACES_OF_A_TIME = re.compile(r"/traces\?.*since=")


def figures(page: Page) -> Locator:
    return page.get_by_role("region", name="Figures of the traffic")


def listed(page: Page, label: str) -> int:
    """Follow a figure, and count the traces of the list that it leads to."""
    figures(page).get_by_role("link", name=re.compile(rf"^{re.escape(label)}: ")).click()
    end = page.get_by_text("End of the list: ")
    page.get_by_role("list", name="Traces").hover()
    until = time.monotonic() + PATIENCE
    while not end.is_visible():
        assert time.monotonic() < until
        page.mouse.wheel(0, 20_000)
    number = int(end.inner_text().rpartition(": ")[2].split()[0])
    page.go_back()
    expect(figures(page)).to_be_visible()
    return number


def test_each_figure_leads_to_the_traces_that_it_counts(opened: Open, address: str) -> None:
    with calling(address) as client:
        seen = client.get("/api/v1/stats/traffic", params={"by": "model"}).json()
    page = opened(f"{address}/")
    figures(page).scroll_into_view_if_needed()
    by_model = {group["value"]: group["figures"] for group in seen["groups"]}
    small = by_model["small-chat-3"]
    assert listed(page, "small-chat-3, Errors") == small["failed"]
    assert listed(page, "small-chat-3, Latency, p99") <= max(1, small["traces"] // 50)
    figures(page).get_by_role("link", name=re.compile("^All, Failing checks")).click()
    expect(page.get_by_role("list", name="Filters that are set")).to_contain_text("any score failed")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()


def test_the_traffic_is_grouped_drawn_and_in_the_address(opened: Open, address: str) -> None:
    page = opened(f"{address}/")
    expect(figures(page).get_by_role("rowheader", name="large-chat-2")).to_be_visible()
    page.get_by_role("radiogroup", name="Counted by").get_by_text("Name").click()
    expect(figures(page).get_by_role("rowheader", name="order-search")).to_be_visible()
    page.get_by_role("combobox", name="Drawn over time").click()
    page.get_by_role("option", name="Latency, p95").click()
    expect(page.get_by_role("img", name="Latency, p95 over time")).to_be_visible()
    assert parse_qs(urlsplit(page.url).query) == {"by": ["name"], "measure": ["p95"]}
    page.reload()
    expect(page.get_by_role("img", name="Latency, p95 over time")).to_be_visible()
    assert serious_faults(page) == []


def test_a_bar_leads_to_the_traces_of_its_day_and_model(opened: Open, address: str) -> None:
    page = opened(f"{address}/?by=model")
    chart = page.get_by_role("img", name="Traces over time")
    bars = chart.locator("rect[data-bar]")
    expect(bars.first).to_be_attached()
    # The tallest part of a bar: that of today is empty right after midnight.
    tallest = max(bars.all(), key=lambda bar: (bar.bounding_box() or {"height": 0})["height"])
    tallest.click()
    expect(page).to_have_url(TRACES_OF_A_TIME)
    query = parse_qs(urlsplit(page.url).query)
    assert "until" in query
    assert "chat" in query["model"][0]


def test_a_failing_check_leads_to_its_traces(opened: Open, address: str) -> None:
    page = opened(f"{address}/")
    page.get_by_role("link", name="grounded", exact=True).click()
    expect(page.get_by_role("list", name="Filters that are set")).to_contain_text("grounded failed")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()
