"""/datasets: what there is, counted, and which cases ask one question."""

from typing import Annotated

from fastapi import Query

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.model.build_views import DatasetSummary
from evergold.model.repeats import Repeats

router = Router(prefix="/api/v1/datasets", tags=["datasets"])


@router.get("")
def list_datasets(workspace: Opened) -> list[DatasetSummary]:
    """Every dataset: cases by kind, type, review state and status, and its builds."""
    return workspace.builds.datasets()


@router.get("/{dataset}/repeats")
def dataset_repeats(
    workspace: Opened,
    dataset: str,
    case: Annotated[tuple[str, ...], Query(max_length=500, description="Ids of cases to say the question of.")] = (),
) -> Repeats:
    """How many questions more than one case asks, and for each case named that is a repeat how many ask the same."""
    workspace.cases.require_dataset(dataset)
    return workspace.repeats.of(dataset, case)
