"""Tables of review: verdicts, standings, assignments, questions with their answers, saved views."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text

from evergold.store.schema.columns import auto_id, metadata, time_of, word

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

review_questions = Table(
    "review_questions",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("body", Text, nullable=False),
    word("who"),
    time_of("updated_at"),
    comment="The questions that reviewers of a dataset answer, as JSON.",
)

review_answers = Table(
    "review_answers",
    metadata,
    Column("entry_id", Integer, ForeignKey("eval_dataset.id", ondelete="CASCADE"), primary_key=True),
    Column("reviewer", Text, primary_key=True),
    Column("question", Text, primary_key=True),
    Column("value", Text, nullable=False),
    Column("rev", Text, nullable=False),
    time_of("created_at"),
    comment="The last answer of each reviewer to each question of a case; `rev` names the content it was given on.",
)

saved_views = Table(
    "saved_views",
    metadata,
    Column("name", Text, primary_key=True),
    word("owner"),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

list_views = Table(
    "list_views",
    metadata,
    Column("page", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    word("owner"),
    Column("body", Text, nullable=False),
    time_of("created_at"),
    comment="Filters, columns and order of a list, kept under a name.",
)
