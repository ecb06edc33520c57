"""/me, /tokens and /alerts: who calls and what they may do; tokens for an owner to make and revoke; what fires now."""

from typing import Annotated

from fastapi import Query, Request
from pydantic import BaseModel

from evergold.api.access import LOCAL
from evergold.api.requests import Opened, Router
from evergold.model.access import INCLUDES, AccessToken, Holder, NewToken, Role, TokenName
from evergold.workspace.alerts import AlertsState, AlertTest

tokens_router = Router(prefix="/api/v1", tags=["access"])
alerts_router = Router(prefix="/api/v1/alerts", tags=["alerts"])


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
    """Tokens that were made, revoked ones too. Those of the settings are not among them."""
    return workspace.access.list()


@tokens_router.post("/tokens", status_code=201)
def add_token(workspace: Opened, wanted: TokenWanted) -> NewToken:
    """Make a token. It is in this answer and nowhere else."""
    return workspace.access.add(wanted.name, wanted.role)


@tokens_router.delete("/tokens/{token_id}")
def revoke_token(workspace: Opened, token_id: str) -> AccessToken:
    """Make a token invalid; it stays in the list."""
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


router = Router()
router.routes += [*tokens_router.routes, *alerts_router.routes]
