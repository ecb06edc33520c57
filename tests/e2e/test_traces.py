"""The Traces page: search, filters, span tree with timings, scores, conversation, and why a trace is (not) golden."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pages import wait_until

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


def test_search_and_filters(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()
    page.get_by_label("Search traces").fill("walnut")
    expect(page).to_have_url(f"{address}/traces?q=walnut")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_contain_text("walnut desk")
    expect(page.get_by_role("list", name="Traces").locator("mark").first).to_have_text("walnut")
    direct = opened(f'{address}/traces?status=failed&columns=["status"]')
    expect(direct.get_by_role("list", name="Traces").get_by_text("Failed").first).to_be_visible()
    expect(direct.get_by_role("list", name="Traces").get_by_text("Completed")).to_have_count(0)


def test_the_usual_lists_say_what_became_of_each_trace(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces?order=oldest")
    rows = page.get_by_role("list", name="Traces")
    expect(rows.get_by_text("Golden").first).to_be_visible()
    page.get_by_role("button", name="Failures").click()
    expect(page.get_by_role("button", name="Failures")).to_have_attribute("aria-pressed", "true")
    expect(rows.get_by_text("Golden")).to_have_count(0)
    expect(rows.get_by_text("Failure").first).to_be_visible()
    expect(page).to_have_url(re.compile("order=oldest"))
    page.get_by_role("button", name="No case").click()
    expect(rows.get_by_text("No case").or_(page.get_by_text("No trace passes these filters")).first).to_be_visible()
    expect(rows.get_by_text("Failure")).to_have_count(0)
    page.get_by_role("button", name="All", exact=True).click()
    expect(rows.get_by_text("Golden").first).to_be_visible()


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
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Status").click()
    page.get_by_role("option", name="Failed").click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("End of the list")).to_be_visible()
    rows.nth(position).click()
    expect(page.get_by_role("tab", name="Spans")).to_be_visible()
    wait_until(page, f"({GAPS})().length === 0")
    page.get_by_role("button", name="Close and go back to the list").click()
    wait_until(page, f"({GAPS})().length === 0")


def test_spans_are_a_tree_with_timings_and_open(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00010")
    page.get_by_role("tab", name="Spans (5)").click()
    expect(page.get_by_role("button", name="agent agent")).to_be_visible()
    step = page.get_by_role("button", name="write_answer")
    expect(step).to_contain_text("ms")
    step.click()
    expect(page.get_by_text("388", exact=True)).to_be_visible()


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
    page.get_by_text("earlier turn").click()
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
    expect(page.get_by_role("link", name="Case in by-hand")).to_be_visible()
    made = opened(f"{address}/cases/by-hand/tr-00020")
    expect(made.get_by_role("group", name="Approved by a person")).to_contain_text("ships on Monday")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Took 1 case back.")).to_be_visible()


def test_a_trace_is_scored_by_key(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00030")
    expect(page.get_by_role("button", name="Good", exact=True)).to_be_visible()
    page.keyboard.press("-")
    expect(page.get_by_text("Scored 1 trace as bad.")).to_be_visible()
    expect(page.get_by_role("region", name="Why this is, or is not, golden")).to_contain_text("Failure")


@pytest.mark.parametrize(("keys", "leads_to"), [("gr", "review"), ("gb", "benchmarks"), ("gc", "cases")])
def test_going_elsewhere_by_key_gives_no_verdict_on_the_open_trace(
    opened: Open, address: str, keys: str, leads_to: str
) -> None:
    page = opened(f"{address}/traces/tr-00031")
    expect(page.get_by_role("button", name="Good", exact=True)).to_be_visible()
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method != "GET" else None)
    # The key after the first of a sequence stands for nothing else, even where there is no such sequence.
    page.keyboard.press("g")
    page.keyboard.press("v")
    for key in keys:
        page.keyboard.press(key)
    expect(page).to_have_url(re.compile(f"/{leads_to}"))
    assert [url for url in sent if "/review/" not in url] == []


def test_filters_columns_and_order_stand_in_the_address_and_a_view_is_kept(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces")
    page.get_by_role("button", name="Filters").click()
    page.get_by_role("combobox", name="Scores and checks").click()
    page.get_by_role("option", name="grounded failed").click()
    page.get_by_role("textbox", name="Took (s) from").fill("1.5")
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    chips = page.get_by_role("list", name="Filters that are set")
    expect(chips).to_contain_text("Took (s) from 1.5")
    page.get_by_role("combobox", name="Order").click()
    page.get_by_role("option", name="Slowest first").click()
    page.get_by_role("button", name="Columns").click()
    page.get_by_role("checkbox", name="Scores").check()
    page.keyboard.press("Escape")
    rows = page.get_by_role("list", name="Traces").get_by_role("link")
    expect(rows.first).to_contain_text("grounded 0.2")
    page.get_by_role("button", name="Views").click()
    page.get_by_role("textbox", name="Name of this view").fill("slow and ungrounded")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("button", name="slow and ungrounded", exact=True)).to_be_visible()
    again = opened(f"{address}/traces")
    again.get_by_role("button", name="Views").click()
    again.get_by_role("button", name="slow and ungrounded", exact=True).click()
    expect(again.get_by_role("list", name="Filters that are set")).to_contain_text("grounded failed")
    expect(again.get_by_role("list", name="Traces").get_by_role("link").first).to_contain_text("grounded 0.2")
    again.get_by_role("button", name="Clear", exact=True).click()
    expect(again.get_by_role("list", name="Filters that are set")).to_have_count(0)


def test_many_traces_are_tagged_and_scored_by_key_and_taken_back(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces")
    rows = page.get_by_role("list", name="Traces").get_by_role("link")
    expect(rows.first).to_be_visible()
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    bulk = page.get_by_role("region", name="Chosen traces")
    expect(bulk).to_contain_text("2 traces chosen")
    bulk.get_by_role("button", name="Tag…").click()
    page.get_by_role("textbox", name="Tag").fill("look-again")
    page.keyboard.press("Enter")
    expect(bulk).to_contain_text("Tagged 2 traces.")
    tagged = opened(f"{address}/traces?tag=look-again")
    expect(tagged.get_by_text("End of the list: 2")).to_be_visible()
    bulk.get_by_role("button", name="Undo").click()
    expect(bulk).to_contain_text("Took the tags of 2 traces back.")
    bulk.get_by_role("button", name="All bad").click()
    expect(bulk).to_contain_text("Scored 2 traces as bad.")
    bulk.get_by_role("button", name="Undo").click()
    expect(bulk).to_contain_text("Took the score of 2 traces back.")


def test_a_comment_is_written_and_kept_while_the_server_is_away(opened: Open, address: str) -> None:
    page = opened(f"{address}/traces/tr-00040#comments", expected="Failed to load resource")
    page.get_by_role("textbox", name="Comment").fill("The refund rule changed in March.")
    page.route("**/comments", lambda route: route.abort())
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_text("The server does not answer")).to_be_visible()
    expect(page.get_by_role("textbox", name="Comment")).to_have_value("The refund rule changed in March.")
    page.unroute("**/comments")
    page.get_by_role("button", name="Write").click()
    expect(page.get_by_role("listitem").get_by_text("The refund rule changed in March.")).to_be_visible()
