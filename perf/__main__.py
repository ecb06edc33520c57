"""`python -m perf [NAME…]`: run the measurements of this folder and print their ratios.

Each measurement is a module with a `main()`; with no name every one that needs no peer is run. A number is a median over
repeats, in CPU time where that is what matters, and always beside the thing it is compared with, in the same run.
"""

import sys
from importlib import import_module
from pathlib import Path

OWN = {"__init__", "__main__", "measuring"}


def main() -> None:
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py") if path.stem not in OWN)
    wanted = sys.argv[1:] or known
    for name in wanted:
        if name not in known:
            sys.exit(f"unknown measurement {name!r} (valid: {', '.join(known)})")
    for name in wanted:
        print(f"\n== {name}", flush=True)
        import_module(f"perf.{name}").main()


if __name__ == "__main__":
    main()
