"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.targets.programs import make_python as make_python
