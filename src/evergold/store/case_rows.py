"""A case as the columns of `eval_dataset`, and back."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy.engine import RowMapping

from evergold.model.case import BOOKKEEPING, Case
from evergold.model.tool_calls import calls_in
from evergold.store.values import dumps, loads

PARTS = ("messages", "turn", "tools", "contexts")  # lists whose items are stored apart: `store/case_content.py`
MADE_HERE = ("policy", "correction")  # sources of cases that curation makes without their content
IN_COLUMNS = {"id", "dataset", "kind", "entry_type", "input", "output", "expected", "metadata", "tags"} | BOOKKEEPING


def row_of(case: Case, cited: Collection[str | None]) -> dict[str, Any]:
    """The columns of a case. A trace this database does not hold is cited in the body alone."""
    trace_id = case.provenance.trace_id
    # Such a case is written without its conversation, which is put together from its trace afterwards.
    bare = case.provenance.source in MADE_HERE and not case.messages and not case.turn
    return {
        "case_id": case.id,
        "dataset": case.dataset,
        "kind": case.kind,
        "entry_type": case.entry_type,
        "input_text": case.input,
        "output_text": case.output,
        "expected_output": case.expected,
        "metadata": dumps(case.metadata),
        "body": body_of(case),
        "trace_id": trace_id if trace_id in cited else None,
        "session_id": case.provenance.session_id,
        "user_id": case.provenance.user_id,
        "policy": case.provenance.policy,
        "policy_rev": case.provenance.policy_rev,
        "confirmed": int(case.confirmed),
        "review": case.review,
        "status": case.status,
        "own_content": int(not bare or trace_id not in cited),
    }


def body_of(case: Case) -> str:
    """What has no column and is no message. Calls that the turn holds are read from it again."""
    derived = {"tool_calls"} if case.turn and case.tool_calls == calls_in(case.turn) else set()
    return dumps(case.model_dump(mode="json", exclude=IN_COLUMNS.union(PARTS, derived), exclude_defaults=True))


def case_of(row: Mapping[str, Any] | RowMapping, tags: Sequence[str]) -> Case:
    """The case that a row holds, without its content; earlier rows have their messages in the body."""
    body = loads(row["body"])
    provenance = body.pop("provenance", {})
    for name in ("trace_id", "session_id", "user_id", "policy", "policy_rev"):
        if row[name] is not None:
            provenance[name] = row[name]
    if body.get("turn") and "tool_calls" not in body:
        body["tool_calls"] = calls_in(body["turn"])
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


def tier_of(entry_type: str, confirmed: int) -> str:
    """The tier of a case: `confirmed`, `candidate`, `failure` or `correction`."""
    return entry_type if entry_type != "golden" else "confirmed" if confirmed else "candidate"
