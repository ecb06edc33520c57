"""Group texts by what they ask, with numpy alone: neighbours, communities, and a space in which groups lie apart.

Like texts are joined to their nearest neighbours, and the graph of them is cut into communities (Louvain). From these a linear
space is learnt in which members of a group lie together (discriminant analysis); there a text belongs to the nearest centre.
How near a member is to its own group is measured without itself, so that the bound holds for texts that come later.
"""

import re
from base64 import b64decode, b64encode
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evergold.text.words import STOPWORDS, fold_text

Floats = NDArray[np.float32]
Labels = NDArray[np.int64]
NEIGHBOURS = 10
RESOLUTION, FEW = 8.0, 300  # the higher, the more and smaller the communities; of fewer than so many points it is 1
FEWEST = 5  # members of a topic
WIDTH = 64  # of the space
SMOOTHING = 0.1  # of the covariance within groups, as a share of its mean variance
LEFT_OUT = 0.02  # the share of known texts that lie too far from every centre to belong there
STRICTEST = 0.5  # so near is near enough, however near each other the known ones lie
ROWS = 500  # compared with all others at a time
ROUNDS = 20
NAME_WORDS = 3
WORD = re.compile(r"[^\W\d_]{3,}")
NONE = -1


def to_text(values: Floats) -> str:
    """Write numbers as text that a table holds."""
    return b64encode(np.ascontiguousarray(values, dtype=np.float16).tobytes()).decode()


def from_text(text: str, width: int) -> Floats:
    """Read numbers that were written as text, in rows of a width."""
    return np.frombuffer(b64decode(text), dtype=np.float16).astype(np.float32).reshape(-1, width)


def scale_rows(rows: Floats) -> Floats:
    """Scale each row to length one; a row of zeros stays."""
    scaled: Floats = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), np.float32(1e-9))
    return scaled


@dataclass(frozen=True)
class Space:
    """A linear map of embeddings into the space where topics lie apart, and how near a member is to its centre at least."""

    mean: Floats
    axes: Floats
    least: float

    def project(self, vectors: Floats) -> Floats:
        """Give where embeddings lie in the space."""
        return scale_rows(((vectors - self.mean) @ self.axes).astype(np.float32))

    def find_nearest(self, points: Floats, centres: Floats) -> tuple[Labels, Floats]:
        """Give the nearest centre of each point, `NONE` where even that lies too far, and how near it is."""
        if not len(centres):
            return np.full(len(points), NONE), np.zeros(len(points), dtype=np.float32)
        near = points @ centres.T
        best = near.argmax(axis=1)
        fit: Floats = near[np.arange(len(points)), best]
        return np.where(fit >= self.least, best, NONE), fit


def find_neighbours(points: Floats, count: int, of: Labels | None = None) -> tuple[Labels, Floats]:
    """Find the nearest other points of each, or of the ones with these numbers, and how near they are."""
    count = min(count, len(points) - 1)
    of = np.arange(len(points)) if of is None else of
    which = np.empty((len(of), count), dtype=np.int64)
    near = np.empty((len(of), count), dtype=np.float32)
    for start in range(0, len(of), ROWS):
        mine = of[start : start + ROWS]
        block = points[mine] @ points.T
        block[np.arange(len(mine)), mine] = -2
        best = np.argpartition(-block, count - 1, axis=1)[:, :count]
        which[start : start + ROWS], near[start : start + ROWS] = best, np.take_along_axis(block, best, 1)
    return which, near


def find_communities(points: Floats) -> Labels:
    """Cut the graph of nearest neighbours into communities (Louvain); the same points give the same communities."""
    if len(points) < FEWEST:
        return np.zeros(len(points), dtype=np.int64)
    resolution = min(RESOLUTION, max(1.0, len(points) / FEW))
    which, near = find_neighbours(points, NEIGHBOURS)
    links: list[dict[int, float]] = [defaultdict(float) for _ in points]
    for one, (others, weights) in enumerate(zip(which.tolist(), np.maximum(near, 0.01).tolist(), strict=True)):
        for other, weight in zip(others, weights, strict=True):
            links[one][other] += weight
            links[other][one] += weight
    own = [0.0] * len(links)
    labels = np.arange(len(points))
    while True:
        community = _move_nodes(links, own, resolution)
        _, numbers = np.unique(community, return_inverse=True)
        labels = numbers[labels]
        if numbers.max() + 1 == len(links):
            return labels
        links, own = _join_nodes(links, own, numbers.tolist())


def _move_nodes(links: list[dict[int, float]], own: list[float], resolution: float) -> list[int]:
    """Move each node to the neighbouring community that gains most, until hardly any moves."""
    degree = [sum(near.values()) + own[node] for node, near in enumerate(links)]
    share = resolution / max(sum(degree), 1e-9)
    community, total = list(range(len(links))), degree[:]
    order = np.random.default_rng(0).permutation(len(links)).tolist()
    for _ in range(ROUNDS):
        moved = 0
        for node in order:
            here, cost = community[node], share * degree[node]
            total[here] -= degree[node]
            gains = {here: 0.0}
            for other, weight in links[node].items():
                gains[community[other]] = gains.get(community[other], 0.0) + weight
            best = max(gains, key=lambda one: (gains[one] - cost * total[one], one == here))
            total[best] += degree[node]
            community[node] = best
            moved += best != here
        if moved <= len(links) // 1000:
            break
    return community


def _join_nodes(
    links: list[dict[int, float]], own: list[float], numbers: list[int]
) -> tuple[list[dict[int, float]], list[float]]:
    """Make one node of each community."""
    joined: list[dict[int, float]] = [defaultdict(float) for _ in range(max(numbers) + 1)]
    inside = [0.0] * len(joined)
    for node, near in enumerate(links):
        mine = numbers[node]
        inside[mine] += own[node]
        for other, weight in near.items():
            if numbers[other] == mine:
                inside[mine] += weight
            else:
                joined[mine][numbers[other]] += weight
    return joined, inside


def drop_small(labels: Labels) -> Labels:
    """Number the groups that are large enough from 0 on; members of the others get `NONE`."""
    sizes = np.bincount(labels[labels >= 0], minlength=1)
    numbers = np.where(sizes >= FEWEST, np.cumsum(sizes >= FEWEST) - 1, NONE)
    return np.where(labels >= 0, numbers[labels], NONE)


def sum_groups(points: Floats, labels: Labels, count: int) -> Floats:
    """Add the points of each group up."""
    sums = np.zeros((count, points.shape[1]), dtype=np.float32)
    np.add.at(sums, labels[labels >= 0], points[labels >= 0])
    return sums


def learn_space(vectors: Floats, labels: Labels) -> Space:
    """Learn the space in which these groups lie apart, and how near all but a few members are to their centre."""
    known, groups = vectors[labels >= 0], labels[labels >= 0]
    count = int(labels.max()) + 1
    mean = vectors.mean(axis=0)
    width = vectors.shape[1]
    if count < 2:
        return Space(mean=np.zeros(width, dtype=np.float32), axes=np.eye(width, dtype=np.float32), least=0.0)
    sizes = np.bincount(groups, minlength=count).astype(np.float32)
    middles = sum_groups(known, groups, count) / sizes[:, None]
    apart = known - middles[groups]
    within = apart.T @ apart / len(known)
    within += SMOOTHING * np.trace(within) / width * np.eye(width, dtype=np.float32)
    values, turns = np.linalg.eigh(within)
    whitening = (turns / np.sqrt(values)) @ turns.T
    between = (middles - mean) @ whitening * np.sqrt(sizes)[:, None]
    _, axes = np.linalg.eigh(between.T @ between)
    chosen = (whitening @ axes[:, ::-1][:, :WIDTH]).astype(np.float32)
    space = Space(mean=mean, axes=chosen / np.float32(np.abs(chosen).max()), least=-1.0)
    fit = fit_members(space.project(vectors), labels)
    least = min(float(np.quantile(fit[labels >= 0], LEFT_OUT)), STRICTEST)
    return Space(mean=space.mean, axes=space.axes, least=least)


def fit_members(points: Floats, labels: Labels) -> Floats:
    """Give how near each member lies to the centre of the other members of its group; 0 for members of none."""
    sums = sum_groups(points, labels, int(labels.max()) + 1)
    members = np.flatnonzero(labels >= 0)
    others = scale_rows(sums[labels[members]] - points[members])
    fit = np.zeros(len(points), dtype=np.float32)
    fit[members] = np.einsum("ij,ij->i", others, points[members])
    return fit


def match_groups(before: Sequence[int | None], now: Sequence[int]) -> dict[int, int]:
    """Say which group of now is which of before: the one that holds most of its members, each once, the largest first."""
    shared = Counter((old, new) for old, new in zip(before, now, strict=True) if old is not None and new >= 0)
    matched: dict[int, int] = {}
    for (old, new), _ in shared.most_common():
        if new not in matched and old not in matched.values():
            matched[new] = old
    return matched


def name_groups(texts: Sequence[str], labels: Iterable[int]) -> dict[int, str]:
    """Name each group by the words that several of its texts share and that others lack, in the order they are used in."""
    holders: dict[int, Counter[str]] = defaultdict(Counter)
    rank: dict[int, Counter[str]] = defaultdict(Counter)
    sizes, everywhere = Counter[int](), Counter[str]()
    for text, label in zip(texts, labels, strict=True):
        words = dict.fromkeys(word for word in WORD.findall(fold_text(text[:400])) if word not in STOPWORDS)
        holders[label].update(words.keys())
        rank[label].update({word: number for number, word in enumerate(words)})
        everywhere.update(words.keys())
        sizes[label] += 1
    names: dict[int, str] = {}
    for label, size in sizes.items():
        # At least two texts, so that no name holds what a single person wrote.
        shared = {word: number for word, number in holders[label].items() if number >= max(2, 0.1 * size)}
        best = sorted(shared, key=lambda word: (-(shared[word] ** 2) / everywhere[word], word))[:NAME_WORDS]
        ordered = sorted(best, key=lambda word: rank[label][word] / holders[label][word])
        names[label] = " ".join(ordered) or f"topic of {size} texts"
    return names
