"""docs/glossary.md: every file it names exists, and each word is explained once."""

import re
from pathlib import Path

import evergold

ROOT = Path(evergold.__file__).parent
PAGE = (ROOT.parents[1] / "docs" / "glossary.md").read_text(encoding="utf-8")


def test_every_file_of_the_glossary_exists() -> None:
    named = re.findall(r"`([\w/]+\.py)`", PAGE)
    assert len(named) > 50
    assert [file for file in named if not (ROOT / file).is_file()] == []


def test_words_are_listed_once() -> None:
    words = re.findall(r"^\| ([^|`]+) \|", PAGE, re.MULTILINE)
    assert sorted(words) == sorted(set(words))
