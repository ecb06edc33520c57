"""The generator under the name the specification gives it: the same as `evergold generate`."""

import sys

from evergold.cli import main

if __name__ == "__main__":
    main(["generate", *sys.argv[1:]])
