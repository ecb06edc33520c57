"""/traces, /scores, comments and tags of traces; saved /views of lists; /uploads and /samples, which fill an empty workspace."""

import asyncio
from contextlib import nullcontext
from typing import Annotated

from fastapi import Path, Query, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from evergold.api.requests import Caller, Opened, Router, Sent, Who, list_records, read_page
from evergold.model.case import Conversation
from evergold.model.case_actions import ListPage, ListView, Picked, Picking, Upload, Uploaded
from evergold.model.operations import IngestReport
from evergold.model.trace import Retagged, Retagging, ScoreLine, Trace, TraceComment, TraceHit, TraceOutcome
from evergold.store.trace.filter import TraceFilter, TraceOrder
from evergold.store.trace.pages import TraceFacets

router = Router(prefix="/api/v1", tags=["traces"])
views_router = Router(prefix="/api/v1", tags=["views"])
uploads_router = Router(prefix="/api/v1", tags=["uploads"])
LARGE = 4_000_000  # characters as they are stored
ONE_AT_A_TIME = asyncio.Semaphore(1)  # for large traces: one takes several times its size until it is written


class NewComment(BaseModel, extra="forbid"):
    """A comment to write."""

    text: Annotated[str, Field(min_length=1, max_length=100_000)]


@router.post("/traces/tags")
def retag_traces(workspace: Opened, wanted: Retagging, who: Who) -> list[Retagged]:
    """Tag many traces, or take people's tags off; the answer says what changed on each."""
    return workspace.intake.retag(wanted, who)


@router.get("/traces/{trace_id:path}/comments")
def list_comments(workspace: Opened, trace_id: str) -> list[TraceComment]:
    """The comments on a trace, the oldest first."""
    return workspace.intake.comments(trace_id)


@router.post("/traces/{trace_id:path}/comments", status_code=201)
def write_comment(workspace: Opened, trace_id: str, comment: NewComment, who: Who) -> TraceComment:
    """Write a comment on a trace."""
    return workspace.intake.comment(trace_id, comment.text, who)


@router.delete("/comments/{comment_id}", status_code=204)
def delete_comment(workspace: Opened, comment_id: Annotated[int, Path(ge=1, le=2**63 - 1)], caller: Caller) -> None:
    """Delete my comment; editors and owners delete those of others too, which is recorded."""
    workspace.intake.uncomment(comment_id, caller)


class TracePage(BaseModel):
    """A page of traces without their spans, newest first, of 8 million characters or so; `next` asks for the one after it.

    `became`: by id, the tier of a trace's case; those without a case are not in it. `hits`: by id, where a trace holds the words
    of the search. `unindexed`: how many traces a search does not know yet (10,000 stands for more); the server indexes them when
    nothing else waits, and each search some of them.
    """

    next: str | None
    traces: list[Trace]
    became: dict[str, TraceOutcome]
    hits: dict[str, TraceHit]
    unindexed: int


class TraceQuery(TraceFilter):
    """The filters, the order, whether scores come along, and which page. `preview` cuts texts to so many characters."""

    limit: Annotated[int, Query(ge=1, le=500)] = 50
    before: str | None = None
    order: TraceOrder = TraceOrder.NEWEST
    scores: bool = False
    preview: Annotated[int | None, Query(ge=1, le=1_000_000)] = None


@router.get("/traces")
def list_traces(workspace: Opened, query: Annotated[TraceQuery, Query()]) -> TracePage:
    """Traces that pass every filter given."""
    wanted = TraceFilter(**query.model_dump(include=set(TraceFilter.model_fields)))
    options = query.model_dump(include={"order", "scores", "preview"})

    def page(limit: int, before: str | None) -> tuple[list[Trace], str | None]:
        return workspace.intake.page(wanted, limit=limit, before=before, **options)

    result, cursor = read_page(page, query.limit, query.before or None)
    ids = [trace.id for trace in result]
    return TracePage(
        traces=result,
        next=cursor,
        became=workspace.intake.outcomes(ids),
        hits=workspace.intake.hits(wanted, ids),
        unindexed=workspace.intake.index(seconds=0) if wanted.search else 0,
    )


@router.get("/traces/facets")
def facets(workspace: Opened, wanted: Annotated[TraceFilter, Query()]) -> TraceFacets:
    """What the list can be narrowed by, with counts; exact for lists of up to 5,000 traces."""
    return workspace.intake.facets(wanted)


@router.get("/traces/{trace_id:path}/conversation")
def get_conversation(workspace: Opened, trace_id: str) -> Conversation:
    """The messages, calls, tools and contexts of a trace in one shape, whatever it was recorded with."""
    return workspace.case_actions.conversation(trace_id)


@router.post("/traces/cases", status_code=201)
def make_cases(workspace: Opened, picking: Picking, who: Who) -> list[Picked]:
    """Make cases of traces; with an answer they are validated, without one they wait for review."""
    return workspace.case_actions.pick(picking, who)


@router.get("/traces/{trace_id:path}", response_model=Trace)
async def get_trace(workspace: Opened, trace_id: str) -> Response:
    """One trace with its spans and scores; of large ones one is read at a time."""
    is_large = await run_in_threadpool(workspace.intake.size, trace_id) > LARGE
    async with ONE_AT_A_TIME if is_large else nullcontext():
        text = await run_in_threadpool(lambda: workspace.intake.get(trace_id).model_dump_json(by_alias=True))
    return Response(text, media_type="application/json")


@router.post("/traces", status_code=201)
def post_traces(workspace: Opened, traces: Sent[Trace]) -> IngestReport:
    """Store a trace, or several. The same trace again changes nothing."""
    return workspace.intake.accept(list_records(traces))


@router.post("/scores", status_code=201)
def post_scores(workspace: Opened, scores: Sent[ScoreLine]) -> IngestReport:
    """Score a trace. The trace may arrive later."""
    return workspace.intake.accept(list_records(scores))


class Unscored(BaseModel):
    """The score that was taken back, and the trace it was on."""

    id: int
    trace_id: str


@router.delete("/scores/{score_id}")
def delete_score(workspace: Opened, score_id: Annotated[int, Path(ge=1, le=2**63 - 1)]) -> Unscored:
    """Withdraw a score; the case of its trace is curated again."""
    return Unscored(id=score_id, trace_id=workspace.live.unscore(score_id))


@views_router.get("/views")
def list_views(workspace: Opened, page: ListPage) -> list[ListView]:
    """The saved views of a list."""
    return workspace.operations.views(page)


@views_router.put("/views")
def keep_view(workspace: Opened, view: ListView, caller: Caller) -> ListView:
    """Save a view under its name; mine of that name is replaced, that of others by editors and owners alone."""
    return workspace.operations.keep_view(view, caller)


@views_router.delete("/views", status_code=204)
def delete_view(workspace: Opened, page: ListPage, name: Annotated[str, Query(min_length=1)], caller: Caller) -> None:
    """Delete my saved view; editors and owners delete those of others too, which is recorded."""
    workspace.operations.delete_view(page, name, caller)


@uploads_router.post("/uploads", status_code=201)
def upload_file(workspace: Opened, upload: Upload, who: Who) -> Uploaded:
    """Read the text of a file of traces or cases, in any text format we read."""
    return workspace.uploads.take(upload, who)


@uploads_router.post("/samples", status_code=201)
def add_samples(workspace: Opened) -> Uploaded:
    """Store the sample traces of a support assistant; the same again changes nothing."""
    return workspace.uploads.sample()


router.routes += [*views_router.routes, *uploads_router.routes]
