"""The Traces page: search, filters, span tree with timings, scores, conversation, and why a trace is (not) golden."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


def test_search_and_filters(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()
    page.get_by_label("Search traces").fill("walnut")
    expect(page).to_have_url(f"{address}/traces?q=walnut")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_contain_text("walnut desk")
    direct = opened(f"{address}/traces?status=failed")
    expect(direct.get_by_role("list", name="Traces").get_by_text("Failed").first).to_be_visible()
    expect(direct.get_by_role("list", name="Traces").get_by_text("Completed")).to_have_count(0)


GAPS = """() => {
  const boxes = [...document.querySelectorAll('ul[aria-label="Traces"] > li')].map((row) => row.getBoundingClientRect());
  boxes.sort((one, other) => one.top - other.top);
  return boxes.slice(1).map((box, index) => Math.round(box.top - boxes[index].bottom)).filter((gap) => gap !== 0);
}"""


@pytest.mark.parametrize("position", [0, 3])
def test_rows_touch_and_never_overlap_after_a_filter_and_beside_a_record(
    opened: Open, address: str, position: int
) -> None:
    page = opened(f"{address}/traces", viewport={"width": 1440, "height": 900})
    rows = page.get_by_role("list", name="Traces").get_by_role("link")
    expect(rows.first).to_be_visible()
    page.get_by_role("combobox", name="Status").click()
    page.get_by_role("option", name="Failed").click()
    expect(page.get_by_text("That is all")).to_be_visible()
    rows.nth(position).click()
    expect(page.get_by_role("tab", name="Spans")).to_be_visible()
    page.wait_for_function(f"({GAPS})().length === 0")
    page.get_by_role("button", name="Close and go back to the list").click()
    page.wait_for_function(f"({GAPS})().length === 0")


def test_spans_are_a_tree_with_timings_and_open(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00010")
    page.get_by_role("tab", name="Spans (5)").click()
    expect(page.get_by_role("button", name="agent agent")).to_be_visible()
    step = page.get_by_role("button", name="write_answer")
    expect(step).to_contain_text("ms")
    step.click()
    expect(page.get_by_text("388")).to_be_visible()


def test_scores_show_whose_they_are(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00010")
    page.get_by_role("tab", name="Scores (5)").click()
    expect(page.get_by_role("row", name="helpfulness")).to_contain_text("model judge")


def test_the_chosen_tab_outlives_a_reload_and_goes_along_to_the_next_trace(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00010")
    page.get_by_role("tab", name="Scores").click()
    expect(page).to_have_url(f"{address}/traces/tr-00010#scores")
    page.reload()
    expect(page.get_by_role("tab", name="Scores (5)")).to_have_attribute("aria-selected", "true")
    page.get_by_role("list", name="Traces").get_by_role("link").first.click()
    expect(page).not_to_have_url(f"{address}/traces/tr-00010#scores")
    expect(page.get_by_role("tab", name="Scores")).to_have_attribute("aria-selected", "true")


def test_why_a_trace_is_golden_or_not(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00004")
    verdict = page.get_by_role("region", name="Why this is, or is not, golden")
    expect(verdict).to_contain_text("Failure")
    expect(verdict).to_contain_text("grounded")
    expect(verdict.get_by_role("heading", name="What would change it")).to_be_visible()


def test_a_conversation_shows_its_other_turns(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00010")
    expect(page.get_by_role("region", name="This trace")).to_contain_text("opening time on Sunday")
    page.get_by_role("tabpanel").get_by_role("link", name="When do I get my refund?").click()
    expect(page).to_have_url(f"{address}/traces/tr-00009")


def test_a_trace_that_is_not_there_says_so(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/no-such-trace", expected="404")
    expect(page.get_by_role("alert").first).to_contain_text("no trace 'no-such-trace'")


def test_a_case_with_the_right_answer_is_made_from_a_trace_and_taken_back(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00020")
    page.get_by_role("button", name="Make a case…").click()
    page.get_by_label("The right answer").fill("The walnut desk ships on Monday.")
    page.get_by_label("Dataset").fill("by-hand")
    page.get_by_role("button", name="Make the case").click()
    expect(page.get_by_text("1 case in by-hand.")).to_be_visible()
    made = opened(f"{address}/cases/by-hand/tr-00020")
    expect(made.get_by_role("region", name="Approved by a person")).to_contain_text("ships on Monday")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Took 1 case back.")).to_be_visible()


def test_a_trace_is_scored_by_key(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00030")
    expect(page.get_by_role("button", name="Good")).to_be_visible()
    page.keyboard.press("b")
    expect(page.get_by_text("Scored 1 trace as bad.")).to_be_visible()
    expect(page.get_by_role("region", name="Why this is, or is not, golden")).to_contain_text("Failure")
