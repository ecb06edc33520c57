"""Questions of one's own, parts of the queue, undo of any verdict and the daily goal, in a real browser."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.api.serving import calling, served
from tests.e2e.pictures import PICTURES
from tests.e2e.review_cases import fill
from tests.e2e.review_data import serious_faults
from tests.e2e.test_review_queue import a_reviewer
from tests.patience import PATIENCE

pytestmark = pytest.mark.slow

QUESTIONS = [
    {"name": "polite", "kind": "yes_no", "title": "Is it polite?", "required": True},
    {"name": "quality", "kind": "scale", "title": "How good is it?"},
    {"name": "wrong", "kind": "span", "title": "Mark what is wrong", "options": ["invented", "rude"]},
]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    fill(tmp_path)
    with served(tmp_path, EVERGOLD_REVIEW_REVIEWERS="", EVERGOLD_REVIEW_DAILY_GOAL="5") as url:
        yield url


def answers(url: str, dataset: str, id: str) -> dict[tuple[str, str], object]:
    with calling(f"{url}/api/v1") as client:
        held = client.get("/review/case", params={"dataset": dataset, "id": id}).json()["answers"]
    return {(one["reviewer"], one["question"]): one["value"] for one in held}


def expect_answers(server: str, expected: dict[tuple[str, str], object]) -> None:
    """Wait for what reviewers answered: the page shows an answer while it is being saved."""
    until = time.monotonic() + PATIENCE
    while (stored := answers(server, "live", "chat-0")) != expected:
        assert time.monotonic() < until, stored
        time.sleep(0.1)


def ask(url: str) -> None:
    with calling(f"{url}/api/v1") as client:
        client.put("/review/questions", params={"dataset": "live"}, json={"questions": QUESTIONS}).raise_for_status()


def opened_case(browser: Browser, server: str, name: str, **options: int) -> Page:
    page = a_reviewer(browser, server, name, "?dataset=live&id=chat-0", **options)
    page.get_by_text("chat-0 · live").wait_for()
    return page


def test_questions_are_written_in_the_page_and_answered_by_key(browser: Browser, server: str) -> None:
    page = opened_case(browser, server, "ana")
    page.keyboard.press("Q")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is asked").fill("Is it polite?")
    dialog.get_by_label("Needed to approve").check()
    dialog.get_by_role("button", name="Add a question").click()
    dialog.get_by_label("What is asked").nth(1).fill("What is it about?")
    dialog.get_by_label("Kind of answer").nth(1).select_option("choice")
    for option in ("parcels", "returns"):
        dialog.get_by_label("Options", exact=True).fill(option)
        page.keyboard.press("Enter")
    assert serious_faults(page) == []
    page.screenshot(path=PICTURES / "review-question-form.png")
    dialog.get_by_role("button", name="Save the questions").click()
    expect(page.get_by_text("Is it polite? missing")).to_be_visible()
    expect(page.get_by_role("button", name="Approve", exact=True)).to_be_disabled()
    page.keyboard.press("1")
    expect(page.get_by_role("button", name="Yes")).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("q")
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="returns", exact=True)).to_have_attribute("aria-pressed", "true")
    expect_answers(server, {("ana", "is_it_polite"): True, ("ana", "what_is_it_about"): "returns"})
    page.keyboard.press("a")
    expect(page.get_by_text("chat-1 · live")).to_be_visible()
    page.context.close()


def test_a_passage_is_marked_by_keyboard_alone(browser: Browser, server: str) -> None:
    ask(server)
    page = opened_case(browser, server, "ana")
    page.get_by_label("Mark what is wrong: select a passage").focus()
    page.keyboard.press("Control+Home")
    for _ in range(2):
        page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("list", name="Marked passages")).to_contain_text("invented: “It”")
    expect_answers(server, {("ana", "wrong"): [{"start": 0, "end": 2, "label": "invented"}]})
    assert serious_faults(page) == []
    page.screenshot(path=PICTURES / "review-questions.png")
    page.get_by_role("button", name="Remove the mark invented on It").click()
    expect(page.get_by_role("list", name="Marked passages")).to_have_count(0)
    page.context.close()


def test_every_verdict_can_be_taken_back(browser: Browser, server: str) -> None:
    page = opened_case(browser, server, "ana")
    for key, words in (("a", "Approved “"), ("d", "Dismissed “"), ("o", "asked for on “")):
        page.keyboard.press(key)
        expect(page.get_by_text(words)).to_be_visible()
        page.keyboard.press("z")
        expect(page.get_by_text("chat-0 · live")).to_be_visible()
        expect(page.get_by_text("in view")).to_contain_text("7 waiting · 0 validated · 0 disputed")
    page.keyboard.press("a")
    expect(page.get_by_text("chat-1 · live")).to_be_visible()
    page.keyboard.press("k")
    page.get_by_text("chat-0 · live").wait_for()
    page.keyboard.press("r")
    expect(page.get_by_text("Reopened “")).to_be_visible()
    page.keyboard.press("z")
    expect(page.get_by_text("in view")).to_contain_text("1 validated")
    page.context.close()


def test_mine_others_and_done_by_key_with_the_goal_of_the_day(browser: Browser, server: str) -> None:
    page = opened_case(browser, server, "ana")
    page.keyboard.press("i")
    page.keyboard.type("ana")
    page.keyboard.press("Enter")
    expect(page.get_by_role("navigation", name="Queue")).to_contain_text("with ana")
    page.keyboard.press("Escape")
    page.keyboard.press("t")
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    page.keyboard.press("d")
    expect(page.get_by_text("1 of 5 today")).to_be_visible()
    for _ in range(2):
        page.keyboard.press("t")
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    page.keyboard.press("p")
    expect(page.get_by_role("cell", name="1 of 5")).to_be_visible()
    assert serious_faults(page) == []
    page.context.close()


def test_the_queue_is_narrowed_by_dataset_and_type(browser: Browser, server: str) -> None:
    page = a_reviewer(browser, server, "ana")
    page.keyboard.press("f")
    panel = page.get_by_role("dialog", name="Filters")
    panel.get_by_role("combobox", name="Dataset").click()
    page.get_by_role("option", name="live").click()
    panel.get_by_role("combobox", name="Type").click()
    page.get_by_role("option", name="failure").click()
    page.keyboard.press("Escape")
    expect(page.get_by_text("in view")).to_contain_text("1 in view")
    expect(page.get_by_role("button", name="Remove the filter Type: failure")).to_be_visible()
    page.context.close()


def test_the_expected_answer_is_in_view_on_a_small_screen(browser: Browser, server: str) -> None:
    page = opened_case(browser, server, "ana", width=1024)
    page.set_viewport_size({"width": 1024, "height": 768})
    field = page.get_by_label("Expected answer")
    expect(field).to_be_in_viewport(ratio=1)
    box, bar = field.bounding_box(), page.get_by_role("button", name="Approve", exact=True).bounding_box()
    assert box is not None and bar is not None and box["y"] + box["height"] <= bar["y"]
    page.context.close()
