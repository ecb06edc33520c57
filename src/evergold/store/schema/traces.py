"""Tables of traces: spans, scores, corrections, and records that came before their trace."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from evergold.store.list_index import keep_list_index
from evergold.store.rollup.marks import keep_traffic
from evergold.store.schema.columns import (
    auto_id,
    by_figure,
    count_of,
    metadata,
    one_of,
    random_ident,
    time_of,
    where_known,
    word,
)
from evergold.store.text_index.grams import keep_gram_index
from evergold.store.text_index.words import keep_word_index

FAILING_BELOW = 0.3
FAILING = f"value < {FAILING_BELOW}"  # a check that failed; lists of traces are asked for such scores most
GIVEN = "source <> 'system'"  # scores that people and judges gave
HAS_BASE = "base_seq IS NOT NULL"

traces = Table(
    "traces",
    metadata,
    Column(
        "seq", Integer, primary_key=True, autoincrement=True, comment="Order of arrival; what the search index names."
    ),
    Column("id", Text, nullable=False, unique=True),
    Column("session_id", Text),
    Column("user_id", Text),
    word("name"),
    word("input_text"),
    Column("output_text", Text),
    word("status", "completed"),
    Column("message_type", Text),
    Column("model", Text),
    time_of("started_at"),
    Column("ended_at", Text),
    word("tags", "[]"),
    word("metadata", "{}"),
    # Only of traces that were given whole; null marks one that is made of spans and may grow.
    Column("content_hash", Text),
    time_of("received_at"),
    Column("duration_ms", BigInteger),
    Column("tokens", BigInteger),
    Column("cost", Float),
    # SQLite reads the same order from `traces_listed`.
    Index("traces_by_time", "started_at", "seq").ddl_if(dialect="postgresql"),
    where_known("traces_by_session", "session_id"),
    where_known("traces_by_user", "user_id"),
    Index("traces_by_status", "status", "started_at"),
    Index("traces_by_model", "model", "started_at"),
    Index("traces_by_name", "name", "started_at"),
    by_figure("traces_by_took", "duration_ms"),
    by_figure("traces_by_tokens", "tokens"),
    by_figure("traces_by_cost", "cost"),
    sqlite_autoincrement=True,
)
keep_word_index(traces)
keep_gram_index(traces)
keep_list_index(traces)

spans = Table(
    "spans",
    metadata,
    Column("trace_seq", Integer, ForeignKey("traces.seq", ondelete="CASCADE"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("parent_id", Text),
    word("name"),
    word("kind", "span"),
    Column("input_text", Text),
    Column("output_text", Text),
    word("status", "completed"),
    Column("started_at", Text),
    Column("ended_at", Text),
    word("metadata", "{}"),
    word("raw", "{}"),
    count_of("shared"),
    # No cascade: a base must be released (`compact/chains.py`) before its trace can be deleted.
    Column("base_seq", Integer, ForeignKey("traces.seq")),
    Column("base_id", Text),
    Index("spans_by_base", "base_seq", sqlite_where=text(HAS_BASE), postgresql_where=text(HAS_BASE)),
    comment="A span names its trace by its order of arrival (`traces.seq`): so new rows lie together in the index, where "
    "random trace ids would touch a page each. `metadata` holds what was understood of a span, `raw` what it carried: "
    "attributes, events, resource. An attribute that holds the input or output is null there, and what stands around the text "
    "is under `around`. A text is stored once: "
    "where `shared` has 1 the input is that of the trace's row, where it has 2 the output. A span that repeats an earlier one "
    "names it as its base (`base_seq`, `base_id`); its `raw` is then the difference from that one.",
)

trace_scores = Table(
    "trace_scores",
    metadata,
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("span_id", Text),
    Column("name", Text, nullable=False),
    Column("value", Float, nullable=False),
    word("source", "system"),
    Column("comment", Text),
    Column("key", Text, nullable=False, server_default=random_ident()),
    Column("version", Text, comment="Of the check that gave the score; null for every other score."),
    time_of("created_at"),
    CheckConstraint("value >= 0 AND value <= 1", name="value_in_unit_interval"),
    one_of("source", "system", "user", "human", "llm_judge"),
    UniqueConstraint("trace_id", "key", name="one_score_per_key"),
    # All that a verdict reads of a score: curation never touches the table itself.
    Index("scores_covering", "trace_id", "source", "name", "value", "key"),
    Index("scores_failing", "name", "value", "trace_id", sqlite_where=text(FAILING), postgresql_where=text(FAILING)),
    Index("scores_given", "name", "value", "trace_id", sqlite_where=text(GIVEN), postgresql_where=text(GIVEN)),
)
keep_traffic(trace_scores)

trace_tags = Table(
    "trace_tags",
    metadata,
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    word("who"),
    time_of("created_at"),
    Index("trace_tags_by_tag", "tag", "trace_id"),
    comment="Tags that people put on traces; those the app sent are in `traces.tags`.",
)

trace_comments = Table(
    "trace_comments",
    metadata,
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    word("who"),
    time_of("created_at"),
    Index("trace_comments_by_trace", "trace_id", "id"),
    sqlite_autoincrement=True,
)

trace_corrections = Table(
    "trace_corrections",
    metadata,
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", Text),
    word("kind", "answer"),
    count_of("dismissed"),
    time_of("created_at"),
    UniqueConstraint("trace_id", "text", name="one_correction_per_text"),
    comment="What people said the answer should have been: facts, like scores; curation makes cases of them.",
)

pending_records = Table(
    "pending_records",
    metadata,
    auto_id(),
    Column("trace_id", Text, nullable=False),
    Column("body", Text, nullable=False),
    time_of("received_at"),
    UniqueConstraint("trace_id", "body", name="one_pending_record"),
    comment="Scores, corrections and reactions whose trace has not come yet; applied when it does.",
)
