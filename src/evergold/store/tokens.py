"""Tokens: added, listed, revoked; found by the hash of what a client sends."""

from typing import Any

from sqlalchemy import Connection, Row

from evergold.model.access import AccessToken, Holder, Role
from evergold.store.database.db import Database
from evergold.store.database.rows import run_sql
from evergold.store.facts import database_time


class TokenStore:
    def __init__(self, db: Database) -> None:
        self._db = db

    def add(self, ident: str, name: str, role: Role, digest: str) -> AccessToken:
        row = {"id": ident, "name": name, "role": role.value, "digest": digest}
        add = "INSERT INTO access_tokens (id, name, role, digest) VALUES (:id, :name, :role, :digest) RETURNING *"
        return self._db.write(lambda connection: _token(run_sql(connection, add, **row).one()))

    def list(self) -> list[AccessToken]:
        """All tokens, oldest first, revoked ones too."""
        return [_token(row) for row in self._db.rows("SELECT * FROM access_tokens ORDER BY created_at, id")]

    def holders(self) -> dict[str, Holder | None]:
        """Who holds which token, by its hash; None for one that was revoked."""
        return {
            row.digest: None if row.revoked_at else Holder(name=row.name, role=Role(row.role))
            for row in self._db.rows("SELECT * FROM access_tokens")
        }

    def revoke(self, ident: str) -> AccessToken | None:
        """Make a token invalid; None when there is none by that id. The first revocation's time stays."""

        def work(connection: Connection) -> AccessToken | None:
            end = "UPDATE access_tokens SET revoked_at = coalesce(revoked_at, :now) WHERE id = :id RETURNING *"
            row = run_sql(connection, end, id=ident, now=database_time(connection)).one_or_none()
            return _token(row) if row is not None else None

        return self._db.write(work)

    def forget_revoked(self) -> int:
        """Delete the tokens that were revoked; how many they were."""
        revoked = "DELETE FROM access_tokens WHERE revoked_at IS NOT NULL"
        return self._db.write(lambda connection: run_sql(connection, revoked).rowcount)


def _token(row: Row[Any]) -> AccessToken:
    return AccessToken.model_validate(dict(row._mapping))
