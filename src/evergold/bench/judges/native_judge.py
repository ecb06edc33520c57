"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.model_judges import make_anthropic_judge as make_anthropic_judge
from evergold.bench.model_judges import make_google_judge as make_google_judge
from evergold.bench.model_judges import make_mistral_judge as make_mistral_judge
