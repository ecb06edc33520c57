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
from typing import Any, NamedTuple

from evergold.formats.dataset_ab import Prediction
from evergold.model.case import Case

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
    def has_abstained(self) -> bool:
        level = self.lines or self.files
        return not self.missing and level is not None and not level.predicted


def score_case(gold: Gold, prediction: Prediction | None, tier: str = "edited") -> CaseScore:
    """The score of one prediction; None is a case nobody answered, which finds nothing."""
    wanted = gold_of_tier(gold, tier)
    given = prediction or Prediction(gold.case_id)
    named, wanted_files = given.files, set(wanted.files)
    lines = noise = area = None
    budget: dict[int, float] = {}
    if gold.has_lines and wanted.lines:
        total, charged, hits = charge(given.ranges, wanted.lines)
        lines = Overlap(sum(last - first + 1 for first, last in hits), total, size(wanted.lines))
        area = _area(hits, lines.golden)
        # A hit is counted by the position at which its line was shown, so recall within a budget is one pass.
        for limit in BUDGETS:
            inside = sum(min(last, limit) - first + 1 for first, last in hits if first <= limit)
            budget[limit] = inside / lines.golden
        if total:
            # The share of predicted lines that no tier knows; without read tiers each is either edited or noise.
            read = gold.core.lines or gold.optional.lines
            noise = 1 - (overlap(charged, gold_of_tier(gold, "all").lines) if read else lines.hit) / total
    return CaseScore(
        case_id=gold.case_id,
        lines=lines,
        files=Overlap(sum(path in wanted_files for path in named), len(named), len(wanted_files))
        if wanted_files
        else None,
        noise=noise,
        ranked=_rank_figures(wanted_files, named) if wanted_files else {},
        budget=budget,
        area=area,
        missing=prediction is None,
    )


def gold_of_tier(gold: Gold, tier: str) -> GoldTier:
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
    return {path: _merge(spans) if len(spans) > 1 else spans for path, spans in results.items()}


def size(spans: Spans) -> int:
    return sum(end - start + 1 for held in spans.values() for start, end in held)


def overlap(one: Spans, other: Spans) -> int:
    return sum(_common(spans, other[path]) for path, spans in one.items() if path in other)


def _merge(spans: list[Span]) -> list[Span]:
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


def _rank_figures(golden: set[str], predicted: Sequence[str]) -> dict[str, float]:
    """Figures of the order of files. The ideal ranking is built from the golden files, never from the predicted ones."""
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
        for low, high in _parts_not_shown(held, start, end) if held else ((start, end),):
            shift = position - low + 1
            for first, last in golden:
                if first > high:
                    break
                if last >= low:
                    hits.append((max(first, low) + shift, min(last, high) + shift))
            position += high - low + 1
            insort(held, (low, high))
    return Charged(position, covered, hits)


def _parts_not_shown(held: Sequence[Span], start: int, end: int) -> list[Span]:
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


def _area(hits: Iterable[tuple[int, int]], golden: int) -> float:
    """The mean of recall over every budget from 1 to the largest: a line found at position p counts from p on."""
    total = 0
    for first, last in hits:
        end = min(last, AREA_BUDGET)
        if first <= end:
            # The sum of (budget - position + 1) over the positions of a hit, as an arithmetic series.
            total += (end - first + 1) * (2 * AREA_BUDGET + 2 - first - end) // 2
    return total / (golden * AREA_BUDGET)


EDITED = frozenset({"golden_diff", "review_merge_diff"})
TIERS = ("edited", "core", "optional")
SEVERAL = "several"

_ENDINGS = {
    "C": ".c .h",
    "C++": ".cc .cpp .hpp",
    "C#": ".cs",
    "Go": ".go",
    "Java": ".java",
    "JavaScript": ".js .jsx",
    "Kotlin": ".kt",
    "PHP": ".php",
    "Python": ".py",
    "Ruby": ".rb",
    "Rust": ".rs",
    "Scala": ".scala",
    "Swift": ".swift",
    "TypeScript": ".ts .tsx",
    "text": ".md .rst .txt",
}
_LANGUAGES = {ending: name for name, endings in _ENDINGS.items() for ending in endings.split()}


def gold_of_row(row: dict[str, Any]) -> Gold:
    """A row of dataset A or B. An entry's own `tier` wins; else golden sources are edited, what was read in an edited
    file is core, and the rest is optional. A path that base does not have cannot be retrieved and is no gold."""
    of_b = "lineRanges" in row
    sorted_out: dict[str, list[dict[str, Any]]] = {"edited": [], "core": [], "optional": []}
    others: list[dict[str, Any]] = []
    for entry in row["lineRanges" if of_b else "filePaths"]:
        # A file that the change adds cannot be retrieved from the base commit.
        if entry.get("atBase", True):
            (sorted_out["edited"] if _is_edited(entry) else others).append(entry)
    edited = {entry["path"] for entry in sorted_out["edited"]}
    for entry in others:
        # Its own word, else whether it lies in a file that was edited.
        own = entry.get("tier")
        sorted_out[own if own in TIERS else "core" if entry["path"] in edited else "optional"].append(entry)
    tiers = {name: _as_tier(result, of_b) for name, result in sorted_out.items()}
    return Gold(
        row["caseId"],
        **tiers,
        has_lines=of_b,
        repository=str(row.get("repository") or row.get("workspaceId") or ""),
        base_commit=str(row.get("baseCommit") or ""),
    )


def gold_of_case(case: Case) -> Gold:
    """A stored case: by its line ranges where it has golden ones, else by its paths."""
    ranges = [
        {"path": item.path, "startLine": item.start, "endLine": item.end, "sources": item.sources, **item.extra}
        for item in case.ranges
    ]
    shared = {"caseId": case.id, "repository": case.provenance.repository, "baseCommit": case.base_commit}
    # A case may have ranges that the agent read and no golden ones; then its paths are the gold.
    if any(_is_edited(entry) for entry in ranges):
        return gold_of_row(shared | {"lineRanges": ranges})
    paths = [{"path": item.path, "sources": item.sources, **item.extra} for item in case.paths]
    return gold_of_row(shared | {"filePaths": paths})


def language_of(gold: Gold) -> str:
    """The language of the files that were edited; `several` where they differ."""
    # Without a dot rfind gives -1, and the last letter is no known ending.
    names = {_LANGUAGES.get(path[path.rfind(".") :].lower(), "other") for path in gold.edited.files}
    return names.pop() if len(names) == 1 else SEVERAL


def files_band(gold: Gold) -> str:
    count = len(gold.edited.files)
    return "1" if count == 1 else "2-3" if count <= 3 else "4-10" if count <= 10 else "over 10"


def _is_edited(entry: dict[str, Any]) -> bool:
    if (tier := entry.get("tier")) in TIERS:
        return bool(tier == "edited")
    return not EDITED.isdisjoint(entry.get("sources") or ())


def _as_tier(entries: list[dict[str, Any]], of_b: bool) -> GoldTier:
    if not of_b:
        return GoldTier({}, tuple(dict.fromkeys(entry["path"] for entry in entries)))
    lines = merge_by_path([(entry["path"], entry["startLine"], entry["endLine"]) for entry in entries])
    return GoldTier(lines, tuple(lines))
