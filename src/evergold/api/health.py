"""Health, readiness and metrics: what load balancers, supervisors and Prometheus ask."""

from importlib.metadata import version

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from evergold.api.access import require_for
from evergold.api.middleware.meter import Instruments
from evergold.api.requests import Opened
from evergold.model.access import Role
from evergold.overdue import hanging
from evergold.workspace import Workspace

router = APIRouter(tags=["health"])


class Health(BaseModel):
    status: str
    version: str


@router.get("/api/v1/health")
async def health() -> Health:
    """Answers as soon as the server can take requests."""
    return Health(status="ok", version=version("evergold"))


@router.get("/api/v1/ready")
def ready(workspace: Opened) -> Health:
    """Answers 200 while the database answers, and 503 with the reason while it does not."""
    workspace.operations.require_database()
    return Health(status="ready", version=version("evergold"))


async def metrics(request: Request) -> Response:
    """Prometheus metrics of this server and of the work that waits in its database."""
    instruments: Instruments = request.app.state.instruments
    workspace: Workspace = request.app.state.workspace
    # The database is asked in a thread: the event loop serves intake meanwhile.
    waiting = await run_in_threadpool(_waiting, workspace)
    return Response(generate_latest(instruments.registry) + generate_latest(waiting), media_type=CONTENT_TYPE_LATEST)


router.add_route("/metrics", require_for(Role.READER, metrics), methods=["GET"], include_in_schema=False)


def _waiting(workspace: Workspace) -> CollectorRegistry:
    """Gauges that are read when asked; a database that is away leaves them out and says so."""
    # A registry of this moment, so that gauges of a status that no longer exists do not linger.
    registry = CollectorRegistry()
    stuck = Gauge("evergold_plugins_hanging", "Plug-ins left out because a call hung.", ["plugin"], registry=registry)
    for name in hanging():
        stuck.labels(name).set(1)
    backlog = workspace.operations.backlog()
    Gauge("evergold_database_up", "1 while the database answers.", registry=registry).set(backlog is not None)
    if backlog is None:
        return registry
    Gauge("evergold_curation_queue", "Traces that wait for curation.", registry=registry).set(backlog.traces)
    lag = Gauge("evergold_curation_lag_seconds", "How long the oldest of them has waited.", registry=registry)
    lag.set(backlog.lag_seconds)
    Gauge("evergold_writer_queue", "Jobs that wait for the writer.", registry=registry).set(backlog.writes)
    runs = Gauge("evergold_runs", "Benchmark runs by status.", ["status"], registry=registry)
    for status, count in backlog.runs.items():
        runs.labels(status).set(count)
    return registry
