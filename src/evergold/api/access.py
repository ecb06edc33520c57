"""Read the tokens that a server is configured with and the token of a request, and check the role that each route asks for.

Reading asks for `reader`. Everything else is listed here; what is not listed asks for `owner`, and a test fails.
"""

import hmac
from base64 import b64decode
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from starlette.requests import Request
from starlette.responses import Response

from evergold.errors import BadInput, Refused
from evergold.model.access import INCLUDES, LOCAL, Holder, Role
from evergold.settings import Settings, env_name
from evergold.workspace.operations import Access


def configured_tokens(settings: Settings) -> list[tuple[bytes, Holder]]:
    """List the tokens of the settings with whose they are. Raises `BadInput` for one that protects nothing."""
    tokens = []
    # A blank token in the environment is a mistake (an unset secret) and must not mean "no token".
    if settings.server_token or "server.token" in settings.origins:
        where, owner = settings.origins.get("server.token", "server.token"), Holder(name="owner", role=Role.OWNER)
        tokens.append((_check_token(settings.server_token, where, "server.token"), owner))
    for entry in settings.review_reviewers:
        name, _, token = entry.partition(":")
        if not name.strip():
            raise BadInput("review.reviewers: an entry has no name; write each as name:token")
        holder = Holder(name=name.strip(), role=Role.REVIEWER)
        tokens.append((_check_token(token, f"review.reviewers: {holder.name}", "review.reviewers"), holder))
    return tokens


def _check_token(token: str, where: str, setting: str) -> bytes:
    """The token as a header carries it. A blank one would let everybody in, or nobody."""
    bare = token.strip()
    if not bare:
        raise BadInput(f"{where}: the token is blank; give one, or remove {setting} ({env_name(setting)})")
    if not (bare.isascii() and bare.isprintable()) or " " in bare:
        raise BadInput(f"{where}: the token has a space or a sign that no header carries; use ASCII letters and digits")
    return bare.encode()


def given_token(header: str) -> bytes:
    """Read the token of an `Authorization` header; senders that know only a name and a password send it as the password."""
    scheme, _, rest = header.strip().partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip().encode()
    with suppress(ValueError):  # no base64
        return b64decode(rest.strip(), validate=True).partition(b":")[2] if scheme.lower() == "basic" else b""
    return b""


def holder_of(token: bytes, configured: Sequence[tuple[bytes, Holder]], access: Access) -> Holder | None:
    """Say who holds a token now: by the settings, or by the tokens of the workspace."""
    # Every configured token is compared in constant time, so that timing gives no part of one away.
    set_here = (holder for known, holder in configured if hmac.compare_digest(known, token))
    return next(set_here, None) or access.holder(token)


READING = frozenset({"GET", "HEAD"})
PREFIX = "/api/v1"
LISTED = {
    Role.INGEST: ("POST /traces", "POST /scores", "POST /corrections", "POST /reactions"),
    Role.READER: ("POST /benchmarks/plan", "POST /settings/redaction"),
    Role.REVIEWER: (
        "POST /decisions",
        "POST /decisions/bulk",
        "PATCH /review/case",
        "PUT /review/answers",
        "PUT /replay-users",
        "POST /review/claims",
        "PUT /review/claims",
        "POST /review/assignments",
        "DELETE /review/assignments",
        "PUT /views",
        "POST /traces/tags",
        "POST /traces/{trace_id}/comments",
        "DELETE /comments/{comment_id}",
        "DELETE /views",
        "PUT /review/views",
        "DELETE /review/views",
        "POST /review/base",
        "POST /review/base/candidates",
        "POST /review/prove",
        "POST /review/rows",
        "POST /review/fill",
        "POST /stale/decision",
        "PATCH /topics/{topic}",
        "POST /problems/{problem}/fixed",
    ),
    Role.EDITOR: (
        "POST /traces/cases",
        "POST /uploads",
        "POST /samples",
        "DELETE /scores/{score_id}",
        "POST /traces/{trace_id}/curate",
        "POST /curation",
        "PUT /curation/rules",
        "POST /curation/rules/preview",
        "POST /benchmarks/runs",
        "POST /benchmarks/runs/{run_id}/cancel",
        "POST /benchmarks/runs/{run_id}/resume",
        "POST /benchmarks/runs/{run_id}/rescore",
        "POST /benchmarks/runs/{run_id}/calibration",
        "POST /judges/calibration",
        "POST /benchmarks/runs/{run_id}/to-review",
        "POST /benchmarks/runs/{run_id}/failing-to-review",
        "POST /replay-users/drafts",
        "DELETE /benchmarks/runs/{run_id}",
        "POST /builds",
        "PUT /review/questions",
        "POST /cases",
        "POST /cases/changes",
        "POST /problems/{problem}/cases",
        "POST /alerts/rules",
        "DELETE /alerts/rules",
        "POST /alerts/mute",
    ),
    Role.OWNER: (
        "GET /tokens",
        "POST /tokens",
        "DELETE /tokens/{token_id}",
        "POST /alerts/test",
        "POST /settings/endpoint",
    ),
}
ELSEWHERE = {"POST /api/public/ingestion": Role.INGEST, "POST /mcp": Role.READER, "DELETE /mcp": Role.READER}
NEEDED = ELSEWHERE | {words.replace(" ", f" {PREFIX}"): role for role, routes in LISTED.items() for words in routes}
ANYBODY = frozenset({"GET /api/v1/me"})
"""Routes that every token may call, whatever its role."""


def needed_role(method: str, path: str) -> Role:
    """Give the role that a route asks for; `path` as it was declared."""
    return NEEDED.get(f"{method} {path}") or (Role.READER if method in READING else Role.OWNER)


def check_role(request: Request, needed: Role) -> None:
    """Raise `Refused` when the caller's role does not include the one that is needed."""
    holder: Holder = request.scope.get("evergold.holder", LOCAL)
    if not holder.role.allows(needed):
        # The message lists the larger roles that would do as well.
        others = ", ".join(role for role in INCLUDES if needed in INCLUDES[role] and role is not needed)
        wanted = f"{needed.value} (or {others})" if others else needed.value
        raise Refused(f"this needs the role {wanted}; the token of {holder.name} has the role {holder.role.value}")


def require_for(
    role: Role, endpoint: Callable[[Request], Awaitable[Response]]
) -> Callable[[Request], Awaitable[Response]]:
    """Wrap a plain endpoint, which has no entry above, so that it asks for a role."""

    async def check_and_call(request: Request) -> Response:
        check_role(request, role)
        return await endpoint(request)

    return check_and_call
