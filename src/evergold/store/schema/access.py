"""Tokens of the server, as hashes."""

from sqlalchemy import Column, Table, Text

from evergold.store.schema.columns import metadata, time_of

access_tokens = Table(
    "access_tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    time_of("created_at"),
    Column("revoked_at", Text),
    comment="Who may call the server: name, role and the SHA-256 of the token; the token itself is stored nowhere.",
)
