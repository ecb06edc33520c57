"""The settings page: endpoints tried, a rule made and muted, a token made once, a text redacted; read-only for others."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.api.serving import served
from tests.e2e.pages import PHONE
from tests.e2e.review_data import serious_faults

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


def test_an_owner_sets_alerts_tokens_and_tries_redaction(opened: Open, built_app: None, tmp_path: Path) -> None:
    with served(tmp_path, OPENAI_BASE_URL="http://127.0.0.1:9") as address:
        page = opened(f"{address}/settings", color_scheme="dark", expected="401")
        expect(page.get_by_text("by OPENAI_BASE_URL").first).to_be_visible()
        page.get_by_role("button", name="Try it").click()
        expect(page.get_by_text("does not answer")).to_be_visible()
        page.get_by_label("Check or score").fill("grounded")
        page.get_by_role("button", name="Add the rule").click()
        rule = page.get_by_role("row").filter(has_text="failing_rate:grounded")
        rule.get_by_role("button", name="Mute for a day: failing_rate:grounded").click()
        expect(rule.get_by_text("muted until")).to_be_visible()
        page.get_by_label("Try a text").fill("mail ann@example.org")
        page.get_by_role("button", name="Redact it").click()
        expect(page.get_by_text("Taken out: 1 × EMAIL")).to_be_visible()
        page.get_by_label("Find a setting").fill("reviewers must")
        expect(page.get_by_role("row").filter(has_text="review.reviewers_per_case")).to_be_visible()
        assert serious_faults(page) == []
        page.set_viewport_size({"width": PHONE["width"], "height": PHONE["height"]})
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        page.get_by_role("textbox", name="Name", exact=True).fill("Ann")
        expect(page.get_by_role("combobox", name="Role")).to_be_disabled()
        page.get_by_role("button", name="Make a token").click()
        # The first token is the owner's, stays readable, and this browser goes on with it.
        token = page.locator("pre", has_text="evergold_")
        expect(token).to_be_visible()
        expect(page.get_by_role("row", name="Ann owner")).to_be_visible()
        assert page.evaluate("localStorage.getItem('evergold.token')") == token.inner_text()
        page.get_by_role("textbox", name="Name", exact=True).fill("Bo")
        page.get_by_role("button", name="Make a token").click()
        expect(page.get_by_text("The token of Bo. It is shown this once.")).to_be_visible()
        value = token.inner_text()
        # Where the token of this browser is none any more, still no dialog covers the one that is shown.
        page.get_by_role("button", name="Revoke the token of Ann").click()
        with page.expect_event("response", lambda response: response.status == 401):
            page.get_by_role("button", name="Really revoke the token of Ann").click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(token).to_have_text(value)
        page.goto(f"{address}/settings")
        page.get_by_label("Access token").fill(value)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name="Settings", level=1)).to_be_visible()
        expect(page.get_by_role("heading", name="People and tokens")).to_have_count(0)
        expect(page.get_by_text("for owners only").first).to_be_visible()
        expect(page.get_by_role("button", name="Add the rule")).to_have_count(0)
