"""Cases held in little memory are the same cases."""

from evergold.model.tool_schemas import PackedCases
from tests.replays import flight_case, long_case


def test_packed_cases_are_a_sequence_of_the_same_cases() -> None:
    cases = [flight_case("a"), long_case("b", 3), flight_case("c", tags=("x",))]
    packed = PackedCases(iter(cases))
    assert list(packed) == cases and len(packed) == 3 and packed[-1] == cases[-1]
    assert isinstance(packed[:2], PackedCases) and list(packed[:2]) == cases[:2]
    assert list(packed) == cases, "it can be read again"
