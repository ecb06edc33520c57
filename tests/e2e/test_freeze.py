"""Freezing in the browser, and versions that came from files: made, listed, compared, followed to their runs."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evergold.model.case import Case
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.builders import a_case
from tests.e2e.pages import PHONE
from tests.workspace.test_versions import registered

pytestmark = pytest.mark.slow

Open = Callable[..., Page]


@pytest.fixture
def project(built_app: None, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server over a dataset that was never frozen, and one that only files hold, in two versions.

    Asked for before `opened`, so that pages are closed before their server ends.
    """
    with Workspace.open(Settings(home=tmp_path / ".evergold")) as workspace:
        workspace.cases.put(a_case(f"c{n}", input=f"Question {n // 2}, asked by many", output="Yes.") for n in range(8))
        workspace.cases.put([a_case("odd", input="A question of its own", output="No.", entry_type="failure")])
        silent = a_case("silent", input="Asked in silence", output="Hm.").model_dump() | {"evidence": "silence"}
        workspace.cases.put([Case.model_validate(silent)])
        registered(workspace, tmp_path, "v1", "At nine.", "At ten.")
        registered(workspace, tmp_path, "v2", "At nine.", "At noon.", "Never.")
        workspace.bench.start(RunSpec(dataset="help@v1:qa", model="recorded", metrics=("contains",)))
    with served(tmp_path) as found:
        yield found, tmp_path


def test_a_dataset_is_frozen_with_splits_seed_and_filter(project: tuple[str, Path], opened: Open) -> None:
    address, folder = project
    page = opened(f"{address}/datasets/live", expected="400")
    expect(page.get_by_role("heading", name="Never frozen")).to_be_visible()
    page.get_by_role("button", name="Freeze").click()
    form = page.get_by_role("dialog", name="Freeze live")
    form.get_by_role("textbox", name="Splits").fill("train=0.7,test=0.7")
    form.get_by_role("button", name="Freeze").click()
    expect(form.get_by_role("alert")).to_contain_text("the shares add up to 1.4, not to 1")
    form.get_by_role("textbox", name="Splits").fill("train=0.5,test=0.5")
    form.get_by_label("Seed").fill("7")
    form.get_by_role("combobox", name="Only of type").click()
    page.get_by_role("option", name="golden").click()
    form.get_by_role("button", name="Freeze").click()
    expect(form).to_be_hidden()
    expect(page).to_have_url(f"{address}/datasets/live?version=v1")
    expect(page.get_by_role("navigation", name="Versions").get_by_role("button")).to_have_text(["v1 8 cases"])
    manifest = json.loads((folder / ".evergold" / "builds" / "live" / "v1" / "manifest.json").read_text())
    assert (manifest["seed"], manifest["filters"]) == (7, {"entry_type": "golden"})
    assert {name: split["count"] for name, split in manifest["splits"].items()} == {"train": 4, "test": 4}
    assert manifest["near_duplicates"]["pairs"] == [], "repeats of one question stay in one split"


def test_pages_leave_candidates_out_say_so_and_take_them_when_asked(project: tuple[str, Path], opened: Open) -> None:
    address, _ = project
    page = opened(f"{address}/cases")
    page.get_by_role("link", name="1 candidate not shown").click()
    expect(page.get_by_text("Asked in silence")).to_be_visible()
    expect(page).to_have_url(f"{address}/cases?tier=candidate")
    page.goto(f"{address}/datasets/live")
    page.get_by_role("button", name="Freeze").click()
    form = page.get_by_role("dialog", name="Freeze live")
    expect(form.get_by_text("1 candidate left out")).to_be_visible()
    form.get_by_role("combobox", name="Candidates").click()
    page.get_by_role("option", name="Only these").click()
    form.get_by_role("textbox", name="Splits").fill("")
    form.get_by_role("button", name="Freeze").click()
    expect(page.get_by_role("navigation", name="Versions").get_by_role("button")).to_have_text(["v1 1 case"])
    page.goto(f"{address}/benchmarks")
    page.get_by_role("button", name="New run").click()
    form = page.get_by_role("dialog", name="New run")
    expect(form.get_by_role("combobox", name="Candidates")).to_have_count(0)
    form.get_by_role("combobox", name="Dataset").click()
    page.get_by_role("option", name="live (9)").click()
    form.get_by_role("combobox", name="Model").fill("recorded")
    expect(form.get_by_text("1 candidate left out")).to_be_visible()
    expect(form.get_by_role("definition").first).to_have_text("9")
    form.get_by_role("combobox", name="Candidates").click()
    page.get_by_role("option", name="Taken along").click()
    expect(form.get_by_role("definition").first).to_have_text("10")


def test_versions_of_files_are_listed_compared_and_followed(project: tuple[str, Path], opened: Open) -> None:
    address, _ = project
    page = opened(f"{address}/datasets")
    page.get_by_role("list", name="Datasets").get_by_role("link", name="help").click()
    expect(page.get_by_role("navigation", name="Versions").get_by_role("button")).to_have_count(2)
    expect(page.get_by_role("button", name="Freeze")).to_have_count(0)
    page.get_by_text("Compare", exact=True).click()
    changed = page.get_by_role("list", name="Changed")
    expect(changed.locator("del")).to_have_text("At ten.")
    expect(changed.locator("ins")).to_have_text("At noon.")
    page.goto(f"{address}/datasets/help?look=sample&version=v1&case=q1")
    trail = page.get_by_role("list", name="Lineage of q1")
    expect(trail.get_by_text("help.md")).to_be_visible()
    expect(trail.get_by_text("in builds only")).to_be_visible()
    expect(trail.get_by_text("recorded on v1")).to_be_visible()
    trail.get_by_role("link", name="recorded").click()
    expect(page.get_by_text("help")).not_to_have_count(0)


def test_the_form_fits_a_phone(project: tuple[str, Path], opened: Open) -> None:
    address, _ = project
    page = opened(f"{address}/datasets/live", viewport=PHONE)
    page.get_by_role("button", name="Freeze").click()
    expect(page.get_by_role("dialog", name="Freeze live")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
