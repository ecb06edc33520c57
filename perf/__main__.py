"""`python -m perf NAME…`: run measurements of this folder and print their ratios; with no name, list them.

Each measurement is a module with a `main()` that reads its own arguments (`python -m perf.NAME --help`). A number is a
median over repeats, in CPU time where that is what matters, and always beside the thing it is compared with, in one run.
"""

import ast
import sys
from importlib import import_module
from pathlib import Path


def measurements() -> dict[str, str]:
    """The modules that have a `main`, with the first line of what they say of themselves."""
    found = {}
    for path in sorted(Path(__file__).parent.glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        if "main" in defined and path.stem != "__main__":
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main() -> None:
    known = measurements()
    wanted = sys.argv[1:]
    for name in wanted:
        if name not in known:
            sys.exit(f"unknown measurement {name!r} (valid: {', '.join(known)})")
    if not wanted:
        for name, told in known.items():
            print(f"{name:<18} {told}")
    for name in wanted:
        print(f"\n== {name}", flush=True)
        sys.argv = [name]
        import_module(f"perf.{name}").main()


if __name__ == "__main__":
    main()
