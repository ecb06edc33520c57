"""Numbers with units, dates and times as the offline judge reads them, in English and Spanish."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.judge.quantities import Quantity, dates, quantities, same_date, times
from evergold.judge.rules import RIGHT, grade_by_rule
from tests.rows import each_row


@each_row(
    ("text", "value", "dimension"),
    [
        ("5", 5.0, ""),
        ("5 km", 5000.0, "length"),
        ("5km", 5000.0, "length"),
        ("3.5 metres", 3.5, "length"),
        ("dos kilos", 2.0, "mass"),
        ("250 gramos", 0.25, "mass"),
        ("1,200", 1200.0, ""),
        ("1.200.000", 1_200_000.0, ""),
        ("12,50 €", 12.5, "euro"),
        ("$3.2", 3.2, "dollar"),
        ("£7", 7.0, "pound"),
        ("90 minutes", 5400.0, "time"),
        ("hora y media", None, ""),
        ("3 million euros", 3_000_000.0, "euro"),
        ("2 millones de dolares", 2_000_000.0, "dollar"),
        ("5k", 5000.0, ""),
        ("15 %", 0.15, "share"),
        ("30 por ciento", 0.3, "share"),
        ("72 km/h", 20.0, "speed"),
        ("20 degrees Celsius", 20.0, "celsius"),
        ("21 ºC", 21.0, "celsius"),
        ("180 GRADOS", 180.0, ""),
        ("a two-year warranty", 24.0, "months"),
        ("minus 4", -4.0, ""),
        ("-4", -4.0, ""),
        ("twenty-one", 21.0, ""),
        ("half", 0.5, ""),
        ("4 GB", 4.0 * 1024**3, "bytes"),
        ("H2O", None, ""),
        ("version_2", None, ""),
        ("one", None, ""),
        ("nothing here", None, ""),
    ],
)
def test_a_number_is_read_in_the_base_unit_of_its_dimension(text: str, value: float | None, dimension: str) -> None:
    read = quantities(text)
    if value is None:
        assert read == []
    else:
        (only,) = read
        assert only.value == pytest.approx(value) and only.dimension == dimension


@each_row("text", ["on 3 May 2024", "at 14:30", "el 5 de marzo de 2021", "7 pm", "2024-05-03"])
def test_dates_and_times_of_day_are_no_quantities(text: str) -> None:
    assert quantities(text) == []


@each_row(
    ("one", "other", "same"),
    [
        (Quantity(1000.0, "length"), Quantity(1000.0, "length"), True),
        (Quantity(1000.0, "length", 10.0), Quantity(1004.0, "length", 1.0), True),
        (Quantity(1000.0, "length", 10.0), Quantity(1006.0, "length", 1.0), False),
        (Quantity(1000.0, "length", 1.0), Quantity(1001.0, "length", 1.0), False),
        (Quantity(1e9, "bytes"), Quantity(1024.0**3, "bytes"), True),
        (Quantity(1e9, "bytes"), Quantity(1.1e9, "bytes"), False),
        (Quantity(5.0), Quantity(5.0, "length"), True),
        (Quantity(5.0, "mass"), Quantity(5.0, "length"), False),
        (Quantity(0.0), Quantity(0.0), True),
        (Quantity(0.0), Quantity(0.1), False),
    ],
)
def test_quantities_are_compared_by_value_and_dimension(one: Quantity, other: Quantity, same: bool) -> None:
    assert one.is_same(other) is same and other.is_same(one) is same


@each_row(
    ("text", "expected"),
    [
        ("2024-05-03", [(2024, 5, 3)]),
        ("3 May 2024", [(2024, 5, 3)]),
        ("May 3rd, 2024", [(2024, 5, 3)]),
        ("el 3 de mayo de 2024", [(2024, 5, 3)]),
        ("in May 2024", [(2024, 5, 0)]),
        ("on May 3", [(0, 5, 3)]),
        ("in 1998", [(1998, 0, 0)]),
        ("32 May 2024", [(2024, 5, 0)]),
        ("2024-13-03", [(2024, 0, 0)]),
        ("the year 3000", []),
        ("$1998", []),
        ("no date", []),
    ],
)
def test_dates_are_year_month_and_day_with_zeros_for_what_is_missing(
    text: str, expected: list[tuple[int, int, int]]
) -> None:
    assert dates(text) == expected


@each_row(
    ("expected", "given_date", "same"),
    [
        ((2024, 5, 3), (2024, 5, 3), True),
        ((2024, 0, 0), (2024, 5, 3), True),
        ((2024, 5, 3), (2024, 0, 0), False),
        ((0, 5, 3), (2024, 5, 3), True),
        ((2024, 5, 3), (2023, 5, 3), False),
    ],
)
def test_every_part_of_the_expected_date_must_be_there(
    expected: tuple[int, int, int], given_date: tuple[int, int, int], same: bool
) -> None:
    assert same_date(expected, given_date) is same


@each_row(
    ("text", "minutes"),
    [
        ("at 14:30", [870]),
        ("at 2:30 pm", [870]),
        ("12 am", [0]),
        ("12 pm", [720]),
        ("14h05", [845]),
        ("7 p.m.", [1140]),
        ("25:00", []),
        ("10:75", []),
        ("no time", []),
    ],
)
def test_times_are_minutes_after_midnight(text: str, minutes: list[int]) -> None:
    assert times(text) == minutes


@given(st.text(max_size=80))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    assert all(not math.isnan(one.value) for one in quantities(text))
    assert all(0 <= minute < 24 * 60 for minute in times(text))
    assert all(month <= 12 and day <= 31 for _, month, day in dates(text))


@given(st.integers(0, 10**9))
def test_a_number_is_the_same_with_and_without_its_separators(number: int) -> None:
    (bare,), (separated,) = quantities(f"x {number} x"), quantities(f"x {number:,} x")
    assert bare.is_same(separated)


def test_at_least_is_no_minus_and_two_numbers_may_be_a_date() -> None:
    assert [one.value for one in quantities("al menos 24 horas")] == [24 * 3600]
    graded = grade_by_rule("¿Cuándo empieza?", "Empieza el 12 de septiembre.", "Empieza el 12/9.")
    assert graded is not None and graded.value == RIGHT
