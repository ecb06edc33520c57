"""/alerts: what fires, where it was sent, and a test message."""

from typing import Annotated

from fastapi import Query

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.workspace.alerts import AlertsState, AlertTest

router = Router(prefix="/api/v1/alerts", tags=["alerts"])


@router.get("")
def list_alerts(
    workspace: Opened, firing: bool = False, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> AlertsState:
    """Alerts with their notifications, those that fire first; the rules, and where alerts are sent."""
    return workspace.alerts.state(firing_only=firing, limit=limit)


@router.post("/test")
def test_alerts(workspace: Opened) -> AlertTest:
    """Read every rule and send one test message to the webhook of the settings."""
    return workspace.alerts.test()
