"""Tables of curation: what waits for it, and the policies that were used."""

from sqlalchemy import Column, ForeignKey, Table, Text

from evergold.store.schema.columns import metadata, time_of

curation_queue = Table(
    "curation_queue",
    metadata,
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    time_of("queued_at"),
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
