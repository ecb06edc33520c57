"""Schemas derived from expected calls: names, types, what is required, and who gets them."""

from evergold.model.tool_calls import ExpectedTool
from evergold.model.tool_schemas import derived_schemas, with_derived_tools
from tests.builders import a_case


def test_types_and_required_arguments_come_from_all_expectations() -> None:
    first = ExpectedTool(name="f", args={"city": "Lima", "days": 3, "tags": ["a"]}, optional=("tags",))
    second = ExpectedTool.model_validate(
        {"name": "f", "args": {"city": ["Cusco", "Qosqo"], "days": 1.5}, "match": {"city": "any_of", "note": "any"}}
    )
    (schema,) = derived_schemas([first, second])
    assert schema["function"]["name"] == "f"
    assert schema["function"]["parameters"] == {
        "type": "object",
        "properties": {
            "city": {"type": "string"},
            "days": {"type": "number"},
            "note": {},
            "tags": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["city", "days"],
    }


def test_cases_that_expect_calls_and_offer_none_get_every_tool_of_the_dataset() -> None:
    asks = a_case("a", expected_tools=(ExpectedTool(name="f"),))
    none = a_case("b", expected_tools=())
    silent = a_case("c")
    own = a_case(
        "d", tools=({"type": "function", "function": {"name": "g"}},), expected_tools=(ExpectedTool(name="g"),)
    )
    cases, derived = with_derived_tools([asks, none, silent, own])
    assert [[tool["function"]["name"] for tool in case.tools] for case in cases] == [["f"], ["f"], [], ["g"]]
    assert derived == 2
