"""Looking at a build: a sample to read, what it is made of, and how far two versions are apart."""

import heapq
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel

from evergold.build import manifest as manifests
from evergold.build.diff import build_records, read_record
from evergold.build.profile import Profile, drift
from evergold.build.records import INPUTS, REFERENCES, decoder_of, first_text, tags_of
from evergold.errors import BadInput, unknown


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
