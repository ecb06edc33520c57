"""Run DeepEval's deterministic metrics on an export: usage FILE HOME. Prints scores of right and wrong answers.

`ExactMatchMetric` compares texts, `ToolCorrectnessMetric` calls; the multi-turn goldens of the file beside become
conversational test cases, which a metric of our own compares by their last turn (DeepEval has none that needs no model).
"""

import json
import sys
from pathlib import Path
from typing import Any

from deepeval.dataset import EvaluationDataset
from deepeval.dataset.utils import convert_convo_goldens_to_convo_test_cases, convert_goldens_to_test_cases
from deepeval.metrics import BaseConversationalMetric, ExactMatchMetric, ToolCorrectnessMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import ConversationalTestCase, LLMTestCase, ToolCall, ToolCallParams, Turn

WRONG = "Something else entirely."


class NoModel(DeepEvalBaseLLM):
    """Stands where DeepEval wants a model that deterministic metrics never ask."""

    def load_model(self) -> "NoModel":
        return self

    def generate(self, *arguments: Any, **options: Any) -> str:
        raise AssertionError("a deterministic metric asked a model")

    async def a_generate(self, *arguments: Any, **options: Any) -> str:
        raise AssertionError("a deterministic metric asked a model")

    def get_model_name(self) -> str:
        return "none"


class LastTurnMatches(BaseConversationalMetric):
    """1 when the last turn says the expected outcome."""

    threshold = 1.0

    def measure(self, test_case: ConversationalTestCase, **options: Any) -> float:
        self.score = float(test_case.turns[-1].content == test_case.expected_outcome)
        self.success = self.score >= self.threshold
        return self.score

    async def a_measure(self, test_case: ConversationalTestCase, **options: Any) -> float:
        return self.measure(test_case)

    def is_successful(self) -> bool:
        return bool(self.success)


def loaded(path: Path) -> EvaluationDataset:
    dataset = EvaluationDataset()
    dataset.add_goldens_from_json_file(str(path))
    return dataset


def texts(case: LLMTestCase) -> dict[str, float]:
    if not case.expected_output:
        return {}
    scores = {}
    for name, answer in (("right", case.expected_output), ("wrong", WRONG)):
        case.actual_output = answer
        scores[name] = ExactMatchMetric().measure(case, _show_indicator=False)
    return scores


def tools(case: LLMTestCase) -> dict[str, float]:
    if not case.expected_tools:
        return {}
    case.actual_output = case.actual_output or ""
    scores = {}
    for name, calls in (("right", case.expected_tools), ("wrong", [ToolCall(name="another", input_parameters={})])):
        case.tools_called = calls
        metric = ToolCorrectnessMetric(
            model=NoModel(), evaluation_params=[ToolCallParams.INPUT_PARAMETERS], async_mode=False
        )
        scores[name] = metric.measure(case, _show_indicator=False)
    return scores


def conversations(case: ConversationalTestCase) -> dict[str, float]:
    answered = [turn for turn in case.turns if turn is not case.turns[-1]]
    scores = {}
    for name, answer in (("right", case.expected_outcome), ("wrong", WRONG)):
        case.turns = [*answered, Turn(role="assistant", content=answer)]
        scores[name] = LastTurnMatches().measure(case)
    return scores


path = Path(sys.argv[1])
goldens = convert_goldens_to_test_cases(loaded(path).goldens)
beside = path.with_name(path.name.replace(".deepeval.json", ".turns.deepeval.json"))
talks = loaded(beside) if beside.exists() else None
shown = [golden.model_dump(mode="json", by_alias=False) for golden in talks.goldens] if talks else []
cases = convert_convo_goldens_to_convo_test_cases(talks.goldens) if talks else []
report = {
    "texts": [texts(case) for case in goldens],
    "tools": [tools(case) for case in goldens],
    "turns": [golden["turns"] for golden in shown],
    "conversations": [conversations(case) for case in cases],
}
json.dump(report, sys.stdout)
