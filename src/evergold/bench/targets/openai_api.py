"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.targets.chat_models import make_local as make_local
from evergold.bench.targets.chat_models import make_openai as make_openai
