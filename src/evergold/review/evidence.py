"""What an agent's actions show about a case: the diff that was approved, and the context it asked for."""

from collections.abc import Mapping, Sequence
from typing import Any

from evergold.model.evidence import Evidence, ToolEvidence
from evergold.model.flow import Action, Flow

APPROVAL = "user_request.approve.merge"
TOOL = "tool_call."
RANKED = "ranked_repo_summary"


def of_flow(flow: Flow, case_id: str) -> Evidence | None:
    """Evidence of the case that ends with action `case_id`; None when the flow has no such action."""
    ends = [position for position, action in enumerate(flow.actions) if action.id == case_id]
    if not ends:
        return None
    end = ends[0]
    approvals = [n for n, action in enumerate(flow.actions[:end]) if action.type == APPROVAL and _approved(action)]
    actions = flow.actions[(approvals[-1] + 1 if approvals else 0) : end]
    asked = [str(action.params["rankQuery"]) for action in actions if action.params.get("rankQuery")]
    described = [flow.description] if flow.description and flow.description.strip() else []
    return Evidence(
        diff=approved_diff(flow.actions[end]),
        tool_calls=tuple(_tools(actions)),
        suggested_queries=tuple(dict.fromkeys([*asked, *described])),
    )


def of_row(kept: Mapping[str, Any]) -> Evidence | None:
    """Evidence that travelled with the row under its `evidence` key, in the shape this module gives it out."""
    body = kept.get("evidence")
    if not isinstance(body, dict):
        return None
    return Evidence.model_validate({name: body[name] for name in Evidence.model_fields if name in body})


def approved_diff(action: Action) -> str | None:
    """The diff put up for approval; of a second case in a flow only what it added, where the flow knows that."""
    inner = action.params.get("mergeApprovalInfo")
    info = inner if isinstance(inner, dict) else action.params
    found = info.get("diffSinceLastReview") or info.get("diff")
    return found if isinstance(found, str) and found.strip() else None


def _approved(action: Action) -> bool:
    return '"Approved":true' in (action.result or "").replace(" ", "")


def _tools(actions: Sequence[Action]) -> list[ToolEvidence]:
    return [
        ToolEvidence(
            id=action.id,
            name=action.type.removeprefix(TOOL),
            arguments=action.params,
            result=action.result,
            failed=action.error,
        )
        for action in actions
        if action.type.startswith(TOOL) or action.type == RANKED
    ]
