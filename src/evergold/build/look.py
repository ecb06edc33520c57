"""Looking at a build: a sample to read, what it is made of, and how far two versions are apart.

Profile a split by types, tags, lengths and repetitions, so that two versions can be compared.
"""

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from evergold.build import manifest as manifests
from evergold.build.diff import build_records, read_record
from evergold.build.offline_records import SeenIds, fingerprint
from evergold.build.records import INPUTS, REFERENCES, decoder_of, first_text, tags_of
from evergold.errors import BadInput, unknown


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


class Sampled(BaseModel, frozen=True):
    """One record of a sample, as it stands in the file."""

    id: str
    split: str
    record: dict[str, Any]


class Sample(BaseModel, frozen=True):
    """Records drawn by a seed; `of` says from how many."""

    version: str
    seed: int
    of: int
    records: list[Sampled]


class Portrait(BaseModel, frozen=True):
    """What a version is made of. Lengths are counted by their upper bound in characters, a power of two."""

    version: str
    records: int
    types: dict[str, int]
    tags: dict[str, int]
    input_lengths: dict[int, int]
    reference_lengths: dict[int, int]
    repeated: int


class Comparison(BaseModel, frozen=True):
    """Two portraits and their distances, each from 0 (alike) to 1."""

    before: Portrait
    after: Portrait
    drift: dict[str, float]


def sample(path: Path, count: int, seed: int, split: str | None = None) -> Sample:
    """`count` records of a build. The rank of a record follows from the seed and its id alone, so that the same seed picks
    the same cases in every version that has them."""
    manifest = manifests.read(path)
    if split is not None and split not in manifest.splits:
        raise BadInput(unknown("split", split, sorted(manifest.splits)))
    # Records are counted while they are drawn: the files are read once.
    counted = Counter[str]()

    def ranked() -> Iterator[tuple[bytes, str, str, bytes]]:
        for one, location, line in build_records(path, manifest):
            if split in (None, location.split):
                counted[location.split] += 1
                yield _rank(seed, one), one, location.split, line

    # The smallest hashes of seed and id: a sample that stays the same when other records come or go.
    drawn = heapq.nsmallest(count, ranked())
    records = [Sampled(id=one, split=name, record=read_record(line)) for _, one, name, line in drawn]
    return Sample(version=manifest.version, seed=seed, of=counted.total(), records=records)


def compare(before: Path, after: Path) -> Comparison:
    old, new = _Look(), _Look()
    versions = [look.over(path) for look, path in ((old, before), (new, after))]
    return Comparison(
        before=old.portrait(versions[0]), after=new.portrait(versions[1]), drift=drift(old.profile, new.profile)
    )


@dataclass
class _Look:
    """A build's profile, and its lengths on a scale that people can read."""

    profile: Profile = field(default_factory=Profile)
    inputs: Counter[int] = field(default_factory=Counter)
    references: Counter[int] = field(default_factory=Counter)

    def over(self, path: Path) -> str:
        manifest = manifests.read(path)
        decoders = {name: decoder_of(manifest, name) for name in manifest.splits}
        for one, location, line in build_records(path, manifest):
            try:
                record = decoders[location.split](line)
            except (ValueError, msgspec.DecodeError):
                raise BadInput(f"{one} in {location.path.name} is no record; `evergold verify` tells more") from None
            if record is not None:
                asked, reference = first_text(record, INPUTS) or "", first_text(record, REFERENCES) or ""
                self.profile.add(record.task_type, tags_of(record), asked, reference)
                self.inputs[_bound(asked)] += 1
                self.references[_bound(reference)] += 1
        return manifest.version

    def portrait(self, version: str) -> Portrait:
        profile = self.profile
        return Portrait(
            version=version,
            records=profile.records,
            types=dict(profile.types.most_common()),
            tags=dict(profile.tags.most_common()),
            input_lengths=dict(sorted(self.inputs.items())),
            reference_lengths=dict(sorted(self.references.items())),
            repeated=profile.repeated,
        )


def _bound(text: str) -> int:
    """The smallest power of two that the text's length does not exceed; 0 for no text."""
    # bit_length of n - 1 gives the power of two that n does not exceed.
    return 1 << (len(text) - 1).bit_length() if text else 0


def _rank(seed: int, one: str) -> bytes:
    return blake2b(f"{seed}:{one}".encode(), digest_size=16).digest()
