"""From the number that keeps traces out, over the link beside it, to another rule and another number."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_trace
from tests.e2e.review_data import serious_faults

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
QUESTIONS = ("How tall is K2?", "Who wrote Solaris?", "When does the museum open?", "Where can I park a bicycle?")


def fill(home: Path) -> None:
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept(
            [a_trace(f"t{at}", input=asked, output="It says so in the guide.") for at, asked in enumerate(QUESTIONS)]
        )
        workspace.live.curate()


def figure(page: Page, name: str) -> Any:
    return page.get_by_role("region", name="Cases of the period by type").get_by_role("link", name=name)


def test_a_link_beside_the_number_changes_the_rule_and_then_the_number(
    opened: Open, built_app: None, tmp_path: Path
) -> None:
    fill(tmp_path / ".evergold")
    with served(tmp_path, EVERGOLD_CHECKS_BUILTIN="auto") as address:
        page = opened(address)
        expect(figure(page, "Candidates")).to_contain_text("0")
        page.get_by_role("link", name="Turn the built-in checks on").click()
        switch = page.get_by_role("switch", name="Check every trace as it comes")
        expect(switch).to_be_focused()
        switch.check()
        expect(page.get_by_text("It would admit 4 more.")).to_be_visible()
        assert serious_faults(page) == []
        page.get_by_label("Why").fill("the app sends no scores")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_text("the app sends no scores")).to_be_visible()
        page.get_by_role("link", name="Back to the overview").click()
        expect(figure(page, "Candidates")).to_contain_text("4", timeout=60_000)
        expect(page.get_by_text("Nothing: every trace of this period is a case")).to_be_visible(timeout=60_000)

        page.goto(f"{address}/rules?part=limit")
        limit = page.get_by_label("Candidates a day")
        expect(limit).to_be_focused()
        limit.fill("1")
        expect(page.get_by_text("It would admit 3 fewer.")).to_be_visible()
        page.get_by_role("button", name="Leave as it was").click()
        expect(page.get_by_text("These rules are in force.")).to_be_visible()
        page.get_by_role("button", name="Go back to the beginning").click()
        expect(page.get_by_text("back to the beginning")).to_be_visible()
        page.get_by_role("link", name="Back to the overview").click()
        expect(page.get_by_role("link", name="Turn the built-in checks on")).to_be_visible(timeout=60_000)
        page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_rules_are_readable_by_everybody_and_changed_by_editors(
    opened: Open, built_app: None, tmp_path: Path, scheme: str
) -> None:
    fill(tmp_path / ".evergold")
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        token = workspace.access.add("rita", Role.REVIEWER).token
    with served(tmp_path) as address:
        page = opened(f"{address}/rules", expected="401", color_scheme=scheme)
        page.get_by_label("Access token").fill(token)
        page.get_by_role("button", name="Open the workspace").click()
        expect(page.get_by_text("Your role reads these rules. An editor changes them.")).to_be_visible()
        expect(page.get_by_label("Golden from")).to_be_disabled()
        expect(page.get_by_text("set by EVERGOLD_CHECKS_BUILTIN")).to_be_visible()
        expect(page.get_by_role("button", name="Save")).to_have_count(0)
        assert serious_faults(page) == []
        page.goto(address)
        # Several panels lead there before the first trace is a case.
        expect(page.get_by_role("link", name="the rules in force").first).to_be_visible()
        assert "evergold check-traces" not in page.locator("main").inner_text()
        assert serious_faults(page) == []
        page.context.close()
