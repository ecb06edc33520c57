"""The evaluation under the name the specification gives it: the same as `evergold run`."""

import sys

from evergold.cli import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
