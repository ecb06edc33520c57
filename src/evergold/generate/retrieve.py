"""Retrieve the passages a question is answered from: by words or by vectors, as a retrieval system would.

The passage that a question was made from is always among them, or the reference answer would rest on something that the
answering model never saw; where the search missed it, it takes the last place and says so. Where the search found too
few, passages drawn by the seed stand in as distractors, and say so too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol

from evergold.model.generation import Passage, RetrievedPassage
from evergold.text.bm25 import Index
from evergold.text.words import Text

Embed = Callable[[Sequence[str]], Awaitable[Any]]
"""Texts → a matrix of unit vectors."""


class Search(Protocol):
    """The best passages for a question with their scores, best first."""

    async def best(self, question: str, most: int) -> Sequence[tuple[int, float]]: ...


class WordSearch:
    """BM25 over the stems of words that carry meaning."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        self._index: Index[int] = Index()
        for at, passage in enumerate(passages):
            self._index.add(at, Text(f"{passage.heading}\n{passage.text}").content)

    async def best(self, question: str, most: int) -> Sequence[tuple[int, float]]:
        return self._index.best(Text(question).content, most)


class VectorSearch:
    """Cosine of embeddings. The passages are embedded once, by whoever asks first; the others wait for it."""

    def __init__(self, passages: Sequence[Passage], embed: Embed) -> None:
        self._texts = [passage.text for passage in passages]
        self._embed = embed
        self._first = asyncio.Lock()
        self._vectors: Any = None

    async def best(self, question: str, most: int) -> Sequence[tuple[int, float]]:
        import numpy as np

        # Questions of many documents arrive at once; without the lock each would embed the whole corpus.
        async with self._first:
            if self._vectors is None:
                self._vectors = await self._embed(self._texts)
        near = self._vectors @ (await self._embed([question]))[0]
        # Stable, so that passages of equal score keep their order and the dataset is the same every time.
        order = np.argsort(-near, kind="stable")[:most]
        return [(int(at), float(near[at])) for at in order]


class Library:
    """All passages of all documents, and the way to find them."""

    def __init__(self, passages: Sequence[Passage], search: Search, seed: int) -> None:
        self._passages = passages
        self._indexes = {(passage.document, passage.index): at for at, passage in enumerate(passages)}
        self._search = search
        self._seed = seed

    async def contexts(self, question: str, anchor: Passage, count: int) -> tuple[RetrievedPassage, ...]:
        """`count` passages for a question about `anchor`, or all there are."""
        ranked = list(await self._search.best(question, count))
        results = [
            RetrievedPassage(passage=self._passages[at], rank=rank, score=round(score, 6), role="retrieved")
            for rank, (at, score) in enumerate(ranked, 1)
        ]
        home = self._indexes[anchor.document, anchor.index]
        taken = {at for at, _ in ranked}
        if home not in taken:
            # The last position is given up for it, so that the number of contexts stays what was asked for.
            results = [*results[: count - 1], RetrievedPassage(passage=anchor, role="added: the search missed it")]
            taken.add(home)
        return (*results, *self._distractors(question, count - len(results), taken))

    def _distractors(self, question: str, wanted: int, taken: set[int]) -> list[RetrievedPassage]:
        # The question seeds the draw: a question keeps its distractors when others are added or left out.
        dice = Random(f"{self._seed}:{question}")
        wanted = min(wanted, len(self._passages) - len(taken))
        chosen: list[RetrievedPassage] = []
        # Few are wanted among many, so drawing again is cheaper than a shuffled copy of all.
        while len(chosen) < wanted:
            at = dice.randrange(len(self._passages))
            if at not in taken:
                taken.add(at)
                chosen.append(RetrievedPassage(passage=self._passages[at], role="distractor"))
        return chosen
