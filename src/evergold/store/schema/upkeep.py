"""Tables of upkeep: counters, and tombstones of erased users."""

from sqlalchemy import Column, Table, Text

from evergold.store.schema.columns import auto_id, count_of, metadata, time_of, word

tombstones = Table(
    "tombstones",
    metadata,
    auto_id(),
    Column("kind", Text, nullable=False),
    Column("subject", Text, nullable=False),
    word("who", "system"),
    word("why"),
    word("counts", "{}"),
    time_of("created_at"),
    comment="What was erased on request: the subject as a hash, and how much of it there was.",
)

counters = Table(
    "counters",
    metadata,
    Column("name", Text, primary_key=True),
    count_of("value"),
    comment="What happened in the background: redactions by kind, curations that failed, records refused.",
)

work_leases = Table(
    "work_leases",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    time_of("since"),
    Column("lease_until", Text, nullable=False),
    comment="Work of which one process at a time may do a kind (backfills, archives); its holder renews the lease.",
)
