"""A build: a dataset frozen into split files and a manifest that can prove them."""

from collections.abc import Collection, Mapping
from typing import Any

from pydantic import BaseModel, Field

from evergold.model.moment import UtcTime


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


class Build(BaseModel, frozen=True, extra="forbid"):
    """A build as the store remembers it."""

    dataset: str
    version: str
    content_hash: str
    created_at: UtcTime
    location: str | None = None
    parent: str | None = None
    manifest: dict[str, Any] = Field(default_factory=dict)


def without_tags(manifest: Mapping[str, Any], tags: Collection[str]) -> dict[str, Any]:
    """A manifest that no longer counts these tags. A tag may name a person, so erasing the person takes it too."""
    counted = manifest.get("tags")
    if not isinstance(counted, Mapping):
        return dict(manifest)
    return {**manifest, "tags": {tag: count for tag, count in counted.items() if tag not in tags}}
