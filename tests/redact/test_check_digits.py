"""Check digits: every rule takes numbers that its issuer published as examples, and refuses them with one digit changed."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from evergold.redact import identity as check
from tests.rows import each_row

VALID: list[tuple[Callable[[str], bool], str]] = [
    (check.iban, "GB82WEST12345698765432"),
    (check.iban, "DE89370400440532013000"),
    (check.iban, "FR1420041010050500013M02606"),
    (check.iban, "NO9386011117947"),
    (check.luhn, "4111111111111111"),
    (check.luhn, "378282246310005"),
    (check.luhn, "046 454 286"),
    (check.us_ssn, "270-90-4452"),
    (check.spanish, "12345678Z"),
    (check.spanish, "12345678-z"),
    (check.spanish, "X1234567L"),
    (check.spanish, "Z1234567R"),
    (check.brazilian, "111.444.777-35"),
    (check.brazilian, "52998224725"),
    (check.british, "QQ123456C"),
    (check.dutch, "111222333"),
    (check.polish, "44051401359"),
    (check.polish, "02070803628"),
    (check.chinese, "11010519491231002X"),
    (check.chinese, "440524188001010014"),
    (check.italian, "RSSMRA85T10A562S"),
    (check.french, "2 55 08 14 168 025 38"),
    (check.chilean, "30.686.957-4"),
    (check.chilean, "12.345.678-5"),
    (check.swedish, "811218-9876"),
    (check.swedish, "640823-3234"),
    (check.german, "86095742719"),
    (check.german, "47036892816"),
    (check.indian, "2341 2341 2346"),
    (check.mexican, "HEGG560427MVZRRL04"),
]


@each_row(("rule", "number"), VALID)
def test_a_published_number_passes(rule: Callable[[str], bool], number: str) -> None:
    assert rule(number)


@each_row(
    ("rule", "number"),
    [
        (check.iban, "GB82WEST12345698765433"),
        (check.iban, "DE88370400440532013000"),
        (check.luhn, "4111111111111112"),
        (check.us_ssn, "000-12-3456"),
        (check.us_ssn, "666-12-3456"),
        (check.us_ssn, "900-12-3456"),
        (check.us_ssn, "123-00-4567"),
        (check.us_ssn, "123-45-0000"),
        (check.spanish, "12345678A"),
        (check.spanish, "W1234567L"),
        (check.brazilian, "111.111.111-11"),
        (check.brazilian, "111.444.777-36"),
        (check.british, "GB123456C"),
        (check.british, "zz123456c"),
        (check.dutch, "111222334"),
        (check.polish, "44051401358"),
        (check.polish, "44131401350"),
        (check.chinese, "110105194912310021"),
        (check.chinese, "11010519491331002X"),
        (check.italian, "RSSMRA85T10A562T"),
        (check.french, "2 55 08 14 168 025 39"),
        (check.chilean, "12.345.678-K"),
        (check.swedish, "811318-9876"),
        (check.swedish, "811218-9875"),
        (check.german, "06095742719"),
        (check.german, "86095742710"),
        (check.german, "12345678903"),
        (check.indian, "2341 2341 2347"),
        (check.mexican, "HEGG560427MVZRRL05"),
    ],
)
def test_a_number_that_was_never_given_out_fails(rule: Callable[[str], bool], number: str) -> None:
    assert not rule(number)


FINDS_EVERY_DIGIT = [
    (check.iban, "DE89370400440532013000", 2),
    (check.luhn, "4111111111111111", 0),
    (check.spanish, "12345678Z", 0),
    (check.dutch, "111222333", 0),
    (check.french, "255081416802538", 0),
    (check.indian, "234123412346", 0),
]


@given(st.sampled_from(FINDS_EVERY_DIGIT), st.integers(0, 40), st.integers(1, 9))
def test_one_wrong_digit_is_always_noticed(
    known: tuple[Callable[[str], bool], str, int], place: int, step: int
) -> None:
    rule, number, first = known
    at = first + place % (len(number) - first)
    if number[at].isdecimal():
        changed = f"{number[:at]}{(int(number[at]) + step) % 10}{number[at + 1 :]}"
        assert not rule(changed)


@given(st.text(alphabet="0123456789", min_size=1, max_size=18))
def test_luhn_has_exactly_one_check_digit_for_any_number(digits: str) -> None:
    assert sum(check.luhn(f"{digits}{last}") for last in range(10)) == 1


@given(st.text(alphabet="0123456789", min_size=3, max_size=11))
def test_verhoeff_notices_two_neighbours_that_changed_places(digits: str) -> None:
    whole = next(f"{digits}{last}" for last in range(10) if check.indian(f"{digits}{last}"))
    for at in range(len(whole) - 1):
        swapped = f"{whole[:at]}{whole[at + 1]}{whole[at]}{whole[at + 2 :]}"
        assert check.indian(swapped) == (swapped == whole)
