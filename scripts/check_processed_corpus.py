"""The validator under the name the specification gives it: the same as `evergold check`."""

import sys

from evergold.cli import main

if __name__ == "__main__":
    main(["check", *sys.argv[1:]])
