"""Checks that ask a judge: one rubric, one question a trace, no more questions a day than the budget allows."""

from collections.abc import Mapping

from evergold.checks.calling import CheckFailed
from evergold.checks.own import JudgeCheck
from evergold.judge.daily import DailyBudget, ask_now
from evergold.model.checking import CheckResult, Turn
from evergold.model.judging import Question
from evergold.model.values import unit_interval
from evergold.seams import Judge

TEN = 10.0
SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "number", "minimum": 0, "maximum": TEN}},
    "required": ["reason", "score"],
    "additionalProperties": False,
}
PROMPT = """Judge the answer of an assistant by this rubric alone.

Rubric: {rubric}

Question:
{input}

Answer:
{output}

Reply with a JSON object: "reason" (one sentence), then "score" from 0 (fails the rubric) to 10 (meets it fully)."""


class JudgeRoom:
    """The judges that checks ask, by name, and how many questions each check has put today."""

    def __init__(self, judges: Mapping[str, Judge], asked_today: Mapping[str, int] | None = None) -> None:
        self._judges = judges
        self._budget = DailyBudget(asked_today)

    def ask(self, check: JudgeCheck, turn: Turn) -> CheckResult | None:
        """Put the rubric to the check's judge; raises `CheckFailed` when the budget is spent or the judge has no answer."""
        if not turn.output or not check.when.holds(turn) or unit_interval(f"{check.name}:{turn.id}") >= check.sample:
            return None
        # A question counts when it is put: a judge that fails still costs.
        if not self._budget.take(check.name, check.budget):
            raise CheckFailed(f"{check.name} waits: its budget of {check.budget} questions a day is spent")
        inputs = {"rubric": check.rubric, "input": turn.input, "output": turn.output}
        question = Question(task="rubric", inputs=inputs, prompt=PROMPT.format(**inputs), answer_schema=SCHEMA)
        (answer,) = ask_now(self._judges[check.judge], [question])
        if answer.data is None:
            raise CheckFailed(f"{check.name}: judge {check.judge!r} gave no answer: {answer.reason}")
        score = answer.data.get("score")
        if not isinstance(score, int | float) or not 0 <= score <= TEN:
            raise CheckFailed(f"{check.name}: judge {check.judge!r} gave the score {score!r}; it lies from 0 to 10")
        return CheckResult(score / TEN, str(answer.data.get("reason", "")), f"judge {check.judge}")
