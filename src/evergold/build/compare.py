"""Look at builds: a sample to read, what a version is made of, and how two versions differ, case by case and as a whole."""

import heapq
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from evergold.build import manifest as manifests
from evergold.build.offline_records import SeenIds
from evergold.build.records import INPUTS, REFERENCES, decoder_of, first_text, tags_of
from evergold.errors import BadInput, NotFound, describe_unknown
from evergold.model.build import (
    BuildDiff,
    Comparison,
    DiffCounts,
    FieldChange,
    Manifest,
    Portrait,
    Sample,
    Sampled,
    SplitMove,
)
from evergold.model.values import canonical_json

# The revision is a hash of the other fields: it changes whenever one of them does, and says nothing more.
_DERIVED = frozenset({"rev"})


class RecordLocation(NamedTuple):
    """Where the line of a record is."""

    split: str
    path: Path
    offset: int
    size: int


class _Name(msgspec.Struct):
    """What tells one line from another; the rest of it is skipped."""

    task_id: str = ""
    id: str = ""
    canary: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


_decode_name = msgspec.json.Decoder(_Name).decode


def read_record(line: bytes) -> Any:
    """A line of a build, decoded. A number that no computer's float or integer holds (`1E400`) stays as it was written."""
    return json.loads(line, parse_int=_read_whole, parse_float=_fraction)


def _read_whole(digits: str) -> int | str:
    # 19 digits are tested first: converting a text of thousands of digits is quadratic in Python.
    return int(digits) if len(digits) < 20 and abs(int(digits)) < 2**63 else digits


def _fraction(digits: str) -> float | str:
    return number if isfinite(number := float(digits)) else digits


def diff(before: Path, after: Path) -> BuildDiff:
    """Compare two builds given by folder or manifest. Only places and changed lines are held in memory."""
    old_manifest, new_manifest = manifests.read(before), manifests.read(after)
    added: list[str] = []
    changed: dict[str, list[FieldChange]] = {}
    moved: dict[str, SplitMove] = {}
    unchanged = 0
    # Only offsets of the older build are held; lines are read again where the same id occurs.
    old = {one: location for one, location, _ in build_records(before, old_manifest)}
    for one, location, line in build_records(after, new_manifest):
        # What is left over at the end was removed.
        there = old.pop(one, None)
        if there is None:
            added.append(one)
            continue
        if there.split != location.split:
            moved[one] = SplitMove.model_validate({"from": there.split, "to": location.split})
        with there.path.open("rb") as source:
            source.seek(there.offset)
            before_line = source.read(there.size)
        if changes := changes_between(before_line, line):
            changed[one] = changes
        elif there.split == location.split:
            unchanged += 1
    counts = DiffCounts(added=len(added), removed=len(old), changed=len(changed), moved=len(moved), unchanged=unchanged)
    return BuildDiff(
        before=old_manifest.version,
        after=new_manifest.version,
        counts=counts,
        added=sorted(added),
        removed=sorted(old),
        changed=changed,
        moved=moved,
    )


def changes_between(before: bytes, after: bytes) -> list[FieldChange]:
    """The fields that differ, with their values; nested objects by dotted path. `...` stands for a field that is not there."""
    if before == after:
        return []
    return [
        FieldChange(field=name, before=old, after=new)
        for name, old, new in _walk("", read_record(before), read_record(after))
        if name not in _DERIVED
    ]


def _walk(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted(before.keys() | after.keys()):
            yield from _walk(f"{path}.{key}" if path else key, before.get(key, "..."), after.get(key, "..."))
    elif canonical_json(before) != canonical_json(after):  # for Python, true is 1 and 1 is 1.0
        yield path, before, after


def build_records(path: Path, manifest: Manifest) -> Iterator[tuple[str, RecordLocation, bytes]]:
    """Every record of a build: its id, where it is, and its line; a canary is none."""
    for split, entry in manifest.splits.items():
        result = manifests.locate(path, manifest, entry.path)
        if not result.is_file():
            raise NotFound(f"{result}, a split of {manifest.version}, is missing; `evergold verify` tells more")
        offset = 0
        with result.open("rb") as source:
            for number, line in enumerate(source, 1):
                try:
                    named = _decode_name(line)
                except (ValueError, RecursionError) as problem:
                    raise BadInput(
                        f"{result}, line {number}: no record ({problem}); `evergold verify` tells more"
                    ) from None
                # A line without an id is a canary, or an error.
                if one := named.task_id or named.id:
                    yield one, RecordLocation(split, result, offset, len(line)), line
                elif named.canary is msgspec.UNSET:
                    raise BadInput(f"{result}, line {number}: the record has neither task_id nor id")
                offset += len(line)


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

    def add(self, task_type: str, tags: Iterable[str], question: str, reference: str) -> None:
        self.records += 1
        self.types[task_type] += 1
        self.tags.update(tags)
        self.input_lengths[_bucket(len(question))] += 1
        self.reference_lengths[_bucket(len(reference))] += 1
        content = f"{question.strip().casefold()}\0{reference.strip().casefold()}"
        self.repeated += not self._seen.add(content.encode())

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


def sample(path: Path, count: int, seed: int, split: str | None = None) -> Sample:
    """`count` records of a build. The rank of a record follows from the seed and its id alone, so that the same seed picks
    the same cases in every version that has them."""
    manifest = manifests.read(path)
    if split is not None and split not in manifest.splits:
        raise BadInput(describe_unknown("split", split, sorted(manifest.splits)))
    # Records are counted while they are drawn: the files are read once.
    counted = Counter[str]()

    def rank_cases() -> Iterator[tuple[bytes, str, str, bytes]]:
        for one, location, line in build_records(path, manifest):
            if split in (None, location.split):
                counted[location.split] += 1
                yield rank_of(seed, one), one, location.split, line

    # The smallest hashes of seed and id: a sample that stays the same when other records come or go.
    drawn = heapq.nsmallest(count, rank_cases())
    records = [Sampled(id=one, split=name, record=read_record(line)) for _, one, name, line in drawn]
    return Sample(version=manifest.version, seed=seed, of=counted.total(), records=records)


def compare(before: Path, after: Path) -> Comparison:
    (old, was), (new, now) = _describe(before), _describe(after)
    return Comparison(before=was, after=now, drift=drift(old, new))


def _describe(path: Path) -> tuple[Profile, Portrait]:
    """Read the records of a build and say what it is made of, with lengths on a scale that people can read."""
    profile, inputs, references = Profile(), Counter[int](), Counter[int]()
    manifest = manifests.read(path)
    decoders = {name: decoder_of(manifest, name) for name in manifest.splits}
    for one, location, line in build_records(path, manifest):
        try:
            record = decoders[location.split](line)
        except (ValueError, msgspec.DecodeError):
            raise BadInput(f"{one} in {location.path.name} is no record; `evergold verify` tells more") from None
        if record is not None:
            asked, reference = first_text(record, INPUTS) or "", first_text(record, REFERENCES) or ""
            profile.add(record.task_type, tags_of(record), asked, reference)
            inputs[_bound(asked)] += 1
            references[_bound(reference)] += 1
    return profile, Portrait(
        version=manifest.version,
        records=profile.records,
        types=dict(profile.types.most_common()),
        tags=dict(profile.tags.most_common()),
        input_lengths=dict(sorted(inputs.items())),
        reference_lengths=dict(sorted(references.items())),
        repeated=profile.repeated,
    )


def _bound(text: str) -> int:
    """The smallest power of two that the text's length does not exceed; 0 for no text."""
    # bit_length of n - 1 gives the power of two that n does not exceed.
    return 1 << (len(text) - 1).bit_length() if text else 0


def rank_of(seed: int, one: str) -> bytes:
    return blake2b(f"{seed}:{one}".encode(), digest_size=16).digest()
