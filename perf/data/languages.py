"""A workspace with what pages must cope with: four languages, long texts, hostile texts, runs, versions and questions."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evergold.model.case import Case, CaseKind, Context
from evergold.model.trace import Score, Span, Trace, TraceStatus
from evergold.settings import Settings
from evergold.workspace import Workspace
from tests.api.serving import calling
from tests.builders import a_case
from tests.e2e.conftest import fill as fill_sample
from tests.openai_server import Body, Reply
from tests.replays import flight_case

TALKS = {
    "en": ("How long do refunds take?", "Three working days after the return has **arrived**.", "refunds"),
    "es": ("¿Cuánto tarda un reembolso?", "Tres días hábiles desde que **llega** la devolución.", "reembolsos"),
    "ar": ("كم يستغرق استرداد المبلغ؟", "ثلاثة أيام عمل بعد **وصول** المرتجع إلى مستودعنا، الطلب 1182.", "المبالغ"),
    "zh": ("退款需要多长时间？", "退货**到达**我们的仓库后三个工作日内退款，订单号1182。", "退款"),
}
REPLY = """## {0}

1. {0}
2. `code` and a table:

| {1} | € |
|---|---|
| {1} | 12,50 |

```python
def refund(order: int) -> str:
    return f"refunded {{order}}"
```
"""
LONG_WORD = "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft" * 4
BIDI = "invoice\u202egnp.exe and \u2066then\u2069 \u202dforced"
HOSTILE = (
    '<img src="http://evil.test/a.png" onerror="window.hacked=1"><script>window.hacked=1</script>'
    "![pixel](http://evil.test/b.png) [click](javascript:window.hacked=1) [data](data:text/html,<script>1</script>)\n\n"
    "<http://evil.test/c> [ref]: http://evil.test/d\n\n<style>body{display:none}</style><iframe src=http://evil.test/e>"
)
CONTROL = "bell \x07 escape \x1b[31mred\x1b[0m null-ish \x01 backspace \x08 next line \x85 end"
QUESTIONS = [
    {"name": "polite", "kind": "yes_no", "title": "Is it polite? هل هو مهذب؟", "required": True},
    {"name": "quality", "kind": "scale", "title": "How good is it?"},
    {"name": "about", "kind": "choice", "title": "What is it about?", "options": ["parcels", "devoluciones", "退款"]},
    {"name": "note", "kind": "text", "title": "What would you say?"},
    {"name": "wrong", "kind": "span", "title": "Mark what is wrong", "options": ["invented", "rude"]},
]


def fill(home: Path) -> None:
    """Fill a workspace for the pages; the datasets are live, talks, exam, agents and those of the sample."""
    fill_sample(home, 60)
    now = datetime.now(UTC)
    with Workspace.open(Settings(home=home)) as workspace:
        workspace.intake.accept([*talks(now), *odd_traces(now)])
        workspace.live.curate()
        workspace.cases.put(cases())
        workspace.cases.put([flight_case("flight", dataset="agents", input="Please cancel my booking AB12")])


def talks(now: datetime) -> Iterator[Trace]:
    """A session of three turns in each language; the last one has messages, tool calls and spans."""
    for language, (question, answer, name) in TALKS.items():
        for turn in range(3):
            started = now - timedelta(minutes=90 - turn * 10)
            yield Trace(
                id=f"{language}-{turn}",
                session_id=f"session-{language}",
                user_id=f"user-{language}",
                name=name,
                input=question,
                output=REPLY.format(answer, name) if turn == 2 else answer,
                started_at=started,
                ended_at=started + timedelta(seconds=2 + turn),
                tags=(language, name),
                metadata={"model": "large-chat-2", "cost": 0.0123, "input_tokens": 1200, "output_tokens": 300},
                spans=steps(f"{language}-{turn}", started, 4),
                scores=(Score(name="grounded", value=0.9), Score(name=name, value=0.25, comment=answer)),
            )


def odd_traces(now: datetime) -> Iterator[Trace]:
    """Traces that are long, hostile, failed, or of 5,000 spans."""
    took = timedelta(seconds=9)
    texts = {"bidi": BIDI, "hostile": HOSTILE, "control": CONTROL, "word": LONG_WORD, "long": "A long line. " * 800}
    for name, text in texts.items():
        yield Trace(
            id=name,
            name=text[:60],
            input=text,
            output=text,
            started_at=now - took,
            ended_at=now,
            tags=(text[:40],),
            metadata={"model": text[:40], text[:30]: text},
            scores=(Score(name=text[:40], value=0.0, comment=text),),
        )
    yield Trace(
        id="failed",
        name="refunds",
        input="How long do refunds take?",
        output="Ten years.",
        status=TraceStatus.FAILED,
        started_at=now - took,
        ended_at=now,
        metadata={"model": "slow-chat-9", "cost": 0.2, "error": "upstream timed out after 9 s " * 20},
    )
    yield Trace(id="plain", name="agent", input="Read everything", output="Done.", started_at=now - took, ended_at=now)
    yield Trace(
        id="steps",
        name="agent",
        input="Read everything",
        output="Done.",
        started_at=now - took,
        ended_at=now,
        spans=steps("steps", now - took, 5_000),
    )


def steps(trace: str, started: datetime, count: int) -> tuple[Span, ...]:
    """A tree of spans, ten children to a parent."""
    kinds = ("agent", "llm", "tool", "retriever")
    return tuple(
        Span(
            id=f"{trace}-{number}",
            parent_id=f"{trace}-{(number - 1) // 10}" if number else None,
            name=f"step {number}",
            kind=kinds[number % 4],
            input=f"question {number}",
            output=f"answer {number}",
            status="failed" if number % 97 == 50 else "completed",
            started_at=started + timedelta(milliseconds=number),
            ended_at=started + timedelta(milliseconds=number + 400),
            metadata={"tokens": 12, "cost": 0.001},
        )
        for number in range(count)
    )


def cases() -> Iterator[Case]:
    for language, (question, answer, name) in TALKS.items():
        yield a_case(
            language, dataset="talks", input=question, output=answer, expected=answer, tags=(name, language), name=name
        )
        yield Case(
            id=f"qa-{language}",
            dataset="talks",
            kind=CaseKind.QA,
            input=question,
            expected=f"{answer} [1]",
            contexts=(Context(text=answer * 4, source=f"handbook/{language}.md"),),
        )
        yield a_case(f"exam-{language}", dataset="exam", input=question, expected=answer)
    for name, text in {"bidi": BIDI, "hostile": HOSTILE, "control": CONTROL, "word": LONG_WORD}.items():
        yield a_case(name, dataset="odd", input=text, output=text, expected=text, tags=(text[:40],), name=text[:80])


def answer(body: Body) -> Reply:
    """The model behind the runs: `careful` answers half of the questions as expected, `hasty` none."""
    question = str(body["messages"][-1].get("content"))
    for asked, answered, _ in list(TALKS.values())[::2]:
        if body["model"] == "careful" and question == asked:
            return Reply(answered)
    return Reply("I do not know. No lo sé. لا أعرف. 我不知道。")


def finish(url: str) -> tuple[str, ...]:
    """Run, freeze, ask and comment through the API; gives the ids of the runs."""
    with calling(f"{url}/api/v1") as client:
        runs = [run["id"] for run in client.get("/benchmarks/runs").json()["runs"]][:2]
        if runs:
            return tuple(runs)
        for model in ("openai/careful", "openai/hasty"):
            spec = {"dataset": "exam", "model": model, "metrics": ["exact_match", "contains"]}
            runs.append(client.post("/benchmarks/runs", json=spec).json()["id"])
            with client.stream("GET", f"/benchmarks/runs/{runs[-1]}/events") as events:
                any(line == "event: end" for line in events.iter_lines())
        client.put("/review/questions", params={"dataset": "talks"}, json={"questions": QUESTIONS}).raise_for_status()
        for language, (_, answered, _) in TALKS.items():
            client.post(f"/traces/{language}-2/comments", json={"text": answered}).raise_for_status()
        for seed in (1, 2):
            client.post(
                "/builds", json={"dataset": "talks", "split": "train=0.5,test=0.5", "seed": seed}
            ).raise_for_status()
    return tuple(runs)
