"""Run Inspect on an export with its mock model: each sample with its recorded tools, once answered right, once wrong.

The mock model makes the calls of the sample's recorded turn first, then answers; `recorded_tools` is the solver of
docs/exchange.md, which offers the sample's own tools. Prints, for each sample, the score of `includes()` for both
answers, the tools that the model was offered and the results it got.
"""

import json
import sys
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageTool, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import Generate, TaskState, generate, solver
from inspect_ai.tool import Tool, ToolDef, ToolParams


@solver
def recorded_tools():  # type: ignore[no-untyped-def]
    """Offer each sample the tools it was recorded with; a call gets the result that was recorded for its arguments."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        carried = state.metadata["evergold"]
        state.tools = [
            one_tool(schema["function"], carried.get("tool_calls", [])) for schema in carried.get("tools", [])
        ]
        return state

    return solve


def one_tool(schema: dict[str, Any], calls: list[dict[str, Any]]) -> Tool:
    async def execute(**arguments: Any) -> str:
        found = [call for call in calls if call["name"] == schema["name"] and call.get("args", {}) == arguments]
        result = found[0].get("result") if found else f"no recorded result for {arguments}"
        return result if isinstance(result, str) else json.dumps(result)

    parameters = ToolParams.model_validate(schema.get("parameters") or {})
    for name, parameter in parameters.properties.items():
        parameter.description = parameter.description or name  # Inspect wants one of every parameter
    described = schema.get("description") or schema["name"]
    return ToolDef(execute, name=schema["name"], description=described, parameters=parameters).as_tool()


def answers(samples: list[Sample], wrong: str | None) -> Any:
    """The mock model: the calls of a sample that it was not given a result for yet, then its target (or a wrong text)."""
    by_question = {asked(sample): sample for sample in samples}
    offered: dict[str, list[str]] = {}

    def answer(messages: Any, tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        last = next(message.text for message in reversed(messages) if message.role == "user")
        sample = by_question[last]
        offered[str(sample.id)] = [tool.name for tool in tools]
        since = [message for message in messages if isinstance(message, ChatMessageTool)]
        before = sum(message.role == "tool" for message in sample.input) if isinstance(sample.input, list) else 0
        calls = sample.metadata["evergold"].get("tool_calls", []) if tools else []
        done = len(since) - before
        if wrong is None and done < len(calls):
            output = ModelOutput.for_tool_call("mockllm", calls[done]["name"], calls[done].get("args", {}))
        else:
            output = ModelOutput.from_content("mockllm", sample.target if wrong is None else wrong)
        output.usage = ModelUsage()  # without one, Inspect downloads a tokenizer to count
        return output

    return get_model("mockllm/model", custom_outputs=answer, memoize=False), offered


def asked(sample: Sample) -> str:
    if isinstance(sample.input, str):
        return sample.input
    return next(message.text for message in reversed(sample.input) if message.role == "user")


def scored(path: str, logs: str, wrong: str | None) -> dict[str, Any]:
    dataset = json_dataset(path)
    model, offered = answers(list(dataset), wrong)
    task = Task(dataset=dataset, solver=[recorded_tools(), generate()], scorer=includes())
    (log,) = eval(task, model=model, log_dir=logs, display="none")
    assert log.status == "success", log.error and log.error.message
    seen = {}
    for sample in log.samples or []:
        results = [message.text for message in sample.messages if message.role == "tool"]
        score = next(iter((sample.scores or {}).values())).value
        seen[str(sample.id)] = {"score": score, "offered": offered[str(sample.id)], "results": results}
    return seen


right, wrong = (scored(sys.argv[1], sys.argv[2], answer) for answer in (None, "Something else entirely."))
json.dump({"right": right, "wrong": wrong}, sys.stdout)
