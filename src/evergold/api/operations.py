"""/health, /ready and /metrics for load balancers and Prometheus; /me and /tokens; /alerts; /settings."""

from importlib.metadata import version
from typing import Annotated, Any

from fastapi import Query
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Gauge, generate_latest
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from evergold.api.access import require_for
from evergold.api.middleware import Instruments
from evergold.api.requests import Opened, Router
from evergold.model.access import INCLUDES, LOCAL, AccessToken, Holder, NewToken, Role, TokenName
from evergold.model.operations import AlertsState, AlertTest, EndpointAnswer, PluginState, RedactedText, SettingsView
from evergold.plugins import hanging_plugins
from evergold.workspace import Workspace

router = Router(tags=["health"])
tokens_router = Router(prefix="/api/v1", tags=["access"])
alerts_router = Router(prefix="/api/v1/alerts", tags=["alerts"])
settings_router = Router(prefix="/api/v1/settings", tags=["settings"])


class Health(BaseModel):
    status: str
    version: str


@router.get("/api/v1/health")
async def health() -> Health:
    """Report that the server accepts requests."""
    return Health(status="ok", version=version("evergold"))


@router.get("/api/v1/ready")
def ready(workspace: Opened) -> Health:
    """Report whether the database answers: 200, or 503 with the reason."""
    workspace.operations.require_database()
    return Health(status="ready", version=version("evergold"))


async def metrics(request: Request) -> Response:
    """Prometheus metrics of this server and of the work that waits in its database."""
    instruments: Instruments = request.app.state.instruments
    workspace: Workspace = request.app.state.workspace
    # The database is asked in a thread: the event loop serves intake meanwhile.
    waiting = await run_in_threadpool(_read_gauges, workspace)
    return Response(generate_latest(instruments.registry) + generate_latest(waiting), media_type=CONTENT_TYPE_LATEST)


router.add_route("/metrics", require_for(Role.READER, metrics), methods=["GET"], include_in_schema=False)


def _read_gauges(workspace: Workspace) -> CollectorRegistry:
    """Gauges that are read when asked; a database that is away leaves them out and says so."""
    # A registry of this moment, so that gauges of a status that no longer exists do not linger.
    registry = CollectorRegistry()
    stuck = Gauge("evergold_plugins_hanging", "Plug-ins left out because a call hung.", ["plugin"], registry=registry)
    for name in hanging_plugins():
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


@router.get("/api/v1/plugins")
def list_plugins(workspace: Opened) -> list[PluginState]:
    """Plug-ins of other packages, and any that could not be made or used: what is wrong, and how often calls failed."""
    return workspace.operations.plugins(workspace.settings)


class WhoAmI(BaseModel):
    """Who calls, and the roles that theirs includes."""

    name: str
    role: Role
    may: list[Role]


class TokenWanted(BaseModel, extra="forbid"):
    name: TokenName
    role: Role


@tokens_router.get("/me")
def who_am_i(request: Request) -> WhoAmI:
    """The name and role behind the token of this request; without tokens everybody is the owner."""
    holder: Holder = request.scope.get("evergold.holder", LOCAL)
    return WhoAmI(name=holder.name, role=holder.role, may=[role for role in Role if role in INCLUDES[holder.role]])


@tokens_router.get("/tokens")
def list_tokens(workspace: Opened) -> list[AccessToken]:
    """List tokens, revoked ones included; tokens of the settings are not listed."""
    return workspace.access.list()


@tokens_router.post("/tokens", status_code=201)
def add_token(workspace: Opened, wanted: TokenWanted) -> NewToken:
    """Create a token. Its value is returned once, here."""
    return workspace.access.add(wanted.name, wanted.role)


@tokens_router.delete("/tokens/{token_id}")
def revoke_token(workspace: Opened, token_id: str) -> AccessToken:
    """Revoke a token; it stays in the list."""
    return workspace.access.revoke(token_id)


@alerts_router.get("")
def list_alerts(
    workspace: Opened, firing: bool = False, limit: Annotated[int, Query(ge=1, le=500)] = 100
) -> AlertsState:
    """Alerts with their notifications, those that fire first; the rules, and where alerts are sent."""
    return workspace.alerts.state(firing_only=firing, limit=limit)


@alerts_router.post("/test")
def test_alerts(workspace: Opened) -> AlertTest:
    """Read every rule and send one test message to the webhook of the settings."""
    return workspace.alerts.test()


class MuteWanted(BaseModel, extra="forbid"):
    rule: str
    hours: Annotated[float, Field(ge=0, le=24 * 90)] = 24.0


@alerts_router.post("/rules")
def add_alert_rule(workspace: Opened, rule: dict[str, Any]) -> AlertsState:
    """Make a rule, or change the one of the same name; the keys are those of `[[alerts.rules]]` in the settings."""
    return workspace.alerts.add_rule(rule)


@alerts_router.delete("/rules")
def remove_alert_rule(workspace: Opened, name: str) -> AlertsState:
    """Remove a rule that was made here; those of the settings are removed there."""
    return workspace.alerts.remove_rule(name)


@alerts_router.post("/mute")
def mute_alert_rule(workspace: Opened, wanted: MuteWanted) -> AlertsState:
    """Send no notification of a rule for some hours; 0: send them again. Its alerts are still shown."""
    return workspace.alerts.mute(wanted.rule, wanted.hours)


class EndpointWanted(BaseModel, extra="forbid"):
    endpoint: str


class TextWanted(BaseModel, extra="forbid"):
    text: Annotated[str, Field(max_length=100_000)]


@settings_router.get("")
def show_settings(request: Request, workspace: Opened) -> SettingsView:
    """Every setting with its value and where that comes from, endpoints, price list; paths and addresses for owners alone."""
    holder: Holder = request.scope.get("evergold.holder", LOCAL)
    return workspace.configuration.view(holder.role)


@settings_router.post("/endpoint")
def try_endpoint(workspace: Opened, wanted: EndpointWanted) -> EndpointAnswer:
    """Ask an endpoint of the settings for its models."""
    return workspace.configuration.try_endpoint(wanted.endpoint)


@settings_router.post("/redaction")
def try_redaction(workspace: Opened, wanted: TextWanted) -> RedactedText:
    """What would be stored of a text; nothing is stored."""
    return workspace.configuration.try_redaction(wanted.text)


router.routes += [*tokens_router.routes, *alerts_router.routes, *settings_router.routes]
