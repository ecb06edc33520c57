"""Score the retrieval of one case: the files and lines it needed against those that were returned.

Everything is a set of (path, line) at the base commit, held as merged spans per path. A line predicted twice is charged
once; a case without golden lines is not applicable instead of perfect; nothing predicted has recall 0 and *no* precision.

Gold has three tiers. `edited`: what the diff touched, which must be found. `core`: what the agent read in the files it
then edited. `optional`: whatever else it read, which is neither demanded nor noise.
"""

import math
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

CUTS = (1, 3, 5, 10)
BUDGETS = (100, 300, 500, 2000)
AREA_BUDGET = BUDGETS[-1]
NDCG_CUT = 10
_GAINS = tuple(1 / math.log2(rank + 1) for rank in range(1, NDCG_CUT + 1))

Span = tuple[int, int]
Spans = Mapping[str, Sequence[Span]]


class GoldTier(NamedTuple):
    """Lines per path, and the files in the order of their rank."""

    lines: dict[str, list[Span]]
    files: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Gold:
    """What a case needed. `has_lines` is false for a golden file that lists paths only."""

    case_id: str
    edited: GoldTier
    core: GoldTier
    optional: GoldTier
    has_lines: bool = True
    repository: str = ""
    base_commit: str = ""


@dataclass(frozen=True, slots=True)
class Prediction:
    """What was retrieved, best first. `has_lines` is false for a prediction of paths only."""

    case_id: str
    ranges: Sequence[tuple[str, int, int]] = ()
    paths: Sequence[str] = ()
    has_lines: bool = True

    @property
    def files(self) -> list[str]:
        """The files in the order of their first mention."""
        # Ranges come first: a range names its file at a definite rank.
        return list(dict.fromkeys([path for path, _, _ in self.ranges]) | dict.fromkeys(self.paths))


@dataclass(frozen=True, slots=True)
class Overlap:
    """Counts of one level; rates are None where they are not defined."""

    hit: int
    predicted: int
    golden: int

    @property
    def precision(self) -> float | None:
        return self.hit / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        return self.hit / self.golden if self.golden else None

    @property
    def iou(self) -> float | None:
        union = self.predicted + self.golden - self.hit
        # Without a prediction the union is the gold, and the value 0.
        return self.hit / union if self.golden else None

    def f(self, beta: float) -> float | None:
        """F-beta from the counts; 0 where nothing was predicted, since nothing was found."""
        if not self.golden:
            return None
        below = beta * beta * self.golden + self.predicted
        # From counts: precision may be undefined where F is not.
        return (1 + beta * beta) * self.hit / below


@dataclass(frozen=True, slots=True)
class CaseScore:
    """All figures of one case; `lines` and `budget` are None where there are no golden lines."""

    case_id: str
    lines: Overlap | None
    files: Overlap | None
    noise: float | None
    ranked: dict[str, float] = field(default_factory=dict)
    budget: dict[int, float] = field(default_factory=dict)
    area: float | None = None
    missing: bool = False

    @property
    def abstained(self) -> bool:
        level = self.lines or self.files
        return not self.missing and level is not None and not level.predicted


def score_case(gold: Gold, prediction: Prediction | None, tier: str = "edited") -> CaseScore:
    """The score of one prediction; None is a case nobody answered, which finds nothing."""
    wanted = needed(gold, tier)
    given = prediction or Prediction(gold.case_id)
    lines = charged = None
    if gold.has_lines and wanted.lines:
        charged = charge(given.ranges, wanted.lines)
        hit = sum(last - first + 1 for first, last in charged.hits)
        lines = Overlap(hit, charged.total, size(wanted.lines))
    named = given.files
    return CaseScore(
        case_id=gold.case_id,
        lines=lines,
        files=_files(wanted.files, named) if wanted.files else None,
        noise=_noise(charged, gold, lines) if charged and lines and charged.total else None,
        ranked=_ranked(wanted.files, named) if wanted.files else {},
        # A hit is counted by the position at which its line was shown, so recall within a budget is one pass.
        budget={limit: _hit_within(charged.hits, limit) / lines.golden for limit in BUDGETS}
        if charged and lines
        else {},
        area=_area(charged.hits, lines.golden) if charged and lines else None,
        missing=prediction is None,
    )


def needed(gold: Gold, tier: str) -> GoldTier:
    """`edited`, `core` (with edited) or `all`."""
    if tier == "edited":
        return gold.edited
    parts = [gold.edited, gold.core] if tier == "core" else [gold.edited, gold.core, gold.optional]
    lines = merge_by_path((path, *span) for part in parts for path, spans in part.lines.items() for span in spans)
    return GoldTier(lines, tuple(dict.fromkeys(path for part in parts for path in part.files)))


def merge_by_path(ranges: Iterable[tuple[str, int, int]]) -> dict[str, list[Span]]:
    results: dict[str, list[Span]] = {}
    for path, start, end in ranges:
        results.setdefault(path, []).append((start, end))
    return {path: _merged(spans) if len(spans) > 1 else spans for path, spans in results.items()}


def size(spans: Spans) -> int:
    return sum(end - start + 1 for held in spans.values() for start, end in held)


def overlap(one: Spans, other: Spans) -> int:
    return sum(_common(spans, other[path]) for path, spans in one.items() if path in other)


def _merged(spans: list[Span]) -> list[Span]:
    spans.sort()
    merged = [spans[0]]
    for start, end in spans[1:]:
        last_start, last_end = merged[-1]
        if start <= last_end + 1:
            if end > last_end:
                merged[-1] = (last_start, end)
        else:
            merged.append((start, end))
    return merged


def _common(one: Sequence[Span], other: Sequence[Span]) -> int:
    """Lines two sorted lists of disjoint spans share."""
    shared = i = j = 0
    while i < len(one) and j < len(other):
        low, high = max(one[i][0], other[j][0]), min(one[i][1], other[j][1])
        if low <= high:
            shared += high - low + 1
        # The span that ends first cannot meet anything further on.
        if one[i][1] < other[j][1]:
            i += 1
        else:
            j += 1
    return shared


def _files(wanted: Sequence[str], predicted: Sequence[str]) -> Overlap:
    golden = set(wanted)
    return Overlap(sum(path in golden for path in predicted), len(predicted), len(golden))


def _ranked(wanted: Sequence[str], predicted: Sequence[str]) -> dict[str, float]:
    """Figures of the order of files. The ideal ranking is built from the golden files, never from the predicted ones."""
    golden = set(wanted)
    ranks = [rank for rank, path in enumerate(predicted, start=1) if path in golden]
    figures: dict[str, float] = {}
    for cut in CUTS:
        result = bisect_right(ranks, cut)
        # acc@k: every golden file is among the first k.
        figures[f"acc@{cut}"] = float(result == len(golden))
        figures[f"hit@{cut}"] = float(result > 0)
        figures[f"recall@{cut}"] = result / len(golden)
    figures["mrr"] = 1 / ranks[0] if ranks else 0.0
    gained = sum([_GAINS[rank - 1] for rank in ranks[: bisect_right(ranks, NDCG_CUT)]])
    figures[f"ndcg@{NDCG_CUT}"] = gained / sum(_GAINS[: len(golden)])
    return figures


def _noise(charged: "Charged", gold: Gold, lines: Overlap) -> float:
    """The share of predicted lines that no tier knows."""
    # Without read tiers every predicted line is either edited or noise.
    if not gold.core.lines and not gold.optional.lines:
        return 1 - lines.hit / charged.total
    return 1 - overlap(charged.lines, needed(gold, "all").lines) / charged.total


class Charged(NamedTuple):
    """Predicted lines in rank order, each charged once: how many, which, and at which positions golden ones came."""

    total: int
    lines: dict[str, list[Span]]
    hits: list[tuple[int, int]]


def charge(ranges: Iterable[tuple[str, int, int]], wanted: Spans) -> Charged:
    """One walk over a prediction; what was charged is kept sorted and disjoint, so that overlaps cost nothing twice."""
    covered: dict[str, list[Span]] = {}
    hits: list[tuple[int, int]] = []
    position = 0
    for path, start, end in ranges:
        held = covered.get(path)
        if held is None:
            held = covered[path] = []
        golden = wanted.get(path, ())
        # Lines that an earlier range has shown cost nothing and earn nothing again.
        for low, high in _uncovered(held, start, end) if held else ((start, end),):
            shift = position - low + 1
            for first, last in golden:
                if first > high:
                    break
                if last >= low:
                    hits.append((max(first, low) + shift, min(last, high) + shift))
            position += high - low + 1
            insort(held, (low, high))
    return Charged(position, covered, hits)


def _uncovered(held: Sequence[Span], start: int, end: int) -> list[Span]:
    """The parts of a range that no earlier one has shown; `held` is sorted and disjoint."""
    parts: list[Span] = []
    for low, high in held:
        if high < start:
            continue
        if low > end:
            break
        if low > start:
            parts.append((start, low - 1))
        start = high + 1
    if start <= end:
        parts.append((start, end))
    return parts


def _hit_within(hits: Iterable[tuple[int, int]], limit: int) -> int:
    return sum(min(last, limit) - first + 1 for first, last in hits if first <= limit)


def _area(hits: Iterable[tuple[int, int]], golden: int) -> float:
    """The mean of recall over every budget from 1 to the largest: a line found at position p counts from p on."""
    total = 0
    for first, last in hits:
        end = min(last, AREA_BUDGET)
        if first <= end:
            # The sum of (budget - position + 1) over the positions of a hit, as an arithmetic series.
            total += (end - first + 1) * (2 * AREA_BUDGET + 2 - first - end) // 2
    return total / (golden * AREA_BUDGET)
