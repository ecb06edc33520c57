"""Values as they lie in the tables, figures of traces, and times that people write."""

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from evergold.errors import BadInput
from evergold.prices import add_costs
from evergold.store.conditions import MANY, Many, Pairs, parse_cutoff
from evergold.store.database.rows import (
    MOST,
    SpanRow,
    TraceRow,
    batches,
    dumps,
    figures_of,
    loads,
    make_storable,
    stamp,
    sum_figures,
    text_or_none,
)
from evergold.store.trace.compact import BASE_HEAD, SHARED_INPUT, SHARED_OUTPUT, heads_of, share_texts, unshare
from tests.rows import each_row


@each_row(
    ("moment", "text"),
    [
        (None, None),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC), "2026-01-02T03:04:05.678Z"),
        (datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC), "2026-01-02T03:04:05.678901Z"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=timezone(timedelta(hours=2))), "2026-01-02T01:04:05.000Z"),
    ],
)
def test_times_are_utc_text(moment: datetime | None, text: str | None) -> None:
    assert stamp(moment) == text


MOMENTS = st.datetimes(datetime(1970, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(tzinfo=UTC))


@given(MOMENTS, MOMENTS)
def test_stamps_sort_like_the_times_they_stand_for_to_the_millisecond(one: datetime, other: datetime) -> None:
    first, second = stamp(one), stamp(other)
    assert first is not None and second is not None
    if abs(one - other) >= timedelta(milliseconds=1):
        assert (first < second) == (one < other)
    assert datetime.fromisoformat(first) == one


@given(MOMENTS)
def test_a_cutoff_is_never_behind_a_stamp_of_the_same_moment(moment: datetime) -> None:
    text = stamp(moment)
    assert text is not None and parse_cutoff(text) <= text


@each_row(
    ("written", "cutoff"),
    [
        ("2026-01-02", "2026-01-02T00:00:00"),
        (" 2026-01-02T03:04:05Z ", "2026-01-02T03:04:05"),
        ("2026-01-02T03:04:05+02:00", "2026-01-02T01:04:05"),
        ("2026-01-02T03:04:05.678Z", "2026-01-02T03:04:05.678000"),
    ],
)
def test_cutoffs_are_read_as_people_write_them(written: str, cutoff: str) -> None:
    assert parse_cutoff(written) == cutoff


@each_row(
    ("written", "problem"),
    [
        ("yesterday", "cannot be read"),
        ("", "cannot be read"),
        ("0001-01-01T00:00:00+14:00", "outside the years 1 to 9999"),
    ],
)
def test_a_cutoff_that_is_no_time_is_refused(written: str, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        parse_cutoff(written)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(alphabet="a\x00\\u0é", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(alphabet="a\x00\\u0", max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def without_nul(value: Any) -> Any:
    if isinstance(value, str):
        return value.replace("\x00", "\ufffd")
    if isinstance(value, list):
        return [without_nul(item) for item in value]
    return {without_nul(key): without_nul(item) for key, item in value.items()} if isinstance(value, dict) else value


@given(JSON)
def test_json_holds_no_nul_and_is_otherwise_unchanged(value: Any) -> None:
    text = dumps(value)
    assert "\\u0000" not in text.replace("\\\\", "")
    assert orjson.loads(text) == without_nul(value)


@pytest.mark.parametrize("text", [None, ""])
def test_no_text_is_an_empty_object(text: str | None) -> None:
    assert loads(text) == {}


@each_row(("value", "kept"), [("a\x00b", "a�b"), ("", ""), (None, None), ("plain", "plain")])
def test_a_text_is_storable_without_nul(value: str | None, kept: str | None) -> None:
    assert make_storable(value) == kept


@each_row(("value", "kept"), [("m", "m"), (5, None), (["m"], None), (None, None)])
def test_only_a_text_stands_in_a_column_of_text(value: Any, kept: str | None) -> None:
    assert text_or_none(value) == kept


@given(st.lists(st.integers(), max_size=30), st.integers(1, 8))
def test_batches_lose_nothing_and_are_never_too_large(items: list[int], size: int) -> None:
    parts = list(batches(iter(items), size))
    assert [item for part in parts for item in part] == items
    assert all(0 < len(part) <= size for part in parts)


AT, LATER = "2026-01-01T00:00:00.000Z", "2026-01-01T00:00:01.500Z"


@each_row(
    ("started", "ended", "metadata", "expected"),
    [
        (AT, LATER, {}, (1500, None, None)),
        (LATER, AT, {}, (0, None, None)),
        (AT, None, {}, (None, None, None)),
        ("", LATER, {}, (None, None, None)),
        (AT, "never", {}, (None, None, None)),
        (None, None, {"input_tokens": 3, "output_tokens": 4}, (None, 7, None)),
        (None, None, {"total_tokens": 9, "input_tokens": 3}, (None, 9, None)),
        (None, None, {"input_tokens": "3", "output_tokens": True}, (None, None, None)),
        (None, None, {"total_tokens": -1, "input_tokens": 2}, (None, 2, None)),
        (None, None, {"input_tokens": MOST, "output_tokens": MOST}, (None, None, None)),
        (None, None, {"cost": 0}, (None, None, 0)),
        (None, None, {"cost": float("nan")}, (None, None, None)),
        (None, None, {"cost": 2 * MOST}, (None, None, None)),
    ],
)
def test_figures_of_a_trace(
    started: str | None, ended: str | None, metadata: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert figures_of(started, ended, metadata, add_costs(metadata, (), AT))[:3] == expected


def test_sums_of_steps_stand_in_where_the_trace_gives_no_figures() -> None:
    steps: list[dict[str, Any]] = [{"input_tokens": 3, "cost": 0.5}, {"input_tokens": 4, "cost": "x"}, {}]
    assert sum_figures({"a": 1}, steps) == {"a": 1, "input_tokens": 7}
    assert sum_figures({"total_tokens": 2}, steps) == {"total_tokens": 2}


@each_row(("given_value", "listed"), [(None, ()), ("a", ("a",)), (["a", "b"], ("a", "b"))])
def test_one_value_stands_for_a_list(given_value: Any, listed: tuple[str, ...]) -> None:
    assert TypeAdapter(Many).validate_python(given_value) == listed


def test_a_list_of_conditions_is_limited() -> None:
    with pytest.raises(ValidationError):
        TypeAdapter(Many).validate_python(["x"] * (MANY + 1))


@each_row("written", ["release", "=1", " =1", 'a"b=1'])
def test_a_metadata_condition_needs_a_key_and_a_sign(written: str) -> None:
    with pytest.raises(BadInput, match="write a key and a value"):
        TypeAdapter(Pairs).validate_python(written)


def a_row(question: str | None, answer: str | None) -> SpanRow:
    return SpanRow("t", "s", None, "n", "llm", question, answer, "completed", None, None, "{}", "{}", heads=(7,))


def a_trace_row(question: str, answer: str | None) -> TraceRow:
    return TraceRow("t", None, None, "", question, answer, "completed", None, None, AT, None, "[]", "{}", AT)


TEXT = st.none() | st.sampled_from(["", "Q", "A"])


@given(TEXT, TEXT, st.sampled_from(["", "Q"]), TEXT, st.booleans(), st.booleans())
def test_a_text_that_is_shared_with_the_trace_comes_back(
    question: str | None, answer: str | None, asked: str, answered: str | None, input: bool, output: bool
) -> None:
    row, trace = a_row(question, answer), a_trace_row(asked, answered)
    shared = share_texts(row, trace, input=input, output=output)
    assert unshare(shared, trace.input_text, trace.output_text) == row
    assert shared.shared & SHARED_INPUT == (input and bool(question) and question == asked)
    assert bool(shared.shared & SHARED_OUTPUT) == (output and bool(answer) and answer == answered)


def test_texts_that_begin_alike_have_the_same_head_and_short_ones_none() -> None:
    long = "x" * BASE_HEAD
    assert heads_of([("a", long + "1")]) == heads_of([("b", long + "2")]) != ()
    assert heads_of([("a", "x" * (BASE_HEAD - 1))]) == ()
