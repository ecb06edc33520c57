"""Key to paint in the validator with 5,000 cases: from the key event to the frame that shows its effect.

    python -m perf review_keys

The goal is under 50 ms at the 95th percentile. The floor, in the same browser, is a page that does nothing on a key: what is
left then is the wait for the next frame.
"""

import tempfile
from pathlib import Path
from statistics import median, quantiles

from playwright.sync_api import Page

from tests.api.serving import served
from tests.e2e.pages import a_browser
from tests.e2e.review_data import import_files, open_validator, row_a, row_b, write_pair

CASES = 5000
PRESSES = 60
WATCH = """() => {
  window.taken = [];
  window.addEventListener("keydown", () => {
    const began = performance.now();
    requestAnimationFrame(() => {
      const channel = new MessageChannel();
      channel.port1.onmessage = () => window.taken.push(performance.now() - began);
      channel.port2.postMessage(null);
    });
  }, true);
}"""


def measured(page: Page, keys: list[str]) -> list[float]:
    page.evaluate(WATCH)
    for number, key in enumerate(keys, 1):
        page.keyboard.press(key)
        page.wait_for_function("count => window.taken.length >= count", arg=number)
    found: list[float] = page.evaluate("window.taken")
    return found


def tell(name: str, taken: list[float]) -> None:
    print(f"{name:<24} median {median(taken):5.1f} ms   p95 {quantiles(taken, n=20)[-1]:5.1f} ms   n {len(taken)}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name, served(Path(name)) as url, a_browser() as browser:
        idle = browser.new_page()
        idle.set_content("<p>nothing listens here</p>")
        tell("floor: idle page", measured(idle, ["j"] * PRESSES))
        page = open_validator(browser, url)
        numbers = range(CASES)
        import_files(page, write_pair(Path(name), [row_a(n) for n in numbers], [row_b(n) for n in numbers]))
        page.get_by_text(f"of {CASES} validated").wait_for(timeout=60_000)
        page.get_by_text("lines 14–15").wait_for()
        page.locator("body").press("j")
        tell("next case (j)", measured(page, ["j"] * PRESSES))
        page.reload()
        page.get_by_text(f"of {CASES} validated").wait_for(timeout=60_000)
        tell("validate, next (v, n)", measured(page, ["v", "n"] * (PRESSES // 2)))
        page.reload()
        page.get_by_text(f"of {CASES} validated").wait_for(timeout=60_000)
        page.get_by_label("Query").focus()
        tell(
            "typing in the query", measured(page, list("the quick brown fox jumps over the lazy dog and so on and on"))
        )


if __name__ == "__main__":
    main()
