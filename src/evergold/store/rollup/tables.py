"""Tables of counted traffic. They are derived from traces and scores, so no backup holds them."""

from sqlalchemy import Column, Float, Index, Integer, MetaData, Table, Text, text

derived = MetaData()

traffic_figures = Table(
    "traffic_figures",
    derived,
    Column("bucket", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("start", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column("traces", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("cost", Float, nullable=False),
    Column("latencies", Text, nullable=False, comment="JSON: [[least latency of a bin, traces in it], …]"),
    sqlite_with_rowid=False,
    comment="Traces of an hour or a day (`bucket`, `start`) that have one model or one name (`kind`, `value`).",
)

traffic_scores = Table(
    "traffic_scores",
    derived,
    Column("bucket", Text, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("start", Text, primary_key=True),
    Column("value", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("scored", Integer, nullable=False),
    Column("failing", Integer, nullable=False),
    sqlite_with_rowid=False,
    comment="Scores of one name and source on those traces.",
)

traffic_dirty = Table(
    "traffic_dirty",
    derived,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("hour", Text, nullable=False),
    Column("taken", Integer, nullable=False, server_default=text("0")),
    Index("traffic_dirty_by_hour", "hour", "taken"),
    comment="Hours that changed since they were counted. A change that comes while an hour is counted makes a row of its own.",
    sqlite_autoincrement=True,
)
