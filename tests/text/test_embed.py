"""The word vectors: what loading them must not do to the process they are loaded in."""

import logging

from evergold.text.embed import embedder


def test_loading_leaves_the_log_of_the_process_as_it_was() -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    embedder.cache_clear()
    assert embedder() is not None
    assert (list(root.handlers), root.level) == before
