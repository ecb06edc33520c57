"""Numbers, fractions, decades and times of day in words are read as digits, in English and Spanish."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.judge.quantities import dates, quantities, times, with_digits
from tests.rows import each_row


@each_row(
    ("text", "value"),
    [
        ("seventeen thousand four hundred", 17_400),
        ("two million three hundred thousand", 2_300_000),
        ("one hundred and five", 105),
        ("ninety-nine", 99),
        ("three fifths", 0.6),
        ("four and a half", 4.5),
        ("treinta y seis", 36),
        ("quinientas", 500),
        ("tres millones", 3_000_000),
        ("dos mil quinientos", 2_500),
        ("un tercio", 1 / 3),
        ("7.2bn", 7_200_000_000),
        ("3 mil millones", 3_000_000_000),
        ("3.14", 3.14),
        ("el cinco por ciento", 0.05),
        ("the sixteenth century", 16),
        ("one billion two million", 1_002_000_000),
    ],
)
def test_numbers_in_words(text: str, value: float) -> None:
    assert [one.value for one in quantities(text)] == [pytest.approx(value, rel=1e-4)]


@each_row("text", ["no one came", "once upon a time", "una casa", "the other half-brother's book on art"])
def test_words_that_are_mostly_no_numbers_stay(text: str) -> None:
    assert with_digits(text).split()[0] == text.split()[0]
    assert not [one for one in quantities(text) if one.value >= 1]


@each_row(
    ("text", "minutes"),
    [
        ("half past four in the afternoon", 16 * 60 + 30),
        ("ten to three", 2 * 60 + 50),
        ("eleven o'clock", 11 * 60),
        ("six in the evening", 18 * 60),
        ("a las nueve y media de la noche", 21 * 60 + 30),
        ("a las once menos diez de la mañana", 10 * 60 + 50),
        ("noon", 12 * 60),
        ("7.30 pm", 19 * 60 + 30),
        ("12 am", 0),
    ],
)
def test_times_of_day_in_words(text: str, minutes: int) -> None:
    assert times(text) == [minutes]


def test_a_date_with_strokes_is_read_in_either_order_where_both_are_possible() -> None:
    assert set(dates("07/08/2021")) == {(2021, 8, 7), (2021, 7, 8)}
    assert dates("25/12/2020") == [(2020, 12, 25)]


@given(st.text(max_size=80))
def test_any_text_is_read(text: str) -> None:
    assert isinstance(with_digits(text), str)
    assert isinstance(times(text), list) and isinstance(quantities(text), list)
