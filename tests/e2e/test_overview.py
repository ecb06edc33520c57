"""The first page, with nothing, with a little, and while more comes in."""

import re
from collections.abc import Callable
from pathlib import Path

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
