"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.targets.chat_models import make_anthropic as make_anthropic
from evergold.bench.targets.chat_models import make_google as make_google
from evergold.bench.targets.chat_models import make_mistral as make_mistral
