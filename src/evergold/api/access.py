"""Read the tokens that a server is configured with, and the token of a request."""

import hmac
from base64 import b64decode
from binascii import Error as Base64Error
from collections.abc import Sequence

from evergold.errors import BadInput
from evergold.model.access import Holder, Role
from evergold.settings import Settings, env_name
from evergold.workspace.access import Access


def configured_tokens(settings: Settings) -> list[tuple[bytes, Holder]]:
    """List the tokens of the settings with whose they are. Raises `BadInput` for one that protects nothing."""
    tokens = []
    # A blank token in the environment is a mistake (an unset secret) and must not mean "no token".
    if settings.server_token or "server.token" in settings.origins:
        where = settings.origins.get("server.token", "server.token")
        tokens.append((_usable(settings.server_token, where, "server.token"), Holder(name="owner", role=Role.OWNER)))
    for entry in settings.review_reviewers:
        name, _, token = entry.partition(":")
        if not name.strip():
            raise BadInput("review.reviewers: an entry has no name; write each as name:token")
        holder = Holder(name=name.strip(), role=Role.REVIEWER)
        tokens.append((_usable(token, f"review.reviewers: {holder.name}", "review.reviewers"), holder))
    return tokens


def _usable(token: str, where: str, setting: str) -> bytes:
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
    match scheme.lower():
        case "bearer":
            return rest.strip().encode()
        case "basic":
            return _password(rest.strip())
        case _:
            return b""


def holder_of(token: bytes, configured: Sequence[tuple[bytes, Holder]], access: Access) -> Holder | None:
    """Say who holds a token now: by the settings, or by the tokens of the workspace."""
    # Every configured token is compared in constant time, so that timing gives no part of one away.
    set_here = (holder for known, holder in configured if hmac.compare_digest(known, token))
    return next(set_here, None) or access.holder(token)


def _password(encoded: str) -> bytes:
    try:
        return b64decode(encoded, validate=True).partition(b":")[2]
    except (Base64Error, ValueError):
        return b""
