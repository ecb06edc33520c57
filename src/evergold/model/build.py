"""A build: a dataset frozen into split files and a manifest that can prove them; builds and datasets as lists show them.

A manifest is kept as it was written, and one of another origin may lack any field: `ManifestView` names the fields that a page
shows and keeps the others.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from evergold.errors import BadInput
from evergold.model.case import Case, Provenance, candidates_left_out
from evergold.model.limits import UtcTime
from evergold.model.report import Printable
from evergold.model.values import content_hash


# `extra="allow"`: manifests of earlier versions and of other programs are read and written back whole.
class FileEntry(BaseModel, frozen=True, extra="allow"):
    """One file of a build: where it is, how many records and bytes, and the hash that pins it."""

    path: str
    count: int = Field(ge=0)
    bytes: int = Field(default=0, ge=0)
    sha256: str | None = None


class Manifest(BaseModel, frozen=True, extra="allow"):
    """The seed's fields first; what it does not know is allowed, and kept."""

    version: str
    generated_at_utc: str
    source_offline_dataset: str | None = None
    filters: dict[str, Any] = Field(default_factory=dict)
    splits: dict[str, FileEntry] = Field(default_factory=dict)
    excluded_task_types: dict[str, int] = Field(default_factory=dict)
    rejected: dict[str, int] = Field(default_factory=dict)
    content_hash: str | None = None
    builder: str | None = None


class Build(Printable, BaseModel, frozen=True, extra="forbid"):
    """A build as the store remembers it."""

    dataset: str
    version: str
    content_hash: str
    created_at: UtcTime
    location: str | None = None
    parent: str | None = None
    manifest: dict[str, Any] = Field(default_factory=dict)

    @property
    def cases(self) -> int:
        """How many cases are in its splits."""
        return sum(split["count"] for split in self.manifest.get("splits", {}).values())

    @property
    def name(self) -> str:
        """The dataset and its version, as a run names them."""
        return f"{self.dataset}@{self.version}"

    def table(self) -> tuple[str, Sequence[str], list[tuple[object, ...]]]:
        splits = [(name, split["count"]) for name, split in self.manifest.get("splits", {}).items()]
        waiting = self.manifest.get("excluded", {}).get("candidate")
        left_out = f"; {candidates_left_out(waiting)}" if waiting else ""
        return f"{self.name}: {self.cases} cases, {self.content_hash[:19]}{left_out}", ("split", "cases"), list(splits)


def without_tags(manifest: Mapping[str, Any], tags: Collection[str]) -> dict[str, Any]:
    """A manifest that no longer counts these tags. A tag may name a person, so erasing the person takes it too."""
    counted = manifest.get("tags")
    if not isinstance(counted, Mapping):
        return dict(manifest)
    return {**manifest, "tags": {tag: count for tag, count in counted.items() if tag not in tags}}


Counts = dict[str, int]


class BuildBrief(BaseModel, frozen=True):
    """A version in the list of datasets."""

    version: str
    content_hash: str
    cases: int


class DatasetSummary(BaseModel):
    """A dataset: its active cases without candidates, all cases by kind, type (`candidate` apart), review state and status, and
    its versions."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    dataset: str
    cases: int = 0
    kind: Counts = Field(default_factory=dict)
    entry_type: Counts = Field(default_factory=dict)
    review: Counts = Field(default_factory=dict)
    status: Counts = Field(default_factory=dict)
    builds: list[BuildBrief] = Field(default_factory=list)


class SourceEntry(BaseModel, frozen=True, extra="allow"):
    """The file that a build was made from."""

    path: str
    records: int | None = None
    lines: int | None = None


class NearPair(BaseModel, frozen=True, extra="allow"):
    """Two cases of different splits that are nearly the same."""

    a: str
    b: str
    splits: list[str]
    similarity: float | None = None


class NearPairs(BaseModel, frozen=True, extra="allow"):
    """How many pairs there are, and the first of them."""

    count: int
    pairs: list[NearPair]


class SharedCases(BaseModel, frozen=True, extra="allow"):
    """Cases that two splits share, and the first of them."""

    count: int
    cases: list[str]


class PolicyShare(BaseModel, frozen=True, extra="allow"):
    """How many cases a policy revision brought."""

    policy: str
    rev: str | None = None
    cases: int


class SplitEntry(FileEntry, frozen=True, extra="allow"):
    """A file of a build; of a RAG split also which fields a record must fill."""

    groups: int | None = None
    required: list[str] | None = None


class ManifestView(BaseModel, frozen=True, extra="allow"):
    """The fields of a manifest that pages show."""

    splits: dict[str, SplitEntry] = Field(default_factory=dict)
    source: SourceEntry | None = None
    canary: str | None = None
    filters: dict[str, Any] = Field(default_factory=dict)
    excluded: Counts = Field(default_factory=dict)
    excluded_task_types: Counts = Field(default_factory=dict)
    rejected: Counts = Field(default_factory=dict)
    near_duplicates: NearPairs | None = None
    overlap: dict[str, SharedCases] | None = None
    policies: list[PolicyShare] | None = None
    seed: int | None = None
    group_by: str | None = None
    builder: str | None = None


class BuildView(Build, frozen=True, extra="forbid"):
    """A build with its manifest by field."""

    # A view narrows the field's type on purpose: the same JSON, with names for what pages show.
    manifest: ManifestView  # type: ignore[assignment]

    @classmethod
    def of(cls, build: Build) -> "BuildView":
        return cls.model_validate(build.model_dump())


class FieldChange(BaseModel, frozen=True):
    """One field of one case, before and after."""

    field: str
    before: Any = None
    after: Any = None


class SplitMove(BaseModel, frozen=True):
    """A case that another split has now."""

    from_: str = Field(alias="from")
    to: str


class DiffCounts(BaseModel, frozen=True):
    """How many cases of each kind a difference has."""

    added: int
    removed: int
    changed: int
    moved: int
    unchanged: int


class BuildDiff(BaseModel, frozen=True):
    """What changed from one build to the other, case by case."""

    before: str
    after: str
    counts: DiffCounts
    added: list[str]
    removed: list[str]
    changed: dict[str, list[FieldChange]]
    moved: dict[str, SplitMove]


class ValueChange(BaseModel, frozen=True):
    """The value of a field in an earlier version of a case and in a later one."""

    old: Any = None
    new: Any = None


def dataset_hash(cases: Iterable[Case]) -> str:
    """What the dataset says, whatever its order: the same hash means the same questions."""
    # Sorted by id: the order of tasks in a file does not change what is measured.
    return content_hash(sorted((case.id, case.rev()) for case in cases))


@dataclass(frozen=True)
class Frozen:
    """The cases of a run, and what pins them. `build` names the version they come from, where they come from one."""

    name: str
    version: str
    content_hash: str
    cases: Sequence[Case]
    build: dict[str, Any] = field(default_factory=dict)
    candidates_left_out: int = 0

    def take_first(self, limit: int | None) -> "Frozen":
        """The first cases only: another set of questions, so another version and another hash."""
        if limit is None or limit >= len(self.cases):
            return self
        chosen = self.cases[:limit]
        version = f"{self.version} (first {limit})"
        return replace(self, version=version, content_hash=dataset_hash(chosen), cases=chosen)

    def select(self, ids: Sequence[str]) -> "Frozen":
        """The cases of these ids only; all where none is named."""
        if not ids:
            return self
        chosen = [case for case in self.cases if case.id in set(ids)]
        missing = sorted(set(ids) - {case.id for case in chosen})
        if missing:
            raise BadInput(f"dataset {self.name!r} has no case {missing[0]!r}; `evergold cases list` names its cases")
        version = f"{self.version} ({len(chosen)} chosen)"
        return replace(self, version=version, content_hash=dataset_hash(chosen), cases=chosen)


@dataclass(frozen=True)
class BuildFiles:
    """The files of a build: its manifest first. Below `root` they refer to each other by the same paths wherever it lies."""

    root: Path
    manifest: Path
    files: tuple[Path, ...]

    def names(self) -> dict[str, Path]:
        """Each file by its path below the root."""
        return {path.relative_to(self.root).as_posix(): path for path in self.files}


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


class BuildStep(BaseModel, frozen=True):
    """A build that holds the case."""

    version: str
    split: str
    rev: str
    created_at: UtcTime


class RunStep(BaseModel, frozen=True):
    """A run that has the case; `rev` is what the case said when the run began, `build` the version it was taken from."""

    id: str
    model: str
    status: str
    created_at: UtcTime
    rev: str
    attempts: int
    build: str | None = None


class Lineage(BaseModel, frozen=True):
    """One case from end to end: what it came from, what it says now, and where it went."""

    dataset: str
    case_id: str
    provenance: Provenance
    rev: str
    status: str
    builds: list[BuildStep]
    runs: list[RunStep]
