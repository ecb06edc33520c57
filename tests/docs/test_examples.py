"""Examples in docstrings run as they stand, in an empty folder."""

import doctest
import importlib
import re
from pathlib import Path

import pytest

import evergold

ROOT = Path(evergold.__file__).parent
EXAMPLE = re.compile(r"^ *>>> ", re.MULTILINE)
FILES = sorted(path for path in ROOT.rglob("*.py") if EXAMPLE.search(path.read_text(encoding="utf-8")))


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_examples_run(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVERGOLD_HOME", str(tmp_path / "home"))
    done = doctest.testmod(importlib.import_module(module_of(path)))
    assert (done.failed, done.attempted > 0) == (0, True)


def test_there_are_examples() -> None:
    assert "evergold.workspace" in map(module_of, FILES)
