"""The tables. `traces`, `eval_dataset` and `eval_dataset_tags` keep the names and columns people write SQL against.

Every column beyond those has a default, so that a hand-written `INSERT INTO eval_dataset (trace_id, entry_type,
input_text, output_text) SELECT …` makes a whole case. Times are UTC text with milliseconds (`2026-01-02T03:04:05.678Z`):
sortable, readable in any client, the same in SQLite and PostgreSQL. JSON is text for the same reason.
"""

from evergold.store.schema.access import access_tokens
from evergold.store.schema.alerts import alert_deliveries, alerts, dataset_sizes
from evergold.store.schema.builds import build_cases, builds
from evergold.store.schema.cases import case_revisions, datasets, eval_dataset, eval_dataset_tags, messages
from evergold.store.schema.columns import metadata, random_ident, utc_now
from evergold.store.schema.curation import curation_queue, policies, rule_changes
from evergold.store.schema.reviews import (
    case_reviews,
    list_views,
    review_answers,
    review_assignments,
    review_questions,
    review_standings,
    saved_views,
)
from evergold.store.schema.runs import (
    attempt_steps,
    attempts,
    calibrations,
    measurements,
    response_cache,
    run_cases,
    runs,
)
from evergold.store.schema.traces import (
    pending_records,
    spans,
    trace_comments,
    trace_corrections,
    trace_scores,
    trace_tags,
    traces,
)
from evergold.store.schema.trust import candidate_pool, remarks, trace_checks, workspace_facts
from evergold.store.schema.upkeep import counters, tombstones, work_leases

__all__ = [
    "access_tokens",
    "alert_deliveries",
    "alerts",
    "attempt_steps",
    "attempts",
    "build_cases",
    "builds",
    "calibrations",
    "candidate_pool",
    "case_reviews",
    "case_revisions",
    "counters",
    "curation_queue",
    "dataset_sizes",
    "datasets",
    "eval_dataset",
    "eval_dataset_tags",
    "list_views",
    "measurements",
    "messages",
    "metadata",
    "pending_records",
    "policies",
    "random_ident",
    "remarks",
    "response_cache",
    "review_answers",
    "review_assignments",
    "review_questions",
    "review_standings",
    "rule_changes",
    "run_cases",
    "runs",
    "saved_views",
    "spans",
    "tombstones",
    "trace_checks",
    "trace_comments",
    "trace_corrections",
    "trace_scores",
    "trace_tags",
    "traces",
    "utc_now",
    "work_leases",
    "workspace_facts",
]
