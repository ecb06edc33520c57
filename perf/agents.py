"""Five questions that a coding agent answers over 20,000 traces with the official MCP client, and the calls that each takes.

The calls follow the skill that ships with the package; what one call says decides the arguments of the next. Each answer is held
against the truth that the traces were made with.
"""

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import evergold
from evergold.mcp import make_server
from perf.measuring import print_figure

TOPICS = ("boots", "invoice", "delivery", "password", "warranty", "gift card", "size", "discount")
FAILING = "warranty"
MODELS = ("small-1", "large-2")
MOST_CALLS = 10


def some_traces(count: int) -> Iterator[dict[str, Any]]:
    """Traffic of a shop; answers about one topic fail in 60 %, those of one model a little more often than of the other."""
    draw = random.Random(7)
    for number in range(count):
        topic, model = draw.choice(TOPICS), draw.choice(MODELS)
        bad = draw.random() < (0.6 if topic == FAILING else 0.08 if model == MODELS[0] else 0.04)
        comment = "the answer names no period" if bad and topic == FAILING else None
        scores = [
            {"name": "resolved", "value": 0.0 if bad else 1.0, "source": "system", "comment": comment},
            {"name": "thumbs", "value": 0.0 if bad else 1.0, "source": "user"},
        ]
        yield {
            "id": f"t{number:05}", "input": f"Question {number} about my {topic}: what now?",
            "output": f"About your {topic}: " + ("we are looking into it." if bad else f"it takes {number % 30 + 1} days."),
            "session_id": f"s{number // 2}", "metadata": {"model": model}, "scores": scores[: 2 if number % 5 == 0 else 1],
        }  # fmt: skip


class Caller:
    """Calls tools and keeps a list of the calls of a question."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls: list[str] = []
        self.characters = 0

    async def __call__(self, tool: str, **given: Any) -> Any:
        answer = await self._client.call_tool(tool, given)
        text = answer.content[0].text
        self.calls.append(f"{tool}({', '.join(f'{name}={value!r}' for name, value in given.items())})")
        self.characters += len(text)
        if answer.is_error:
            raise RuntimeError(text)
        return json.loads(text)


async def find_failing_topic(call: Caller) -> str:
    """Which topic fails most, and why?"""
    await call("overview", days=365)
    failing = await call("search_traces", score="resolved<0.5", limit=50)
    words = [topic for trace in failing["traces"] for topic in TOPICS if topic in trace["input"]]
    topic = max(set(words), key=words.count)
    bad = await call("count_traces", search=topic, score="resolved<0.5")
    total = await call("count_traces", search=topic)
    why = await call("explain_trace", trace_id=next(one["id"] for one in failing["traces"] if topic in one["input"]))
    assert topic == FAILING and why[0]["decided_by"]
    return f"{topic}: {bad['total']} of {total['total']} traces fail; {why[0]['decided_by'][0]}"


async def compare_models(call: Caller) -> str:
    """Which model's answers fail more often?"""
    known = await call("count_traces")
    shares = {}
    for name in [one["value"] for one in known["models"]]:
        total = await call("count_traces", model=name)
        bad = await call("count_traces", model=name, score="resolved<0.5")
        shares[name] = bad["total"] / total["total"]
    assert max(shares, key=lambda name: shares[name]) == MODELS[0]
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())


async def find_users_word(call: Caller) -> str:
    """What did users call wrong that the app called resolved, and is it a case?"""
    thumbs = await call("search_traces", score="user:thumbs<0.5", limit=5)
    one = thumbs["traces"][0]["id"]
    why = await call("explain_trace", trace_id=one)
    case = await call(
        "search_cases", dataset="live", entry_type="failure", search=thumbs["traces"][0]["input"][:40], limit=3
    )
    return f"{one}: {why[0]['tier']}, {case['total']} case"


async def propose_cases(call: Caller) -> str:
    """Propose three cases for the failing topic."""
    held = await call("search_cases", dataset="proposed", search=FAILING, limit=1)
    bad = await call("search_traces", search=FAILING, score="resolved<0.5", limit=3)
    for trace in bad["traces"]:
        await call("propose_case", trace_id=trace["id"], question="", why="answers about the warranty name no period")
    now = await call("search_cases", dataset="proposed", review="unvalidated", limit=5)
    assert (held["total"], now["total"]) == (0, 3)
    return f"{now['total']} cases wait in review, proposed by {now['cases'][0]['proposed_by']}"


async def run_and_compare(call: Caller) -> str:
    """Is the recorded answer of 200 live cases as close to its reference as a second look at it?"""
    await call("list_metrics")
    ids = [
        (await call("start_run", dataset="live", model="recorded", metrics=["token_f1"], limit=200))["run_id"]
        for _ in "ab"
    ]
    for ident in ids:
        await asyncio.sleep(20)  # an agent does something else meanwhile
        assert (await call("get_run", run_id=ident, worst=0))["status"] == "completed"
    return str((await call("compare_runs", baseline=ids[0], candidate=ids[1]))["sentence"])


QUESTIONS = (find_failing_topic, compare_models, find_users_word, propose_cases, run_and_compare)


async def ask_all(workspace: Any) -> int:
    from mcp import Client

    most = 0
    async with Client(make_server(workspace, works_here=True)) as client:
        for question in QUESTIONS:
            call, began = Caller(client), time.monotonic()
            answer = await question(call)
            print(f"{question.__doc__}\n  → {answer}")
            for number, text in enumerate(call.calls, 1):
                print(f"    {number}. {text}")
            print(f"    {call.characters:,} characters, {time.monotonic() - began:.1f} s")
            most = max(most, len(call.calls))
    return most


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=20_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, evergold.open(Path(folder)) as ws:
        batch: list[dict[str, Any]] = list(some_traces(given.traces))
        for start in range(0, len(batch), 1000):
            ws.ingest(batch[start : start + 1000])
        ws.curate()
        most = asyncio.run(ask_all(ws.workspace))
    return int(not print_figure("most calls for a question", most, "calls", MOST_CALLS))


if __name__ == "__main__":
    raise SystemExit(main())
