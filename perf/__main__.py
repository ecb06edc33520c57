"""`python -m perf NAME… | NAME ARGUMENTS…`: run measurements of this folder and print their ratios; with no name, list them.

Each measurement is a module with a `main()` that reads its own arguments (`python -m perf.NAME --help`). A number is a
median over repeats, in CPU time where that is what matters, and always beside the thing it is compared with, in one run.
"""

import ast
import sys
from collections.abc import Collection, Sequence
from importlib import import_module
from inspect import signature
from pathlib import Path


def measurements() -> dict[str, str]:
    """The modules that have a `main`, with the first line of what they say of themselves."""
    known = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in defined and path.stem != "__main__":
            known[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return known


def chosen(words: Sequence[str], known: Collection[str]) -> list[tuple[str, list[str]]]:
    """Split a command line into measurements with their own arguments; several names, or one with arguments."""
    if len(words) > 1 and words[0] in known and words[1] not in known:
        return [(words[0], list(words[1:]))]
    for name in words:
        if name not in known:
            sys.exit(f"unknown measurement {name!r} (valid: {', '.join(known)})")
    return [(name, []) for name in words]


def main() -> None:
    known = measurements()
    wanted = chosen(sys.argv[1:], known)
    if not wanted:
        for name, summary in known.items():
            print(f"{name:<18} {summary}")
    for name, arguments in wanted:
        print(f"\n== {name}", flush=True)
        sys.argv = [name, *arguments]
        run = import_module(f"perf.{name}").main
        # Some measurements take their arguments as a parameter, the others read the command line.
        run(arguments) if arguments and signature(run).parameters else run()


if __name__ == "__main__":
    main()
