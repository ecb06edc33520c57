"""The tables. `traces`, `eval_dataset` and `eval_dataset_tags` keep the names and columns people write SQL against.

Every column beyond those has a default, so that a hand-written `INSERT INTO eval_dataset (trace_id, entry_type,
input_text, output_text) SELECT …` makes a whole case. Times are UTC text with milliseconds (`2026-01-02T03:04:05.678Z`):
sortable, readable in any client, the same in SQLite and PostgreSQL. JSON is text for the same reason.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Connection,
    Float,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
    event,
    text,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.schema import SchemaItem
from sqlalchemy.sql.expression import FunctionElement

from evergold.store.text_index import CASE_INDEXES, TRACE_INDEXES
from evergold.store.traffic_marks import TRAFFIC_MARKS, traffic_tables

metadata = MetaData()


class _InDialect(FunctionElement[str]):
    """A function that each database writes in its own way."""

    type = Text()
    inherit_cache = True
    sqlite: str
    postgresql: str


@compiles(_InDialect)
def _write(element: _InDialect, compiler: Any, **_: Any) -> str:
    return str(getattr(element, compiler.dialect.name))


class utc_now(_InDialect):
    """The database's own clock as our text: rows of hand-written INSERTs and of several servers share it."""

    inherit_cache = True
    sqlite = "(strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))"
    # `clock_timestamp`, because `now()` stands still for the length of a transaction.
    postgresql = "to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"


class random_ident(_InDialect):
    """An id for a case that somebody inserted by hand."""

    inherit_cache = True
    sqlite = "(lower(hex(randomblob(16))))"
    postgresql = "replace(gen_random_uuid()::text, '-', '')"


def table(name: str, *parts: SchemaItem, **options: Any) -> Table:
    return Table(name, metadata, *parts, **options)


def auto_id(name: str = "id", comment: str | None = None) -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=True, comment=comment)


def time_of(name: str) -> Column[str]:
    return Column(name, Text, nullable=False, server_default=utc_now())


def texts(*names: str, **options: Any) -> list[Column[str]]:
    return [Column(name, Text, **options) for name in names]


def word(name: str, default: str = "") -> Column[str]:
    return Column(name, Text, nullable=False, server_default=text(f"'{default}'"))


def count_of(name: str, default: int = 0) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text(str(default)))


def one_of(column: str, *values: str) -> CheckConstraint:
    """Spelled out, because SQLite builds the list of an `IN` in a constraint anew for every row it checks."""
    return CheckConstraint(" OR ".join(f"{column} = '{value}'" for value in values), name=f"{column}_known")


def index_where(condition: str, name: str, *columns: str, unique: bool = False) -> Index:
    """An index of those rows for which a condition holds: the others cost nothing there."""
    return Index(name, *columns, unique=unique, sqlite_where=text(condition), postgresql_where=text(condition))


def index_known(name: str, column: str, *beside: str) -> Index:
    """An index of the rows that have a value in a column."""
    return index_where(f"{column} IS NOT NULL", name, column, *beside)


def create_with(of: Table, statements: Mapping[str, Sequence[str]], beside: MetaData | None = None) -> None:
    """Run the statements of a dialect, and create tables beside it, whenever a table is created."""

    @event.listens_for(of, "after_create")
    def create(_table: Any, connection: Connection, **_: Any) -> None:
        if beside is not None:
            beside.create_all(connection)
        for statement in statements.get(connection.dialect.name, ()):
            connection.exec_driver_sql(statement)


# What lists of traces are narrowed by most: sorted by a figure, a list is read from the index of that figure alone.
NARROWING = ("seq", "model", "name", "status")
# Lists filtered by latency, sorted by cost or counted by model are read from an index of all short columns. SQLite would
# otherwise have to read every row with its texts; PostgreSQL keeps long texts outside of its rows and needs no such copy.
# `seq` second: the order of the list, and the way back to the row.
LISTED = ("started_at", "seq", "status", "name", "model", "duration_ms", "tokens", "cost", "tags")
FAILING_BELOW = 0.3
FAILING = f"value < {FAILING_BELOW}"  # a check that failed; lists of traces are asked for such scores most
GIVEN = "source <> 'system'"  # scores that people and judges gave

traces = table(
    "traces",
    auto_id("seq", comment="Order of arrival; what the search index names."),
    Column("id", Text, nullable=False, unique=True),
    *texts("session_id", "user_id"),
    *map(word, ("name", "input_text")),
    Column("output_text", Text),
    word("status", "completed"),
    *texts("message_type", "model"),
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
    count_of("priced"),
    word("incomplete"),  # what it lacks to be evaluated, by names between blanks; empty: nothing, or not looked at yet
    word("exporter"),  # of an incomplete trace: the instrumentation, service or agent that sent it
    Index("traces_by_time", "started_at", "seq").ddl_if(dialect="postgresql"),
    Index("traces_listed", *LISTED).ddl_if(dialect="sqlite"),
    index_known("traces_by_session", "session_id", "started_at"),
    index_known("traces_by_user", "user_id", "started_at"),
    Index("traces_by_status", "status", "started_at"),
    Index("traces_by_model", "model", "started_at"),
    Index("traces_by_name", "name", "started_at"),
    index_where("incomplete <> ''", "traces_incomplete", "started_at", "incomplete", "exporter"),
    index_known("traces_by_took", "duration_ms", *NARROWING),
    index_known("traces_by_tokens", "tokens", *NARROWING),
    index_known("traces_by_cost", "cost", *NARROWING),
    sqlite_autoincrement=True,
)
create_with(traces, TRACE_INDEXES)

spans = table(
    "spans",
    Column("trace_seq", Integer, ForeignKey("traces.seq", ondelete="CASCADE"), primary_key=True),
    Column("id", Text, primary_key=True),
    Column("parent_id", Text),
    word("name"),
    word("kind", "span"),
    *texts("input_text", "output_text"),
    word("status", "completed"),
    *texts("started_at", "ended_at"),
    word("metadata", "{}"),
    word("raw", "{}"),
    count_of("shared"),
    # No cascade: a base must be released (`trace/compact.py`) before its trace can be deleted.
    Column("base_seq", Integer, ForeignKey("traces.seq")),
    Column("base_id", Text),
    index_known("spans_by_base", "base_seq"),
    comment="A span names its trace by its order of arrival (`traces.seq`): so new rows lie together in the index, where "
    "random trace ids would touch a page each. `metadata` holds what was understood of a span, `raw` what it carried: "
    "attributes, events, resource. An attribute that holds the input or output is null there, and what stands around the text "
    "is under `around`. A text is stored once: "
    "where `shared` has 1 the input is that of the trace's row, where it has 2 the output. A span that repeats an earlier one "
    "names it as its base (`base_seq`, `base_id`); its `raw` is then the difference from that one.",
)

trace_scores = table(
    "trace_scores",
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
    index_where(FAILING, "scores_failing", "name", "value", "trace_id"),
    index_where(GIVEN, "scores_given", "name", "value", "trace_id"),
)
create_with(trace_scores, TRAFFIC_MARKS, traffic_tables)

trace_tags = table(
    "trace_tags",
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    word("who"),
    time_of("created_at"),
    Index("trace_tags_by_tag", "tag", "trace_id"),
    comment="Tags that people put on traces; those the app sent are in `traces.tags`.",
)

trace_comments = table(
    "trace_comments",
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("text", Text, nullable=False),
    word("who"),
    time_of("created_at"),
    Index("trace_comments_by_trace", "trace_id", "id"),
    sqlite_autoincrement=True,
)

trace_corrections = table(
    "trace_corrections",
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

pending_records = table(
    "pending_records",
    auto_id(),
    *texts("trace_id", "body", nullable=False),
    time_of("received_at"),
    UniqueConstraint("trace_id", "body", name="one_pending_record"),
    comment="Scores, corrections and reactions whose trace has not come yet; applied when it does.",
)

trace_checks = table(
    "trace_checks",
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("suite", Text, nullable=False),
    *map(word, ("failed", "question", "cluster", "point")),
    time_of("checked_at"),
    sqlite_with_rowid=False,
    comment="Which suite of checks a trace has been through, which of them could not be run (names between spaces), and the keys "
    "by which equal and like questions are told apart when a day's candidates are chosen.",
)

candidate_pool = table(
    "candidate_pool",
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

remarks = table(
    "remarks",
    Column("message_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("probability", Float, nullable=False),
    word("evidence", "[]"),
    word("detector"),
    count_of("dismissed"),
    time_of("created_at"),
    one_of("kind", "correction", "complaint", "doubt", "repeat", "acceptance"),
    Index("remarks_by_trace", "trace_id"),
    sqlite_with_rowid=False,
    comment="What a user's message (`message_id`) says of an earlier reply (`trace_id`). Scores and pairs derive from it and go "
    "with it; one that a person dismissed stays dismissed.",
)

workspace_facts = table(
    "workspace_facts",
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
    sqlite_with_rowid=False,
    comment="What holds for this workspace as a whole: whether it began with checks, which detector it was read with.",
)

# What the tier of a case rests on: whoever decided what it is stands for it, until the decision is taken back.
EVIDENCE = """CASE WHEN eval_dataset.review = 'validated' OR eval_dataset.decided <> '' THEN 'person'
    ELSE eval_dataset.evidence END"""
# The tier of a case, as `Case.tier` says it.
TIER = f"""CASE WHEN eval_dataset.entry_type <> 'golden' THEN eval_dataset.entry_type
    WHEN eval_dataset.confirmed = 1 OR {EVIDENCE} IN ('person', 'user') THEN 'confirmed'
    WHEN {EVIDENCE} = 'silence' THEN 'candidate' ELSE 'unconfirmed' END"""
# Cases whose content is still to be made.
UNWRITTEN = "content IS NULL AND own_content = 0 AND trace_id IS NOT NULL"

eval_dataset = table(
    "eval_dataset",
    auto_id(),
    Column("trace_id", Text, ForeignKey("traces.id")),
    *texts("entry_type", "input_text", nullable=False),
    *texts("output_text", "expected_output"),
    word("metadata", "{}"),
    time_of("created_at"),
    word("dataset", "live"),
    Column("case_id", Text, nullable=False, server_default=random_ident()),
    word("kind", "chat"),
    word("body", "{}"),
    *texts("session_id", "policy", "policy_rev"),
    count_of("confirmed"),
    word("evidence", "person"),  # what its tier rests on; a row that somebody inserts by hand rests on their word
    word("review", "unvalidated"),
    word("status", "active"),
    word("decided"),  # the reviewer whose word stands; empty: nobody's
    word("question"),  # what came later and speaks against that word
    word("answered"),  # the last question that a reviewer has settled
    word("undone"),  # the policy revision whose change was taken back
    count_of("version", 1),
    time_of("updated_at"),
    Column("user_id", Text),
    # What the case says: numbers of `messages`, and what its trace adds; null: not written yet.
    Column("content", Text),
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
    index_where(UNWRITTEN, "entries_unwritten", "session_id", "id"),
    # A number is never given twice: exports and outside tables name cases by it.
    sqlite_autoincrement=True,
)
create_with(eval_dataset, CASE_INDEXES)

messages = table(
    "messages",
    auto_id(),
    Column("hash", Text, nullable=False, unique=True),
    Column("value", Text, nullable=False),  # a message, a tool's schema or a context, as JSON
)

eval_dataset_tags = table(
    "eval_dataset_tags",
    Column("dataset_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("tag", Text, primary_key=True),
    Index("tags_by_name", "tag", "dataset_id"),
    sqlite_with_rowid=False,
)

case_revisions = table(
    "case_revisions",
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

datasets = table(
    "datasets",
    Column("name", Text, primary_key=True),
    word("description"),
    word("metadata", "{}"),
    time_of("created_at"),
)

curation_queue = table(
    "curation_queue",
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    time_of("queued_at"),
    Column("owner", Text, comment="The server that runs slow checks over it, until its lease is over."),
    Column("lease_until", Text),
    comment="Traces with something new since they were last curated; written in the transaction that brought it.",
)

policies = table(
    "policies",
    *texts("name", "rev", primary_key=True),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

rule_changes = table(
    "rule_changes",
    auto_id(),
    Column("body", Text, nullable=False),
    *map(word, ("who", "why")),
    time_of("created_at"),
    comment="The rules of curation (JSON) after each change that somebody made in the browser; the newest holds.",
)

case_reviews = table(
    "case_reviews",
    auto_id(),
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), nullable=False),
    Column("version", Integer, nullable=False),
    *texts("reviewer", "verdict", nullable=False),
    word("label", "{}"),
    word("comment"),
    time_of("created_at"),
    Index("reviews_by_entry", "entry_id", "id"),
)

review_standings = table(
    "review_standings",
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("version", Integer, nullable=False),
    Column("standing", Text, nullable=False),
    comment="Where the opinions leave a case; it holds for that version alone, so an edit by anybody reopens the case.",
)

review_assignments = table(
    "review_assignments",
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("reviewer", Text, primary_key=True),
    word("state", "assigned"),
    Column("lease_until", Text),
    time_of("created_at"),
)

moderations = table(
    "moderations",
    auto_id(),
    *texts("who", "action", "what", "author", nullable=False),
    time_of("created_at"),
    sqlite_autoincrement=True,
    comment="What editors and owners changed of the work of others: comments and views. Verdicts are in the history of cases.",
)

review_questions = table(
    "review_questions",
    Column("dataset", Text, primary_key=True),
    Column("body", Text, nullable=False),
    word("who"),
    time_of("updated_at"),
    comment="The questions that reviewers of a dataset answer, as JSON.",
)

review_answers = table(
    "review_answers",
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    *texts("reviewer", "question", primary_key=True),
    *texts("value", "rev", nullable=False),
    time_of("created_at"),
    comment="The last answer of each reviewer to each question of a case; `rev` names the content it was given on.",
)

list_views = table(
    "list_views",
    *texts("page", "name", primary_key=True),
    word("owner"),
    Column("body", Text, nullable=False),
    time_of("created_at"),
    comment="Filters, columns and order of a list, kept under a name.",
)

builds = table(
    "builds",
    auto_id(),
    *texts("dataset", "version", "content_hash", nullable=False),
    word("manifest", "{}"),
    *texts("location", "parent"),
    time_of("created_at"),
    UniqueConstraint("dataset", "version", name="one_build_per_version"),
)

build_cases = table(
    "build_cases",
    Column("build_id", Integer, ForeignKey("builds.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("rev", Text, nullable=False),
    word("split"),
    Index("build_cases_by_case", "case_id"),
)

runs = table(
    "runs",
    Column("id", Text, primary_key=True),
    *texts("dataset", "model", nullable=False),
    word("status", "queued"),
    Column("spec", Text, nullable=False),
    Column("error", Text),
    *map(count_of, ("total", "done", "failed", "scored")),
    word("usage", "{}"),
    word("judge_usage", "{}"),
    word("metrics", "[]"),
    word("provenance", "{}"),
    # The content hash of the build that the run was made on: the way from a build to its runs.
    Column("build_hash", Text),
    *texts("owner", "lease_until"),
    count_of("cancel_requested"),
    # How often the run was taken without progress since, and how far it was when taken: see `RunStore.claim`.
    *map(count_of, ("takes", "done_when_taken")),
    time_of("created_at"),
    *texts("started_at", "ended_at"),
    one_of("status", "queued", "running", "completed", "failed", "cancelled"),
    Index("runs_by_time", "created_at", "id"),
)

run_cases = table(
    "run_cases",
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    count_of("position"),
    Column("body", Text, nullable=False),
    comment="The cases as they were when the run began, so that its results stay readable when cases change.",
)

attempts = table(
    "attempts",
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    # Beside the body, so that failed attempts are counted and deleted without reading JSON.
    Column("error", Text),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

attempt_steps = table(
    "attempt_steps",
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
    comment="Steps of replayed trajectories that are under way; the attempt takes their place when it is stored.",
)

ATTEMPT = ("run_id", "case_id", "trial")
measurements = table(
    "measurements",
    *texts("run_id", "case_id", primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("metric", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("value", Float),
    word("body", "{}"),
    one_of("state", "scored", "unscored", "error", "not_applicable"),
    # Measurements go with their attempt: an attempt that is sent again is measured again.
    ForeignKeyConstraint(ATTEMPT, [f"attempts.{name}" for name in ATTEMPT], ondelete="CASCADE"),
)

response_cache = table(
    "response_cache",
    Column("key", Text, primary_key=True),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

calibrations = table(
    "calibrations",
    auto_id(),
    *texts("judge", "metric", nullable=False),
    Column("prompt_hash", Text),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

alerts = table(
    "alerts",
    auto_id(),
    *texts("rule", "kind", nullable=False),
    *map(word, ("subject", "text")),
    word("details", "{}"),
    time_of("opened_at"),
    time_of("seen_at"),
    Column(
        "calm_since", Text, comment="Since when the condition no longer holds; it is over after some minutes of that."
    ),
    *texts("resolved_at", "notified_at"),
    index_where("resolved_at IS NULL", "one_open_alert", "rule", "subject", unique=True),
    Index("alerts_by_time", "opened_at"),
)

alert_deliveries = table(
    "alert_deliveries",
    auto_id(),
    Column("alert_id", Integer, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    word("status", "pending"),
    count_of("tries"),
    word("error"),
    *texts("next_at", "owner", "lease_until"),
    time_of("created_at"),
    Column("sent_at", Text),
    one_of("status", "pending", "sent", "given_up", "superseded"),
    Index("deliveries_by_alert", "alert_id"),
    Index("deliveries_due", "status", "next_at"),
    comment="Notifications to the webhook. A server sends one only while it holds its lease, so that two never send the same.",
)

dataset_sizes = table(
    "dataset_sizes",
    *texts("dataset", "hour", primary_key=True),
    count_of("cases"),
    sqlite_with_rowid=False,
    comment="The most active cases that a dataset had within an hour, for as long as alerts look back.",
)

topics = table(
    "topics",
    auto_id(),
    Column("name", Text, nullable=False),
    word("decided"),  # who renamed, merged or split it: no machine changes it then
    Column("merged_into", Integer, comment="The topic that a person made this one a part of."),
    word("centre"),  # of its members in the space of the fact `topics.space`; empty: it takes no new members
    time_of("created_at"),
    sqlite_autoincrement=True,
    comment="What is asked: groups of traces and cases.",
)

trace_topics = table(
    "trace_topics",
    Column("trace_id", Text, ForeignKey("traces.id", ondelete="CASCADE"), primary_key=True),
    Column("question", Text, nullable=False),
    Column("topic", Integer),
    Index("trace_topics_by_question", "question", "topic"),
    Index("trace_topics_by_topic", "topic", "trace_id"),
    sqlite_with_rowid=False,
    comment="The topic of each trace, null where it belongs to none, and the hash of its question, which repeats share.",
)

case_topics = table(
    "case_topics",
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("question", Text, nullable=False),
    Column("topic", Integer),
    Index("case_topics_by_question", "question", "topic"),
    Index("case_topics_by_topic", "topic", "entry_id"),
    comment="The topic of each case, like that of a trace.",
)

case_bases = table(
    "case_bases",
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("kind", Text, nullable=False),
    word("name"),  # of the document or the tool, for people
    Column("key", Text, nullable=False),  # of the document, the call with its arguments, or the question
    Column("hash", Text, nullable=False),  # of the passage, the result, or the answer
    Column("version", Integer, nullable=False),  # of the case when this was recorded
    Column("seen_at", Text, nullable=False),  # when the same content came last
    *map(word, ("state", "now_hash")),
    Column("now_trace", Text, ForeignKey("traces.id", ondelete="SET NULL")),
    Column("now_entry", Integer),  # the case with another answer
    word("changed_at"),
    word("model"),  # that gave the answer
    word("prompt_version"),  # with its name: name@version
    Index("case_bases_by_key", "kind", "key"),
    index_where("state <> ''", "case_bases_decided", "state"),
    index_known("case_bases_by_trace", "now_trace"),
    sqlite_with_rowid=False,
    comment="What the reference of a case rests on, one row each, and what came instead: hashes, no texts.",
)

problems = table(
    "problems",
    auto_id(),
    Column("topic", Integer, nullable=False),
    Column("reason", Text, nullable=False),
    word("regions", "[]"),  # where its failures lie: a centre and how near to it at least, as JSON
    word("state", "open"),
    Column("decided_at", Text, comment="Since when it is fixed, or open again."),
    word("decided"),  # who fixed it: a person, or the run that passed its cases
    word("dataset"),  # of its regression cases
    time_of("created_at"),
    one_of("state", "open", "fixed", "reopened"),
    UniqueConstraint("topic", "reason", name="one_problem_per_reason"),
    sqlite_autoincrement=True,
    comment="Failures of one reason that recur among like questions, most of them in a topic.",
)

tombstones = table(
    "tombstones",
    auto_id(),
    *texts("kind", "subject", nullable=False),
    word("who", "system"),
    word("why"),
    word("counts", "{}"),
    time_of("created_at"),
    comment="What was erased on request: the subject as a hash, and how much of it there was.",
)

counters = table(
    "counters",
    Column("name", Text, primary_key=True),
    count_of("value"),
    comment="What happened in the background: redactions by kind, curations that failed, records refused.",
)

work_leases = table(
    "work_leases",
    Column("name", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    time_of("since"),
    Column("lease_until", Text, nullable=False),
    comment="Work of which one process at a time may do a kind (backfills, archives); its holder renews the lease.",
)

access_tokens = table(
    "access_tokens",
    Column("id", Text, primary_key=True),
    *texts("name", "role", nullable=False),
    Column("digest", Text, nullable=False, unique=True),
    time_of("created_at"),
    Column("revoked_at", Text),
    comment="Who may call the server: name, role and the SHA-256 of the token; the token itself is stored nowhere.",
)
