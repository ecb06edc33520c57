"""Hands that count: what a person clicks, presses and types in a task, held to the table in docs/measurements/web.md."""

import re
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Locator, Page

DOCS = Path(__file__).parents[2] / "docs" / "measurements" / "web.md"
ROW = re.compile(
    r"^\| (?P<task>[^|]+) \| (?P<clicks>\d+) \| (?P<keys>\d+) \| (?P<texts>\d+) \| (?P<before>\d+|)[^|]*\|$",
    re.MULTILINE,
)


@dataclass
class Hands:
    """The hands of somebody at a page. A text counts as one, however long it is; so does a file that is chosen."""

    page: Page
    clicks: int = 0
    keys: int = 0
    texts: int = 0

    def click(self, where: Locator) -> None:
        where.click()
        self.clicks += 1

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)
            self.keys += 1

    def write(self, where: Locator, text: str) -> None:
        where.fill(text)
        self.texts += 1

    def choose_file(self, where: Locator, path: Path) -> None:
        where.set_input_files(path)
        self.clicks += 1


def documented() -> dict[str, tuple[int, int, int]]:
    """Clicks, keys and texts of each task, as the docs say."""
    rows = ROW.finditer(DOCS.read_text(encoding="utf-8"))
    return {row["task"].strip(): (int(row["clicks"]), int(row["keys"]), int(row["texts"])) for row in rows}


def documented_before() -> dict[str, int]:
    """Clicks, keys and texts together, of the tasks that were counted before the pages changed."""
    rows = ROW.finditer(DOCS.read_text(encoding="utf-8"))
    return {row["task"].strip(): int(row["before"]) for row in rows if row["before"]}


def hold(task: str, *people: Hands) -> None:
    """Compare what the people of a task did with the docs."""
    counted = tuple(sum(getattr(hands, name) for hands in people) for name in ("clicks", "keys", "texts"))
    assert documented().get(task) == counted, f"docs/measurements/web.md: | {task} | {' | '.join(map(str, counted))} |"
