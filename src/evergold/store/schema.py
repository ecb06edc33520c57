"""The tables. `traces`, `eval_dataset` and `eval_dataset_tags` keep the names and columns people write SQL against.

Every column beyond those has a default, so that a hand-written `INSERT INTO eval_dataset (trace_id, entry_type,
input_text, output_text) SELECT …` makes a whole case. Times are UTC text with milliseconds (`2026-01-02T03:04:05.678Z`):
sortable, readable in any client, the same in SQLite and PostgreSQL. JSON is text for the same reason.
"""

from typing import Any

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.expression import FunctionElement

from evergold.store.word_index import keep_word_index

metadata = MetaData()


class utc_now(FunctionElement[str]):
    """The database's own clock as our text."""

    type = Text()
    inherit_cache = True


@compiles(utc_now, "sqlite")
def _sqlite_now(element: Any, compiler: Any, **_: Any) -> str:
    return "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"


@compiles(utc_now, "postgresql")
def _postgres_now(element: Any, compiler: Any, **_: Any) -> str:
    return "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"


class random_ident(FunctionElement[str]):
    """An id for a case that somebody inserted by hand."""

    type = Text()
    inherit_cache = True


@compiles(random_ident, "sqlite")
def _sqlite_ident(element: Any, compiler: Any, **_: Any) -> str:
    return "(lower(hex(randomblob(16))))"


@compiles(random_ident, "postgresql")
def _postgres_ident(element: Any, compiler: Any, **_: Any) -> str:
    return "replace(gen_random_uuid()::text, '-', '')"


def auto_id() -> Column[int]:
    return Column("id", Integer, primary_key=True, autoincrement=True)


def time_of(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=utc_now())


def word(name: str, default: str = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=text(f"'{default}'"))


def count_of(name: str, default: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(default)))


def one_of(column: str, *values: str) -> CheckConstraint:
    """Spelled out, because SQLite builds the list of an `IN` in a constraint anew for every row it checks."""
    listed = " OR ".join(f"{column} = '{value}'" for value in values)
    return CheckConstraint(listed, name=f"{column}_known")


def _where_known(name: str, column: str) -> Index:
    """An index of those that say it: a trace without a session or a user costs nothing there."""
    known = text(f"{column} IS NOT NULL")
    return Index(name, column, "started_at", sqlite_where=known, postgresql_where=known)


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
    Column("content_hash", Text),
    time_of("received_at"),
    Index("traces_by_time", "started_at", "seq"),
    _where_known("traces_by_session", "session_id"),
    _where_known("traces_by_user", "user_id"),
    Index("traces_by_status", "status", "started_at"),
    Index("traces_by_model", "model", "started_at"),
    Index("traces_by_name", "name", "started_at"),
    sqlite_autoincrement=True,
)
keep_word_index(traces)

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
    comment="A span names its trace by its order of arrival (`traces.seq`): so new rows lie together in the index, where "
    "random trace ids would touch a page each. `metadata` holds what was understood of a span, `raw` what it carried: "
    "attributes, events, resource. An attribute that holds the input or output is null there, and what stands around the text "
    "is under `around`. A text is stored once: "
    "where `shared` has 1 the input is that of the trace's row, where it has 2 the output.",
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
    time_of("created_at"),
    CheckConstraint("value >= 0 AND value <= 1", name="value_in_unit_interval"),
    one_of("source", "system", "user", "human", "llm_judge"),
    UniqueConstraint("trace_id", "key", name="one_score_per_key"),
    Index("scores_covering", "trace_id", "source", "name", "value"),
)

trace_corrections = Table(
    "trace_corrections",
    metadata,
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    Column("author", Text),
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
    count_of("version", 1),
    time_of("updated_at"),
    Column("user_id", Text),
    count_of("whole"),
    one_of("entry_type", "golden", "failure", "correction"),
    one_of("status", "active", "withdrawn", "dismissed", "erased"),
    one_of("review", "unvalidated", "validated"),
    one_of("kind", "chat", "context", "qa", "summary", "task"),
    UniqueConstraint("dataset", "case_id", name="one_case_per_id"),
    Index("entries_by_trace", "trace_id", "policy", "dataset", "status", "entry_type", "confirmed"),
    Index("entries_by_type", "dataset", "status", "entry_type", "id"),
    Index("entries_by_time", "dataset", "created_at", "id"),
    sqlite_autoincrement=True,
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

runs = Table(
    "runs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("model", Text, nullable=False),
    word("status", "queued"),
    Column("spec", Text, nullable=False),
    Column("error", Text),
    count_of("total"),
    count_of("done"),
    count_of("failed"),
    count_of("scored"),
    word("usage", "{}"),
    word("judge_usage", "{}"),
    word("metrics", "[]"),
    word("provenance", "{}"),
    Column("build_hash", Text),
    Column("owner", Text),
    Column("lease_until", Text),
    count_of("cancel_requested"),
    count_of("takes"),
    count_of("done_when_taken"),
    time_of("created_at"),
    Column("started_at", Text),
    Column("ended_at", Text),
    one_of("status", "queued", "running", "completed", "failed", "cancelled"),
    Index("runs_by_time", "created_at", "id"),
)

run_cases = Table(
    "run_cases",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    count_of("position"),
    Column("body", Text, nullable=False),
    comment="The cases as they were when the run began, so that its results stay readable when cases change.",
)

attempts = Table(
    "attempts",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("error", Text),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("run_id", Text, primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("value", Float),
    word("body", "{}"),
    one_of("state", "scored", "unscored", "error", "not_applicable"),
    ForeignKeyConstraint(
        ["run_id", "case_id", "trial"],
        ["attempts.run_id", "attempts.case_id", "attempts.trial"],
        ondelete="CASCADE",
    ),
)

response_cache = Table(
    "response_cache",
    metadata,
    Column("key", Text, primary_key=True),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

calibrations = Table(
    "calibrations",
    metadata,
    auto_id(),
    Column("judge", Text, nullable=False),
    Column("metric", Text, nullable=False),
    Column("prompt_hash", Text),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

case_reviews = Table(
    "case_reviews",
    metadata,
    auto_id(),
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("reviewer", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    word("label", "{}"),
    word("comment"),
    time_of("created_at"),
    Index("reviews_by_entry", "entry_id", "id"),
)

review_standings = Table(
    "review_standings",
    metadata,
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("standing", Text, nullable=False),
    comment="Where the opinions leave a case; it holds for that version alone, so an edit by anybody reopens the case.",
)

review_assignments = Table(
    "review_assignments",
    metadata,
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("reviewer", Text, primary_key=True),
    word("state", "assigned"),
    Column("lease_until", Text),
    time_of("created_at"),
)

saved_views = Table(
    "saved_views",
    metadata,
    Column("name", Text, primary_key=True),
    word("owner"),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

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
