"""Estimate what judging takes: the questions of the metrics are written for a few cases, and their characters are counted.

The recorded answer, or else the expected one, stands for the answer of the model; the lexical judge stands for the judge, so that
metrics in two steps (claims, then their verdicts) ask both. Nothing is called.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from evergold.bench.judges.asking import SHAPE, SYSTEM
from evergold.bench.metric_names import NamedMetric
from evergold.calls.prices import cost
from evergold.model.case import Case
from evergold.model.judging import Answer, Question
from evergold.model.run import Attempt, Usage
from evergold.seams import Judge

SAMPLED = 20
CHARACTERS_PER_TOKEN = 4
UNPAID = ("offline",)
"""Judges that call no model."""

Provider = Callable[[str], str]
"""The name of a plugin → whose prices hold for it; empty: nobody's known."""


@dataclass
class CountingJudge:
    """Answers as the lexical judge does, and counts what a model would read and write."""

    judge: Judge
    asked: int = 0
    answered: int = 0

    @property
    def identity(self) -> str:
        return self.judge.identity

    async def ask(self, question: Question) -> Answer:
        answer = await self.judge.ask(question)
        self.asked += len(SYSTEM) + len(question.prompt) + len(SHAPE) + len(orjson.dumps(question.answer_schema))
        self.answered += len(orjson.dumps(answer.data))
        return answer


def estimate_judging(
    judge: str, cases: Sequence[Case], trials: int, metrics: Sequence[NamedMetric], provider: Provider
) -> Usage:
    """Tokens and money of judging these cases; every member of a panel is asked and paid."""
    from evergold.judge.offline import OfflineJudge  # a server that plans no run need not load it

    paid = [(word, address) for word, address in _members(judge) if word not in UNPAID]
    if not paid or not cases or not metrics:
        return Usage(cost=0.0)
    # Evenly spread, because datasets are often sorted by difficulty or source.
    sampled = [cases[index] for index in range(0, len(cases), max(1, len(cases) // SAMPLED))][:SAMPLED]
    counting = CountingJudge(OfflineJudge(lexical=True))
    asyncio.run(_ask_all(sampled, metrics, counting))
    # The share scales the sample to all cases and trials, and characters to tokens.
    share = trials * len(cases) / len(sampled) / CHARACTERS_PER_TOKEN
    sent, made = round(counting.asked * share), round(counting.answered * share)
    total = Usage()
    for word, address in paid:
        money = cost(provider(word), address, sent, made)
        total = total.plus(Usage(input_tokens=sent, output_tokens=made, cost=money))
    return total


async def _ask_all(cases: Sequence[Case], metrics: Sequence[NamedMetric], judge: CountingJudge) -> None:
    for case in cases:
        reference = case.reference()
        output = case.output or (reference and reference.text) or ""
        attempt = Attempt(case_id=case.id, output=output)
        for named in metrics:
            await named.metric.measure_with(case, attempt, judge)  # type: ignore[union-attr]


def _members(judge: str) -> list[tuple[str, str]]:
    """Plugin and address of a judge, or of each member of a panel."""
    word, _, address = judge.replace(":", "/", 1).partition("/")
    if word != "panel":
        return [(word, address)]
    names = [name.strip().partition("/") for name in address.split(",")]
    return [(plugin, rest) for plugin, _, rest in names if plugin]
