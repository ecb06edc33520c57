"""Inspect samples, as a task gets them from `json_dataset`."""

import json
import sys

from inspect_ai.dataset import json_dataset

json.dump([sample.model_dump(mode="json") for sample in json_dataset(sys.argv[1])], sys.stdout)
