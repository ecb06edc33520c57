"""Rows, files and a page for the tests of the review pages."""

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from tests.e2e.pages import a_page

AXE = Path(__file__).parents[2] / "web/node_modules/axe-core/axe.min.js"

DIFF = """diff --git a/pkg/retry.go b/pkg/retry.go
index 1f0c..2a9d 100644
--- a/pkg/retry.go
+++ b/pkg/retry.go
@@ -10,7 +10,9 @@ func Do(ctx context.Context, work func() error) error {
 \tfor attempt := 0; ; attempt++ {
 \t\terr := work()
 \t\tif err == nil {
-\t\t\treturn nil
+\t\t\treturn errors.Join(ctx.Err())
 \t\t}
+\t\tif attempt >= limit {
+\t\t\treturn err
 \t\t}
 \t\ttime.Sleep(backoff(attempt))
diff --git a/pkg/limits.go b/pkg/limits.go
new file mode 100644
--- /dev/null
+++ b/pkg/limits.go
@@ -0,0 +1,3 @@
+package pkg
+
+const limit = 5
"""

QUERIES = (
    "Retry failed uploads with a limit and a growing pause",
    "Show the reviewer's name beside each decision",
    "Reject diffs that touch generated files",
    "Cache the ranked repository summary per commit",
    "Make the extractor skip archived tasks",
)

# A change of the colour scheme reaches the page with the next frame, and what it animates starts in the one after.
SETTLED = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))).then(
    () => Promise.allSettled(document.getAnimations()
        .filter(one => one.effect.getComputedTiming().endTime < Infinity).map(one => one.finished))
)"""


def shared(number: int, **more: Any) -> dict[str, Any]:
    return {
        "workspaceId": "ws-1",
        "taskId": f"task-{number // 2}",
        "flowId": f"flow-{number}",
        "caseId": f"case-{number:04d}",
        "caseIndex": number % 2,
        "query": QUERIES[number % len(QUERIES)],
        "baseCommit": f"{number:07x}abcdef",
        "needsQuery": False,
        "needsBaseCommit": False,
    } | more


def row_a(number: int, **more: Any) -> dict[str, Any]:
    paths = [
        {"path": "pkg/retry.go", "sources": ["review_merge_diff"]},
        {"path": "pkg/limits.go", "sources": ["review_merge_diff"]},
        {"path": "pkg/backoff.go", "sources": ["tool_call_args", "tool_call_result"]},
    ]
    evidence = {
        "diff": DIFF,
        "tool_calls": [
            {
                "id": "t1",
                "name": "read_file_lines",
                "arguments": {"file_lines": [{"file_path": "pkg/backoff.go", "line_number": 12}]},
                "result": "File: pkg/backoff.go\nLines: 8-16",
            }
        ],
        "suggested_queries": ["Uploads fail for good after one timeout; retry them."],
    }
    return shared(number) | {"filePaths": paths, "evidence": evidence} | more


def row_b(number: int, **more: Any) -> dict[str, Any]:
    ranges = [
        {"path": "pkg/retry.go", "startLine": 13, "endLine": 13, "sources": ["golden_diff"]},
        {"path": "pkg/backoff.go", "startLine": 8, "endLine": 16, "sources": ["tool_call_result"]},
    ]
    return shared(number) | {"lineRanges": ranges} | more


def jsonl(rows: list[dict[str, Any]] | list[str]) -> str:
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def write_pair(folder: Path, rows_a: list[dict[str, Any]], rows_b: list[dict[str, Any]]) -> list[Path]:
    files = [
        folder / "dataset_a_file_paths.unvalidated.jsonl",
        folder / "dataset_b_line_ranges.unvalidated.jsonl",
    ]
    for file, rows in zip(files, (rows_a, rows_b), strict=True):
        file.write_text(jsonl(rows))
    return files


def open_validator(browser: Browser, url: str, *, width: int = 1440, height: int = 900) -> Page:
    page = a_page(browser, viewport={"width": width, "height": height}, accept_downloads=True)
    page.goto(f"{url}/dev/evaldata")
    page.get_by_role("heading", name="Import the two unvalidated files").wait_for()
    return page


def import_files(page: Page, files: list[Path]) -> None:
    page.locator("input[type=file]").first.set_input_files([str(file) for file in files])


def serious_faults(page: Page) -> list[str]:
    """What axe calls serious or critical on the page as it is when nothing moves any more."""
    page.evaluate(SETTLED)
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {node['target']} {node['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
        for node in fault["nodes"]
    ]
