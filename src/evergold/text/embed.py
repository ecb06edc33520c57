"""Static word vectors from the extra `embeddings`: weights inside the wheel, nothing downloaded, ever."""

import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class Embedder:
    """Texts → unit vectors."""

    name = "wordllama l2_supercat 256"

    def __init__(self, model: Any) -> None:
        self._model = model

    def vectors(self, texts: Sequence[str]) -> Vectors:
        made = np.asarray(self._model.embed(list(texts)), dtype=np.float32)
        # A text without any known word has the vector 0: the floor leaves it 0 instead of dividing by zero.
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        unit: Vectors = made / np.maximum(lengths, 1e-9)
        return unit


@cache
def embedder() -> Embedder | None:
    """The one embedder of this process; None without the extra."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        return None
    # Importing it turns on the log of every library in the process, which is not its to decide.
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    from wordllama import WordLlama

    root.handlers[:] = handlers
    root.setLevel(level)
    # The weights lie inside the package; `disable_download` makes a missing file an error instead of a download.
    return Embedder(WordLlama.load(cache_dir=Path(spec.origin).parent, disable_download=True))
