"""The validator in a real browser: the whole walk, keys alone, broken files, many rows, a phone."""

import json
from collections.abc import Iterator
from pathlib import Path
from threading import Event

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from evergold.cli import invoke as run
from tests.api.serving import served
from tests.e2e.pictures import PICTURES
from tests.e2e.review_data import (
    import_files,
    jsonl,
    open_validator,
    row_a,
    row_b,
    serious_faults,
    write_pair,
)

pytestmark = pytest.mark.slow
EXPORTED = ("dataset_a_file_paths.validated.jsonl", "dataset_b_line_ranges.validated.jsonl")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(tmp_path_factory.mktemp("server")) as url:
        yield url


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:
    page = open_validator(browser, server)
    faults: list[str] = []
    page.on("pageerror", lambda fault: faults.append(str(fault)))
    yield page
    page.context.close()
    assert faults == []


def incomplete_pair(folder: Path) -> list[Path]:
    lacking = {1: {"query": "", "needsQuery": True}, 2: {"baseCommit": "", "needsBaseCommit": True}}
    numbers = range(4)
    return write_pair(
        folder,
        [row_a(number, **lacking.get(number, {})) for number in numbers],
        [row_b(number, **lacking.get(number, {})) for number in numbers],
    )


def expect_paths(page: Page, *paths: str) -> None:
    fields = page.get_by_role("region", name="File paths").locator("[data-path]")
    expect(fields).to_have_count(len(paths))
    for number, path in enumerate(paths):
        expect(fields.nth(number)).to_have_value(path)


def drag(page: Page, number: int, onto: int) -> None:
    names = (f"Move path {number}", f"Move path {onto}")
    start, end = (page.get_by_role("button", name=name, exact=True).bounding_box() for name in names)
    assert start is not None and end is not None
    page.mouse.move(start["x"] + 10, start["y"] + 10)
    page.mouse.down()
    page.mouse.move(end["x"] + 10, end["y"] + 20, steps=12)
    page.mouse.move(end["x"] + 10, end["y"] + 4, steps=4)
    said = f"Draggable item {number} was moved over droppable area {onto}."
    expect(page.get_by_text(said)).to_have_count(1)
    page.mouse.up()


def export(page: Page, folder: Path) -> list[list[dict[str, object]]]:
    page.get_by_role("button", name="Export", exact=True).click()
    rows = []
    for half in ("A", "B"):
        with page.expect_download() as download:
            page.get_by_role("button", name=f"Download {half}").click()
        target = folder / download.value.suggested_filename
        download.value.save_as(target)
        rows.append([json.loads(line) for line in target.read_text().splitlines()])
    return rows


def test_import_fill_reorder_validate_reload_export(page: Page, tmp_path: Path) -> None:
    import_files(page, incomplete_pair(tmp_path))
    expect(page.get_by_text("of 4 validated")).to_contain_text("0 of 4 validated · 2 incomplete")
    page.get_by_role("button", name="Mark as validated").click()
    page.get_by_role("button", name="Next incomplete").click()
    expect(page.get_by_role("button", name="Mark as validated")).to_be_disabled()
    expect(page.locator("#why-not")).to_have_text("query is empty")
    page.get_by_role("button", name="Use: Uploads fail").click()
    expect(page.get_by_text("lines 14–15")).to_be_visible()
    page.screenshot(path=PICTURES / "validator.png")
    page.get_by_role("button", name="lines 14–15").click()
    drag(page, 3, onto=1)
    expect_paths(page, "pkg/backoff.go", "pkg/retry.go", "pkg/limits.go")
    page.get_by_label("Path of path 1").press("Alt+ArrowDown")
    expect_paths(page, "pkg/retry.go", "pkg/backoff.go", "pkg/limits.go")
    page.get_by_role("button", name="Mark as validated").click()
    expect(page.get_by_text("of 4 validated")).to_contain_text("2 of 4 validated")
    expect(page.get_by_text("Saved in this browser")).to_be_visible()
    page.reload()
    expect(page.get_by_text("of 4 validated")).to_contain_text("2 of 4 validated")
    expect_paths(page, "pkg/retry.go", "pkg/backoff.go", "pkg/limits.go")
    rows_a, rows_b = export(page, tmp_path)
    expect(page.get_by_role("region", name="Left out")).to_contain_text("case-0002: base commit is empty")
    assert [row["caseId"] for row in rows_a] == ["case-0000", "case-0001"]
    assert [run(["check", str(tmp_path / name)]) for name in EXPORTED] == [0, 0]
    assert "needsQuery" not in rows_a[1]
    assert rows_a[1]["query"] == "Uploads fail for good after one timeout; retry them."
    assert {"path": "pkg/retry.go", "startLine": 14, "endLine": 15, "sources": ["golden_diff"]} in rows_b[1][
        "lineRanges"
    ]  # type: ignore[operator]


def test_an_edit_of_a_validated_case_unvalidates_it_and_undo_brings_it_back(page: Page, tmp_path: Path) -> None:
    import_files(page, write_pair(tmp_path, [row_a(0)], [row_b(0)]))
    page.get_by_role("button", name="Mark as validated").click()
    page.get_by_label("Query").fill("Another question")
    expect(page.get_by_text("of 1 validated")).to_contain_text("0 of 1")
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("of 1 validated")).to_contain_text("1 of 1")


def test_a_disproved_base_is_validated_only_with_a_reason_that_is_exported(page: Page, tmp_path: Path) -> None:
    problem = "pkg/retry.go is not in the repository at 0000000abcdef"

    def with_repository(route: Route) -> None:
        route.fulfill(json={**route.fetch().json(), "repository": True})

    def disprove(route: Route) -> None:
        given = route.request.post_data_json or {}
        route.fulfill(json={"a": given["a"], "b": given["b"], "problems": [problem]})

    page.route("**/api/v1/review/me", with_repository)
    page.route("**/api/v1/review/prove", disprove)
    page.reload()
    import_files(page, write_pair(tmp_path, [row_a(0)], [row_b(0)]))
    dialog = page.get_by_role("dialog", name="The repository disproves this base commit")
    page.get_by_role("button", name="Mark as validated").click()
    expect(dialog).to_contain_text(problem)
    expect(dialog.get_by_role("button", name="Validate anyway")).to_be_disabled()
    assert serious_faults(page) == []
    dialog.get_by_role("button", name="Back").click()
    expect(page.get_by_text("of 1 validated")).to_contain_text("0 of 1")
    expect(page.get_by_role("button", name="Mark as validated")).to_be_focused()
    page.keyboard.press("Enter")
    dialog.get_by_label("Why it is right all the same").fill("The file was renamed in that merge.")
    dialog.get_by_role("button", name="Validate anyway").click()
    expect(page.get_by_text("of 1 validated")).to_contain_text("1 of 1")
    for (row,) in export(page, tmp_path):
        override = row["baseOverride"]
        assert isinstance(override, dict)
        assert (override["why"], override["problems"]) == ("The file was renamed in that merge.", [problem])


def test_the_keyboard_alone(page: Page, tmp_path: Path) -> None:
    import_files(page, incomplete_pair(tmp_path))
    page.get_by_role("button", name="Mark as validated").wait_for()
    page.locator("body").press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Next incomplete case")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("v")
    page.keyboard.press("n")
    page.keyboard.press("q")
    page.keyboard.type("Show who decided")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("of 4 validated")).to_contain_text("2 of 4")
    page.keyboard.press("Escape")
    page.keyboard.press("n")
    page.keyboard.press("b")
    page.keyboard.type("0123456789abcdef")
    page.keyboard.press("Escape")
    page.keyboard.press("v")
    page.keyboard.press("j")
    page.keyboard.press("v")
    expect(page.get_by_text("of 4 validated")).to_contain_text("4 of 4")
    page.keyboard.press("z")
    expect(page.get_by_text("of 4 validated")).to_contain_text("3 of 4")


def test_broken_files_are_explained_by_line_and_field_and_good_rows_are_offered(page: Page, tmp_path: Path) -> None:
    lines = [json.dumps(row_a(number)) for number in range(20)]
    lines[16] = '{"caseId": "case-0016", "filePaths": ['
    lines[3] = json.dumps(row_a(3, filePaths=None))
    lines[4] = json.dumps(row_a(4, query="x" * 200_000))
    lines[5] = lines[6]
    lines[7] = json.dumps({"caseId": "odd", "ranges": []})
    broken = tmp_path / "broken.jsonl"
    broken.write_text(jsonl(lines))
    import_files(page, [broken])
    remarks = page.get_by_role("region", name="Problems found")
    expect(remarks).to_contain_text("line 17 · left out")
    expect(remarks).to_contain_text("line 4 · filePaths · repaired")
    expect(remarks).to_contain_text("line 7 · caseId · left out")
    expect(remarks).to_contain_text("predictions for retrieval scoring")
    page.get_by_role("button", name="Import 17 cases").click()
    expect(page.get_by_text("of 17 validated")).to_be_visible()


def test_another_tools_file_is_recognised(page: Page, tmp_path: Path) -> None:
    other = tmp_path / "live.jsonl"
    other.write_text(jsonl([json.dumps({"id": str(n), "entry_type": "golden", "input": "hi"}) for n in range(3)]))
    import_files(page, [other])
    expect(page.get_by_role("dialog")).to_contain_text("looks like an export of the living dataset")
    page.get_by_role("button", name="Close").last.click()
    expect(page.get_by_role("heading", name="Import the two unvalidated files")).to_be_visible()


def test_a_script_in_every_text_field_is_only_text(page: Page, tmp_path: Path) -> None:
    evil = "<script>window.ran = 1</script><img src=x onerror='window.ran = 1'>"
    diff = (
        f"diff --git a/{evil} b/{evil}\n--- a/{evil}\n+++ b/{evil}\n@@ -1,2 +1,2 @@ {evil}\n-{evil}\n+{evil}\n {evil}\n"
    )
    call = {"id": evil, "name": evil, "arguments": {evil: evil}, "result": evil}
    evidence = {"diff": diff, "tool_calls": [call], "suggested_queries": [evil], "suggested_commits": [evil]}
    named = dict.fromkeys(("workspaceId", "taskId", "flowId", "caseId", "query", "baseCommit"), evil)
    rows_a = [row_a(0, **named, filePaths=[{"path": evil, "sources": [evil], evil: evil}], evidence=evidence)]
    rows_b = [row_b(0, **named, lineRanges=[{"path": evil, "startLine": 1, "endLine": 2, "sources": [evil]}])]
    import_files(page, write_pair(tmp_path, rows_a, rows_b))
    page.get_by_role("button", name="Mark as validated").wait_for()
    page.get_by_role("button", name="✓ line 1").wait_for()
    for tab in ("Tool calls", "File at base"):
        page.get_by_role("tab", name=tab).click()
    page.keyboard.press("x")
    expect(page.get_by_role("dialog")).to_contain_text("onerror")
    assert page.evaluate("window.ran") is None


def test_a_reimport_shows_a_three_way_choice(page: Page, tmp_path: Path) -> None:
    import_files(page, write_pair(tmp_path, [row_a(0), row_a(1)], [row_b(0), row_b(1)]))
    page.get_by_label("Query").fill("What I wrote")
    again = {"query": "What the extractor now says", "baseCommit": "fffffff"}
    import_files(page, write_pair(tmp_path, [row_a(0, **again), row_a(1)], [row_b(0, **again), row_b(1)]))
    choices = page.get_by_role("region", name="Edited cases that changed in the file")
    expect(choices).to_contain_text("query: changed on both sides")
    page.screenshot(path=PICTURES / "validator-reimport.png")
    page.get_by_role("button", name="Import 1 case").click()
    expect(page.get_by_label("Query")).to_have_value("What I wrote")
    expect(page.get_by_label("Base commit")).to_have_value("fffffff")


def test_edits_are_copied_to_the_workspace_and_a_colleague_s_work_is_kept_there(
    page: Page, server: str, tmp_path: Path
) -> None:
    import_files(page, write_pair(tmp_path, [row_a(700)], [row_b(700)]))
    expect(page.get_by_text("in this browser and in the workspace")).to_be_visible()
    desk = page.context.new_page()
    desk.goto(f"{server}/review?dataset=context&id=case-0700")
    expect(desk.get_by_label("First line of range 1")).to_have_value("13")
    expect(desk.get_by_text("v1 · saved")).to_be_visible()
    desk.get_by_label("Query").fill("From the colleague")
    expect(desk.get_by_text("v2 · saved")).to_be_visible()
    page.get_by_label("Query").fill("From the validator")
    expect(page.get_by_text("The workspace has other work on case-0700")).to_be_visible()
    page.get_by_role("button", name="Replace it with mine").click()
    expect(page.get_by_text("in this browser and in the workspace")).to_be_visible()
    desk.reload()
    expect(desk.get_by_label("Query")).to_have_value("From the validator")


def test_an_edit_made_while_a_copy_is_on_its_way_is_not_called_copied(page: Page, tmp_path: Path) -> None:
    on_their_way: list[Route] = []
    released = Event()

    def hold(route: Route) -> None:
        if released.is_set():
            route.continue_()
        else:
            on_their_way.append(route)

    page.route("**/api/v1/review/rows", hold)
    with page.expect_request("**/api/v1/review/rows"):
        import_files(page, write_pair(tmp_path, [row_a(810)], [row_b(810)]))
    page.get_by_role("button", name="Mark as validated").wait_for()
    page.keyboard.press("v")
    expect(page.get_by_role("button", name="Mark as validated")).to_have_count(0)
    with page.expect_request_finished(lambda request: request.url.endswith("/review/rows")):
        on_their_way[0].continue_()
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert "and in the workspace" not in page.get_by_role("status").first.inner_text()
    released.set()
    for route in on_their_way[1:]:
        route.continue_()
    expect(page.get_by_text("in this browser and in the workspace")).to_be_visible()


def test_another_browser_goes_on_from_the_workspace(page: Page, browser: Browser, server: str, tmp_path: Path) -> None:
    import_files(page, write_pair(tmp_path, [row_a(800)], [row_b(800)]))
    page.get_by_role("button", name="Mark as validated").wait_for()
    page.keyboard.press("v")
    expect(page.get_by_text("in this browser and in the workspace")).to_be_visible()
    other = open_validator(browser, server)
    other.get_by_role("button", name="of the workspace").click()
    other.get_by_label("Search cases").fill("case-0800")
    other.get_by_role("navigation", name="Cases").get_by_role("button").click()
    expect(other.get_by_role("button", name="Validated")).to_be_visible()
    other.context.close()


def test_clear_all_asks_first_and_can_be_undone(page: Page, tmp_path: Path) -> None:
    import_files(page, write_pair(tmp_path, [row_a(0)], [row_b(0)]))
    page.get_by_role("button", name="Clear all").click()
    page.get_by_role("button", name="Clear 1 cases").click()
    expect(page.get_by_role("heading", name="Import the two unvalidated files")).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("z")
    expect(page.get_by_text("of 1 validated")).to_be_visible()


def test_five_thousand_rows_are_drawn_a_few_at_a_time_and_survive_a_reload(page: Page, tmp_path: Path) -> None:
    numbers = range(5000)
    import_files(page, write_pair(tmp_path, [row_a(n) for n in numbers], [row_b(n) for n in numbers]))
    expect(page.get_by_text("of 5000 validated")).to_be_visible()
    assert page.get_by_role("navigation", name="Cases").get_by_role("listitem").count() < 60
    page.get_by_label("Search cases").fill("case-4321")
    expect(page.get_by_text("1 shown")).to_be_visible()
    page.get_by_role("navigation", name="Cases").get_by_role("button").click()
    page.keyboard.press("v")
    expect(page.get_by_text("of 5000 validated")).to_contain_text("1 of 5000")
    expect(page.get_by_text("Saved in this browser")).to_be_visible()
    page.reload()
    expect(page.get_by_text("of 5000 validated")).to_contain_text("1 of 5000")
    assert page.evaluate("localStorage.getItem('evergold.evaldata').length") < 200_000


def test_a_second_tab_is_noticed_before_it_is_overwritten(page: Page, tmp_path: Path) -> None:
    import_files(page, write_pair(tmp_path, [row_a(0)], [row_b(0)]))
    expect(page.get_by_text("Saved in this browser")).to_be_visible()
    page.get_by_text("of 1 validated").wait_for()
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Query").fill("From the other tab")
    expect(other.get_by_text("Saved in this browser")).to_be_visible()
    page.get_by_label("Query").fill("From this tab")
    expect(page.get_by_role("alert")).to_contain_text("another tab saved this session")


def test_a_full_storage_is_said(browser: Browser, server: str, tmp_path: Path) -> None:
    page = open_validator(browser, server)
    page.evaluate(
        "() => { Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError') } }"
    )
    import_files(page, write_pair(tmp_path, [row_a(0)], [row_b(0)]))
    expect(page.get_by_role("alert")).to_contain_text("storage is full")
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_serious_accessibility_fault(browser: Browser, server: str, tmp_path: Path, scheme: str) -> None:
    page = open_validator(browser, server)
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    assert serious_faults(page) == []
    import_files(page, incomplete_pair(tmp_path))
    page.get_by_text("lines 14–15").wait_for()
    page.keyboard.press("n")
    assert serious_faults(page) == []
    page.keyboard.press("x")
    page.get_by_role("dialog").wait_for()
    assert serious_faults(page) == []
    page.context.close()


def test_a_phone(browser: Browser, server: str, tmp_path: Path) -> None:
    page = open_validator(browser, server, width=390, height=844)
    import_files(page, incomplete_pair(tmp_path))
    page.get_by_role("button", name="Mark as validated").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.get_by_role("button", name="Evidence").click()
    expect(page.get_by_text("Approved diff")).to_be_visible()
    page.get_by_role("button", name="Cases", exact=True).click()
    expect(page.get_by_text("of 4 validated")).to_contain_text("1 of 4")
    assert serious_faults(page) == []
    page.context.close()
