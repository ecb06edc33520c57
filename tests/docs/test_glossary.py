"""docs/glossary.md: every file it names exists, and no class name is defined twice without a reason there."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import evergold

ROOT = Path(evergold.__file__).parent
PAGE = (ROOT.parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")
FIRST, SECOND = PAGE.split("## Names that two classes share")


def classes() -> dict[str, set[str]]:
    """Public classes of the package, with the files that define them."""
    defined: dict[str, set[str]] = defaultdict(set)
    for path in ROOT.rglob("*.py"):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                defined[node.name].add(path.relative_to(ROOT).as_posix())
    return defined


def test_every_file_of_the_glossary_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", PAGE)
    assert len(named) > 50
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_words_are_listed_once() -> None:
    words = re.findall(r"^\| ([^|`]+) \|", FIRST, re.MULTILINE)
    assert sorted(words) == sorted(set(words))


def test_a_class_name_is_used_once_or_explained() -> None:
    twice = {name for name, files in classes().items() if len(files) > 1}
    explained = {
        name for row in re.findall(r"^\| (`.+?) \|", SECOND, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert twice - explained == set(), "name the class by its role, or add the reason to docs/glossary.md"
    assert explained - twice == set(), "these names are no longer shared; take them out of docs/glossary.md"
