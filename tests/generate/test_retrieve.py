"""Contexts of a question: the passage it came from is among them, and each says how it got there."""

import asyncio

import numpy as np

from evergold.generate.passages import Library, VectorSearch, WordSearch
from evergold.model.generation import Passage, RetrievedPassage

TEXTS = ("Boots can be returned.", "Ships leave on Monday.", "A refund takes five days.", "Nothing of note.")
PASSAGES = [
    Passage(document=f"{place}.md", index=0, start=0, end=len(text), text=text) for place, text in enumerate(TEXTS)
]


def contexts(question: str, anchor: int, count: int, seed: int = 0) -> list[tuple[str, str]]:
    library = Library(PASSAGES, WordSearch(PASSAGES), seed)
    found = asyncio.run(library.contexts(question, PASSAGES[anchor], count))
    return [(one.passage.document, one.role) for one in found]


def test_what_words_find_comes_first_then_distractors_by_the_seed() -> None:
    found = contexts("When can boots be returned?", 0, 3)
    assert found[0] == ("0.md", "retrieved")
    assert [role for _, role in found] == ["retrieved", "distractor", "distractor"]
    assert found == contexts("When can boots be returned?", 0, 3)
    assert len({tuple(contexts("When can boots be returned?", 0, 3, seed)) for seed in range(20)}) > 1


def test_a_passage_that_the_search_missed_takes_the_last_place() -> None:
    assert contexts("boots", 2, 1) == [("2.md", "added: the search missed it")]
    assert contexts("boots refund", 1, 2)[-1] == ("1.md", "added: the search missed it")


def test_there_are_never_more_contexts_than_passages() -> None:
    assert sorted(name for name, _ in contexts("boots", 0, 50)) == ["0.md", "1.md", "2.md", "3.md"]


def test_vectors_rank_by_cosine() -> None:
    async def embed(texts: object) -> np.ndarray:
        made = [[float("efund" in text), float("oots" in text)] for text in list(texts)]  # type: ignore[call-overload]
        return np.array(made, dtype=np.float32)

    async def found() -> tuple[RetrievedPassage, ...]:
        return await Library(PASSAGES, VectorSearch(PASSAGES, embed), 0).contexts("refund", PASSAGES[2], 2)

    first, second = asyncio.run(found())
    assert (first.passage.document, first.score, first.rank) == ("2.md", 1.0, 1)
    assert second.role == "retrieved"
