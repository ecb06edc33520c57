"""The Cases page: filters in the address, one case beside the list, its evidence and its history."""

import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case
from tests.e2e.pages import PHONE
from tests.e2e.review_data import serious_faults
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


def choose(page: Page, filter_name: str, option: str) -> None:
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name=filter_name).click()
    page.get_by_role("option", name=option).click()
    page.keyboard.press("Escape")


def rows(page: Page) -> Locator:
    return page.get_by_role("list", name="Cases").get_by_role("listitem")


def test_filters_narrow_the_list_and_live_in_the_address(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases")
    expect(page.get_by_role("list", name="Cases")).to_be_visible()
    choose(page, "Type", "Correction")
    expect(page).to_have_url(f"{address}/cases?tier=correction")
    expect(page.get_by_text("Correction", exact=True).first).to_be_visible()
    choose(page, "Type", "Golden, unconfirmed")
    choose(page, "Dataset", "handbook")
    expect(page.get_by_text("1 case", exact=True)).to_be_visible()
    page.reload()
    expect(page.get_by_text("1 case", exact=True)).to_be_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(page).to_have_url(f"{address}/cases")


def test_search_finds_words_and_an_empty_result_offers_a_way_out(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases")
    page.keyboard.press("/")
    page.get_by_label("Search cases").fill("pick-up point")
    expect(page.get_by_text("1 case", exact=True)).to_be_visible()
    page.get_by_label("Search cases").fill("no case says this")
    expect(page.get_by_role("heading", name="No case passes these filters")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_role("list", name="Cases")).to_be_visible()


def test_the_list_is_virtual_and_loads_on(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases?dataset=live")
    expect(rows(page).nth(10)).to_be_visible()
    assert rows(page).count() < 60
    page.get_by_role("list", name="Cases").hover()
    end = page.get_by_text("End of the list")
    until = time.monotonic() + PATIENCE
    while not end.is_visible():
        assert time.monotonic() < until
        page.mouse.wheel(0, 20_000)
    assert rows(page).count() < 60


def test_a_case_opens_beside_the_list_and_by_its_own_link(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases?dataset=handbook")
    page.get_by_role("link", name="How long may a parcel wait").click()
    expect(page).to_have_url(f"{address}/cases/handbook/qa-17?dataset=handbook")
    expect(page.get_by_role("article").get_by_text("Seven days [1]; large parcels four [2].")).to_be_visible()
    expect(page.get_by_text("handbook/large.md", exact=True)).to_be_visible()
    expect(page.get_by_text("this passage was lost; its place is kept")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).to_have_url(f"{address}/cases?dataset=handbook")
    direct = opened(f"{address}/cases/context/merge-41")
    expect(direct.get_by_text("client/retry.py:27–35")).to_be_visible()


def test_a_case_shows_where_it_comes_from_and_how_it_changed(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases?dataset=live&tier=failure")
    page.get_by_role("list", name="Cases").get_by_role("link").first.click()
    record = page.get_by_role("article")
    expect(record.get_by_role("heading", name="History")).to_be_visible()
    expect(record.get_by_role("list").last.get_by_role("listitem").first).to_be_visible()
    record.get_by_role("link", name=re.compile("^tr-")).click()
    expect(page.get_by_role("heading", name="Traces", level=1)).to_be_visible()


def test_j_and_k_walk_and_enter_opens(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases")
    expect(page.get_by_role("list", name="Cases")).to_be_visible()
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    first = page.get_by_role("article").get_by_role("heading", level=2)
    expect(first).to_be_visible()
    before = page.url
    page.keyboard.press("j")
    expect(page).not_to_have_url(before)
    page.keyboard.press("k")
    expect(page).to_have_url(before)


def test_a_case_that_is_not_there_says_so(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases/live/no-such-case", expected="404")
    expect(page.get_by_role("alert").get_by_text("no case 'no-such-case'").first).to_be_visible()


def test_on_a_phone_the_case_takes_the_place_of_the_list(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases?dataset=handbook", viewport=PHONE)
    page.get_by_role("link", name="How long may a parcel wait").click()
    expect(page.get_by_role("list", name="Cases")).to_be_hidden()
    page.get_by_role("button", name="Close and go back to the list").click()
    expect(page.get_by_role("list", name="Cases")).to_be_visible()


def test_two_people_edit_one_case_and_nothing_is_lost(opened: Open, address: str) -> None:
    first, second = (opened(f"{address}/cases/basic-tools/refund-tool", expected="409") for _ in range(2))
    for page in (first, second):
        expect(page.get_by_role("button", name="Edit…")).to_be_visible()
        page.keyboard.press("e")
        expect(page.get_by_role("textbox", name="Expected")).to_have_value("Order 1182 is refunded.")
    # A page in the background does not look for news: the second learns of the first only when it saves.
    second.evaluate("Object.defineProperty(document, 'visibilityState', { value: 'hidden' })")
    first.get_by_role("textbox", name="Expected").fill("Order 1182 was refunded.")
    first.get_by_role("button", name="Save").click()
    expect(first.get_by_text("Saved.")).to_be_visible()
    second.get_by_role("textbox", name="Expected").fill("The order is refunded.")
    second.get_by_role("button", name="Save").click()
    conflict = second.get_by_role("alert")
    expect(conflict).to_contain_text("Somebody changed this case meanwhile")
    expect(conflict).to_contain_text("Order 1182 was refunded.")
    expect(second.get_by_role("textbox", name="Expected")).to_have_value("The order is refunded.")
    second.get_by_role("button", name="Save mine").click()
    expect(second.get_by_text("Saved.")).to_be_visible()
    second.get_by_role("button", name="Undo").click()
    expect(second.get_by_role("group", name="Expected")).to_contain_text("Order 1182 was refunded.")


def test_cases_are_written_tagged_together_and_exported(opened: Open, tmp_path: Path) -> None:
    with served(tmp_path) as url:
        page = opened(f"{url}/cases")
        expect(page.get_by_role("button", name="New case…")).to_be_visible()
        page.keyboard.press("N")
        dialog = page.get_by_role("dialog")
        dialog.get_by_label("Question").fill("How long do refunds take?")
        dialog.get_by_label("Expected answer").fill("Three days.")
        assert serious_faults(page) == []
        dialog.get_by_role("button", name="Make the case").click()
        expect(page.get_by_role("heading", name="How long do refunds take?")).to_be_visible()
        expect(page.get_by_role("link", name="Review it")).to_be_visible()
        page.goto(f"{url}/cases")
        expect(rows(page).first).to_contain_text("How long do refunds take?")
        page.keyboard.press("a")
        bar = page.get_by_role("region", name="Chosen cases")
        bar.get_by_label("Tag").fill("refunds")
        page.keyboard.press("Enter")
        expect(bar).to_contain_text("Changed 1 case.")
        assert serious_faults(page) == []
        bar.get_by_role("button", name="Undo").click()
        expect(bar).to_contain_text("Taken back.")
        page.get_by_role("button", name="Export…").click()
        with page.expect_download() as download:
            page.get_by_role("menuitem", name="live-jsonl").click()
        assert "Three days." in download.value.path().read_text()
        page.context.close()


def test_motion_is_short_for_who_asks_for_less(opened: Open, address: str) -> None:
    page = opened(f"{address}/cases", reduced_motion="reduce")
    page.get_by_role("button", name="New case…").click()
    page.get_by_role("dialog").wait_for()
    slow = "each => parseFloat(getComputedStyle(each).transitionDuration) > 0.01"
    assert page.evaluate(f"() => [...document.querySelectorAll('*')].filter({slow}).length") == 0


def test_a_case_says_where_its_reference_comes_from_and_who_repeats_its_question(opened: Open, tmp_path: Path) -> None:
    asked = ["How long does a refund take?", "how long does a refund take", "Where is my order?"]
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(
            a_case(f"c{n}", dataset="faq", input=text, output="Five days.") for n, text in enumerate(asked)
        )
    with served(tmp_path) as address:
        page = opened(f"{address}/cases/faq/c0")
        expect(page.get_by_text("The recorded answer, which nobody has confirmed")).to_be_visible()
        page.get_by_role("link", name="c1", exact=True).click()
        expect(page.get_by_role("heading", name=asked[1])).to_be_visible()
        page.goto(f"{address}/cases")
        expect(page.get_by_text("one of 2 repeats")).to_have_count(2)
        page.set_viewport_size({"width": 1024, "height": 768})
        row = page.get_by_role("list", name="Cases").get_by_role("link").filter(has_text=asked[0])
        # The question keeps its width, and the heads of the columns stay on one line.
        assert row.get_by_text(asked[0]).evaluate("cell => cell.clientWidth") > 150
        heads = page.get_by_text("Changed", exact=True).locator("xpath=..").locator("span")
        assert all(head.evaluate("head => head.clientHeight") < 24 for head in heads.all())
        page.goto(f"{address}/datasets/faq")
        expect(page.get_by_text("1 question is asked more than once, by 2 cases")).to_be_visible()
