"""The first page, with nothing, with a little, and while more comes in."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.e2e.conftest import fill
from tests.e2e.pages import PHONE
from tests.e2e.review_data import serious_faults
from tests.e2e.sample import records

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


def test_an_empty_workspace_is_filled_from_the_page_or_by_a_snippet(opened: Open, empty_address: str) -> None:
    page = opened(empty_address)
    expect(page.get_by_role("heading", name="Three ways to begin")).to_be_visible()
    expect(page.get_by_role("button", name="Use sample data")).to_be_visible()
    for name in ("Python", "TypeScript", "LangChain", "OpenAI SDK", "curl"):
        page.get_by_role("tab", name=name, exact=True).click()
        expect(page.get_by_role("tabpanel", name=name)).to_contain_text(empty_address)
        expect(page.get_by_role("button", name=f"Copy {name}")).to_be_visible()
    assert serious_faults(page) == []
    phone = opened(empty_address, viewport=PHONE)
    button = phone.get_by_role("list").get_by_role("button").first
    expect(button).to_be_in_viewport(ratio=1)


def test_numbers_chart_checks_and_coverage(opened: Open, address: str) -> None:
    page = opened(address)
    strip = page.get_by_role("region", name="Cases of the period by type")
    expect(strip.get_by_role("link", name="in this period")).to_contain_text("260")
    expect(page.get_by_role("img", name="260 traces")).to_be_visible()
    expect(page.locator("svg path").first).to_be_attached()
    expect(page.get_by_text("grounded")).to_be_visible()
    expect(page.get_by_role("link", name="live")).to_be_visible()


def test_a_page_that_loads_says_nothing_of_the_age_of_its_numbers(opened: Open, address: str) -> None:
    page = opened(f"{address}/nowhere")
    page.route("**/stats/overview**", lambda _: None)  # which never answers
    page.goto(address)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect(page.get_by_text("Not renewed")).to_have_count(0)


def test_a_number_leads_to_its_cases(opened: Open, address: str) -> None:
    page = opened(address)
    figure = page.get_by_role("link", name=re.compile("^Failures"))
    shown = figure.inner_text().split("\n")[1]
    figure.click()
    expect(page).to_have_url(f"{address}/cases?tier=failure")
    expect(page.get_by_text(f"{shown} cases").first).to_be_visible()


def test_a_period_can_be_chosen_and_is_in_the_address(opened: Open, address: str) -> None:
    page = opened(address)
    page.get_by_text("7 d", exact=True).click()
    expect(page).to_have_url(f"{address}/?period=7d")
    expect(page.get_by_role("link", name="in this period")).not_to_contain_text("260")


def test_what_comes_in_appears_by_itself(opened: Open, built_app: None, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        page = opened(address)
        expect(page.get_by_role("heading", name="Three ways to begin")).to_be_visible()
        with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
            workspace.intake.accept(records(10))
        expect(page.get_by_role("img", name="10 traces")).to_be_visible()
        steps = page.get_by_role("list", name="First steps, 4 left")
        expect(steps.get_by_role("link", name="Decide about a first case")).to_be_visible()
        page.get_by_role("button", name="Hide").click()
        page.reload()
        expect(page.get_by_role("img", name="10 traces")).to_be_visible()
        expect(steps).to_have_count(0)
        page.context.close()


def test_sample_data_is_on_its_way_until_the_page_shows_it(opened: Open, built_app: None, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        page = opened(address)
        empty = page.request.get(f"{address}/api/v1/stats/overview?period=30d").json()
        page.route("**/api/v1/stats/overview?period=*", lambda route: route.fulfill(json=empty))
        button = page.get_by_role("button", name="Use sample data")
        with page.expect_response("**/api/v1/samples"):
            button.click()
            expect(page.get_by_text("Loading sample data…")).to_be_visible()
        # The figures come later than the answer.
        page.wait_for_timeout(500)
        expect(page.get_by_text("Loading sample data…")).to_be_visible()
        expect(button).to_be_disabled()
        page.unroute("**/api/v1/stats/overview?period=*")
        expect(page.get_by_role("heading", name="What became of it?")).to_be_visible()
        page.context.close()


def test_ten_traces_make_a_sensible_page(opened: Open, built_app: None, tmp_path: Path) -> None:
    fill(tmp_path / ".evergold", 10)
    with served(tmp_path) as address:
        page = opened(address)
        expect(page.get_by_role("img", name="10 traces")).to_be_visible()
        page.context.close()


def test_the_page_says_what_keeps_traces_out_and_what_fires(opened: Open, address: str) -> None:
    page = opened(address)
    expect(page.get_by_text("What keeps traces out of the golden set")).to_be_visible()
    expect(page.get_by_role("link", name="the rules in force")).to_be_visible()
    expect(page.get_by_text("Where people disagreed")).to_be_visible()
    expect(page.get_by_text("Nothing is watched yet")).to_be_visible()


def test_an_alert_that_is_muted_says_until_when(opened: Open, address: str) -> None:
    page = opened("about:blank")
    alert = {
        "id": 1,
        "rule": "no traffic",
        "kind": "intake_stopped",
        "subject": "",
        "text": "No trace has come for 3 h",
        "details": {},
        "opened_at": "2026-01-01T10:00:00Z",
        "seen_at": "2026-01-01T12:00:00Z",
        "resolved_at": None,
        "deliveries": [],
    }
    rule: dict[str, Any] = {
        "name": "no traffic",
        "kind": "intake_stopped",
        "origin": "settings",
        "limits": {},
        "muted_until": None,
    }
    state = {"rules": [rule], "webhook": None, "signed": False, "looked_at": None, "hint": None, "alerts": [alert]}
    page.route("**/api/v1/alerts?*", lambda route: route.fulfill(json=state))
    page.goto(address)
    line = page.get_by_role("listitem").filter(has_text="No trace has come for 3 h")
    expect(line).to_contain_text("Firing")
    expect(page.get_by_text("Written to the log")).to_have_count(1)
    rule["muted_until"] = "2026-01-02T10:00:00Z"
    page.reload()
    expect(line).to_contain_text("Muted until")
    expect(line).not_to_contain_text("Firing")
