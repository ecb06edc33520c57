"""The pages show who one is and leave out what one's role does not allow."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evergold.model.access import Role
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case

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
