import re
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.errors import BadInput
from evergold.text.markers import compile_pattern
from tests.rows import each_row


@each_row(
    ("pattern", "names"),
    [
        ("a(?=b)", "lookahead"),
        ("a(?!b)", "lookahead"),
        ("(?<=a)b", "lookbehind"),
        ("(?<!a)b", "lookbehind"),
        (r"(a)\1", "backreference"),
        ("(?P<x>a)(?P=x)", "backreference"),
        ("(a)?(?(1)b|c)", "condition"),
        ("(" * 5000, "5000 characters"),
        ("(" * 500, "not a regular expression"),
        ("(?:a{500}){500}", "not a regular expression"),
        ("[", "not a regular expression"),
        ("\ud800", "not a regular expression"),
    ],
)
def test_what_cannot_be_matched_in_linear_time_is_refused_by_name(pattern: str, names: str) -> None:
    with pytest.raises(BadInput, match=names):
        compile_pattern(pattern)


@each_row(
    ("pattern", "text"),
    [
        (r"^\w+$", "contraseña"),
        (r"\d+\Z", "en ٣٤"),
        (r"[\w.]+@[^\s]+", "josé@exämple.de"),
        ("(a+)+$", "a" * 5000 + "b"),
        (r"[]x]+", "]x]"),
        (r"[^]]", "a"),
        (r"\u00e9", "é"),
        ("a", "\ud800a"),
    ],
)
def test_patterns_match_as_in_python(pattern: str, text: str) -> None:
    if pattern != "(a+)+$":
        assert compile_pattern(pattern).search(text) == (re.search(pattern, text) is not None)
    assert compile_pattern(pattern).search(text) == (pattern != "(a+)+$")


@given(st.text(max_size=30))
def test_any_text_is_a_pattern_or_is_refused(pattern: str) -> None:
    with suppress(BadInput):
        compile_pattern(pattern).search("some text")


def test_the_first_match_is_a_group_or_all() -> None:
    assert compile_pattern(r"id=(\d+)").find_first("x id=42 y") == "42"
    assert compile_pattern(r"\d+").find_first("x 42") == "42"
    assert compile_pattern(r"\d+").find_first("x") is None
