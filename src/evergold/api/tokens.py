"""/me and /tokens: who calls and what they may do; tokens for an owner to make and revoke."""

from fastapi import Request
from pydantic import BaseModel

from evergold.api.opened import Opened
from evergold.api.roles import LOCAL
from evergold.api.routing import Router
from evergold.model.access import INCLUDES, AccessToken, Holder, NewToken, Role, TokenName

router = Router(prefix="/api/v1", tags=["access"])


class WhoAmI(BaseModel):
    """Who calls, and the roles that theirs includes."""

    name: str
    role: Role
    may: list[Role]


class TokenWanted(BaseModel, extra="forbid"):
    name: TokenName
    role: Role


@router.get("/me")
def who_am_i(request: Request) -> WhoAmI:
    """The name and role behind the token of this request; without tokens everybody is the owner."""
    holder: Holder = request.scope.get("evergold.holder", LOCAL)
    return WhoAmI(name=holder.name, role=holder.role, may=[role for role in Role if role in INCLUDES[holder.role]])


@router.get("/tokens")
def list_tokens(workspace: Opened) -> list[AccessToken]:
    """Tokens that were made, revoked ones too. Those of the settings are not among them."""
    return workspace.access.list()


@router.post("/tokens", status_code=201)
def add_token(workspace: Opened, wanted: TokenWanted) -> NewToken:
    """Make a token. It is in this answer and nowhere else."""
    return workspace.access.add(wanted.name, wanted.role)


@router.delete("/tokens/{token_id}")
def revoke_token(workspace: Opened, token_id: str) -> AccessToken:
    """Make a token invalid; it stays in the list."""
    return workspace.access.revoke(token_id)
