"""The frame around every page: navigation, keys, colours, token, and what is shown when something is wrong."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.api.serving import served
from tests.e2e.pages import PHONE
from tests.e2e.review_data import serious_faults

pytestmark = pytest.mark.slow

PLACES = ("Overview", "Traces", "Cases", "Review", "Datasets", "Benchmarks", "Settings")
Open = Callable[..., Page]
TYPED_AT_ONCE = """keys => {
    for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
}"""
"""Two keys are a sequence only if one soon follows the other, however busy the machine is meanwhile."""


def expect_scheme(page: Page, scheme: str) -> None:
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desk", "phone"])
def test_every_place_is_one_click_away(opened: Open, address: str, viewport: dict[str, int] | None) -> None:
    page = opened(address, **({"viewport": viewport} if viewport else {}))
    for place in PLACES:
        page.get_by_role("navigation", name="Main").get_by_role("link", name=place).click()
        expect(page.get_by_role("heading", level=1).first).to_be_visible()
        expect(page.get_by_role("navigation", name="Main").locator("[aria-current=page]")).to_have_text(place)
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), f"{place} scrolls sideways"


@pytest.mark.parametrize("path", ["/", "/traces", "/review", "/dev/evaldata", "/datasets"])
def test_an_empty_place_fits_a_phone_and_says_what_to_do(opened: Open, empty_address: str, path: str) -> None:
    page = opened(empty_address + path, viewport=PHONE)
    ways = page.get_by_role("main").get_by_role("button", name=re.compile("Use sample data|Choose a file|Import"))
    expect(ways.or_(page.locator("pre")).first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_an_empty_workspace_is_filled_without_a_terminal(opened: Open, built_app: None, tmp_path: Path) -> None:
    with served(tmp_path) as address:
        page = opened(f"{address}/cases", viewport=PHONE)
        page.get_by_role("button", name="Use sample data").click()
        expect(page.get_by_role("list", name="Cases").get_by_role("link").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.context.close()


def test_the_empty_benchmarks_page_fits_a_phone_and_starts_a_run(opened: Open, empty_address: str) -> None:
    page = opened(f"{empty_address}/benchmarks", viewport=PHONE)
    page.get_by_role("button", name="Start a run").click()
    expect(page.get_by_role("dialog", name="New run")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_a_link_opened_directly_shows_its_page(opened: Open, address: str) -> None:
    for path, title in (("/cases", "Cases"), ("/traces", "Traces"), ("/datasets", "Datasets")):
        expect(opened(address + path).get_by_role("heading", name=title, level=1)).to_be_visible()


def test_keys_are_listed_and_work(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases")
    expect(page.get_by_role("heading", name="Cases", level=1)).to_be_visible()
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog.get_by_text("Go to Traces")).to_be_visible()
    expect(dialog.get_by_text("Search cases")).to_be_visible()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.evaluate(TYPED_AT_ONCE, "gt")
    expect(page.get_by_role("heading", name="Traces", level=1)).to_be_visible()


def test_colours_follow_the_system_until_somebody_chooses(opened: Open, address: str) -> None:
    page = opened(address, color_scheme="dark")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    expect_scheme(page, "dark")
    page.get_by_role("button", name="Colours: System").click()
    expect_scheme(page, "light")
    page.reload()
    expect(page.get_by_role("button", name="Colours: Light")).to_be_visible()
    expect_scheme(page, "light")


def test_an_address_that_leads_nowhere_says_so(opened: Open, address: str) -> None:
    page = opened(f"{address}/no/such/page")
    expect(page.get_by_role("heading", name="There is no page here")).to_be_visible()
    page.get_by_role("link", name="Go to the overview").click()
    expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()


def test_a_guarded_server_asks_for_its_token_once(opened: Open, built_app: None, tmp_path: Path) -> None:
    with served(tmp_path, EVERGOLD_SERVER_TOKEN="let-me-in") as guarded:
        page = opened(f"{guarded}/cases", expected="401")
        field = page.get_by_label("Access token")
        field.fill("wrong")
        page.get_by_role("button", name="Open the workspace").click()
        expect(page.get_by_text("The server did not accept the token")).to_be_visible()
        field.fill("let-me-in")
        page.get_by_role("button", name="Open the workspace").click()
        expect(page.get_by_role("heading", name="No cases yet")).to_be_visible()
        page.reload()
        expect(page.get_by_role("heading", name="No cases yet")).to_be_visible()
        page.context.close()


def test_a_server_that_went_away_is_named_and_what_is_typed_outlives_it(
    opened: Open, built_app: None, tmp_path: Path
) -> None:
    with served(tmp_path) as address:
        page = opened(f"{address}/", expected="Failed to load resource")
        expect(page.get_by_role("heading", name="Overview", level=1)).to_be_visible()
        page.route("**/api/**", lambda route: route.abort())
        page.get_by_role("navigation", name="Main").get_by_role("link", name="Cases").click()
        expect(page.get_by_text("The server does not answer")).to_be_visible()
        expect(page.get_by_text("No connection to the server")).to_be_visible()
        page.keyboard.press("N")
        page.get_by_label("Question").fill("Who keeps this?")
        page.get_by_label("Expected answer").fill("The form.")
        page.get_by_role("button", name="Make the case").click()
        expect(page.get_by_role("dialog").get_by_text("The server does not answer")).to_be_visible()
        page.reload()
        page.unroute("**/api/**")
        # The page asks by itself until the server is back, and then shows what it could not show before.
        expect(page.get_by_text("No connection to the server")).to_be_hidden()
        expect(page.get_by_role("heading", name="No cases yet")).to_be_visible()
        page.keyboard.press("N")
        expect(page.get_by_label("Expected answer")).to_have_value("The form.")
        page.get_by_role("button", name="Make the case").click()
        expect(page.get_by_role("heading", name="Who keeps this?")).to_be_visible()
        page.context.close()


def test_a_page_that_breaks_leaves_the_rest_usable(opened: Open, address: str) -> None:
    page = opened(address, expected="Cannot read")
    page.route("**/api/v1/cases?*", lambda route: route.fulfill(json={"total": 1, "next": None, "cases": [None]}))
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Cases").click()
    expect(page.get_by_role("heading", name="This page broke")).to_be_visible()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Traces").click()
    expect(page.get_by_role("heading", name="Traces", level=1)).to_be_visible()


@pytest.mark.parametrize("colours", ["light", "dark"])
@pytest.mark.parametrize(
    "path",
    ["/", "/cases", "/cases/handbook/qa-17", "/traces", "/traces/tr-00004", "/review", "/datasets", "/benchmarks"],
)
def test_axe_finds_no_serious_fault(opened: Open, address: str, path: str, colours: str) -> None:
    page = opened(address + path, color_scheme=colours, reduced_motion="reduce", bypass_csp=True)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.wait_for_load_state("networkidle")
    # Colours that axe reads while a page still turns from waiting to ready are those of neither.
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert serious_faults(page) == []
