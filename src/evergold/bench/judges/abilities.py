"""Find out by a request which features an endpoint supports.

"OpenAI-compatible" covers servers that know JSON Schema output, servers that only know tool calls, and servers that
know neither; some give log-probabilities, some refuse a temperature. A judge asks for all of it, drops what the
endpoint refuses, and remembers. So the order is: JSON Schema, then a tool call, then plain words.
"""

from typing import Any

from evergold.model.judging import Question

ANSWER_TOOL = "give_answer"
EVERYTHING = frozenset({"logprobs", "temperature", "schema", "tools"})
# Endpoints name the parameter they refuse in the error; the spellings differ.
MENTIONS = {
    "logprobs": ("logprob",),
    "temperature": ("temperature",),
    "schema": ("response_format", "json_schema", "structured output"),
    "tools": ("tool",),
}
DROPPED_FIRST = ("logprobs", "schema", "tools", "temperature")
TOP_ALTERNATIVES = 20


def request_options(question: Question, abilities: frozenset[str]) -> dict[str, Any]:
    """The part of a request that says how to answer."""
    options: dict[str, Any] = {}
    if "temperature" in abilities:
        options["temperature"] = 0
    if "schema" in abilities:
        described = {"name": question.task, "schema": question.answer_schema, "strict": True}
        options["response_format"] = {"type": "json_schema", "json_schema": described}
    elif "tools" in abilities:
        function = {"name": ANSWER_TOOL, "description": "Give your answer.", "parameters": question.answer_schema}
        options["tools"] = [{"type": "function", "function": function}]
        options["tool_choice"] = {"type": "function", "function": {"name": ANSWER_TOOL}}
    if "logprobs" in abilities and question.wants_logprobs:
        options |= {"logprobs": True, "top_logprobs": TOP_ALTERNATIVES}
    return options


def fewer(abilities: frozenset[str], question: Question, complaint: str) -> frozenset[str] | None:
    """The abilities left after a refusal: without what the endpoint names, else without the first in order.

    None when nothing is left that could be the cause.
    """
    # A tool call is the way out where there is no schema; while the schema is in use, tools are not sent.
    in_use = abilities - ({"tools"} if "schema" in abilities else frozenset())
    if not question.wants_logprobs:
        in_use -= {"logprobs"}
    lowered = complaint.casefold()
    named = [ability for ability, words in MENTIONS.items() if ability in in_use and any(w in lowered for w in words)]
    # What the endpoint names is dropped first; the fixed order applies when its message says nothing.
    for ability in (*named, *(name for name in DROPPED_FIRST if name in in_use)):
        return abilities - {ability}
    return None
