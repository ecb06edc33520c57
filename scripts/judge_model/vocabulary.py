"""Read the vocabulary of a tokenizer file."""

import json
from pathlib import Path


def vocabulary(tokenizer: Path) -> dict[str, int]:
    found: dict[str, int] = json.loads(tokenizer.read_text())["model"]["vocab"]
    return found
