"""Ragas samples, as `EvaluationDataset` validates them."""

import json
import sys

from ragas import EvaluationDataset

dataset = EvaluationDataset.from_jsonl(sys.argv[1])
json.dump([sample.model_dump(mode="json") for sample in dataset.samples], sys.stdout)
