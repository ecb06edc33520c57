"""The tasks of a user by keyboard alone, in real Chromium: no click, and the focus is never lost.

    python -m perf.keyboard_pages [--data FOLDER] [--only NAME …]

A control is reached by Tab, as somebody without a mouse reaches it. Each walk prints `walked` with its keys, or where it
broke off; the command ends with status 1 where one did. `--data` keeps the filled workspace.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Page, expect

from perf.page_states import servers
from tests.e2e.pages import a_browser, a_page

MOST_TABS = 120
NAME = """() => {
  const at = document.activeElement;
  const label = at?.labels?.[0]?.textContent ?? "";
  const text = at?.matches("button, a, summary, [role=tab], [role=menuitem]") ? at.textContent : "";
  return [at?.tagName ?? "", at?.getAttribute("aria-label") || label || text || at?.placeholder || ""].join(" ");
}"""


@dataclass
class Keys:
    """A person who only presses keys and types."""

    page: Page
    pressed: int = 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.pressed += 1

    def write(self, text: str) -> None:
        self.page.keyboard.type(text)

    def focused(self) -> str:
        return str(self.page.evaluate(NAME))

    def reach(self, name: str, *, back: bool = False) -> None:
        """Press Tab until the control with this name has the focus."""
        for _ in range(MOST_TABS):
            if name in self.focused():
                return
            self.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"{name!r} is not reached by Tab; the focus is on {self.focused()!r}")

    def kept(self) -> None:
        """The focus is on something of the page."""
        assert not self.focused().startswith(("BODY", " ")), "the focus is lost"


def a_trace_is_scored_corrected_and_tagged(keys: Keys, url: str) -> None:
    page = keys.page
    page.goto(f"{url}/traces")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()
    keys.press("j")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_role("article").get_by_role("heading", level=2)).to_be_focused()
    keys.press("g")
    expect(page.get_by_text("Scored 1 trace as good.")).to_be_visible()
    keys.reach("Undo")
    keys.press("Enter")
    expect(page.get_by_text("Took the score of 1 trace back.")).to_be_visible()
    keys.press("c")
    expect(page.get_by_label("The right answer")).to_be_focused()
    keys.press("Escape")
    keys.kept()
    keys.reach("Tag…")
    keys.press("Enter")
    expect(page.get_by_role("textbox", name="Tag")).to_be_focused()
    keys.write("by-key")
    keys.press("Enter")
    expect(page.get_by_text("Tagged 1 trace.")).to_be_visible()
    keys.press("Escape")
    expect(page.get_by_role("article")).to_have_count(0)
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_focused()


def comments_are_written_and_deleted(keys: Keys, url: str) -> None:
    page = keys.page
    page.goto(f"{url}/traces/es-1#comments")
    expect(page.get_by_label("Comment", exact=True)).to_be_visible()
    for text in ("first", "second"):
        keys.reach("TEXTAREA Comment", back=text == "second")
        keys.write(text)
        keys.reach("Write")
        keys.press("Enter")
        expect(page.get_by_role("listitem").get_by_text(text)).to_be_visible()
    keys.reach("Delete comment 1", back=True)
    keys.press("Enter")
    expect(page.get_by_role("listitem").get_by_text("first")).to_have_count(0)
    expect(page.get_by_role("button", name="Delete comment 1")).to_be_focused()
    keys.press("Enter")
    expect(page.get_by_label("Comment", exact=True)).to_be_focused()


def the_list_is_filtered_and_read(keys: Keys, url: str) -> None:
    page = keys.page
    page.goto(f"{url}/traces")
    expect(page.get_by_role("list", name="Traces").get_by_role("link").first).to_be_visible()
    keys.press("f")
    keys.reach("Status")
    keys.press("Enter", "ArrowDown", "Enter")
    keys.press("Escape")
    expect(page.get_by_role("list", name="Filters that are set")).to_be_visible()
    keys.kept()
    page.goto(f"{url}/traces/en-2")
    keys.reach("Conversation")
    keys.press("ArrowRight")
    expect(page.get_by_role("tab", name="Spans")).to_have_attribute("aria-selected", "true")
    keys.reach("Fold step 0")
    keys.press("Enter")
    expect(page.get_by_role("button", name="Unfold step 0")).to_be_focused()


def two_runs_are_compared(keys: Keys, url: str) -> None:
    page = keys.page
    page.goto(f"{url}/benchmarks")
    expect(page.get_by_role("row").nth(2)).to_be_visible()
    for _ in range(2):
        for _ in range(MOST_TABS):
            keys.press("Tab")
            if page.evaluate("document.activeElement.type === 'checkbox' && !document.activeElement.checked"):
                break
        keys.press("Space")
    keys.reach("Compare 2", back=True)
    keys.press("Enter")
    expect(page.get_by_role("heading", level=1, name="Compare")).to_be_visible()
    expect(page.get_by_role("button", name="Side by side (n)")).to_be_enabled()
    keys.kept()
    keys.press("n")
    expect(page.get_by_role("dialog")).to_be_visible()
    keys.press("n", "p", "Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)


def a_case_is_edited_and_reviewed(keys: Keys, url: str) -> None:
    page = keys.page
    page.goto(f"{url}/cases/exam/exam-es")
    expect(page.get_by_role("article")).to_be_visible()
    keys.press("e")
    keys.reach("Expected")
    keys.press("End")
    keys.write(" Sí.")
    keys.reach("Save")
    keys.press("Enter")
    expect(page.get_by_text("Saved.")).to_be_visible()
    keys.kept()
    page.goto(f"{url}/review?dataset=exam&id=exam-es")
    expect(page.get_by_role("heading", name="exam-es")).to_be_visible()
    keys.press("m")
    expect(page.get_by_role("textbox", name="Comment")).to_be_focused()
    keys.write("read by key")
    keys.press("Escape", "a")
    expect(page.get_by_text("Undo")).to_be_visible()
    keys.press("z")
    expect(page.get_by_role("heading", name="exam-es")).to_be_visible()


WALKS: tuple[Callable[[Keys, str], None], ...] = (
    a_trace_is_scored_corrected_and_tagged,
    comments_are_written_and_deleted,
    the_list_is_filtered_and_read,
    two_runs_are_compared,
    a_case_is_edited_and_reviewed,
)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder where the filled workspace is kept")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names of walks")
    chosen = parser.parse_args(arguments)
    broken = 0
    with servers(chosen.data) as known, a_browser() as browser:
        for walk in (walk for walk in WALKS if walk.__name__.startswith(tuple(chosen.only))):
            keys = Keys(a_page(browser, viewport={"width": 1440, "height": 900}))
            try:
                walk(keys, known["full"])
                print(f"  {walk.__name__}: walked with {keys.pressed} keys", flush=True)
            except AssertionError as fault:
                print(f"  {walk.__name__}: {str(fault).strip()[:500]} (focus: {keys.focused()[:60]})", flush=True)
                broken += 1
            keys.page.context.close()
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main(sys.argv[1:])
