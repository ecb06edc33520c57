"""Evidence beside a case for reviewers: the approved diff, and the output of the agent's context tools.

It travels in `extra["evidence"]` of a stored case, in the shape the review page reads; never in the rows of the files.
"""

from typing import Any

from evergold.extract.split import Segment
from evergold.extract.tools import TOOL_CALL, tool_name
from evergold.model.flow import Action, Flow

# A page has to show it. The case itself keeps ranges, never the text.
RESULT_LIMIT = 20_000


def evidence_of(flow: Flow, segment: Segment) -> dict[str, Any]:
    calls = [call_of(action) for action in segment.actions if tool_name(action)]
    # In a later case of a flow the whole diff repeats the earlier cases.
    shown = segment.approval.since_last_review if segment.earlier else ""
    suggested = [flow.description] if flow.description and flow.description.strip() else []
    return {"diff": shown or segment.approval.diff, "tool_calls": calls, "suggested_queries": suggested}


def call_of(action: Action) -> dict[str, Any]:
    return {
        "id": action.id,
        "name": action.type.removeprefix(TOOL_CALL),
        "arguments": action.params,
        "result": shortened(action.result or ""),
        "failed": action.error,
    }


def shortened(text: str) -> str:
    """A long result keeps its beginning and says how much is missing."""
    if len(text) <= RESULT_LIMIT:
        return text
    return f"{text[:RESULT_LIMIT]}\n… {len(text) - RESULT_LIMIT} more characters"
