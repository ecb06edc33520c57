"""The queue in a real browser: every kind, two reviewers on one case, keys, bulk with undo, adjudication, a phone."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from evergold.model.case import Case
from evergold.model.case_actions import Picking
from evergold.model.trace import Span, Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.e2e.pages import a_page, wait_until
from tests.e2e.pictures import PICTURES
from tests.e2e.review_cases import fill
from tests.e2e.review_data import serious_faults

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    fill(tmp_path)
    with served(tmp_path, EVERGOLD_REVIEW_REVIEWERS="") as url:
        yield url


def a_reviewer(browser: Browser, url: str, name: str, address: str = "", *, width: int = 1440) -> Page:
    page = a_page(browser, viewport={"width": width, "height": 900})
    page.add_init_script(f"localStorage.setItem('evergold.reviewer', '{name}')")
    page.goto(f"{url}/review{address}")
    page.get_by_text("in view").wait_for()
    return page


def test_a_golden_candidate_is_confirmed_by_key_and_the_next_one_comes(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana")
    page.keyboard.press("n")
    expect(page.get_by_text("chat-0 · live")).to_be_visible()
    expect(page.get_by_text("Conversation (2)")).to_be_visible()
    page.screenshot(path=PICTURES / "review-chat.png")
    page.keyboard.press("a")
    expect(page.get_by_text("chat-1 · live")).to_be_visible()
    expect(page.get_by_text("in view")).to_contain_text("6 waiting · 1 validated")
    page.context.close()


def test_a_key_that_is_pressed_while_the_queue_loads_is_not_lost(browser: Browser, server: str) -> None:
    page = a_page(browser)
    held: list[Route] = []
    page.route("**/api/v1/review/queue?*", lambda route: held.append(route))
    page.goto(f"{server}/review")
    start = page.get_by_role("button", name="Start with the first")
    expect(start).to_be_disabled()
    page.keyboard.press("n")
    for route in held:
        route.continue_()
    page.unroute("**/api/v1/review/queue?*")
    expect(page.get_by_text("chat-0 · live")).to_be_visible()
    page.context.close()


def test_a_verdict_is_of_the_case_in_view_whatever_the_server_does_meanwhile(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?kind=chat&dataset=live&id=chat-0")
    page.get_by_text("chat-0 · live").wait_for()
    # The next case is loaded ahead; until then a verdict would wait for the server.
    wait_until(page, "performance.getEntriesByType('resource').some((one) => one.name.includes('chat-1'))")
    page.wait_for_load_state("networkidle")
    held: list[Route] = []
    page.route("**/api/v1/decisions*", lambda route: held.append(route))
    page.keyboard.down("a")
    page.keyboard.down("a")  # The system repeats a key that stays down; that is no second verdict.
    page.keyboard.up("a")
    expect(page.get_by_text("chat-1 · live")).to_be_visible()
    page.keyboard.press("d")
    expect(page.get_by_text("chat-failed · live")).to_be_visible()
    cases = [parse_qs(urlsplit(route.request.url).query)["id"] for route in held]
    verdicts = [json.loads(route.request.post_data or "")["verdict"] for route in held]
    assert (cases, verdicts) == ([["chat-0"], ["chat-1"]], ["approve", "dismiss"])
    held[0].fulfill(status=409, json={"detail": "somebody was first"})
    held[1].continue_()
    refused = page.get_by_role("alert").filter(has_text="Nothing was decided about")
    expect(refused).to_contain_text("somebody was first")
    expect(page.get_by_text("in view")).to_contain_text("2 waiting")
    page.unroute("**/api/v1/decisions*")
    refused.get_by_role("button", name="Open it").click()
    expect(page.get_by_text("chat-0 · live")).to_be_visible()
    page.keyboard.press("a")
    expect(refused).to_have_count(0)
    page.keyboard.press("z")
    expect(page.get_by_text("chat-0 · live · chat · golden · unvalidated")).to_be_visible()
    page.context.close()


def test_a_failure_becomes_a_correction(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "Änne 李", "?dataset=live&id=chat-failed")
    page.get_by_label("Expected answer").fill("At 13:00 since March.")
    page.get_by_role("button", name="Save as correction").click()
    expect(page.get_by_text("in view")).to_contain_text("1 validated")
    page.goto(f"{server}/review?dataset=live&id=chat-failed")
    expect(page.get_by_text("correction · validated")).to_be_visible()
    page.get_by_text("History").click()
    expect(page.get_by_role("region", name="Case")).to_contain_text("Änne 李 approve")
    page.context.close()


def test_hovering_a_citation_lights_its_context(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?dataset=qa_pairs&id=qa-1")
    page.get_by_role("button", name="Cites context 2").hover()
    expect(page.locator("li[data-lit]")).to_contain_text("Furniture is inspected first")
    expect(page.get_by_role("button", name="Cites context 7, which does not exist")).to_be_visible()
    page.context.close()


def test_a_context_case_is_edited_and_saved_by_itself(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?dataset=context&id=case-0001")
    page.get_by_role("button", name="lines 14–15").click()
    expect(page.get_by_text("v2 · saved")).to_be_visible()
    page.reload()
    expect(page.get_by_label("First line of range 2")).to_have_value("14")
    page.context.close()


def test_two_reviewers_on_one_case_never_overwrite_each_other(browser: Browser, server: str) -> None:
    address = "?dataset=live&id=chat-failed"
    ana, bo = (a_reviewer(browser, server, name, address) for name in ("ana", "bo"))
    for page in (ana, bo):
        page.get_by_label("Expected answer").wait_for()
    ana.get_by_label("Expected answer").fill("At 13:00, says Ana.")
    expect(ana.get_by_text("v2 · saved")).to_be_visible()
    bo.get_by_label("Expected answer").fill("At 14:00, says Bo.")
    banner = bo.get_by_role("alert")
    expect(banner).to_contain_text("was changed by ana meanwhile")
    expect(banner).to_contain_text("At 13:00, says Ana.")
    expect(banner).to_contain_text("At 14:00, says Bo.")
    bo.screenshot(path=PICTURES / "review-conflict.png")
    bo.get_by_role("button", name="Keep mine").click()
    expect(bo.get_by_text("v3 · saved")).to_be_visible()
    for page in (ana, bo):
        page.context.close()


def test_reviewers_who_differ_are_adjudicated(browser: Browser, server: str) -> None:
    address = "?dataset=live&id=chat-0"
    for name, key in (("ana", "a"), ("bo", "d")):
        page = a_reviewer(browser, server, name, address)
        page.get_by_text("chat-0 · live").wait_for()
        page.keyboard.press(key)
        page.get_by_text("chat-1 · live").wait_for()
        page.context.close()
    page = a_reviewer(browser, server, "cy", "?standing=disputed")
    page.keyboard.press("n")
    expect(page.get_by_role("region", name="Opinions")).to_contain_text("bo: dismiss")
    expect(page.get_by_role("button", name="Settle: approve")).to_have_count(1)
    page.keyboard.press("a")
    expect(page.get_by_text("in view")).to_contain_text("0 disputed")
    expect(page.get_by_text("Settled: Approved “")).to_be_visible()
    expect(page.get_by_text("No disputed case")).to_be_visible()
    page.get_by_role("button", name="Progress").click()
    expect(page.get_by_text("Cohen's kappa, ana and bo")).to_be_visible()
    page.screenshot(path=PICTURES / "review-progress.png")
    page.context.close()


def test_no_case_of_another_view_stays_open(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?dataset=live&id=chat-0")
    expect(page.get_by_text("chat-0 · live")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("No disputed case")).to_be_visible()
    expect(page.get_by_text("chat-0 · live")).to_have_count(0)
    expect(page.get_by_role("button", name="Approve", exact=True)).to_have_count(0)
    page.context.close()


def test_bulk_says_what_failed_and_is_undone(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?kind=chat")
    for name in ("chat-0", "chat-1"):
        page.get_by_label(f"Choose {name}").check()
    page.get_by_role("button", name="Approve 2").click()
    expect(page.get_by_text("in view")).to_contain_text("1 waiting · 2 validated")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("in view")).to_contain_text("3 waiting · 0 validated")
    page.context.close()


def test_claims_of_two_reviewers_are_different_cases(browser: Browser, server: str) -> None:
    ana, bo = (a_reviewer(browser, server, name) for name in ("ana", "bo"))
    ana.keyboard.press("c")
    expect(ana.get_by_text("chat-0 · live")).to_be_visible()
    bo.keyboard.press("c")
    expect(bo.get_by_text("chat-1 · live")).to_be_visible()
    expect(bo.get_by_role("navigation", name="Queue")).to_contain_text("with ana")
    for page in (ana, bo):
        page.context.close()


def test_a_saved_view_brings_its_filters_back(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?kind=qa")
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    page.get_by_role("button", name="Save this view").click()
    page.get_by_label("Name of the view").fill("Only questions")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Only questions", exact=True)).to_be_visible()
    page.goto(f"{server}/review")
    page.get_by_role("button", name="Only questions", exact=True).click()
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    page.get_by_role("button", name="Delete the view Only questions").click()
    expect(page.get_by_role("button", name="Only questions", exact=True)).to_have_count(0)
    page.reload()
    expect(page.get_by_role("button", name="Save this view")).to_be_visible()
    expect(page.get_by_role("button", name="Only questions", exact=True)).to_have_count(0)
    page.context.close()


def test_a_script_in_a_case_is_only_text(browser: Browser, tmp_path: Path) -> None:
    evil = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    fill(tmp_path, Case(id="evil", dataset="evil", input=evil, output=evil, expected=evil, tags=(evil,)))
    with served(tmp_path) as url:
        page = a_reviewer(browser, url, "ana", "?dataset=evil&id=evil")
        page.get_by_label("Expected answer").wait_for()
        page.get_by_text("History").click()
        assert page.evaluate("window.ran") is None
        page.context.close()


@pytest.mark.parametrize(
    "case", ["live&id=chat-0", "qa_pairs&id=qa-1", "context&id=case-0001", "support_tasks&id=task-1"]
)
def test_no_serious_accessibility_fault(browser: Browser, server: str, case: str) -> None:
    page = a_reviewer(browser, server, "ana", f"?dataset={case}")
    page.get_by_role("region", name="Case").wait_for()
    page.wait_for_load_state("networkidle")
    assert serious_faults(page) == []
    page.context.close()


def test_a_server_that_goes_away_is_named_and_an_edit_is_stored_when_it_is_back(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", "?dataset=live&id=chat-failed")
    answer = page.get_by_label("Expected answer")
    answer.wait_for()
    page.route("**/api/**", lambda route: route.abort())
    answer.fill("Typed while it was away.")
    expect(page.get_by_text("v1 · failed")).to_be_visible()
    expect(page.get_by_role("region", name="Case").get_by_role("alert")).to_contain_text("does not answer")
    page.goto(f"{server}/review?kind=qa")
    expect(page.get_by_role("navigation", name="Queue").get_by_role("alert")).to_contain_text("does not answer")
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    page.goto(f"{server}/review?dataset=live&id=chat-failed")
    expect(page.get_by_text("v2 · saved")).to_be_visible()
    expect(answer).to_have_value("Typed while it was away.")
    page.context.close()


def test_a_phone_reviews_too(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana", width=390)
    page.get_by_role("button", name="Where is my parcel?").click()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_text("chat-1 · live")).to_be_visible()
    assert serious_faults(page) == []
    page.get_by_role("button", name="Evidence").click()
    expect(page.get_by_text("Conversation (2)")).to_be_visible()
    page.get_by_role("button", name="Cases", exact=True).click()
    page.get_by_role("button", name="Retry failed uploads").click()
    expect(page.get_by_role("button", name="Move path 1", exact=True)).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Evidence").click()
    expect(page.get_by_role("button", name="lines 14–15")).to_be_visible()
    assert serious_faults(page) == []
    page.context.close()


def test_the_most_worth_comes_first_and_a_stale_reference_shows_both_sides(browser: Browser, tmp_path: Path) -> None:
    fill(tmp_path)
    policy = "Refunds are paid within 30 days of the purchase. Bring the receipt to the counter."
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:

        def send(name: str, day: int, text: str) -> None:
            at = datetime(2026, 3, day, tzinfo=UTC)
            span = Span(id="r", kind="retriever", output=json.dumps([{"text": text, "source": "refunds.md"}]))
            workspace.intake.accept(
                [Trace(id=name, input=f"{name}: when?", output="In 30 days.", started_at=at, spans=(span,))]
            )

        for name in ("kept", "replaced"):
            send(name, 1, policy)
        workspace.case_actions.pick(Picking(trace_ids=("kept", "replaced"), dataset="refunds"), "ana")
        send("new", 3, policy.replace("30", "14"))
        assert len(workspace.staleness.all()) == 2
    with served(tmp_path, EVERGOLD_REVIEW_REVIEWERS="") as url:
        page = a_reviewer(browser, url, "ana")
        page.get_by_label("Order", exact=True).select_option("Most worth reviewing")
        expect(
            page.get_by_role("navigation", name="Queue").get_by_text("stale? the document refunds.md")
        ).to_have_count(2)
        page.keyboard.press("n")
        stale = page.get_by_role("region", name="May be stale")
        expect(stale).to_contain_text("Because the document refunds.md changed")
        expect(stale.locator("dd")).to_have_text([policy, policy.replace("30", "14")])
        expect(page.get_by_text("Worth reviewing: stale?")).to_be_visible()
        question = page.get_by_role("heading", name=": when?")
        other = "replaced" if question.inner_text().startswith("kept") else "kept"
        stale.get_by_role("button", name="Keep").click()
        expect(question).to_contain_text(f"{other}: when?")
        page.wait_for_load_state("networkidle")
        stale.get_by_role("button", name="Replace").click()
        page.get_by_label("Answer that holds now").fill("In 14 days.")
        stale.get_by_role("button", name="Save the answer").click()
        expect(stale).to_have_count(0)
        page.get_by_label("Order", exact=True).select_option("Oldest first")
        page.goto(f"{url}/review?dataset=live&id=chat-0")
        page.get_by_role("button", name="Add an assertion").click()
        page.get_by_label("Assertion 1", exact=True).fill("names the hour")
        expect(page.get_by_text("saved", exact=True)).to_be_visible()
        page.get_by_label("Comment").fill("It must not promise a refund")
        page.get_by_role("button", name="Second opinion").click()
        page.goto(f"{url}/review?dataset=live&id=chat-0")
        page.get_by_role("button", name="From a comment: must not: promises a refund").click()
        expect(page.get_by_label("Assertion 2", exact=True)).to_have_value("promises a refund")
        expect(page.get_by_text("saved", exact=True)).to_be_visible()
        page.goto(f"{url}/cases/live/chat-0")
        expect(page.get_by_text("must not: promises a refund")).to_be_visible()
        page.context.close()
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        assert workspace.staleness.all() == []
