"""DeepEval goldens, as `EvaluationDataset` holds them and as test cases get them."""

import json
import sys

from deepeval.dataset import EvaluationDataset

dataset = EvaluationDataset()
dataset.add_goldens_from_json_file(sys.argv[1])
json.dump([golden.model_dump(mode="json", by_alias=False) for golden in dataset.goldens], sys.stdout)
