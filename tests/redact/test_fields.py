"""Fields of a record: only those that are on are redacted, and keys say what their values are."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.redact.default import DefaultRedactor
from evergold.redact.fields import FIELDS, FieldRedactor, Keys, name_apart
from tests.rows import each_row

MAIL = "jo@example.com"


def test_a_field_that_is_off_is_kept() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), ["output"])
    assert cleaner.clean({"input": MAIL, "output": MAIL}) == {"input": MAIL, "output": "[EMAIL]"}
    assert cleaner.counts == {"EMAIL": 1}


def test_without_a_redactor_nothing_is_suspected_or_changed() -> None:
    cleaner = FieldRedactor(None, FIELDS)
    assert cleaner.clean({"input": MAIL}) == {"input": MAIL}
    assert cleaner.find_suspected([{"input": MAIL}]) == set() and not cleaner.suspects([MAIL])


def test_a_field_that_does_not_exist_is_named_with_those_that_do() -> None:
    with pytest.raises(BadInput, match=r"redact.fields: unknown field 'inputs'.*input"):
        FieldRedactor(DefaultRedactor(), ["inputs"])


def test_values_of_other_types_stay_as_they_are() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    values: dict[str, Any] = {"metadata": {"n": 4155552671, "ok": True, "none": None, "list": [MAIL, 1.5, (MAIL,)]}}
    assert cleaner.clean(values) == {
        "metadata": {"n": 4155552671, "ok": True, "none": None, "list": ["[EMAIL]", 1.5, ["[EMAIL]"]]}
    }


def test_a_secret_key_hides_any_text_behind_it_but_not_a_short_one() -> None:
    keys = Keys(DefaultRedactor())
    assert keys.redacted_value("password", "correct horse") == ("[SECRET]", {"SECRET": 1})
    assert keys.redacted_value("password", "short") is None
    assert keys.redacted_value("password", 123456789) is None
    assert keys.redacted_value("title", "correct horse") is None


def test_a_key_of_telephones_hides_numbers_and_nothing_else() -> None:
    keys = Keys(DefaultRedactor())
    assert keys.redacted_value("phone", "4155552671") == ("[PHONE]", {"PHONE": 1})
    assert keys.redacted_value("phone", "unlisted") is None


def test_a_private_key_does_not_count_for_its_value() -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    assert cleaner.clean({"metadata": {MAIL: "plain text"}}) == {"metadata": {"[EMAIL]": "plain text"}}
    assert cleaner.counts == {"EMAIL": 1}


@each_row(
    ("taken", "expected"),
    [
        ((), "[EMAIL]"),
        (("[EMAIL]",), "[EMAIL]#2"),
        (("[EMAIL]", "[EMAIL]#2"), "[EMAIL]#3"),
        (("[EMAIL]#2",), "[EMAIL]"),
    ],
)
def test_keys_that_became_equal_are_numbered(taken: tuple[str, ...], expected: str) -> None:
    assert name_apart("[EMAIL]", taken) == expected


class Plain:
    """A redactor without `suspicious`, as a plug-in may be."""

    def redact(self, text: str) -> tuple[str, dict[str, int]]:
        return text.replace(MAIL, "[EMAIL]"), {"EMAIL": text.count(MAIL)} if MAIL in text else {}


RECORDS = st.lists(
    st.recursive(
        st.sampled_from([MAIL, "plain text", "x", 7, None]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["a", "long_key", MAIL]), inner),
        max_leaves=6,
    ),
    max_size=5,
)


@given(RECORDS)
def test_records_are_suspected_alike_whether_the_redactor_can_look_or_not(records: list[Any]) -> None:
    fast, slow = FieldRedactor(DefaultRedactor(), FIELDS), FieldRedactor(Plain(), FIELDS)
    assert fast.find_suspected(records) == slow.find_suspected(records)


@given(RECORDS)
def test_after_cleaning_nothing_is_suspected(records: list[Any]) -> None:
    cleaner = FieldRedactor(DefaultRedactor(), FIELDS)
    clean = [cleaner.clean({"metadata": record})["metadata"] for record in records]
    assert cleaner.find_suspected(clean) == set()
