"""Tables of alerts: what fires or fired, its notifications, and how large the datasets were."""

from sqlalchemy import Column, ForeignKey, Index, Integer, Table, Text, text

from evergold.store.schema.columns import auto_id, count_of, metadata, one_of, time_of, word

alerts = Table(
    "alerts",
    metadata,
    auto_id(),
    Column("rule", Text, nullable=False),
    Column("kind", Text, nullable=False),
    word("subject"),
    word("text"),
    word("details", "{}"),
    time_of("opened_at"),
    time_of("seen_at"),
    Column(
        "calm_since", Text, comment="Since when the condition no longer holds; it is over after some minutes of that."
    ),
    Column("resolved_at", Text),
    Column("notified_at", Text),
    Index(
        "one_open_alert",
        "rule",
        "subject",
        unique=True,
        sqlite_where=text("resolved_at IS NULL"),
        postgresql_where=text("resolved_at IS NULL"),
    ),
    Index("alerts_by_time", "opened_at"),
)

alert_deliveries = Table(
    "alert_deliveries",
    metadata,
    auto_id(),
    Column("alert_id", Integer, ForeignKey("alerts.id", ondelete="CASCADE"), nullable=False),
    Column("event", Text, nullable=False),
    word("status", "pending"),
    count_of("tries"),
    word("error"),
    Column("next_at", Text),
    Column("owner", Text),
    Column("lease_until", Text),
    time_of("created_at"),
    Column("sent_at", Text),
    one_of("status", "pending", "sent", "given_up", "superseded"),
    Index("deliveries_by_alert", "alert_id"),
    Index("deliveries_due", "status", "next_at"),
    comment="Notifications to the webhook. A server sends one only while it holds its lease, so that two never send the same.",
)

dataset_sizes = Table(
    "dataset_sizes",
    metadata,
    Column("dataset", Text, primary_key=True),
    Column("hour", Text, primary_key=True),
    count_of("cases"),
    sqlite_with_rowid=False,
    comment="The most active cases that a dataset had within an hour, for as long as alerts look back.",
)
