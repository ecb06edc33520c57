"""Access: make, list and revoke tokens, and say who holds one.

Tokens are 256 random bits, so a plain SHA-256 of one cannot be turned back. A server looks tokens up in a copy of the table that
is a second or two old: that long a revoked token may still work.
"""

import logging
import secrets
from hashlib import sha256
from time import monotonic
from uuid import uuid4

from evergold.errors import NotFound
from evergold.model.access import AccessToken, Holder, NewToken, Role
from evergold.store import Store
from evergold.store.tokens import TokenStore

FRESH_SECONDS = 2.0
PREFIX = "evergold_"
_log = logging.getLogger("evergold.access")


class Access:
    def __init__(self, store: Store) -> None:
        self._tokens = TokenStore(store.db)
        self._holders: dict[str, Holder] = {}
        self._read_at = float("-inf")

    def add(self, name: str, role: Role) -> NewToken:
        """Make a token. It is in the answer and stored nowhere."""
        # A prefix lets secret scanners recognise a token that was committed by accident.
        token = PREFIX + secrets.token_urlsafe(32)
        made = self._tokens.add(f"tok_{uuid4().hex[:10]}", name, role, _digest(token.encode()))
        # The own process sees its change at once; other servers when their copy is two seconds old.
        self._read_at = float("-inf")
        return NewToken(**made.model_dump(), token=token)

    def list(self) -> list[AccessToken]:
        return self._tokens.list()

    def revoke(self, ident: str) -> AccessToken:
        revoked = self._tokens.revoke(ident)
        if revoked is None:
            raise NotFound(f"no token {ident!r}; evergold tokens list shows them")
        self._read_at = float("-inf")
        return revoked

    @property
    def stale(self) -> bool:
        """Whether the copy of the table is to be read again."""
        return monotonic() - self._read_at > FRESH_SECONDS

    def refresh(self) -> None:
        """Read the table. While the database is away the last copy stays in use."""
        # Set before reading: while the database is away, requests must not all try to read at once.
        self._read_at = monotonic()
        try:
            self._holders = self._tokens.holders()
        except Exception as problem:
            _log.error("the tokens cannot be read, those known before stay valid: %s", problem)

    @property
    def required(self) -> bool:
        """Whether any token was made: then every caller needs one."""
        return bool(self._holders)

    def holder(self, token: bytes) -> Holder | None:
        """Say who holds a token, by the copy of the table."""
        return self._holders.get(_digest(token))


def _digest(token: bytes) -> str:
    return f"sha256:{sha256(token).hexdigest()}"
