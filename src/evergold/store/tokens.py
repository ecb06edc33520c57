"""Tokens: added, listed, revoked; found by the hash of what a client sends."""

from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select, update

from evergold.model.access import AccessToken, Holder, Role
from evergold.store.database.db import Database
from evergold.store.schema import access_tokens, utc_now


class TokenStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, ident: str, name: str, role: Role, digest: str) -> AccessToken:
        row = {"id": ident, "name": name, "role": role.value, "digest": digest}
        add = insert(access_tokens).values(**row).returning(access_tokens)
        return self._db.write(lambda connection: _token(connection.execute(add).one()))

    def list(self) -> list[AccessToken]:
        """All tokens, oldest first, revoked ones too."""
        wanted = select(access_tokens).order_by(access_tokens.c.created_at, access_tokens.c.id)
        return [_token(row) for row in self._db.rows(wanted)]

    def holders(self) -> dict[str, Holder | None]:
        """Who holds which token, by its hash; None for one that was revoked."""
        return {
            row.digest: None if row.revoked_at else Holder(name=row.name, role=Role(row.role))
            for row in self._db.rows(select(access_tokens))
        }

    def revoke(self, ident: str) -> AccessToken | None:
        """Make a token invalid; None when there is none by that id. The first revocation's time stays."""
        named = access_tokens.c.id == ident

        def work(connection: Connection) -> AccessToken | None:
            valid = update(access_tokens).where(named, access_tokens.c.revoked_at.is_(None))
            connection.execute(valid.values(revoked_at=utc_now()))
            row = connection.execute(select(access_tokens).where(named)).one_or_none()
            return _token(row) if row is not None else None

        return self._db.write(work)

    def forget_revoked(self) -> int:
        """Delete the tokens that were revoked; how many they were."""
        revoked = delete(access_tokens).where(access_tokens.c.revoked_at.is_not(None))
        return self._db.write(lambda connection: connection.execute(revoked).rowcount)


def _token(row: Row[Any]) -> AccessToken:
    return AccessToken.model_validate(dict(row._mapping))
