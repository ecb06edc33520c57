import asyncio
from dataclasses import dataclass, field
from typing import Any

import pytest

from evergold.bench.metrics import make_metric, measure
from evergold.errors import BadInput
from evergold.judge.names import Panel, make_panel
from evergold.model.case import Context
from evergold.model.judge import JudgeAnswer, Question
from evergold.model.run import Measurement, MeasurementState, Usage
from evergold.settings import Settings
from tests.builders import a_case, an_attempt


@dataclass
class Scripted:
    """A judge that gives these answers in turn; None is "no answer"."""

    answers: list[dict[str, Any] | None]
    asked: list[Question] = field(default_factory=list)
    identity: str = "scripted"

    async def ask(self, question: Question) -> JudgeAnswer:
        self.asked.append(question)
        data = self.answers[min(len(self.asked), len(self.answers)) - 1]
        return JudgeAnswer(data=data, reason="silent" if data is None else None, usage=Usage(input_tokens=1, cost=0.5))


def grade(score: float) -> dict[str, Any]:
    return {"reason": f"{score}", "score": score}


def measured(metric: str, *members: Scripted) -> Measurement:
    case = a_case(expected="Lima", contexts=(Context(text="Lima"),))
    return asyncio.run(measure(make_metric(metric), case, an_attempt("Lima. Peru."), Panel(members)))


def test_grades_are_averaged_and_paid_for_together() -> None:
    made = measured("correctness", Scripted([grade(4)]), Scripted([grade(7)]), Scripted([None]))
    assert made.value == pytest.approx(0.55)
    assert made.details["scoring"] == "panel"
    assert (made.usage.input_tokens, made.usage.cost) == (3, 1.5)


def test_half_a_panel_is_not_a_panel() -> None:
    made = measured("correctness", Scripted([grade(4)]), Scripted([None]))
    assert made.state is MeasurementState.UNSCORED
    assert "only 1 of 2 judges answered" in (made.reason or "")


def votes(*words: str) -> dict[str, Any]:
    return {"verdicts": [{"id": n, "reason": "r", "verdict": word} for n, word in enumerate(words, start=1)]}


def test_members_vote_on_the_claims_of_the_first_who_lists_them_and_a_tie_is_harsh() -> None:
    first = Scripted([None, votes("supported", "supported")])
    second = Scripted([{"claims": ["a", "b"]}, votes("supported", "not_found")])
    made = measured("faithfulness", first, second)
    assert made.value == 0.5
    assert second.asked[1].inputs["claims"] == ["a", "b"]
    assert made.details["verdicts"][1]["reason"] == "1 of 2: r"


def test_when_nobody_lists_claims_every_reason_is_given() -> None:
    made = measured("faithfulness", Scripted([None]), Scripted([None]))
    assert made.reason == "claims: scripted: silent; scripted: silent"


def test_a_panel_is_named_by_its_members() -> None:
    panel = make_panel("openai/a,openai/b:1", Settings(model_base_url="http://127.0.0.1:1/v1"))
    assert panel.identity == "panel(openai/a at http://127.0.0.1:1/v1, openai/b:1 at http://127.0.0.1:1/v1)"
    asyncio.run(panel.close())
    with pytest.raises(BadInput, match="two judges or more"):
        make_panel("openai/a", Settings())
