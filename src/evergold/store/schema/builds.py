"""Tables of builds: frozen versions and the cases they hold."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint

from evergold.store.schema.columns import auto_id, metadata, time_of, word

builds = Table(
    "builds",
    metadata,
    auto_id(),
    Column("dataset", Text, nullable=False),
    Column("version", Text, nullable=False),
    Column("content_hash", Text, nullable=False),
    word("manifest", "{}"),
    Column("location", Text),
    Column("parent", Text),
    time_of("created_at"),
    UniqueConstraint("dataset", "version", name="one_build_per_version"),
)

build_cases = Table(
    "build_cases",
    metadata,
    Column("build_id", Integer, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("rev", Text, nullable=False),
    word("split"),
    Index("build_cases_by_case", "case_id"),
)
