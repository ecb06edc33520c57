"""A request to merge, and what came of it: the boundary at which a flow is cut into cases."""

import re
from typing import Any, NamedTuple

import orjson

from evergold.model.flow import Action

MERGE_APPROVAL = "user_request.approve.merge"

_OBJECT_ID = re.compile(r"\b[0-9a-f]{7,64}\b")


class Approval(NamedTuple):
    """`diff` shows all the work so far, `since_last_review` the part since the review before this one."""

    action_id: str
    approved: bool
    diff: str
    since_last_review: str
    source_branch: str | None
    target_branch: str | None
    named_objects: tuple[str, ...]


def is_merge_approval(action: Action) -> bool:
    return action.type == MERGE_APPROVAL


def read_approval(action: Action) -> Approval:
    info = _object(action.params.get("mergeApprovalInfo"))
    result = _result(action.result)
    # Both spellings of these keys occur.
    chosen = _object(result.get("Params", result.get("params"))).get("targetBranch")
    return Approval(
        action_id=action.id,
        approved=action.status == "complete"
        and not action.error
        and result.get("Approved", result.get("approved")) is True,
        # Some actions have the diff among their own parameters instead of in `mergeApprovalInfo`.
        diff=_text(info.get("diff")) or _text(action.params.get("diff")) or "",
        since_last_review=_text(info.get("diffSinceLastReview"))
        or _text(action.params.get("diffSinceLastReview"))
        or "",
        source_branch=_text(info.get("sourceBranch")) or _text(action.params.get("sourceBranch")),
        target_branch=_text(chosen)
        or _text(info.get("defaultTargetBranch"))
        or _text(action.params.get("defaultTargetBranch")),
        # The answer may name the merge commit in any of its fields; each candidate is proved before it is used.
        named_objects=tuple(dict.fromkeys(_OBJECT_ID.findall(action.result or ""))),
    )


def _result(text: str | None) -> dict[str, Any]:
    """The answer to the request; anything but a JSON object is no approval."""
    try:
        return _object(orjson.loads(text or ""))
    except orjson.JSONDecodeError:
        return {}


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
