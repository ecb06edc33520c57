"""A Hugging Face folder, as `load_dataset` gives it: every split, every column."""

import json
import sys

from datasets import load_dataset

splits = load_dataset(sys.argv[1], cache_dir=sys.argv[2])
json.dump({name: split.to_list() for name, split in splits.items()}, sys.stdout)
