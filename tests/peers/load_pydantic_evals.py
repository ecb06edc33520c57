"""pydantic-evals cases, as `Dataset.from_file` builds them."""

import json
import sys
from typing import Any

from pydantic_evals import Dataset

cases = Dataset[str, Any, Any].from_file(sys.argv[1]).cases
shown = [
    {"name": c.name, "inputs": c.inputs, "expected_output": c.expected_output, "metadata": c.metadata} for c in cases
]
json.dump(shown, sys.stdout)
