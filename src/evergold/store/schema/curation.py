"""Tables of curation: what waits for it, the policies that were used, and the rules as people changed them."""

from sqlalchemy import Column, ForeignKey, Table, Text

from evergold.store.schema.columns import auto_id, metadata, time_of, word

curation_queue = Table(
    "curation_queue",
    metadata,
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    time_of("queued_at"),
    Column("owner", Text, comment="The server that runs slow checks over it, until its lease is over."),
    Column("lease_until", Text),
    comment="Traces with something new since they were last curated; written in the transaction that brought it.",
)

policies = Table(
    "policies",
    metadata,
    Column("name", Text, primary_key=True),
    Column("rev", Text, primary_key=True),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

rule_changes = Table(
    "rule_changes",
    metadata,
    auto_id(),
    Column("body", Text, nullable=False),
    word("who"),
    word("why"),
    time_of("created_at"),
    comment="The rules of curation (JSON) after each change that somebody made in the browser; the newest holds.",
)
