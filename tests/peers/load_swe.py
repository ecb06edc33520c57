"""Instances as JSON lines, as `load_dataset` gives them, and written again as the Parquet that is published."""

import json
import sys

from datasets import load_dataset

table = load_dataset("json", data_files=sys.argv[1], split="train", cache_dir=sys.argv[2])
table.to_parquet(f"{sys.argv[2]}/instances.parquet")
json.dump(table.to_list(), sys.stdout)
