"""Lists that were flattened into attributes, put together again."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from evergold.conversation.message import fill_last_message, unflatten
from tests.rows import each_row


@each_row(
    ("attributes", "expected"),
    [
        ({}, []),
        ({"p": "text"}, []),
        ({"p.0": "a", "p.1": "b"}, ["a", "b"]),
        ({"p.10.x": 2, "p.9.x": 1}, [{"x": 1}, {"x": 2}]),
        ({"p.007": "b", "p.5": "a"}, ["a", "b"]),
        (
            {"p.0.m.role": "user", "p.0.m.calls.1": "b", "p.0.m.calls.0": "a"},
            [{"m": {"role": "user", "calls": ["a", "b"]}}],
        ),
        ({"p.name": "x"}, []),
        ({"p.0.x": 1, "p.name": "y"}, []),
        ({"pp.0": "a", "p": {"0": "b"}}, []),
        ({"p.0": "text", "p.0.x": 1}, ["text"]),
        ({f"p.{'9' * 5000}.x": 2, "p.1.x": 1}, [{"x": 1}, {"x": 2}]),
        ({f"p.0.{'.'.join('a' * 3000)}": 1}, []),
    ],
)
def test_attributes_below_a_prefix_are_a_list_again(attributes: dict[str, Any], expected: list[Any]) -> None:
    assert unflatten(attributes, "p") == expected


def flat(value: Any, prefix: str) -> dict[str, Any]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inner is None:
        return {prefix: value}
    return {name: leaf for key, item in inner for name, leaf in flat(item, f"{prefix}.{key}").items()}


LEAVES = st.text(max_size=3) | st.integers(0, 9)
NODES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "message"]), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=40, deadline=None)
@given(st.lists(NODES, min_size=1, max_size=12))
def test_flattening_loses_nothing(items: list[Any]) -> None:
    assert unflatten(flat(items, "p"), "p") == items


@given(st.dictionaries(st.text(alphabet="p.01a", max_size=8), LEAVES))
def test_no_names_break_it(attributes: dict[str, Any]) -> None:
    assert isinstance(unflatten(attributes, "p"), list)


@each_row(
    ("items", "expected"),
    [
        ([{"role": "user"}], [{"role": "user", "content": "Q"}]),
        ([{"message": {"role": "user"}}], [{"message": {"role": "user", "content": "Q"}}]),
        ([{"role": "user", "content": "x"}], [{"role": "user", "content": "x"}]),
        (
            [{"role": "user"}, {"role": "user", "tool_calls": [1]}],
            [{"role": "user"}, {"role": "user", "tool_calls": [1]}],
        ),
        ([{"role": "system"}, 5], [{"role": "system"}, 5]),
    ],
)
def test_the_last_message_of_a_role_is_filled_where_it_says_nothing(items: list[Any], expected: list[Any]) -> None:
    assert fill_last_message(items, ("user",), "Q") == expected


def test_without_a_text_nothing_is_filled() -> None:
    assert fill_last_message([{"role": "user"}], ("user",), None) == [{"role": "user"}]
