"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.targets.programs import make_http as make_http
from evergold.bench.targets.programs import make_https as make_https
