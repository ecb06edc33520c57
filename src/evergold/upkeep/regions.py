"""Regions of what is asked in which failures are dense, whatever topics people or machines make of it.

Embeddings are whitened by the traffic, so that what all questions share says nothing. A failure is the seed of a region
where more of its nearest neighbours fail than chance would make of the share elsewhere, at a level that allows for all seeds;
the region is then the ball around its failures that parts them best from the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma, log, log1p

import numpy as np
from numpy.typing import NDArray

from evergold.judge.encoder import shipped_encoder
from evergold.upkeep.clusters import Floats, Labels, find_neighbours, scale_rows

Mask = NDArray[np.bool_]
Gains = NDArray[np.float64]
FEWEST = 5  # failures of a region
SIZES = (5, 8, 12, 18, 27, 40, 60)  # neighbours of a failure that are looked at
MOST_SEEDS = 2_000
PRIOR = 20  # traces without failures that are added to those elsewhere
SMALLEST, LARGEST = 20, 0.02  # traces in a ball while it is fitted: so many at least, so large a share of all at most
LARGER = 0.8  # of the best likelihood: a larger ball that has as much is taken
ROUNDS = 4
FEW = 1_000  # questions
AROUND = 0.07  # the share of all traffic nearest to a region whose failures belong to it and seed no other
ALIKE = 0.2  # how near the centres of regions of one problem lie
# Shares of all traffic nearest to a region in which failures that come again are looked for.
EDGES = (0.005, 0.01, 0.02)


@dataclass(frozen=True)
class Region:
    """A ball: the mean of the embeddings of its failures, and how near to it the others lie at least."""

    centre: Floats
    least: float


class Ground:
    """Where questions lie, with what all of them share taken out."""

    def __init__(self, vectors: Floats) -> None:
        self.vectors = vectors
        self._mean = vectors.mean(axis=0)
        apart = vectors - self._mean
        values, turns = np.linalg.eigh(apart.T @ apart / len(vectors))
        # What few questions share may be chance: the fewer there are, the less is taken out.
        added = values.mean() * (1 + FEW / len(vectors)) + 1e-9
        self._turn = ((turns / np.sqrt(values.clip(0) + added)) @ turns.T).astype(np.float32)
        self.points = self.project(vectors)

    def project(self, vectors: Floats) -> Floats:
        """Give where embeddings lie."""
        return scale_rows((vectors - self._mean) @ self._turn)

    def nearness(self, region: Region) -> Floats:
        """Give how near every question lies to the centre of a region."""
        near: Floats = self.points @ self.project(region.centre[None])[0]
        return near

    def around(self, region: Region) -> Mask:
        """Say which questions lie in a region or around it."""
        near = self.nearness(region)
        return np.asarray(near >= min(region.least, nearest_share(near, AROUND)))

    def alike(self, one: Region, other: Region) -> float:
        """Give how near the centres of two regions lie."""
        first, second = self.project(np.stack([one.centre, other.centre]))
        return float(first @ second)

    def find(self, among: Mask, failing: Mask, level: float) -> Region | None:
        """Find the region where failures are densest; None: nowhere are there more than chance makes at this level."""
        where = np.flatnonzero(among)
        members = _densest(self.points[where], failing[where], level)
        return None if members is None else self.fit(among, failing, where[members])

    def fit(self, among: Mask, failing: Mask, members: Labels) -> Region:
        """Fit the ball around some failures that parts failures best from the other questions."""
        where = np.flatnonzero(among)
        points, fails = self.points[where], failing[where]
        held, most = np.searchsorted(where, members), max(SMALLEST, int(LARGEST * len(where)))
        best, chosen, least = -1.0, held, -1.0
        for _ in range(ROUNDS):
            total = points[held].sum(axis=0)
            near = points @ scale_rows(total[None])[0]
            # A failure is no evidence of where it lies itself.
            near[held] = (scale_rows(total - points[held]) * points[held]).sum(axis=1)
            order = np.argsort(-near, kind="stable")[:most]
            hits = fails[order]
            gain = np.where(hits, _likelihood(np.cumsum(hits), int(fails.sum()), len(points)), 0)
            upto = int(np.flatnonzero(gain >= LARGER * gain.max())[-1])
            held = order[: upto + 1][hits[: upto + 1]]
            if gain[upto] > best:
                best, chosen, least = float(gain[upto]), held, float(near[order[upto]])
            if len(held) < 2:
                break
        return Region(self.vectors[where[chosen]].mean(axis=0), least)

    def returns(self, region: Region, among: Mask, failing: Mask, fewest: int, level: float) -> bool:
        """Say whether failures near a known region are more than chance makes at this level."""
        near, failures, traces = self.nearness(region), int((among & failing).sum()), int(among.sum())
        for edge in (region.least, *(nearest_share(near, share) for share in EDGES)):
            inside = among & (near >= edge)
            count, size = int((inside & failing).sum()), int(inside.sum())
            share = (failures - count + 1) / (traces - size + PRIOR)
            if count >= fewest and chance_of(count, size, share) < level / (1 + len(EDGES)):
                return True
        return False


@lru_cache(20_000)
def _embed(text: str) -> Floats:
    made: Floats = shipped_encoder().embed([text])[0]
    return made


def embed_texts(texts: Sequence[str]) -> Floats:
    """Embed texts; those that came lately are remembered."""
    return np.stack([_embed(text) for text in texts])


def nearest_share(near: Floats, share: float) -> float:
    """Give how near the nearest such share of all lies at least."""
    rank = min(len(near), max(1, int(share * len(near))))
    return float(np.partition(near, -rank)[-rank])


def chance_of(count: int, traces: int, share: float) -> float:
    """Give the chance that at least so many of the traces fail where each does with this probability."""
    if count <= 0:
        return 1.0
    share = min(share, 0.99)
    whole = lgamma(traces + 1)
    terms = (
        exp(whole - lgamma(k + 1) - lgamma(traces - k + 1) + k * log(share) + (traces - k) * log1p(-share))
        for k in range(count, traces + 1)
    )
    return min(1.0, sum(terms))


def _densest(points: Floats, failing: Mask, level: float) -> Labels | None:
    """List the failures around the one whose neighbours fail most beyond chance."""
    seeds, sizes = np.flatnonzero(failing)[:MOST_SEEDS], [size for size in SIZES if size < len(points)]
    if len(seeds) < FEWEST or not sizes:
        return None
    order, near = find_neighbours(points, sizes[-1], seeds)
    order = np.take_along_axis(order, np.argsort(-near, axis=1, kind="stable"), 1)
    counts: Labels = np.cumsum(failing[order], axis=1, dtype=np.int64)[:, [size - 1 for size in sizes]]
    chances = np.ones(counts.shape)
    others = int(failing.sum())
    for column, size in enumerate(sizes):
        for count in np.unique(counts[:, column]).tolist():
            if count >= FEWEST - 1:
                share = (others - count) / (len(points) - size + PRIOR)
                chances[counts[:, column] == count, column] = chance_of(count, size, max(share, 1e-6))
    seed, best = np.unravel_index(int(chances.argmin()), chances.shape)
    if chances[seed, best] > level / chances.size:
        return None
    around = order[seed, : sizes[int(best)]]
    return np.append(around[failing[around]], seeds[seed])


def _likelihood(inside: Labels, failures: int, traces: int) -> Gains:
    """Give how much likelier failures are if the nearest 1, 2, 3 … traces, of which so many fail, have a share of their own."""
    hits, sizes = inside.astype(np.float64), np.arange(1.0, len(inside) + 1)
    missed, others = failures - hits, traces - sizes
    gain = _fit(hits, sizes) + _fit(missed, others) - _fit(np.full(1, 1.0 * failures), np.full(1, 1.0 * traces))
    likelier: Gains = np.where(hits / sizes > missed / np.maximum(others, 1), gain, 0)
    return likelier


def _fit(failed: Gains, of: Gains) -> Gains:
    return sum((part * np.log(np.maximum(part, 1e-9) / np.maximum(of, 1e-9)) for part in (failed, of - failed)), 0 * of)
