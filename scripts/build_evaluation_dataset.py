"""The builder under the name the specification gives it: the same as `evergold build`."""

import sys

from evergold.cli import main

if __name__ == "__main__":
    main(["build", *sys.argv[1:]])
