"""Tables of cases: the living dataset, tags, revisions."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from evergold.store.schema.columns import auto_id, count_of, metadata, one_of, random_ident, time_of, word
from evergold.store.text_index.parts import keep_part_index

UNWRITTEN = text(
    "content IS NULL AND own_content = 0 AND trace_id IS NOT NULL"
)  # cases whose content is still to be made

eval_dataset = Table(
    "eval_dataset",
    metadata,
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id")),
    Column("entry_type", Text, nullable=False),
    Column("input_text", Text, nullable=False),
    Column("output_text", Text),
    Column("expected_output", Text),
    word("metadata", "{}"),
    time_of("created_at"),
    word("dataset", "live"),
    Column("case_id", Text, nullable=False, server_default=random_ident()),
    word("kind", "chat"),
    word("body", "{}"),
    Column("session_id", Text),
    Column("policy", Text),
    Column("policy_rev", Text),
    count_of("confirmed"),
    word("review", "unvalidated"),
    word("status", "active"),
    word("decided"),  # the reviewer whose word stands; empty: nobody's
    word("question"),  # what came later and speaks against that word
    word("answered"),  # the last question that a reviewer has settled
    word("undone"),  # the policy revision whose change was taken back
    count_of("version", 1),
    time_of("updated_at"),
    Column("user_id", Text),
    Column(
        "content", Text
    ),  # what the case says: numbers of `messages`, and what its trace adds; null: not written yet
    count_of("own_content"),  # 1: a person or an import wrote the content, and its trace does not change it
    count_of("grown"),  # how often its trace, or an earlier turn, changed: a content made before that is not written
    one_of("entry_type", "golden", "failure", "correction"),
    one_of("status", "active", "withdrawn", "dismissed", "erased"),
    one_of("review", "unvalidated", "validated"),
    one_of("kind", "chat", "context", "qa", "summary", "task"),
    UniqueConstraint("dataset", "case_id", name="one_case_per_id"),
    # Covers what curation compares a trace with, so that it reads no rows of entries.
    Index("entries_by_trace", "trace_id", "policy", "dataset", "status", "entry_type", "confirmed"),
    Index("entries_by_type", "dataset", "status", "entry_type", "id"),
    Index("entries_by_time", "dataset", "created_at", "id"),
    Index("entries_unwritten", "session_id", "id", sqlite_where=UNWRITTEN, postgresql_where=UNWRITTEN),
    # A number is never given twice: exports and outside tables name cases by it.
    sqlite_autoincrement=True,
)
keep_part_index(eval_dataset)

messages = Table(
    "messages",
    metadata,
    auto_id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("value", Text, nullable=False),  # a message, a tool's schema or a context, as JSON
)

eval_dataset_tags = Table(
    "eval_dataset_tags",
    metadata,
    Column("dataset_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Index("tags_by_name", "tag", "dataset_id"),
    sqlite_with_rowid=False,
)

case_revisions = Table(
    "case_revisions",
    metadata,
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("rev", Text),
    Column("action", Text, nullable=False),
    word("who", "system"),
    word("why"),
    word("changes", "{}"),
    word("evidence", "{}"),
    time_of("created_at"),
    sqlite_with_rowid=False,
)

datasets = Table(
    "datasets",
    metadata,
    Column("name", Text, primary_key=True),
    word("description"),
    word("metadata", "{}"),
    time_of("created_at"),
)
