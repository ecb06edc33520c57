"""Rules of the house that no linter knows: names, sizes, and things that exist once."""

import ast
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import evergold

ROOT = Path(evergold.__file__).parent
REPOSITORY = ROOT.parents[1]
FILES = sorted(ROOT.rglob("*.py"))

HOUSE_WORDS = r"tale|tells?|told|hear|heard|say|says|said|about|wish|border|worded|sayable|places?|placed|found"
ALLOWED = {
    "NotFound": "the name that HTTP and every library have for it",
    "tell": "a method of every open file in Python",
    "_IN_PLACE": "the option of sed and perl that edits a file in place",
}
LONGEST_FILE, LONGEST_FUNCTION, P90_OF_FILES = 400, 50, 300


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def names_of(tree: ast.Module) -> Iterator[str]:
    """Everything that a file names: functions, classes, parameters, variables, attributes, aliases."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr
        elif isinstance(node, ast.alias) and node.asname:
            yield node.asname


def is_house_word(name: str) -> bool:
    """Whether one of the words of a name is."""
    return any(re.fullmatch(HOUSE_WORDS, word, re.IGNORECASE) for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", name))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_are_common_english(path: Path) -> None:
    used = {name for name in (path.stem, *names_of(tree_of(path))) if is_house_word(name)}
    assert used - ALLOWED.keys() == set(), "name the type or the role"


def test_every_allowed_name_is_used() -> None:
    assert ALLOWED.keys() <= {name for path in FILES for name in names_of(tree_of(path))}


def test_files_and_functions_are_short() -> None:
    lines = {path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {file: count for file, count in lines.items() if count > LONGEST_FILE} == {}
    assert sorted(lines.values())[int(len(lines) * 0.9)] < P90_OF_FILES
    functions = {
        f"{path.relative_to(ROOT).as_posix()}:{node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert {name: count for name, count in functions.items() if count >= LONGEST_FUNCTION} == {}


def test_one_file_translates_the_errors_of_pydantic() -> None:
    """Elsewhere nobody looks into an error: `faults_of` takes it whole. The API takes the place in a request off first."""

    def looks_inside(path: Path) -> bool:
        keys = {
            node.slice.value
            for node in ast.walk(tree_of(path))
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        }
        return bool({"msg", "loc"} & keys)

    inside = {path.relative_to(ROOT).as_posix() for path in FILES if looks_inside(path)}
    assert inside == {"model/faults.py", "api/errors.py", "formats/yaml_tasks.py"}


def test_one_file_draws_the_bootstrap() -> None:
    drawing = {path.name for path in (ROOT / "stats").glob("*.py") if "default_rng" in path.read_text(encoding="utf-8")}
    assert drawing == {"bootstrap.py"}


def test_no_module_swaps_its_class() -> None:
    swapped = [
        path
        for path in FILES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute) and node.attr == "__class__" and isinstance(node.ctx, ast.Store)
    ]
    assert swapped == []


@cache
def text_of(folder: str, pattern: str) -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((REPOSITORY / folder).rglob(pattern)))


def test_nothing_in_the_source_is_there_for_tests_alone() -> None:
    """A public function or class that only tests name has no place in the package."""
    outside = [
        text_of("docs", "*.md"),
        text_of("perf", "*.py"),
        text_of("scripts", "*.py"),
        text_of("examples", "*.py"),
    ]
    elsewhere = set(re.findall(r"\w+", "\n".join([*outside, (REPOSITORY / "pyproject.toml").read_text()])))
    used: dict[str, int] = {}
    for word in re.findall(r"\w+", text_of("src/evergold", "*.py")):
        used[word] = used.get(word, 0) + 1
    tested = set(re.findall(r"\w+", text_of("tests", "*.py")))
    alone = {
        f"{path.relative_to(ROOT).as_posix()}: {node.name}"
        for path in FILES
        for node in tree_of(path).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and used[node.name] == 1
        and node.name in tested
        and node.name not in elsewhere
    }
    assert alone == set()


def test_every_folder_of_tests_is_collected(pytestconfig: pytest.Config) -> None:
    # A folder that pytest passes over leaves no trace in its output: `build` did, by pytest's own list.
    folders = {file.parent for file in (REPOSITORY / "tests").rglob("test_*.py")}
    parts = {part for folder in folders for part in folder.relative_to(REPOSITORY).parts}
    skipped = [part for part in parts for pattern in pytestconfig.getini("norecursedirs") if fnmatch(part, pattern)]
    assert not skipped
