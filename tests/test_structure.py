"""Rules of the package that no linter knows, one test each; every test names all that break its rule.

The import contract between folders is import-linter's (pyproject.toml). Exceptions stand here by name or as a number:
a list may only shrink, a number may only fall.
"""

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

import pytest

import evergold

ROOT = Path(evergold.__file__).parent
REPOSITORY = ROOT.parents[1]

HOUSE_WORDS = r"tale|tells?|told|hear|heard|say|says|said|about|wish|border|worded|sayable|places?|placed|found"
ALLOWED_NAMES = {
    "NotFound": "the name that HTTP and every library have for it",
    "tell": "a method of every open file in Python",
    "_IN_PLACE": "the option of sed and perl that edits a file in place",
}
PARTICIPLE = re.compile(
    r"(?!embed$)\w+ed|\w+ing|begun|chosen|done|frozen|given|gone|held|kept|known|left|made|meant|rebuilt|sent|shown|spent|taken|written"
)
MOST_FILES_OF_A_FOLDER = 25

# Today's exceptions.
LARGE_FOLDERS: set[str] = set()
FUNCTIONS_NAMED_BY_A_PARTICIPLE = 2  # of plug-ins: `Measurement.unscored`, `joining` of a format


@cache
def files() -> dict[str, ast.Module]:
    """Every file of the package by its path, parsed once."""
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(ROOT.rglob("*.py"))
    }


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


def test_names_are_common_english() -> None:
    used = {
        f"{file}: {name}": name
        for file, tree in files().items()
        for name in (Path(file).stem, *names_of(tree))
        if is_house_word(name)
    }
    assert [where for where, name in used.items() if name not in ALLOWED_NAMES] == [], "name the type or the role"
    assert ALLOWED_NAMES.keys() <= set(used.values()), "an allowed name that nobody uses"


def module_of(file: str) -> str:
    return ".".join(["evergold", *Path(file).with_suffix("").parts]).removesuffix(".__init__")


def imports_of(tree: ast.Module, modules: set[str]) -> set[str]:
    """Modules of the package that a file imports when it is imported itself."""
    imported: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
            continue
        if isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            members = {f"{node.module}.{alias.name}" for alias in node.names}
            imported |= (members & modules) or {str(node.module)}
        waiting.extend(ast.iter_child_nodes(node))
    return imported & modules


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Groups of modules that reach each other."""
    reached = {module: set(imported) for module, imported in graph.items()}
    changed = True
    while changed:
        changed = False
        for beyond in reached.values():
            more = set().union(*(reached[module] for module in beyond)) - beyond
            beyond |= more
            changed |= bool(more)
    return {
        frozenset(other for other in beyond if module in reached[other])
        for module, beyond in reached.items()
        if module in beyond
    }


def test_no_modules_import_each_other_in_a_circle() -> None:
    modules = {module_of(file) for file in files()}
    graph = {module_of(file): imports_of(tree, modules) for file, tree in files().items()}
    assert {" <-> ".join(sorted(circle)) for circle in circles(graph)} == set()


def test_a_class_name_has_one_definition() -> None:
    defined: dict[str, list[str]] = defaultdict(list)
    for file, tree in files().items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                defined[node.name].append(file)
    assert {name: where for name, where in defined.items() if len(where) > 1} == {}


def test_no_folder_is_flat_and_large() -> None:
    sizes = Counter(Path(file).parent.as_posix() for file in files())
    large = {folder: count for folder, count in sizes.items() if count > MOST_FILES_OF_A_FOLDER}
    assert {folder: count for folder, count in large.items() if folder not in LARGE_FOLDERS} == {}
    assert LARGE_FOLDERS - large.keys() == set(), "small enough now: take it off the list"


def test_modules_are_named_by_nouns() -> None:
    named = [file for file in files() if Path(file).stem.endswith("ing")]
    assert named == [], "a module is a thing: name it by a noun"


def test_functions_are_named_by_verbs() -> None:
    named = [
        f"{file}: {node.name}"
        for file, tree in files().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and PARTICIPLE.fullmatch(node.name.strip("_"))
        # A property is read like a field, and `ended` says what it holds.
        if "_" not in node.name.strip("_")
        and not node.name.endswith("__")
        and not any("property" in ast.unparse(one) for one in node.decorator_list)
    ]
    assert len(named) <= FUNCTIONS_NAMED_BY_A_PARTICIPLE, f"a participle is no verb; {len(named)}: {named}"


def test_one_file_translates_the_errors_of_pydantic() -> None:
    """Elsewhere nobody looks into an error: `faults_of` takes it whole. The API takes the place in a request off first."""

    def looks_inside(tree: ast.Module) -> bool:
        keys = {
            node.slice.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)
        }
        return bool({"msg", "loc"} & keys)

    inside = {file for file, tree in files().items() if looks_inside(tree)}
    assert inside == {"model/faults.py", "api/errors.py", "formats/task_files.py"}


def test_one_file_draws_the_bootstrap() -> None:
    drawing = {path.name for path in (ROOT / "stats").glob("*.py") if "default_rng" in path.read_text(encoding="utf-8")}
    assert drawing == {"intervals.py"}


def test_no_module_swaps_its_class() -> None:
    swapped = [
        file
        for file, tree in files().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == "__class__" and isinstance(node.ctx, ast.Store)
    ]
    assert swapped == []


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
    used = Counter(re.findall(r"\w+", text_of("src/evergold", "*.py")))
    tested = set(re.findall(r"\w+", text_of("tests", "*.py")))
    alone = {
        f"{file}: {node.name}"
        for file, tree in files().items()
        for node in tree.body
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
