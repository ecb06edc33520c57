"""A case as the columns of `eval_dataset`, and back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import RowMapping

from evergold.model.case import BOOKKEEPING, Case
from evergold.store.values import dumps, loads

IN_COLUMNS = {"id", "dataset", "kind", "entry_type", "input", "output", "expected", "metadata", "tags"} | BOOKKEEPING


def row_of(case: Case, cited: Collection[str | None]) -> dict[str, Any]:
    """The columns of a case. A trace this database does not hold is cited in the body alone."""
    body = case.model_dump(mode="json", exclude=IN_COLUMNS, exclude_defaults=True)
    trace_id = case.provenance.trace_id
    return {
        "case_id": case.id,
        "dataset": case.dataset,
        "kind": case.kind,
        "entry_type": case.entry_type,
        "input_text": case.input,
        "output_text": case.output,
        "expected_output": case.expected,
        "metadata": dumps(case.metadata),
        "body": dumps(body),
        "trace_id": trace_id if trace_id in cited else None,
        "session_id": case.provenance.session_id,
        "policy": case.provenance.policy,
        "policy_rev": case.provenance.policy_rev,
        "confirmed": int(case.confirmed),
        "review": case.review,
        "status": case.status,
    }


def case_of(row: Mapping[str, Any] | RowMapping, tags: Sequence[str]) -> Case:
    body = loads(row["body"])
    provenance = body.pop("provenance", {})
    for name in ("trace_id", "session_id", "policy", "policy_rev"):
        if row[name] is not None:
            provenance[name] = row[name]
    return Case.model_validate(
        body
        | {
            "id": row["case_id"],
            "dataset": row["dataset"],
            "kind": row["kind"],
            "entry_type": row["entry_type"],
            "input": row["input_text"],
            "output": row["output_text"],
            "expected": row["expected_output"],
            "metadata": loads(row["metadata"]),
            "tags": tuple(sorted(tags)),
            "provenance": provenance,
            "review": row["review"],
            "status": row["status"],
            "version": row["version"],
            "created_at": row["created_at"],
            "updated_at": row["updated_at"],
        }
    )
