"""Before a run: how many calls, about how many tokens and how much money, and the smallest difference it could show.

Of judging, the questions of the metrics are written for a few cases, and their characters are counted. The recorded answer,
or else the expected one, stands for the answer of the model; the lexical judge stands for the judge, so that metrics in
two steps (claims, then their verdicts) ask both. Nothing is called.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import orjson

from evergold.bench.metrics import NamedMetric, parse_metric
from evergold.bench.model_judges import SHAPE, SYSTEM
from evergold.bench.replay.play import requests_of, size_of, size_of_tools
from evergold.bench.targets.messages import messages
from evergold.calls.targets import parse_name
from evergold.judge.names import DEFAULT_JUDGE
from evergold.model.build import Frozen
from evergold.model.case import Case
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Attempt, Plan, RunSpec, Usage
from evergold.model.tool_schemas import with_derived_tools
from evergold.prices import cost
from evergold.seams import Judge
from evergold.stats.scores import planned_effect

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

    async def ask(self, question: Question) -> JudgeAnswer:
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

    async def ask_all() -> None:
        for case in sampled:
            attempt = Attempt(case_id=case.id, output=case.output or case.reference_text() or "")
            for named in metrics:
                await named.metric.measure_with(case, attempt, counting)  # type: ignore[union-attr]

    asyncio.run(ask_all())
    # The share scales the sample to all cases and trials, and characters to tokens.
    share = trials * len(cases) / len(sampled) / CHARACTERS_PER_TOKEN
    sent, made = round(counting.asked * share), round(counting.answered * share)
    total = Usage()
    for word, address in paid:
        money = cost(provider(word), address, sent, made)
        total = total.plus(Usage(input_tokens=sent, output_tokens=made, cost=money))
    return total


def _members(judge: str) -> list[tuple[str, str]]:
    """Plugin and address of a judge, or of each member of a panel."""
    word, _, address = judge.replace(":", "/", 1).partition("/")
    if word != "panel":
        return [(word, address)]
    names = [name.strip().partition("/") for name in address.split(",")]
    return [(plugin, rest) for plugin, _, rest in names if plugin]


# These ask for a list first and judge it in a second call.
_JUDGE_CALLS = {"faithfulness": 2, "answer_relevancy": 2, "contextual_recall": 2}
# Tokens of an answer where no reference says how long one is.
_UNKNOWN_OUTPUT = 300


def plan_run(spec: RunSpec, frozen: Frozen, metrics: Sequence[NamedMetric], provider: Provider) -> Plan:
    """What a run of these cases would take; `provider` knows whose prices hold for a plugin's models."""
    cases, derived_tools = with_derived_tools(frozen.cases)
    judged = [metric for metric in metrics if metric.needs_judge]
    # Content that is no text (images) is counted by its written form, which overestimates it.
    characters = sum(
        size_of_tools(case) + sum(size_of(message) for message in messages(case, spec.params)) for case in cases
    )
    expected = [len(text) // CHARACTERS_PER_TOKEN for case in cases if (text := case.reference_text())]
    answer = max(1, sum(expected) // len(expected)) if expected else _UNKNOWN_OUTPUT
    calls = len(cases) * spec.trials
    sent = characters * spec.trials // CHARACTERS_PER_TOKEN
    name = parse_name(spec.model)
    requests, made = calls, answer * calls
    if spec.replay is not None:
        played = [requests_of(case, spec.replay) for case in cases]
        requests = sum(one.calls for one in played) * spec.trials
        sent = sum(one.sent for one in played) * spec.trials // CHARACTERS_PER_TOKEN
        made = max(1, sum(one.answered for one in played) * spec.trials // CHARACTERS_PER_TOKEN)
    judge = spec.judge or DEFAULT_JUDGE
    judging = estimate_judging(judge, cases, spec.trials, judged, provider)
    return Plan(
        dataset=spec.dataset,
        version=frozen.version,
        content_hash=frozen.content_hash,
        model=spec.model,
        cases=len(cases),
        calls=0 if name.plugin == "recorded" else requests,
        judge=judge if judged else None,
        judge_calls=calls * sum(_JUDGE_CALLS.get(parse_metric(metric.name)[0], 1) for metric in judged),
        judge_input_tokens=judging.input_tokens,
        judge_output_tokens=judging.output_tokens,
        judge_cost=judging.cost,
        input_tokens=sent,
        output_tokens=made,
        cost=0.0 if name.plugin == "recorded" else cost(provider(name.plugin), name.address, sent, made),
        smallest_visible_effect=planned_effect(len(cases), spec.trials),
        derived_tools=derived_tools,
        candidates_left_out=frozen.candidates_left_out,
        assumes="four characters per token, answers as long as the expected ones, no repaired verdicts, two runs that "
        "differ on a quarter of pass/fail cases, 80 % power at 5 %",
    )
