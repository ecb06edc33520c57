"""Tables of trust: what checks and users' remarks say of a trace, the candidates of a day, facts of the workspace."""

from sqlalchemy import Column, Float, ForeignKey, Index, Table, Text

from evergold.store.schema.columns import count_of, metadata, one_of, time_of, word

trace_checks = Table(
    "trace_checks",
    metadata,
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("suite", Text, nullable=False),
    word("failed"),
    word("question"),
    word("cluster"),
    word("point"),
    time_of("checked_at"),
    sqlite_with_rowid=False,
    comment="Which suite of checks a trace has been through, which of them could not be run (names between spaces), and the keys "
    "by which equal and like questions are told apart when a day's candidates are chosen.",
)

candidate_pool = Table(
    "candidate_pool",
    metadata,
    Column("policy", Text, primary_key=True),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("day", Text, nullable=False),
    count_of("chosen"),
    Column("included", Float),
    count_of("repeats", 1),
    Index("pool_by_day", "policy", "day", "chosen"),
    sqlite_with_rowid=False,
    comment="Traces that checks alone make candidates, by day; at most `candidates_per_day` of a day are chosen.",
)

remarks = Table(
    "remarks",
    metadata,
    Column("message_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("probability", Float, nullable=False),
    word("evidence", "[]"),
    word("detector"),
    count_of("dismissed"),
    time_of("created_at"),
    one_of("kind", "correction", "complaint", "doubt", "repeat"),
    Index("remarks_by_trace", "trace_id"),
    sqlite_with_rowid=False,
    comment="What a user's message (`message_id`) says of an earlier reply (`trace_id`). Scores and pairs derive from it and go "
    "with it; one that a person dismissed stays dismissed.",
)

workspace_facts = Table(
    "workspace_facts",
    metadata,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
    comment="What holds for this workspace as a whole: whether it began with checks, which detector it was read with.",
)
