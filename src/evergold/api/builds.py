"""/builds: frozen versions of datasets. The server chooses where their files go."""

from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from evergold.api.opened import Opened
from evergold.build.groups import parse_shares
from evergold.model.build import Build
from evergold.workspace.builds import with_options

router = APIRouter(prefix="/api/v1/builds", tags=["builds"])


class NewBuild(BaseModel, extra="forbid"):
    """What to freeze; the version is the next one unless given."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    version: str | None = None
    split: str | None = None
    group_by: str | None = None
    seed: int | None = None
    filters: dict[str, Any] = Field(default_factory=dict)
    on_leak: str | None = None
    canary: bool | None = None


@router.get("")
def list_builds(workspace: Opened, dataset: str | None = None) -> list[Build]:
    """Every build, oldest first, by dataset."""
    return workspace.builds.versions(dataset)


@router.post("", status_code=201)
def freeze_dataset(workspace: Opened, wanted: NewBuild) -> Build:
    """Freeze a dataset as it is now."""
    shares = parse_shares(wanted.split) if wanted.split else None
    options = wanted.model_dump(include={"group_by", "seed", "filters", "on_leak", "canary"})
    spec = workspace.builds.default_spec(wanted.dataset, wanted.version)
    return workspace.builds.freeze(with_options(spec, shares=shares, **options))


@router.get("/{dataset}/diff")
def diff_builds(
    workspace: Opened, dataset: str, before: Annotated[str, Query()], after: Annotated[str, Query()]
) -> dict[str, Any]:
    """Added, removed, moved and changed cases between two versions, field by field."""
    return workspace.builds.diff(before, after, dataset).to_json()


@router.get("/{dataset}/{version}")
def get_build(workspace: Opened, dataset: str, version: str) -> Build:
    """One build with its manifest."""
    return workspace.builds.get(dataset, version)
