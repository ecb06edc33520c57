"""Tables of benchmark runs: cases, attempts and their steps, measurements, cached replies, calibrations."""

from sqlalchemy import Column, Float, ForeignKey, ForeignKeyConstraint, Index, Integer, Table, Text

from evergold.store.schema.columns import auto_id, count_of, metadata, one_of, time_of, word

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
    # The content hash of the build that the run was made on: the way from a build to its runs.
    Column("build_hash", Text),
    Column("owner", Text),
    Column("lease_until", Text),
    count_of("cancel_requested"),
    # How often the run was taken without progress since, and how far it was when taken: see `RunStore.claim`.
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
    # Beside the body, so that failed attempts are counted and deleted without reading JSON.
    Column("error", Text),
    Column("body", Text, nullable=False),
    time_of("created_at"),
)

attempt_steps = Table(
    "attempt_steps",
    metadata,
    Column("run_id", Text, ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("case_id", Text, primary_key=True),
    Column("trial", Integer, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("body", Text, nullable=False),
    comment="Steps of replayed trajectories that are under way; the attempt takes their place when it is stored.",
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
    # Measurements go with their attempt: an attempt that is sent again is measured again.
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
