"""The pages show who one is and leave out what one's role does not allow."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evergold.model.access import Holder, Role
from evergold.model.case_actions import ListPage, ListView
from evergold.model.review import CaseKey, Decision, ReviewVerdict
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case, a_trace

pytestmark = pytest.mark.slow


def test_a_reader_sees_no_button_that_changes_anything(
    opened: Callable[..., Page], built_app: None, tmp_path: Path
) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put([a_case("c1")])
        tokens = {role: workspace.access.add(f"the {role.value}", role).token for role in (Role.READER, Role.EDITOR)}
    with served(tmp_path) as address:
        for role, shown in ((Role.READER, 0), (Role.EDITOR, 1)):
            page = opened(f"{address}/benchmarks", expected="401")
            page.get_by_label("Access token").fill(tokens[role])
            page.get_by_role("button", name="Open the workspace").click()
            expect(page.get_by_text(f"the {role.value} · {role.value}")).to_be_visible()
            expect(page.get_by_role("button", name="New run")).to_have_count(shown)
            page.goto(f"{address}/datasets/live")
            expect(page.get_by_role("heading", level=1)).to_be_visible()
            expect(page.get_by_text("Make the first one")).to_be_visible()
            expect(page.get_by_role("button", name="Freeze")).to_have_count(shown)
            page.context.close()


def test_a_reviewer_is_not_offered_the_work_of_others(
    opened: Callable[..., Page], built_app: None, tmp_path: Path
) -> None:
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put([a_case("c1")])
        workspace.intake.accept([a_trace("t1")])
        people = {"ana": Role.REVIEWER, "bo": Role.REVIEWER, "eve": Role.EDITOR}
        tokens = {name: workspace.access.add(name, role).token for name, role in people.items()}
        ana, bo = (Holder(name=name, role=Role.REVIEWER) for name in ("ana", "bo"))
        workspace.intake.comment("t1", "Odd.", "ana")
        workspace.operations.keep_view(ListView(page=ListPage.TRACES, name="slow", address="status=error"), ana)
        for reviewer, verdict in ((ana, ReviewVerdict.APPROVE), (bo, ReviewVerdict.DISMISS)):
            key = CaseKey(dataset="live", id="c1")
            version = workspace.review.case(key).case.version
            workspace.review.decide(key, Decision(version=version, verdict=verdict), reviewer)
    with served(tmp_path) as address:
        for name, deletes, rules in (("bo", 0, 0), ("ana", 1, 0), ("eve", 1, 1)):
            page = opened(f"{address}/traces", expected="401")
            page.get_by_label("Access token").fill(tokens[name])
            page.get_by_role("button", name="Open the workspace").click()
            page.get_by_role("button", name="Views").click()
            expect(page.get_by_role("button", name="slow", exact=True)).to_be_visible()
            expect(page.get_by_role("button", name="Delete the view slow")).to_have_count(deletes)
            page.goto(f"{address}/traces/t1#comments")
            expect(page.get_by_text("Odd.")).to_be_visible()
            expect(page.get_by_role("button", name="Delete comment 1")).to_have_count(deletes)
            page.goto(f"{address}/review?dataset=live&id=c1")
            expect(page.get_by_text("Reviewers differ")).to_be_visible()
            expect(page.get_by_role("button", name="Settle: approve")).to_have_count(rules)
            page.context.close()
