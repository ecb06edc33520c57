"""The states that pages can be in: where each is, and what a person does to reach it."""

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from perf.data.languages import TALKS
from tests.e2e.review_data import import_files, row_a, row_b, write_pair

Step = Callable[[Page], None]
Handler = Callable[[Route], None]
PATIENCE_MS = 60_000
PLACES = {
    "overview": "/",
    "traces": "/traces",
    "cases": "/cases",
    "review": "/review",
    "datasets": "/datasets",
    "benchmarks": "/benchmarks",
    "rules": "/rules",
    "validator": "/dev/evaldata",
}


@dataclass(frozen=True)
class State:
    """A page in a state. `path` is a template of addresses; `routes` are answers that replace the server's."""

    name: str
    path: str
    steps: tuple[Step, ...] = ()
    routes: dict[str, Handler] = field(default_factory=dict)
    waiting: bool = False
    """Whether the server never answers the page."""

    def reach(self, page: Page) -> None:
        expect(page.get_by_role("main")).to_be_visible(timeout=PATIENCE_MS)
        self._read(page)
        for step in self.steps:
            step(page)
        if self.steps:
            self._read(page)

    def _read(self, page: Page) -> None:
        """Wait until the page has what it asked for; one whose server never answers goes on waiting."""
        page.wait_for_load_state("networkidle")
        if self.waiting:
            expect(page.get_by_role("heading", level=1).first).to_be_visible(timeout=PATIENCE_MS)
        else:
            expect(page.locator("[aria-busy=true]")).to_have_count(0, timeout=PATIENCE_MS)


def click(role: str, name: str, *, exact: bool = False) -> Step:
    return lambda page: page.get_by_role(role, name=name, exact=exact).first.click()  # type: ignore[arg-type]


def keys(*pressed: str) -> Step:
    def press(page: Page) -> None:
        for key in pressed:
            page.keyboard.press(key)

    return press


def write(label: str, text: str) -> Step:
    return lambda page: page.get_by_label(label).first.fill(text)


def see(text: str) -> Step:
    return lambda page: expect(page.get_by_text(re.compile(text)).first).to_be_visible(timeout=PATIENCE_MS)


def abort(route: Route) -> None:
    route.abort()


def refuse(route: Route) -> None:
    route.fulfill(status=503, json={"error": "the database is locked by another process; try again"})


def states() -> Iterator[State]:
    yield from places()
    yield from traces()
    yield from cases()
    yield from reviews()
    yield from datasets()
    yield from benchmarks()
    yield from others()


def places() -> Iterator[State]:
    """Each place filled, empty, waiting, without a server, and refused by it."""
    for name, path in PLACES.items():
        yield State(f"{name}-filled", "{full}" + path)
        yield State(f"{name}-empty", "{empty}" + path)
        yield State(f"{name}-loading", "{full}" + path, waiting=True)
        gone, refused = see("No connection|does not answer"), see("locked by another|Import the two|No run")
        yield State(f"{name}-gone", "{full}" + path, (gone,), routes={"**/api/**": abort})
        yield State(f"{name}-refused", "{full}" + path, (refused,), routes={"**/api/**": refuse})


def traces() -> Iterator[State]:
    for language in TALKS:
        yield State(f"trace-{language}", f"{{full}}/traces/{language}-2")
    for name in ("failed", "bidi", "hostile", "control", "word", "long", "plain", "no-such-trace"):
        yield State(f"trace-{name}", f"{{full}}/traces/{name}")
    for tab in ("spans", "scores", "comments", "details"):
        yield State(f"trace-tab-{tab}", f"{{full}}/traces/ar-2#{tab}")
    yield State("trace-tab-5000-spans", "{full}/traces/steps#spans")
    yield State("trace-span-open", "{full}/traces/en-2#spans", (click("button", "step 1"),))
    yield State("trace-no-spans", "{full}/traces/plain#spans")
    yield State("trace-make-case", "{full}/traces/ar-2", (click("button", "Make a case…"),))
    yield State("trace-tag", "{full}/traces/en-2", (click("button", "Tag…"),))
    yield State("trace-copy", "{full}/traces/en-2", (click("button", "Copy as…"),))
    yield State("trace-scored", "{full}/traces/es-1", (keys("g"), see("Scored 1 trace as good")))
    yield State("traces-filters", "{full}/traces", (click("button", "Filters"),))
    yield State("traces-filtered", "{full}/traces?status=failed&tag=support&q=parcel")
    yield State("traces-nothing", "{full}/traces?q=nothing-like-this")
    yield State("traces-columns", "{full}/traces", (click("button", "Columns"),))
    yield State("traces-order", "{full}/traces", (click("combobox", "Order"),))
    yield State("traces-views", "{full}/traces", (click("button", "Views"),))
    yield State("traces-chosen", "{full}/traces", (keys("j", "x", "j", "x"), see("2 traces chosen")))
    yield State("traces-chosen-make", "{full}/traces", (keys("j", "x"), click("button", "Make cases…")))
    yield State("traces-search", "{full}/traces?q=退款")
    yield State("traces-keys", "{full}/traces", (keys("?"), see("Go to Traces")))


def cases() -> Iterator[State]:
    for name in TALKS:
        yield State(f"case-{name}", f"{{full}}/cases/talks/{name}")
    for name in ("bidi", "hostile", "control", "word", "no-such-case"):
        yield State(f"case-{name}", f"{{full}}/cases/odd/{name}")
    yield State("case-context", "{full}/cases/context/merge-41")
    yield State("case-qa", "{full}/cases/handbook/qa-17")
    yield State("case-agent", "{full}/cases/agents/flight")
    yield State("case-edit", "{full}/cases/talks/ar", (click("button", "Edit…"),))
    yield State("cases-new", "{full}/cases", (click("button", "New case…"),))
    yield State("cases-import", "{full}/cases", (click("button", "Import…"),))
    yield State("cases-export", "{full}/cases", (click("button", "Export…"),))
    yield State("cases-filters", "{full}/cases", (click("button", "Filters"),))
    yield State("cases-nothing", "{full}/cases?q=nothing-like-this")
    yield State("cases-chosen", "{full}/cases", (keys("j", "x", "j", "x"), see("2 cases chosen")))
    yield State("cases-columns", "{full}/cases", (click("button", "Columns"),))


def reviews() -> Iterator[State]:
    for name in TALKS:
        yield State(f"review-{name}", f"{{full}}/review?dataset=talks&id={name}")
        yield State(f"review-qa-{name}", f"{{full}}/review?dataset=talks&id=qa-{name}")
    for name in ("bidi", "hostile", "word"):
        yield State(f"review-{name}", f"{{full}}/review?dataset=odd&id={name}")
    yield State("review-context", "{full}/review?dataset=context&id=merge-41")
    yield State("review-task", "{full}/review?dataset=basic-tools&id=refund-tool")
    yield State("review-agent", "{full}/review?dataset=agents&id=flight")
    yield State("review-missing", "{full}/review?dataset=odd&id=no-such-case")
    yield State("review-progress", "{full}/review?show=progress")
    yield State("review-progress-empty", "{empty}/review?show=progress")
    yield State("review-questions", "{full}/review?dataset=talks&id=en", (click("button", "Questions…"),))
    yield State("review-chosen", "{full}/review?dataset=talks&id=en", (keys("x"),))
    yield State("review-keys", "{full}/review?dataset=talks&id=en", (keys("?"), see("Go to Traces")))
    yield State("validator-imported", "{full}/dev/evaldata", (import_pair,))


def import_pair(page: Page) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = write_pair(Path(folder), [row_a(n) for n in range(5)], [row_b(n) for n in range(5)])
        import_files(page, pair)
        expect(page.get_by_role("navigation", name="Cases")).to_be_visible(timeout=PATIENCE_MS)


def datasets() -> Iterator[State]:
    yield State("dataset-frozen", "{full}/datasets/talks")
    yield State("dataset-never-frozen", "{full}/datasets/odd")
    yield State("dataset-compare", "{full}/datasets/talks?look=compare")
    yield State("dataset-sample", "{full}/datasets/talks?look=sample")
    yield State("dataset-lineage", "{full}/datasets/talks?look=sample&case=ar")
    yield State("dataset-freeze", "{full}/datasets/talks", (click("button", "Freeze"),))
    yield State("dataset-missing", "{full}/datasets/no-such-dataset")


def benchmarks() -> Iterator[State]:
    yield State("benchmarks-chosen", "{full}/benchmarks", (choose_runs, click("button", "Compare 2")))
    for tab in ("leaderboard", "trends"):
        yield State(f"benchmarks-{tab}", f"{{full}}/benchmarks?tab={tab}")
    yield State("benchmarks-new", "{full}/benchmarks", (click("button", "New run"),))
    yield State("run", "{full}/benchmarks/runs/{first}")
    yield State("run-attempt", "{full}/benchmarks/runs/{first}", (click("button", TALKS["zh"][0]),))
    yield State("run-delete", "{full}/benchmarks/runs/{first}", (click("button", "Delete…"),))
    yield State("run-missing", "{full}/benchmarks/runs/no-such-run")
    yield State("compare", "{full}/benchmarks/compare?runs=[%22{first}%22,%22{second}%22]")
    yield State(
        "compare-beside",
        "{full}/benchmarks/compare?runs=[%22{first}%22,%22{second}%22]",
        (see("Difference"), keys("n")),
    )
    yield State("compare-nothing", "{full}/benchmarks/compare")


def choose_runs(page: Page) -> None:
    boxes = page.get_by_role("row").get_by_role("checkbox")
    expect(boxes.nth(1)).to_be_visible(timeout=PATIENCE_MS)
    for at in range(2):
        boxes.nth(at).check()


def others() -> Iterator[State]:
    yield State("replay", "{full}/replay/agents/flight")
    yield State("replay-missing", "{full}/replay/agents/no-such-case")
    yield State("overview-by-name", "{full}/?measure=cost&by=name")
    yield State("rules-changed", "{full}/rules", (write("Golden from", "0.9"), see("It would admit|Golden from")))
    yield State("lost", "{full}/no/such/page")
