"""A model that a test puts here, so that a run can name it."""

from typing import Any

act: Any = None
