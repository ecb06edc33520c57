"""/builds: frozen versions of datasets. The server chooses where their files go.

A dataset may have a slash in its name (`team/faq`), so its part of a path takes all that the rest leaves.
"""

from typing import Annotated, Any

from fastapi import Query
from fastapi.responses import FileResponse
from pydantic import BaseModel, Field

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.build.look import Comparison, Sample
from evergold.model.build_views import BuildDiff, BuildView
from evergold.workspace.builds import Lineage

router = Router(prefix="/api/v1/builds", tags=["builds"])


class NewBuild(BaseModel, extra="forbid"):
    """What to freeze; the version is the next one unless given."""

    dataset: Annotated[str, Field(min_length=1, max_length=200)]
    version: str | None = None
    split: str | None = None
    group_by: str | None = None
    seed: int | None = None
    filters: dict[str, Any] = Field(default_factory=dict)
    on_leak: str | None = None
    repeats: str | None = None
    canary: bool | None = None


@router.get("")
def list_builds(workspace: Opened, dataset: str | None = None) -> list[BuildView]:
    """Every build, oldest first, by dataset."""
    return [BuildView.of(build) for build in workspace.builds.versions(dataset)]


@router.post("", status_code=201)
def freeze_dataset(workspace: Opened, wanted: NewBuild) -> BuildView:
    """Freeze a dataset as it is now."""
    options = wanted.model_dump(include={"group_by", "seed", "filters", "on_leak", "canary", "repeats"})
    build, _ = workspace.builds.freeze_as(wanted.dataset, wanted.version, shares=wanted.split, **options)
    return BuildView.of(build)


@router.get("/{dataset:path}/lineage/{case_id:path}")
def case_lineage(workspace: Opened, dataset: str, case_id: str) -> Lineage:
    """One case from its trace and policy to the builds that hold it and the runs that tried it."""
    return workspace.builds.lineage(dataset, case_id)


@router.get("/{dataset:path}/diff")
def diff_builds(
    workspace: Opened, dataset: str, before: Annotated[str, Query()], after: Annotated[str, Query()]
) -> BuildDiff:
    """Added, removed, moved and changed cases between two versions, field by field."""
    return BuildDiff.model_validate(workspace.builds.diff(before, after, dataset).to_json())


@router.get("/{dataset:path}/compare")
def compare_builds(
    workspace: Opened, dataset: str, before: Annotated[str, Query()], after: Annotated[str, Query()]
) -> Comparison:
    """What two versions are made of by type, tag and length, and how far they drifted apart."""
    return workspace.builds.compare(dataset, before, after)


@router.get("/{dataset:path}/{version}/sample")
def sample_build(
    workspace: Opened,
    dataset: str,
    version: str,
    count: Annotated[int, Query(ge=1, le=200)] = 10,
    seed: Annotated[int, Query(ge=0, le=2**53)] = 0,
    split: str | None = None,
) -> Sample:
    """Records to read by eye; the same seed draws the same ones."""
    return workspace.builds.sample(dataset, version, count=count, seed=seed, split=split)


@router.get("/{dataset:path}/{version}/files")
def build_files(workspace: Opened, dataset: str, version: str) -> list[str]:
    """The names of a build's files."""
    return list(workspace.builds.files(dataset, version))


@router.get("/{dataset:path}/{version}/files/{name}", response_class=FileResponse)
def download_file(workspace: Opened, dataset: str, version: str, name: str) -> FileResponse:
    """One file of a build, byte for byte. Only a name that the build's manifest lists is a file."""
    path = workspace.builds.file(dataset, version, name)
    return FileResponse(path, media_type="application/octet-stream", filename=f"{dataset}-{version}-{name}")


@router.get("/{dataset:path}/{version}")
def get_build(workspace: Opened, dataset: str, version: str) -> BuildView:
    """One build with its manifest."""
    return BuildView.of(workspace.builds.get(dataset, version))
