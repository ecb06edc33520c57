"""Three weeks in the life of a small support assistant: the data behind the browser tests and the pictures in the docs.

Everything follows from the position of a trace, so two runs give the same data; only the dates move with the clock.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from evergold.model.case import (
    Case,
    CaseKind,
    Context,
    Difficulty,
    LineRange,
    Provenance,
    RankedPath,
    ReviewState,
)
from evergold.model.tool_calls import ExpectedTool
from evergold.model.trace import Correction, Score, ScoreSource, Span, Trace, TraceStatus

DAYS = 21
FALLBACK = "Sorry, something went wrong on our side. Please try again."
TALKS = (
    ("Where is my parcel?", "It left Utrecht at 06:40 and arrives today between 14:00 and 16:00.", "track_parcel"),
    (
        "Can I change the delivery address?",
        "Yes, until the parcel is on the van. Tell me the new address.",
        "edit_order",
    ),
    (
        "How do I return a pair of shoes?",
        "Print the label from your order page and drop the box at any shop.",
        "policy",
    ),
    ("When do I get my refund?", "Three working days after the return reaches us.", "policy"),
    ("Do you ship to Iceland?", "Yes, in five to seven days; duties are paid at the door.", "policy"),
    ("My discount code does not work", "SPRING10 ended on 1 May. I added a new code to your account.", "lookup_code"),
    ("Is the walnut desk still in stock?", "Four are left in Rotterdam; I can reserve one until tomorrow.", "stock"),
    ("The lamp arrived broken", "I am sorry. A replacement ships today; you may keep the broken one.", "edit_order"),
    ("Which plug does the heater have?", "A type F plug, for 230 V sockets.", "catalogue"),
    ("Can I pay by invoice?", "Business accounts can, within 14 days.", "policy"),
    ("What is your opening time on Sunday?", "The Utrecht shop opens at 12:00 on Sundays.", "policy"),
    ("Cancel my order please", "Done. Nothing was charged.", "edit_order"),
)
NAMES = ("support-chat", "support-chat", "support-chat", "order-search")
MODELS = ("small-chat-3", "small-chat-3", "large-chat-2")
CORRECTION = "No, that is wrong: the shop opens at 13:00 on Sundays since March."


def records(count: int, now: datetime | None = None) -> Iterator[Trace | Correction]:
    """`count` traces with spans and scores, the oldest first, and a correction of one answer in forty."""
    end = now or datetime.now(UTC)
    for position in range(count):
        share = (position / max(1, count - 1)) ** 0.8
        started = end - timedelta(days=DAYS) * (1 - share) - timedelta(minutes=3)
        yield a_turn(position, started)
        if position % 40 == 10:
            yield Correction(trace_id=f"tr-{position:05d}", text=CORRECTION)


def a_turn(position: int, started: datetime) -> Trace:
    question, answer, tool = TALKS[(position * 7) % len(TALKS)]
    failed = position % 29 == 0
    took = timedelta(milliseconds=620 + (position * 137) % 1900)
    return Trace(
        id=f"tr-{position:05d}",
        session_id=f"s-{position // 3:04d}",
        user_id=f"u-{position % 37:02d}",
        name=NAMES[position % 4],
        input=question,
        output=FALLBACK if failed else answer,
        status=TraceStatus.FAILED if failed else TraceStatus.COMPLETED,
        started_at=started,
        ended_at=started + took,
        tags=("support",),
        metadata={"model": MODELS[position % 3], "release": f"2026.{1 + position // 90}"},
        spans=_steps(position, started, took, question, answer, tool, failed),
        scores=tuple(_scores(position)),
    )


def _steps(
    position: int, started: datetime, took: timedelta, question: str, answer: str, tool: str, failed: bool
) -> tuple[Span, ...]:
    def step(part: str, kind: str, begin: float, end: float, **more: object) -> Span:
        parent = None if part == "agent" else f"{position}-agent"
        fields = {"parent_id": parent, "name": part, "kind": kind, **more}
        return Span(id=f"{position}-{part}", started_at=started + took * begin, ended_at=started + took * end, **fields)

    return (
        step("agent", "agent", 0.0, 1.0, input=question, output=answer),
        step("search_articles", "retriever", 0.04, 0.22, input=question, output='[{"id": "kb-12", "score": 0.83}]'),
        step(
            "choose_tool",
            "llm",
            0.24,
            0.5,
            input=question,
            output=f'{{"tool": "{tool}"}}',
            metadata={"tokens": 214} | _bill(170, 44),
        ),
        step(tool, "tool", 0.51, 0.66, input="{}", output="ok", status="failed" if failed else "completed"),
        step(
            "write_answer", "llm", 0.67, 0.98, input=question, output=answer, metadata={"tokens": 388} | _bill(300, 88)
        ),
    )


def _bill(read: int, written: int) -> dict[str, float]:
    return {"input_tokens": read, "output_tokens": written, "cost": read * 2e-6 + written * 8e-6}


def _scores(position: int) -> Iterator[Score]:
    if position % 11 == 5:
        return
    weak = position % 9 == 4
    yield Score(name="no_pii", value=1.0)
    yield Score(name="language_match", value=0.1 if position % 17 == 3 else 1.0)
    yield Score(name="grounded", value=0.2 if weak else 0.92, comment="cites no article" if weak else None)
    yield Score(name="answer_length", value=0.6 if position % 13 == 7 else 0.95)
    if position % 4 == 1:
        yield Score(name="thumbs", value=0.0 if position % 28 == 9 else 1.0, source=ScoreSource.USER)
    if position % 8 == 2:
        yield Score(name="helpfulness", value=0.87, source=ScoreSource.LLM_JUDGE, comment="Direct and polite.")


def cases() -> Iterator[Case]:
    """One case of each kind that does not come from traces."""
    yield Case(
        id="qa-17",
        dataset="handbook",
        kind=CaseKind.QA,
        input="How long may a parcel wait in a pick-up point?",
        expected="Seven days [1]; large parcels four [2].",
        contexts=(
            Context(text="Parcels wait seven days in a pick-up point.", source="handbook/pick-up.md"),
            Context(text="Parcels above 20 kg wait four days.", source="handbook/large.md"),
            Context(text=None, source="handbook/lost.md"),
        ),
        tags=("handbook", "pick-up"),
        review=ReviewState.VALIDATED,
        provenance=Provenance(source="documents", document="handbook/pick-up.md"),
    )
    yield Case(
        id="merge-41",
        dataset="context",
        kind=CaseKind.CONTEXT,
        input="Make the retry back off after a 429",
        base_commit="4f1c2d9",
        paths=(RankedPath(path="client/retry.py", sources=("golden_diff",)), RankedPath(path="client/http.py")),
        ranges=(LineRange(path="client/retry.py", start=27, end=35, sources=("golden_diff",)),),
        provenance=Provenance(source="git", repository="parcel-client"),
    )
    yield Case(
        id="refund-tool",
        dataset="basic-tools",
        kind=CaseKind.TASK,
        name="Refund with the right tool",
        input="Refund order 1182",
        expected="Order 1182 is refunded.",
        expected_tools=(ExpectedTool(name="refund", args={"order": 1182}),),
        difficulty=Difficulty.EASY,
        provenance=Provenance(source="yaml"),
    )
