"""Bad input in real Chromium: huge and hostile texts, a server that goes away under each form, two people at one case.

    python -m perf.hostile_pages [--only NAME …]

Each trial prints `held` or what did not hold; the command ends with status 1 where one did not.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from playwright.sync_api import Browser, Error, Page, Request, expect

from evergold.model.trace import Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from perf.page_states import servers
from tests.api.serving import calling
from tests.e2e.pages import a_browser, a_page

HUGE = 10 * 1024 * 1024
TYPED = "Typed while the server was away. كُتب أثناء الانقطاع. 断线时输入。"
LONGEST_TASK = """() => new Promise(done => {
  let longest = 0;
  new PerformanceObserver(list => {
    for (const entry of list.getEntries()) longest = Math.max(longest, entry.duration);
  }).observe({ type: "longtask", buffered: true });
  setTimeout(() => done(Math.round(longest)), 500);
})"""


@dataclass
class Desk:
    """A server with bad data, and pages that record where they send requests."""

    url: str
    browser: Browser
    strays: list[str] = field(default_factory=list)

    def page(self, path: str, who: str = "") -> Page:
        page = a_page(self.browser, viewport={"width": 1440, "height": 900})
        page.on("request", self._record)
        page.on("pageerror", lambda error: self.strays.append(f"uncaught: {error}"))
        if who:
            page.add_init_script(f"localStorage.setItem('evergold.reviewer', '{who}')")
        page.goto(self.url + path)
        expect(page.get_by_role("heading").first).to_be_visible()
        return page

    def _record(self, request: Request) -> None:
        if not request.url.startswith((self.url, "data:", "blob:")):
            self.strays.append(request.url)


@contextmanager
def away(page: Page) -> Iterator[None]:
    """The server answers nothing for a while."""
    page.route("**/api/**", lambda route: route.abort())
    try:
        yield
    finally:
        page.unroute("**/api/**")


def hostile_texts_run_nothing_and_fetch_nothing(desk: Desk) -> None:
    paths = ["/", "/traces", "/cases", "/review?dataset=odd&id=hostile", "/cases/odd/hostile", "/datasets/odd"]
    paths += [f"/traces/hostile#{tab}" for tab in ("conversation", "spans", "scores", "comments", "details")]
    for path in paths:
        page = desk.page(path)
        page.wait_for_load_state("networkidle")
        assert page.evaluate("window.hacked") is None, f"a script ran on {path}"
        for bad in (
            "a[href^='javascript:']",
            "a[href^='data:']",
            "main iframe",
            "main script",
            "main img",
            "main style",
        ):
            assert page.locator(bad).count() == 0, f"{bad} on {path}"
        page.context.close()
    assert desk.strays == [], desk.strays


def directions_and_controls_are_shown_as_such(desk: Desk) -> None:
    hidden = r"/[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\u202A-\u202E\u2066-\u2069]/"
    for name in ("bidi", "control"):
        for path in (
            "/traces",
            f"/traces/{name}",
            f"/traces/{name}#details",
            f"/cases/odd/{name}",
            "/cases?dataset=odd",
        ):
            page = desk.page(path)
            page.wait_for_load_state("networkidle")
            raw = page.evaluate(f"{hidden}.test(document.querySelector('main').innerText)")
            assert not raw, f"a character that is not seen stands on {path}"
            page.context.close()
    page = desk.page("/traces/bidi")
    expect(page.get_by_text("invoice⟦RLO⟧gnp.exe").first).to_be_visible()
    page.context.close()


def a_trace_of_ten_megabytes_opens_and_scrolls(desk: Desk) -> None:
    page = desk.page("/traces")
    began = time.perf_counter()
    page.goto(f"{desk.url}/traces/huge")
    more = page.get_by_role("button", name="Show the first 100,000 of 10,485,760 characters").first
    expect(more).to_be_visible()
    opened = time.perf_counter() - began
    more.click()
    expect(page.get_by_role("button", name="Show 100,000 more").first).to_be_visible()
    print(f"    10 MB opened in {opened:.1f} s, longest task {page.evaluate(LONGEST_TASK)} ms")
    for path in ("/traces", "/review?dataset=picked&id=huge"):
        page.goto(desk.url + path)
        expect(page.get_by_role("heading").first).to_be_visible()
    page.context.close()


def five_thousand_spans_fold_and_are_searched(desk: Desk) -> None:
    page = desk.page("/traces/steps")
    began = time.perf_counter()
    page.get_by_role("tab", name="Spans").click()
    expect(page.get_by_role("button", name="Show 300 more of 5,000 spans")).to_be_visible()
    print(f"    5,000 spans opened in {time.perf_counter() - began:.1f} s, longest {page.evaluate(LONGEST_TASK)} ms")
    page.get_by_label("Search spans").fill("step 4999")
    expect(page.get_by_role("button", name="tool step 4999").or_(page.get_by_text("step 4999")).first).to_be_visible()
    page.get_by_label("Search spans").fill("")
    page.get_by_role("button", name="Fold all", exact=True).click()
    expect(page.get_by_role("button", name="Unfold step 0")).to_be_visible()
    page.context.close()


def a_correction_outlives_the_server(desk: Desk) -> None:
    page = desk.page("/traces/en-0")
    page.get_by_role("button", name="Make a case…").click()
    answer = page.get_by_label("The right answer")
    answer.fill(TYPED)
    with away(page):
        page.wait_for_timeout(11_000)  # the page renews itself meanwhile
        page.get_by_role("button", name="Make the case").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("does not answer")
        expect(answer).to_have_value(TYPED)
    page.get_by_role("button", name="Make the case").click()
    expect(page.get_by_text("1 case in picked.")).to_be_visible()
    page.context.close()


def an_edit_of_a_case_outlives_the_server_and_a_reload(desk: Desk) -> None:
    page = desk.page("/cases/talks/es")
    page.get_by_role("button", name="Edit…").click()
    page.get_by_role("textbox", name="Expected", exact=True).fill(TYPED)
    with away(page):
        page.wait_for_timeout(11_000)
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("does not answer")
    page.reload()
    page.get_by_role("button", name="Edit…").click()
    expect(page.get_by_role("textbox", name="Expected", exact=True)).to_have_value(TYPED)
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    page.context.close()


def a_review_outlives_the_server(desk: Desk) -> None:
    page = desk.page("/review?dataset=talks&id=en", "ana")
    with away(page):
        page.get_by_label("Expected answer").fill(TYPED)
        expect(page.get_by_text("No connection to the server")).to_be_visible()
        page.get_by_role("textbox", name="What would you say?").fill(TYPED)
        page.get_by_role("textbox", name="Comment").fill(TYPED)
        expect(page.get_by_role("textbox", name="What would you say?")).to_have_value(TYPED)
        page.keyboard.press("Escape")
        page.keyboard.press("j")
        page.keyboard.press("k")
    expect(page.get_by_text("No connection to the server")).to_be_hidden()
    page.goto(f"{desk.url}/review?dataset=talks&id=en")
    expect(page.get_by_label("Expected answer")).to_have_value(TYPED)
    expect(page.get_by_role("textbox", name="What would you say?")).to_have_value(TYPED)
    expect(page.get_by_label("Case", exact=True).get_by_text("saved")).to_be_visible()
    with calling(f"{desk.url}/api/v1") as client:
        assert client.get("/cases/talks/en").json()["expected"] == TYPED
    page.context.close()


def rules_outlive_the_server_and_a_colleague(desk: Desk) -> None:
    page = desk.page("/rules")
    page.get_by_label("Golden from").fill("0.91")
    page.get_by_label("Why").fill(TYPED)
    with away(page):
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert").get_by_text("does not answer")).to_be_visible()
    expect(page.get_by_label("Why")).to_have_value(TYPED)
    with calling(f"{desk.url}/api/v1") as client:
        view = client.get("/curation/rules").json()
        theirs = {**view["rules"], "policy": {**(view["rules"].get("policy") or {}), "ignore": ["theirs"]}}
        body = {"rules": theirs, "base": view["number"], "why": "a colleague"}
        client.put("/curation/rules", json=body).raise_for_status()
    expect(page.get_by_text("Somebody else changed the rules meanwhile")).to_be_visible()
    expect(page.get_by_label("Golden from")).to_have_value("0.91")
    page.get_by_role("button", name="Go on with mine").click()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("list").get_by_text(TYPED).or_(page.get_by_text(TYPED)).first).to_be_visible()
    page.context.close()


def a_new_run_outlives_the_server(desk: Desk) -> None:
    page = desk.page("/benchmarks")
    page.get_by_role("button", name="New run").or_(page.get_by_role("button", name="Start a run")).first.click()
    page.get_by_role("combobox", name="Dataset").or_(page.get_by_label("Dataset")).first.click()
    page.get_by_role("option", name="exam").click()
    page.get_by_label("Model").first.fill("recorded")
    page.get_by_label("Metrics").first.click()
    page.get_by_role("option", name="helpfulness").or_(page.get_by_role("option")).first.click()
    page.keyboard.press("Escape")
    with away(page):
        page.get_by_role("button", name="Start", exact=True).click()
        expect(page.get_by_role("dialog").get_by_role("alert").first).to_contain_text("does not answer")
        expect(page.get_by_label("Model").first).to_have_value("recorded")
    page.context.close()


def two_people_at_one_case_both_see_it(desk: Desk) -> None:
    ana, bo = desk.page("/cases/talks/zh", "ana"), desk.page("/cases/talks/zh", "bo")
    for page, text in ((ana, "of ana"), (bo, "of bo")):
        page.get_by_role("button", name="Edit…").click()
        page.get_by_role("textbox", name="Expected", exact=True).fill(text)
    ana.get_by_role("button", name="Save").click()
    expect(ana.get_by_text("Saved.")).to_be_visible()
    # Bo sees it without having saved, and loses nothing.
    expect(bo.get_by_text("Somebody changed this case meanwhile")).to_be_visible()
    expect(bo.get_by_role("dialog").get_by_text("of ana")).to_be_visible()
    expect(bo.get_by_role("textbox", name="Expected", exact=True)).to_have_value("of bo")
    bo.get_by_role("button", name="Save mine").click()
    expect(bo.get_by_text("Saved.")).to_be_visible()
    expect(ana.get_by_role("article").get_by_text("of bo").first).to_be_visible()
    for page in (ana, bo):
        page.reload()
        for text in ("of ana", "of bo"):
            expect(page.get_by_role("article").get_by_text(text).first).to_be_visible()
        page.context.close()


TRIALS: tuple[Callable[[Desk], None], ...] = (
    hostile_texts_run_nothing_and_fetch_nothing,
    directions_and_controls_are_shown_as_such,
    a_trace_of_ten_megabytes_opens_and_scrolls,
    five_thousand_spans_fold_and_are_searched,
    a_correction_outlives_the_server,
    an_edit_of_a_case_outlives_the_server_and_a_reload,
    a_review_outlives_the_server,
    rules_outlive_the_server_and_a_colleague,
    a_new_run_outlives_the_server,
    two_people_at_one_case_both_see_it,
)


def add_bad_records(url: str, home: Path) -> None:
    now = datetime.now(UTC)
    text = "A very long answer. " * (HUGE // 20)
    with Workspace.open(Settings(home=home)) as workspace:
        padded = text + "x" * (HUGE - len(text))
        huge = Trace(id="huge", name="huge", input=padded, output=padded, started_at=now, ended_at=now)
        workspace.intake.accept([huge])
    with calling(f"{url}/api/v1") as client:
        body = {"trace_ids": ["huge", "bidi"], "dataset": "picked", "answer": None, "tags": [], "note": ""}
        client.post("/traces/cases", json=body).raise_for_status()


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder where the filled workspace is kept")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names of trials")
    chosen = parser.parse_args(arguments)
    wanted = [trial for trial in TRIALS if trial.__name__.startswith(tuple(chosen.only))]
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        data = chosen.data or Path(name)
        with servers(data) as known, a_browser() as browser:
            add_bad_records(known["full"], data / ".evergold")
            for trial in wanted:
                failures += not held(trial, Desk(known["full"], browser))
    sys.exit(1 if failures else 0)


def held(trial: Callable[[Desk], None], desk: Desk) -> bool:
    """Run one trial and print what became of it."""
    try:
        trial(desk)
    except (AssertionError, Error) as fault:
        print(f"  {trial.__name__}: {str(fault).strip()[:600]}\n{traceback.format_exc(limit=-1)[:300]}", flush=True)
        return False
    print(f"  {trial.__name__}: held", flush=True)
    return True


if __name__ == "__main__":
    main(sys.argv[1:])
