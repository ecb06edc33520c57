"""Which passages a question is answered from: found by words or by vectors, as a retrieval system would find them.

The passage that a question was made from is always among them, or the reference answer would rest on something that the
answering model never saw; where the search missed it, it takes the last place and says so. Where the search found too
few, passages drawn by the seed stand in as distractors, and say so too.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from random import Random
from typing import Any, Protocol

from evergold.model.generation import Found, Passage
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
        for place, passage in enumerate(passages):
            self._index.add(place, Text(f"{passage.heading}\n{passage.text}").content)

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

        async with self._first:
            if self._vectors is None:
                self._vectors = await self._embed(self._texts)
        near = self._vectors @ (await self._embed([question]))[0]
        order = np.argsort(-near, kind="stable")[:most]
        return [(int(place), float(near[place])) for place in order]


class Library:
    """All passages of all documents, and the way to find them."""

    def __init__(self, passages: Sequence[Passage], search: Search, seed: int) -> None:
        self._passages = passages
        self._places = {(passage.document, passage.index): place for place, passage in enumerate(passages)}
        self._search = search
        self._seed = seed

    async def contexts(self, question: str, anchor: Passage, count: int) -> tuple[Found, ...]:
        """`count` passages for a question about `anchor`, or all there are."""
        ranked = list(await self._search.best(question, count))
        found = [
            Found(passage=self._passages[place], rank=rank, score=round(score, 6), role="retrieved")
            for rank, (place, score) in enumerate(ranked, 1)
        ]
        home = self._places[anchor.document, anchor.index]
        taken = {place for place, _ in ranked}
        if home not in taken:
            found = [*found[: count - 1], Found(passage=anchor, role="added: the search missed it")]
            taken.add(home)
        return (*found, *self._distractors(question, count - len(found), taken))

    def _distractors(self, question: str, wanted: int, taken: set[int]) -> list[Found]:
        dice = Random(f"{self._seed}:{question}")
        wanted = min(wanted, len(self._passages) - len(taken))
        chosen: list[Found] = []
        while len(chosen) < wanted:
            place = dice.randrange(len(self._passages))
            if place not in taken:
                taken.add(place)
                chosen.append(Found(passage=self._passages[place], role="distractor"))
        return chosen
