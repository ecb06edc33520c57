"""Every page in every state: axe, sideways scrolling, overlapping rows, cut labels, and a picture of each.

    python -m perf.page_states --into FOLDER [--only NAME …] [--width 390 …] [--scheme dark …]

Drives a real server in real Chromium with content in English, Spanish, Arabic and Chinese, at 1440, 1024 and 390 px, light
and dark. A page is brought into its state once for each width, and its colours are changed there; what does not depend on
colours is read in the first of them alone. Prints what was found, one line each, and ends with status 1 where anything was.
`--only` takes beginnings of names.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Error, Page

from perf.data.languages import answer, fill, finish
from perf.data.page_states import State, states
from tests.api.serving import served
from tests.e2e.pages import a_browser, a_page
from tests.e2e.review_data import AXE, SETTLED
from tests.openai_server import serving

WIDTHS = {1440: 900, 1024: 768, 390: 844}
SCHEMES = ("light", "dark")
PATIENCE_MS = 60_000
FAULTS = """async (rules) => {
  const found = [];
  const seen = (each) => each.getClientRects().length > 0 && getComputedStyle(each).visibility !== "hidden";
  const named = (each) => (each.getAttribute("aria-label") ?? each.textContent ?? "").trim().slice(0, 50);
  if (!rules) {
    if (document.documentElement.scrollWidth > innerWidth + 1) found.push("scrolls sideways");
    for (const each of document.querySelectorAll("[role=dialog]")) {
      const { left, right } = each.getBoundingClientRect();
      if (seen(each) && (left < -1 || right > innerWidth + 1)) found.push("a dialog reaches beyond the window");
    }
    for (const list of document.querySelectorAll("ul")) {
      const boxes = [...list.children].filter(seen).map((row) => row.getBoundingClientRect());
      boxes.sort((one, other) => one.top - other.top || one.left - other.left);
      const over = boxes.slice(1).some((box, at) => box.left < boxes[at].right - 1 && box.top < boxes[at].bottom - 1);
      if (over) found.push(`rows overlap: ${named(list).slice(0, 30)}`);
    }
    for (const each of document.querySelectorAll("button, th, label, h1, h2, h3, [role=tab], [role=menuitem]")) {
      const style = getComputedStyle(each);
      const hides = style.overflowX !== "visible" && style.textOverflow !== "ellipsis";
      if (seen(each) && hides && each.scrollWidth > each.clientWidth + 2 && !each.closest(".eg-visually-hidden"))
        found.push(`cut off: ${each.tagName} ${named(each)}`);
    }
  }
  const run = await axe.run(document, { resultTypes: ["violations"], ...(rules ? { runOnly: rules } : {}) });
  for (const fault of run.violations)
    for (const node of fault.nodes.slice(0, 3)) found.push(`axe ${fault.impact} ${fault.id}: ${node.target.join(" ")}`);
  return found;
}"""


def opened(browser: Browser, width: int, scheme: str) -> Page:
    page = a_page(browser, viewport={"width": width, "height": WIDTHS[width]}, color_scheme=scheme, bypass_csp=True)
    page.set_default_timeout(PATIENCE_MS)
    return page


@contextmanager
def servers(data: Path | None) -> Iterator[dict[str, str]]:
    """The addresses and ids that the paths of states are written with: `{full}`, `{empty}`, `{first}`, `{second}`."""
    with tempfile.TemporaryDirectory() as name:
        folders = [data or Path(name) / "full", Path(name) / "empty"]
        for folder in folders:
            folder.mkdir(parents=True, exist_ok=True)
        if not (folders[0] / ".evergold").exists():
            fill(folders[0] / ".evergold")
        env = {"OPENAI_API_KEY": "x", "EVERGOLD_REVIEW_REVIEWERS": ""}
        with (
            serving(answer) as model,
            served(folders[0], OPENAI_BASE_URL=model.url, **env) as full,
            served(folders[1], **env) as empty,
        ):
            first, second = finish(full)
            yield {"full": full, "empty": empty, "first": first, "second": second}


def reach(page: Page, state: State, known: dict[str, str]) -> None:
    """Bring a page into a state."""
    if state.waiting:
        page.add_init_script("window.fetch = () => new Promise(() => {})")
    for pattern, handler in state.routes.items():
        page.route(pattern, handler)
    page.goto(state.path.format(**known))
    state.reach(page)
    page.evaluate(AXE.read_text(encoding="utf-8"))


def faults_in(page: Page, scheme: str, *, colours_only: bool, picture: Path) -> list[str]:
    """Take the picture of a page in light or dark, and list what is wrong with it."""
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    page.evaluate(SETTLED)
    page.screenshot(path=picture)
    found: list[str] = page.evaluate(FAULTS, ["color-contrast"] if colours_only else None)
    return found


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path, required=True, help="the folder of the pictures")
    parser.add_argument("--data", type=Path, help="a folder where the filled workspace is kept")
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names of states")
    parser.add_argument("--width", nargs="*", type=int, default=list(WIDTHS), choices=list(WIDTHS))
    parser.add_argument("--scheme", nargs="*", default=list(SCHEMES), choices=SCHEMES)
    chosen = parser.parse_args(arguments)
    chosen.into.mkdir(parents=True, exist_ok=True)
    wanted = [state for state in states() if state.name.startswith(tuple(chosen.only))]
    faults = 0
    with servers(chosen.data) as known, a_browser() as browser:
        for width in chosen.width:
            for state in wanted:
                page = opened(browser, width, chosen.scheme[0])
                faults += shown(page, state, known, chosen.scheme, chosen.into / f"{state.name}-{width}")
                page.context.close()
    print(f"{len(wanted) * len(chosen.width) * len(chosen.scheme)} looks, {faults} faults")
    sys.exit(1 if faults else 0)


def shown(page: Page, state: State, known: dict[str, str], schemes: Sequence[str], picture: Path) -> int:
    """Look at one state in each scheme and print its faults; gives their number."""
    found: list[str] = []
    page.on("pageerror", lambda error: found.append(f"uncaught: {error}"))
    try:
        reach(page, state, known)
        for scheme in schemes:
            file = picture.with_name(f"{picture.name}-{scheme}.png")
            faults = faults_in(page, scheme, colours_only=scheme != schemes[0], picture=file)
            found += [f"{scheme} {fault}" for fault in faults]
    except (Error, AssertionError) as error:
        page.screenshot(path=picture.with_name(f"{picture.name}-broken.png"))
        found.append(f"not reached: {str(error).strip().splitlines()[0]}")
    page.unroute_all(behavior="ignoreErrors")
    for fault in found:
        print(f"{picture.name}: {fault}", flush=True)
    return len(found)


if __name__ == "__main__":
    main(sys.argv[1:])
