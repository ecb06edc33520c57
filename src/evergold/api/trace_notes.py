"""/traces/tags and comments: what people put on traces beside scores."""

from typing import Annotated

from fastapi import Path
from pydantic import BaseModel, Field

from evergold.api.opened import Opened
from evergold.api.routing import Router
from evergold.api.who import Who
from evergold.model.trace_notes import Retagged, Retagging, TraceComment

router = Router(prefix="/api/v1", tags=["traces"])


class NewComment(BaseModel, extra="forbid"):
    """A comment to write."""

    text: Annotated[str, Field(min_length=1, max_length=100_000)]


@router.post("/traces/tags")
def retag_traces(workspace: Opened, wanted: Retagging, who: Who) -> list[Retagged]:
    """Tag many traces, or take people's tags off; the answer says what changed on each."""
    return workspace.trace_notes.retag(wanted, who)


@router.get("/traces/{trace_id:path}/comments")
def list_comments(workspace: Opened, trace_id: str) -> list[TraceComment]:
    """The comments on a trace, the oldest first."""
    return workspace.trace_notes.comments(trace_id)


@router.post("/traces/{trace_id:path}/comments", status_code=201)
def write_comment(workspace: Opened, trace_id: str, comment: NewComment, who: Who) -> TraceComment:
    """Write a comment on a trace."""
    return workspace.trace_notes.comment(trace_id, comment.text, who)


@router.delete("/comments/{comment_id}", status_code=204)
def delete_comment(workspace: Opened, comment_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> None:
    """Delete a comment."""
    workspace.trace_notes.uncomment(comment_id)
