"""Values within what can be kept: depth, number and size."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.model.limits import LARGEST, MOST_KEYS, MOST_LEVELS, MOST_VALUES, require_shallow, require_storable
from tests.rows import each_row


def nested(levels: int, inner: Any = 1) -> dict[str, Any]:
    value: Any = inner
    for _ in range(levels):
        value = [value]
    return {"a": value}


def test_depth_is_counted_to_the_last_level_that_is_allowed() -> None:
    assert require_storable(nested(MOST_LEVELS)) == nested(MOST_LEVELS)
    with pytest.raises(ValueError, match="nested more than 100 levels deep"):
        require_storable(nested(MOST_LEVELS + 1))


def test_a_value_of_a_hundred_thousand_levels_is_refused_without_exhausting_the_stack() -> None:
    with pytest.raises(ValueError, match="levels deep"):
        require_shallow(nested(100_000))


@each_row("most", [0, 1, 5])
def test_another_depth_may_be_asked_for(most: int) -> None:
    value: Any = 1
    for _ in range(most + 1):
        value = [value]
    assert require_shallow(value, most) == value
    with pytest.raises(ValueError, match=f"more than {most} levels"):
        require_shallow([value], most)


@each_row("number", [-LARGEST, 2 * LARGEST - 1, 0, True])
def test_numbers_of_64_bits_are_kept(number: int) -> None:
    assert orjson.loads(orjson.dumps(require_storable({"n": number}))) == {"n": number}


@each_row("number", [-LARGEST - 1, 2 * LARGEST, 10**30])
def test_a_larger_number_is_refused_with_what_to_do(number: int) -> None:
    with pytest.raises(ValueError, match="is over 64 bits; send it as a text"):
        require_storable({"list": [{"n": number}]})


def test_an_object_of_too_many_keys_is_refused() -> None:
    keys = {str(number): 0 for number in range(MOST_KEYS)}
    assert require_storable(dict(keys)) == keys
    with pytest.raises(ValueError, match="more than 10000 keys"):
        require_storable({"inner": {**keys, "one more": 0}})


def test_values_are_counted_over_the_whole_record() -> None:
    half = [0] * (MOST_VALUES // 2)
    with pytest.raises(ValueError, match="more than 100000 values; write a long list as a text"):
        require_storable({"a": half, "b": half})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=4))
def test_what_is_storable_comes_back_unchanged(value: dict[str, Any]) -> None:
    assert require_storable(value) is value
