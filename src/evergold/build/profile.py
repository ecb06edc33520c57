"""Profile a split by types, tags, lengths and repetitions, so that two versions can be compared."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from typing import Any

from evergold.build.seen import SeenIds, fingerprint


@dataclass
class Profile:
    """Distributions of one split, gathered record by record."""

    records: int = 0
    types: Counter[str] = field(default_factory=Counter)
    tags: Counter[str] = field(default_factory=Counter)
    input_lengths: Counter[int] = field(default_factory=Counter)
    reference_lengths: Counter[int] = field(default_factory=Counter)
    repeated: int = 0
    _seen: SeenIds = field(default_factory=SeenIds)

    def add(self, task_type: str, tags: list[str], question: str, reference: str) -> None:
        self.add_all([task_type], [tags], [question], [reference])

    def add_all(
        self, types: Sequence[str], tags: Iterable[list[str]], questions: Sequence[str], references: Sequence[str]
    ) -> None:
        self.records += len(types)
        self.types.update(types)
        self.tags.update(chain.from_iterable(tags))
        self.input_lengths.update(map(_bucket, map(len, questions)))
        self.reference_lengths.update(map(_bucket, map(len, references)))
        contents = (
            f"{question.strip().casefold()}\0{reference.strip().casefold()}".encode()
            for question, reference in zip(questions, references, strict=True)
        )
        fingerprints = b"".join(map(fingerprint, contents))
        self.repeated += len(self._seen.add_all(fingerprints))

    @property
    def repeated_share(self) -> float:
        return self.repeated / self.records if self.records else 0.0


@lru_cache(maxsize=1 << 14)
def _bucket(length: int) -> int:
    """Lengths on a scale on which a fifth more or less is one step."""
    return round(4 * (length + 1).bit_length() + 4 * ((length + 1) / (1 << (length + 1).bit_length())))


def drift(before: Profile, after: Profile) -> dict[str, float]:
    """How far apart two profiles are, each from 0 (alike) to 1."""
    return {
        "type": total_variation(before.types, after.types),
        "tag": total_variation(before.tags, after.tags),
        "input length": _largest_gap(before.input_lengths, after.input_lengths),
        "reference length": _largest_gap(before.reference_lengths, after.reference_lengths),
        "repeated share": abs(after.repeated_share - before.repeated_share),
    }


def _shares(counts: Mapping[Any, int]) -> dict[Any, float]:
    total = sum(counts.values())
    return {key: count / total for key, count in counts.items()} if total else {}


def total_variation(before: Mapping[Any, int], after: Mapping[Any, int]) -> float:
    """The share of records that would have to change their kind."""
    old, new = _shares(before), _shares(after)
    if not old or not new:
        # A distribution that is empty on one side only is as far apart as two can be.
        return float(bool(old) != bool(new))
    return sum(abs(old.get(key, 0.0) - new.get(key, 0.0)) for key in old.keys() | new.keys()) / 2


def _largest_gap(before: Mapping[int, int], after: Mapping[int, int]) -> float:
    """The Kolmogorov–Smirnov distance: the largest gap between the two cumulative curves."""
    old, new = _shares(before), _shares(after)
    gap = reached_old = reached_new = 0.0
    for bucket in sorted(old.keys() | new.keys()):
        reached_old += old.get(bucket, 0.0)
        reached_new += new.get(bucket, 0.0)
        gap = max(gap, abs(reached_old - reached_new))
    return gap
