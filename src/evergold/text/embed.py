"""Static word vectors from the extra `embeddings`: weights inside the wheel, nothing downloaded, ever.

Without the extra there is no embedder, the offline judge works on words alone and says so.
"""

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
    """Texts → unit vectors. Word vectors are kept, because the same words come again and again."""

    name = "wordllama l2_supercat 256"
    most_words_kept = 100_000

    def __init__(self, model: Any) -> None:
        self._model = model
        self._words: dict[str, Vectors] = {}

    def vectors(self, texts: Sequence[str]) -> Vectors:
        made = np.asarray(self._model.embed(list(texts)), dtype=np.float32)
        # A text without any known word has the vector 0: the floor leaves it 0 instead of dividing by zero.
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        unit: Vectors = made / np.maximum(lengths, 1e-9)
        return unit

    def word_vectors(self, words: Sequence[str]) -> Vectors:
        if len(self._words) > self.most_words_kept:
            self._words.clear()
        new = [word for word in dict.fromkeys(words) if word not in self._words]
        if new:
            self._words.update(zip(new, self.vectors(new), strict=True))
        return np.stack([self._words[word] for word in words])


@cache
def embedder() -> Embedder | None:
    """The one embedder of this process; None without the extra."""
    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        return None
    # The weights lie inside the package; `disable_download` makes a missing file an error instead of a download.
    return Embedder(_word_llama().load(cache_dir=Path(spec.origin).parent, disable_download=True))


def _word_llama() -> Any:
    """The library's class. Importing it turns on the log of every library in the process, which is not its to decide."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    from wordllama import WordLlama

    root.handlers[:] = handlers
    root.setLevel(level)
    return WordLlama
