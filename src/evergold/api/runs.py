"""/benchmarks: runs, their results, reports and progress, the datasets and metrics to make them of.

An event stream looks at the database several times a second for as long as it is open, and was allowed once, at its beginning.
So their number is bounded, and at each event it is asked again whether the token still counts and whether the server is about
to end.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Literal

import anyio
from fastapi import Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool
from starlette.types import Receive, Scope, Send

from evergold.api.access import configured_tokens, given_token, holder_of
from evergold.api.errors import refusal
from evergold.api.requests import Opened, Router
from evergold.errors import Unavailable
from evergold.model.access import Holder
from evergold.model.case import Case
from evergold.model.judge import Calibration, JudgeInfo
from evergold.model.report import CaseTrials, ChangeKind, ComparedCases, Mean, RunComparison
from evergold.model.run import Asked, Attempt, BenchmarkDataset, Board, MetricInfo, Plan, Run, RunSpec, RunStatus
from evergold.stats.scores import MARGIN
from evergold.store.run.attempts import AttemptOrder
from evergold.workspace.operations import Access

router = Router(prefix="/api/v1", tags=["benchmarks"])
LOOK_SECONDS = 0.3
MOST_STREAMS = 32
# `X-Accel-Buffering: no` keeps nginx from collecting events before it passes them on.
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
Weighted = Annotated[
    bool | None,
    Query(
        description="Count each question once, however many cases ask it; as the run was started where it is left out."
    ),
]


class RunPage(BaseModel):
    """Runs, newest first."""

    total: int
    runs: list[Run]


class RunQuery(BaseModel):
    dataset: str | None = None
    model: str | None = None
    status: RunStatus | None = None
    limit: Annotated[int, Query(ge=1, le=500)] = 50
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0


class Results(BaseModel):
    """A run with the mean of every metric and a page of its attempts, and what their cases asked.

    `trials` counts, where each case is tried more than once, the trials that pass.
    `problems` says why metrics that apply have no value at all, once the run has ended. `cached` and `judge_cached` count
    replies of the model and of the judge that came from the cache.
    """

    run: Run
    means: list[Mean]
    trials: list[CaseTrials]
    problems: list[str]
    cached: int
    judge_cached: int
    total: int
    attempts: list[Attempt]
    asked: dict[str, Asked]


class AttemptDetail(BaseModel):
    """A case as it was when the run began, and every attempt at it."""

    case: Case
    attempts: list[Attempt]


class Rescore(BaseModel, extra="forbid"):
    """Which metrics are measured again, by whom; without `cache` the judge is asked again what it was asked before."""

    metrics: tuple[str, ...] = ()
    judge: str | None = None
    cache: bool = True


class CalibrateRun(BaseModel, extra="forbid"):
    """The dataset whose reviews are the labels; the run's own where none is named."""

    dataset: Annotated[str, Query(min_length=1, max_length=200)] | None = None


class CalibrateJudge(BaseModel, extra="forbid"):
    """Which judge is measured, on which metric, against the reviews of which dataset."""

    judge: Annotated[str, Query(min_length=1, max_length=500)]
    metric: Annotated[str, Query(min_length=1, max_length=200)]
    dataset: Annotated[str, Query(min_length=1, max_length=200)]
    passing: Annotated[float, Query(ge=0, le=1)] = 0.5


class Resume(BaseModel, extra="forbid"):
    retry_errors: bool = False
    budget_tokens: Annotated[int, Query(ge=1)] | None = None
    budget_money: Annotated[float, Query(gt=0)] | None = None


class ToReview(BaseModel, extra="forbid"):
    """Which attempt becomes a case to review, and in which dataset."""

    case_id: str
    trial: int = 0
    dataset: Annotated[str, Query(min_length=1, max_length=200)] = "failures"


@router.get("/benchmarks/datasets")
def list_benchmark_datasets(workspace: Opened) -> list[BenchmarkDataset]:
    """Datasets a run can name; a file that cannot be used is listed with what is wrong."""
    return workspace.bench.datasets.list()


@router.get("/metrics")
def list_metrics(workspace: Opened) -> Sequence[MetricInfo]:
    """Every metric a run can name."""
    return workspace.bench.metrics()


@router.get("/judges")
def list_judges(workspace: Opened) -> list[JudgeInfo]:
    """Judges a run can name, the default first, with how far they agree with people."""
    return workspace.judging.judges()


@router.get("/benchmarks/runs/{run_id}/calibration")
def run_calibration(workspace: Opened, run_id: str) -> dict[str, str]:
    """Per judged metric of a run: `calibrated`, or why its judge is not."""
    return workspace.judging.states(workspace.bench.get(run_id))


@router.post("/benchmarks/runs/{run_id}/calibration")
def calibrate_run(workspace: Opened, run_id: str, wanted: CalibrateRun) -> list[Calibration]:
    """Measure the judge of a run against people's verdicts on a stored dataset, for each judged metric."""
    return workspace.judging.calibrate_run(run_id, wanted.dataset)


@router.post("/judges/calibration")
def calibrate_judge(workspace: Opened, wanted: CalibrateJudge) -> Calibration:
    """Measure any judge on any judged metric against people's verdicts on a stored dataset."""
    labels = workspace.judging.labels_from_review(wanted.dataset)
    return workspace.judging.calibrate(wanted.judge, wanted.metric, labels, wanted.passing)


@router.post("/benchmarks/runs", status_code=201)
def start_run(workspace: Opened, spec: RunSpec, response: Response) -> Run:
    """Start a run. It belongs to the server: it goes on when the client leaves, and after a restart."""
    run = workspace.bench.start(spec)
    response.headers["Location"] = f"/api/v1/benchmarks/runs/{run.id}"
    return run


@router.post("/benchmarks/plan")
def plan_run(workspace: Opened, spec: RunSpec) -> Plan:
    """What a run would take, and the smallest difference it could show. Nothing is started."""
    return workspace.bench.plan(spec)


@router.get("/benchmarks/runs")
def list_runs(workspace: Opened, query: Annotated[RunQuery, Query()]) -> RunPage:
    """Runs that pass every filter given."""
    result, total = workspace.bench.page(**query.model_dump())
    return RunPage(total=total, runs=list(result))


@router.get("/benchmarks/means")
def run_means(
    workspace: Opened,
    run: Annotated[list[str], Query(min_length=1, max_length=100, description="Ids of runs.")],
    weighted: Weighted = None,
) -> dict[str, list[Mean]]:
    """Means with intervals and coverage of several runs."""
    results = workspace.bench.results
    return {run_id: results.means(workspace.bench.get(run_id), weighted=weighted) for run_id in run}


@router.get("/benchmarks/leaderboard")
def leaderboard(workspace: Opened, dataset: str | None = None, weighted: Weighted = None) -> Sequence[Board]:
    """Models ranked per dataset version; versions are never mixed."""
    return workspace.bench.results.leaderboard(dataset, weighted=weighted)


@router.get("/benchmarks/compare")
def compare_runs(
    workspace: Opened,
    first: str,
    second: str,
    margin: Annotated[float, Query(ge=0, le=1)] = MARGIN,
    weighted: Weighted = None,
    errors: Annotated[Literal["count", "exclude"], Query(description="Attempts without a reply.")] = "count",
) -> RunComparison:
    """The second run (the candidate) against the first, paired by case, or by question where each counts once."""
    left_out = errors == "exclude"
    return workspace.bench.results.compare(first, second, margin=margin, weighted=weighted, exclude_errors=left_out)


class CompareCasesQuery(BaseModel):
    first: str
    second: str
    metric: Annotated[str | None, Query(description="The first metric that both runs have, where none is named.")] = (
        None
    )
    show: Annotated[ChangeKind, Query(description="Passed before and not now, the reverse, or any change.")] = (
        ChangeKind.CHANGED
    )
    weighted: Weighted = None
    limit: Annotated[int, Query(ge=1, le=500)] = 50
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0


@router.get("/benchmarks/compare/cases")
def compare_cases(workspace: Opened, query: Annotated[CompareCasesQuery, Query()]) -> ComparedCases:
    """Cases that changed from the first run to the second, worst first, with both answers beside the reference."""
    return workspace.bench.results.compare_cases(**query.model_dump())


@router.get("/benchmarks/runs/{run_id}")
def get_run(workspace: Opened, run_id: str) -> Run:
    """One run and its progress."""
    return workspace.bench.get(run_id)


@router.get("/benchmarks/runs/{run_id}/results")
def run_results(
    workspace: Opened,
    run_id: str,
    order: Annotated[AttemptOrder, Query(description="By case and trial, or the worst of all first.")] = "case",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
    weighted: Weighted = None,
) -> Results:
    """Means with intervals and coverage, and a page of attempts with their measurements."""
    run = workspace.bench.get(run_id)
    results = workspace.bench.results
    page = results.page(run_id, order=order, limit=limit, offset=offset)
    asked = results.read_questions(run_id, (attempt.case_id for attempt in page))
    means, (cached, judged) = results.means(run, weighted=weighted), results.count_cached(run_id)
    return Results(
        run=run,
        means=means,
        trials=results.trials(run),
        problems=results.problems_of(run, means),
        cached=cached,
        judge_cached=judged,
        total=run.done,
        attempts=page,
        asked=asked,
    )


@router.get("/benchmarks/runs/{run_id}/cases/{case_id:path}")
def run_case(workspace: Opened, run_id: str, case_id: str) -> AttemptDetail:
    """One case of a run with its attempts."""
    case = workspace.bench.case(run_id, case_id)
    return AttemptDetail(case=case, attempts=list(workspace.bench.attempts(run_id, case_id)))


@router.post("/benchmarks/runs/{run_id}/cancel")
def cancel_run(workspace: Opened, run_id: str) -> Run:
    """Cancel a run. Calls in progress are abandoned within a second."""
    return workspace.bench.cancel(run_id)


@router.post("/benchmarks/runs/{run_id}/resume")
def resume_run(workspace: Opened, run_id: str, wanted: Resume) -> Run:
    """Resume a run that ended early; finished calls are not repeated."""
    return workspace.bench.resume(run_id, **wanted.model_dump())


@router.post("/benchmarks/runs/{run_id}/rescore")
def rescore_run(workspace: Opened, run_id: str, wanted: Rescore) -> Run:
    """Measure stored answers again; the model is not called."""
    return workspace.bench.rescore(run_id, wanted.metrics, wanted.judge, cache=wanted.cache)


@router.post("/benchmarks/runs/{run_id}/to-review", status_code=201)
def attempt_to_review(workspace: Opened, run_id: str, wanted: ToReview) -> Case:
    """Turn an attempt into a case to review."""
    return workspace.bench.results.to_review(run_id, wanted.case_id, wanted.trial, dataset=wanted.dataset, who="api")


@router.delete("/benchmarks/runs/{run_id}", status_code=204)
def delete_run(workspace: Opened, run_id: str) -> None:
    """Delete a run that is not running, with its attempts."""
    workspace.bench.delete(run_id)


class EventStream(StreamingResponse):
    """An answer of server-sent events; 503 instead where too many are open."""

    media_type = "text/event-stream"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope["app"].state
        opened: int = getattr(state, "streams", 0)
        if opened >= MOST_STREAMS:
            message = f"{opened} event streams are open, the most of one server; ask for the run itself instead"
            await refusal(Unavailable.status, message)(scope, receive, send)
            return
        state.streams = opened + 1
        try:
            await super().__call__(scope, receive, send)
        finally:
            state.streams -= 1


async def _may_go_on(request: Request, configured: list[tuple[bytes, Holder]]) -> bool:
    """Ask whether the server goes on and the token that opened the stream would open it now."""
    if getattr(request.state, "ending", False):
        return False
    access: Access = request.app.state.workspace.access
    if access.stale:
        await run_in_threadpool(access.refresh)
    began: Holder | None = request.scope.get("evergold.holder")
    if began is None:
        return not (configured or access.required)
    return holder_of(given_token(request.headers.get("authorization", "")), configured, access) == began


@router.get("/benchmarks/runs/{run_id}/events", response_class=StreamingResponse)
async def run_events(request: Request, workspace: Opened, run_id: str) -> EventStream:
    """Progress as server-sent events: `progress` with the run whenever it changed, `end` with the run when it ended.

    A stream also ends when its token is revoked and when the server ends; 503 where 32 are open.
    """
    # Asked once before the stream begins, so that an unknown run is a 404 and not a broken stream.
    first = await anyio.to_thread.run_sync(workspace.bench.get, run_id)
    configured = configured_tokens(request.app.state.settings)

    async def events() -> AsyncIterator[str]:
        run, last_sent = first, None
        while True:
            if run != last_sent:
                yield f"event: {'end' if run.status.ended else 'progress'}\ndata: {run.model_dump_json()}\n\n"
                last_sent = run
            else:
                # A comment line keeps proxies from closing a connection that seems idle.
                yield ": still here\n\n"
            if run.status.ended or not await _may_go_on(request, configured):
                return
            await anyio.sleep(LOOK_SECONDS)
            run = await anyio.to_thread.run_sync(workspace.bench.get, run_id)

    return EventStream(events(), headers=STREAM_HEADERS)


RENDERED = {
    "html": ("html", "text/html; charset=utf-8"),
    "md": ("markdown", "text/markdown; charset=utf-8"),
    "json": ("json", "application/json"),
    "xml": ("junit", "application/xml"),
}


@router.get("/benchmarks/runs/{run_id}/report.{form}", include_in_schema=False)
def show_report(
    workspace: Opened, run_id: str, form: Literal["html", "md", "json", "xml"], weighted: bool | None = None
) -> Response:
    """The report, with a policy that lets the page load nothing; `weighted` counts each question once in its means."""
    name, content_type = RENDERED[form]
    # A report shows text of models on the origin of the user's token: `sandbox` takes that origin away.
    policy = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"}
    text = workspace.judging.render(run_id, name, weighted=weighted)
    return Response(text, media_type=content_type, headers=policy)
