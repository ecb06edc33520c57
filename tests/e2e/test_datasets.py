"""The Datasets page: versions over time, two of them compared, a seeded sample, the lineage of a case, and downloads."""

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from evergold.build.groups import parse_shares
from evergold.build.service import build_rag
from evergold.model.run import RunSpec
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import served
from tests.build.rag_builders import a_spec, an_offline_record
from tests.builders import a_case
from tests.e2e.conftest import fill
from tests.e2e.pages import PHONE

pytestmark = pytest.mark.slow

Open = Callable[..., Page]
DOCS = Path(__file__).parents[2] / "docs" / "img"
MOST_BYTES = 150 * 1024


@pytest.fixture(scope="module")
def frozen_address(built_app: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server over two versions of the live dataset: the second has a case more, a case less, and one that changed."""
    folder = tmp_path_factory.mktemp("frozen")
    fill(folder / ".evergold", 120)
    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        workspace.cases.put([a_case("hand-1"), a_case("hand-2", input="What is the capital of Chile?")])
        freeze(workspace)
        workspace.cases.put(
            [
                a_case("hand-1", output="Lima, on the Rímac."),
                a_case("hand-2", input="What is the capital of Chile?", status="dismissed"),
                a_case("hand-3", input="Which river flows through Lima, and where does it rise?", tags=("rivers",)),
            ]
        )
        freeze(workspace)
        workspace.bench.start(RunSpec(dataset="live", model="recorded", metrics=("contains",)))
        for version, answer in (("v1", "flat"), ("v2", "round")):
            build_rag_version(workspace, folder / version, version, answer)
    with served(folder) as found:
        yield found


def freeze(workspace: Workspace) -> None:
    shares = parse_shares("train=0.7,test=0.3")
    workspace.builds.freeze(workspace.builds.spec_of("live", shares=shares, seed=7))


def build_rag_version(workspace: Workspace, folder: Path, version: str, answer: str) -> None:
    folder.mkdir()
    rows = [an_offline_record(f"q{n}", expected_response=f"That the sea is {answer} [1].") for n in range(30)]
    spec = a_spec(folder, [*rows, an_offline_record("s", task_type="summaries"), {"task_id": "bad"}], version=version)
    workspace.builds.register(spec, build_rag(spec))


def test_the_list_leads_to_a_dataset_and_its_versions(opened: Open, frozen_address: str, tmp_path: Path) -> None:
    page = opened(f"{frozen_address}/datasets", viewport={"width": 1200, "height": 750}, color_scheme="light")
    page.get_by_role("list", name="Datasets").get_by_role("link", name="live").click()
    expect(page.get_by_role("heading", name="live", level=1)).to_be_visible()
    versions = page.get_by_role("navigation", name="Versions").get_by_role("button")
    expect(versions).to_have_count(2)
    expect(versions.last).to_have_attribute("aria-pressed", "true")
    expect(page.get_by_text("dismissed")).to_be_visible()
    expect(page.get_by_role("img").locator("svg")).to_be_visible()
    page.wait_for_load_state("networkidle")
    picture(page, tmp_path)
    versions.first.click()
    expect(page).to_have_url(f"{frozen_address}/datasets/live?version=v1")
    expect(page.get_by_text("none, the first")).to_be_visible()


def picture(page: Page, folder: Path) -> None:
    file = (DOCS if os.environ.get("EVERGOLD_PICTURES") else folder) / "datasets.png"
    page.screenshot(path=file)
    assert file.stat().st_size < MOST_BYTES


def test_two_versions_are_compared_field_by_field(opened: Open, frozen_address: str) -> None:
    page = opened(f"{frozen_address}/datasets/live")
    page.get_by_text("Compare", exact=True).click()
    changed = page.get_by_role("list", name="Changed")
    expect(changed.get_by_text("output", exact=True)).to_be_visible()
    expect(changed.locator("del")).to_have_text("Lima.")
    expect(changed.locator("ins")).to_have_text("Lima, on the Rímac.")
    expect(page.get_by_role("list", name="Added").get_by_role("link", name="Which river flows")).to_be_visible()
    expect(page.get_by_role("list", name="Removed").get_by_role("link", name="the capital of Chile")).to_be_visible()
    expect(page.get_by_role("img", name="Length of the input of v1 and v2").locator("svg")).to_be_visible()


def test_a_seed_names_a_sample_and_a_case_shows_its_lineage(opened: Open, frozen_address: str) -> None:
    page = opened(f"{frozen_address}/datasets/live?look=sample&seed=3")
    sample = page.get_by_role("list", name="Sample")
    expect(sample.get_by_role("button", name="Lineage").first).to_be_visible()
    before = sample.inner_text()
    page.get_by_role("button", name="Draw others").click()
    expect(page.get_by_text("seed 4", exact=False)).to_be_visible()
    expect(sample).not_to_have_text(before, use_inner_text=True)
    page.get_by_label("Seed").fill("3")
    expect(sample).to_have_text(before, use_inner_text=True)
    sample.get_by_role("button", name="Lineage").first.click()
    trail = page.get_by_role("list", name="Lineage of")
    for step in ("Trace", "Policy", "Case", "Builds", "Runs"):
        expect(trail.get_by_text(step, exact=True)).to_be_visible()
    expect(trail.get_by_text("v1 to v2 (")).to_be_visible()
    expect(trail.get_by_role("link", name="recorded")).to_be_visible()
    trail.get_by_role("link", name="tr-").first.click()
    expect(page.get_by_role("heading", name="Traces", level=1)).to_be_visible()


def test_records_that_are_only_in_files_are_read_and_compared(opened: Open, frozen_address: str) -> None:
    page = opened(f"{frozen_address}/datasets")
    expect(page.get_by_text("31 in the files of v2")).to_be_visible()
    page.get_by_role("list", name="Datasets").get_by_role("link", name="offline").click()
    expect(page.get_by_role("link", name="its cases as they are now")).to_have_count(0)
    expect(page.get_by_role("list", name="Files").get_by_role("link", name="rejected.jsonl")).to_be_visible()
    expect(page.get_by_text("offline.jsonl, 32 records")).to_be_visible()
    page.get_by_text("Spot check", exact=True).click()
    first = page.get_by_role("list", name="Sample").get_by_role("listitem").first
    expect(first.get_by_text("What is assumed?")).to_be_visible()
    expect(first.get_by_text("2 contexts, 1 cited")).to_be_visible()
    first.get_by_text("2 contexts, 1 cited").click()
    expect(first.get_by_text("[1] The sea is flat.")).to_be_visible()
    page.get_by_role("combobox", name="Split").click()
    page.get_by_role("option", name="summaries").click()
    expect(page.get_by_text("1 of 1 cases")).to_be_visible()
    page.get_by_text("Compare", exact=True).click()
    changed = page.get_by_role("list", name="Changed")
    expect(changed.get_by_text("That the sea is round [1].").first).to_be_visible()
    expect(changed.get_by_role("link")).to_have_count(0)


def test_a_file_downloads_as_it_was_frozen(opened: Open, frozen_address: str) -> None:
    page = opened(f"{frozen_address}/datasets/live")
    files = page.get_by_role("list", name="Files")
    with page.expect_download() as download:
        files.get_by_role("link", name="test.jsonl").click()
    assert download.value.suggested_filename == "live-v2-test.jsonl"
    content = Path(download.value.path()).read_bytes()
    expect(files.get_by_text(hashlib.sha256(content).hexdigest())).to_be_visible()


def test_what_is_not_there_is_said(opened: Open, frozen_address: str, empty_address: str) -> None:
    expect(opened(f"{empty_address}/datasets").get_by_role("heading", name="No dataset yet")).to_be_visible()
    page = opened(f"{frozen_address}/datasets/handbook")
    expect(page.get_by_role("heading", name="Never frozen")).to_be_visible()
    page = opened(f"{frozen_address}/datasets/nobody")
    expect(page.get_by_role("heading", name="No such dataset")).to_be_visible()


def test_on_a_phone_nothing_is_wider_than_the_screen(opened: Open, frozen_address: str) -> None:
    for look in ("versions", "compare", "sample"):
        page = opened(f"{frozen_address}/datasets/live?look={look}", viewport=PHONE, color_scheme="dark")
        expect(page.get_by_role("heading", name="live", level=1)).to_be_visible()
        page.wait_for_load_state("networkidle")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
