"""/datasets and /builds: what there is, counted, and frozen versions of it. The server chooses where their files go.

A dataset may have a slash in its name (`team/faq`), so its part of a path takes all that the rest leaves.
"""

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Query
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel, Field

from evergold.api.requests import Opened, Router
from evergold.model.build import BuildDiff, BuildView, Comparison, DatasetSummary, Lineage, Sample
from evergold.model.case_actions import Repeats

router = Router(prefix="/api/v1/builds", tags=["builds"])
datasets_router = Router(prefix="/api/v1/datasets", tags=["datasets"])
BUILD_SECONDS = 8.0  # then a caller is answered
UNDER_WAY = "still being built; send the same request with this version again to wait for it, or look at"


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


class BuildUnderWay(BaseModel):
    """A build that takes longer than a request waits: which one it is, and where it appears."""

    dataset: str
    version: str
    message: str


@router.get("")
def list_builds(workspace: Opened, dataset: str | None = None) -> list[BuildView]:
    """Every build, oldest first, by dataset."""
    return [BuildView.of(build) for build in workspace.builds.versions(dataset)]


@router.post(
    "",
    status_code=201,
    response_model=BuildView,
    responses={202: {"model": BuildUnderWay, "description": "The build goes on"}},
)
def freeze_dataset(workspace: Opened, wanted: NewBuild) -> BuildView | JSONResponse:
    """Freeze a dataset as it is now; a large one is answered with 202 after a few seconds and goes on being built."""
    options = wanted.model_dump(include={"group_by", "seed", "filters", "on_leak", "canary", "repeats"})
    spec = workspace.builds.spec_of(wanted.dataset, wanted.version, shares=wanted.split, **options)
    build = workspace.served_builds.freeze(spec, BUILD_SECONDS)
    if build is not None:
        return BuildView.of(build)
    # The name may hold a slash, which stays part of the name when it is encoded.
    where = f"{router.prefix}/{quote(spec.dataset, safe='')}/{spec.version}"
    under_way = BuildUnderWay(dataset=spec.dataset, version=spec.version, message=f"{UNDER_WAY} {where}")
    return JSONResponse(under_way.model_dump(), status_code=202, headers={"Location": where})


@router.get("/{dataset:path}/lineage/{case_id:path}")
def case_lineage(workspace: Opened, dataset: str, case_id: str) -> Lineage:
    """One case from its trace and policy to the builds that hold it and the runs that tried it."""
    return workspace.builds.lineage(dataset, case_id)


@router.get("/{dataset:path}/diff")
def diff_builds(
    workspace: Opened, dataset: str, before: Annotated[str, Query()], after: Annotated[str, Query()]
) -> BuildDiff:
    """Added, removed, moved and changed cases between two versions, field by field."""
    return workspace.builds.diff(before, after, dataset)


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
    # Served as a download: a browser must not show a file of data as a page of this origin.
    return FileResponse(path, media_type="application/octet-stream", filename=f"{dataset}-{version}-{name}")


@router.get("/{dataset:path}/{version}")
def get_build(workspace: Opened, dataset: str, version: str) -> BuildView:
    """One build with its manifest; of one that failed after its request was answered, why."""
    return BuildView.of(workspace.served_builds.get(dataset, version))


@datasets_router.get("")
def list_datasets(workspace: Opened) -> list[DatasetSummary]:
    """Every dataset: cases by kind, type, review state and status, and its builds."""
    return workspace.builds.datasets()


@datasets_router.get("/{dataset}/repeats")
def dataset_repeats(
    workspace: Opened,
    dataset: str,
    case: Annotated[tuple[str, ...], Query(max_length=500, description="Ids of cases to say the question of.")] = (),
) -> Repeats:
    """How many questions more than one case asks, and for each case named that is a repeat how many ask the same."""
    workspace.cases.require_dataset(dataset)
    return workspace.repeats.of(dataset, case)


router.routes += datasets_router.routes
