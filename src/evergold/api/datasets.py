"""/datasets: what there is, counted."""

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.model.build_views import DatasetSummary

router = Router(prefix="/api/v1/datasets", tags=["datasets"])


@router.get("")
def list_datasets(workspace: Opened) -> list[DatasetSummary]:
    """Every dataset: cases by kind, type, review state and status, and its builds."""
    return workspace.builds.datasets()
