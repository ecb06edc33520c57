"""Old name of entry points, for environments that were installed before they moved; remove after `make setup`."""

from evergold.bench.model_judges import make_local_judge as make_local_judge
from evergold.bench.model_judges import make_openai_judge as make_openai_judge
