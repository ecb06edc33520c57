"""A small workspace with every kind of case, for the tests and pictures of the queue."""

from pathlib import Path

from evergold.model.case import Case, CaseKind, Context, EntryType, LineRange, Provenance, RankedPath
from evergold.model.tool_calls import ExpectedTool
from evergold.model.trace import Score, ScoreSource, Span, Trace
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.e2e.review_data import DIFF

TALK = (
    ("Where is my parcel?", "It left Utrecht at 06:40 and arrives today between 14:00 and 16:00."),
    ("Can it come tomorrow instead?", "Yes. I moved it to tomorrow, 10:00 to 12:00."),
)


def traces() -> list[Trace]:
    return [
        Trace(
            id=f"tr-{turn}",
            session_id="s-1",
            name="support-chat",
            input=question,
            output=answer,
            spans=(Span(id="root", name="support-chat", kind="chain"), Span(id="llm", parent_id="root", kind="llm")),
            scores=(Score(name="tone", value=0.9, source=ScoreSource.LLM_JUDGE),),  # a judge alone curates nothing
        )
        for turn, (question, answer) in enumerate(TALK)
    ]


def cases() -> list[Case]:
    chat = [
        Case(
            id=f"chat-{turn}",
            input=question,
            output=answer,
            provenance=Provenance(source="curation", trace_id=f"tr-{turn}", session_id="s-1"),
        )
        for turn, (question, answer) in enumerate(TALK)
    ]
    failure = Case(
        id="chat-failed",
        entry_type=EntryType.FAILURE,
        input="When does the shop open on Sunday?",
        output="At 12:00.",
    )
    qa = Case(
        id="qa-1",
        dataset="qa_pairs",
        kind=CaseKind.QA,
        input="How long do refunds take?",
        expected="Three working days after the return arrives [1], ten for furniture [2]. Cash takes longer [7].",
        contexts=(
            Context(text="[1] Refunds are paid within three working days of receipt.", source="policy.md"),
            Context(text="[2] Furniture is inspected first; allow ten working days.", source="furniture.md"),
        ),
    )
    summary = Case(
        id="sum-1",
        dataset="summaries",
        kind=CaseKind.SUMMARY,
        input="Summarise the returns policy in one sentence.",
        expected="Returns are free for thirty days [1].",
        contexts=(Context(text="[1] Anything may be returned free of charge within thirty days.", source="policy.md"),),
    )
    task = Case(
        id="task-1",
        dataset="support_tasks",
        kind=CaseKind.TASK,
        name="Reserve a desk",
        input="Reserve the walnut desk until tomorrow.",
        expected="Reserved until tomorrow.",
        expected_tools=(ExpectedTool(name="reserve", args={"item": "walnut desk"}),),
    )
    context = Case(
        id="case-0001",
        dataset="context",
        kind=CaseKind.CONTEXT,
        input="Retry failed uploads with a limit",
        base_commit="abc1234",
        paths=(RankedPath(path="pkg/retry.go", sources=("review_merge_diff",)),),
        ranges=(LineRange(path="pkg/retry.go", start=13, end=13, sources=("golden_diff",)),),
        provenance=Provenance(source="sidekick", flow_id="flow-1"),
        extra={"evidence": {"diff": DIFF}},
    )
    return [*chat, failure, qa, summary, task, context]


def fill(folder: Path, *more: Case) -> None:
    """Put everything into the workspace a server started in `folder` will open."""
    from evergold.store.trace.traces import put_traces

    with Workspace.open(Settings(home=folder / ".evergold")) as workspace:
        workspace.store.db.write(lambda connection: put_traces(connection, traces()))
        workspace.cases.put([*cases(), *more])
