"""/datasets: what there is, counted."""

from typing import Any

from evergold.api.opened import Opened
from evergold.api.routing import Router

router = Router(prefix="/api/v1/datasets", tags=["datasets"])


@router.get("")
def list_datasets(workspace: Opened) -> list[dict[str, Any]]:
    """Every dataset: cases by kind, type, review state and status, and its builds."""
    return workspace.builds.datasets()
