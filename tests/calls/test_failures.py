"""Errors of a model's endpoint: which class each is, how long to wait, and what is tried again."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from evergold.calls.caller import FATAL, CallFailure, RetryPolicy, classify, failed_attempt, retry_after
from tests.builders import a_case
from tests.rows import each_row


def answered(status: int, code: str | None = None, **headers: str) -> CallFailure:
    return classify(status, code, "no", headers)


@each_row(
    ("status", "code", "expected"),
    [
        (429, None, "rate_limit"),
        (429, "insufficient_quota", "quota"),
        (401, None, "auth"),
        (403, None, "auth"),
        (404, None, "unknown_model"),
        (408, None, "server"),
        (409, None, "server"),
        (500, None, "server"),
        (503, None, "server"),
        (400, None, "bad_request"),
        (422, None, "bad_request"),
        (301, None, "bad_request"),
    ],
)
def test_a_refusal_has_the_class_that_the_retry_policy_knows(status: int, code: str | None, expected: str) -> None:
    assert answered(status, code).error_class == expected


@each_row(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after-ms": "soon", "retry-after": "9"}, 9.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_the_wait_that_a_server_asks_for(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds


def test_a_date_is_a_wait_too_and_one_in_the_past_is_none() -> None:
    now = datetime.now(UTC)
    wait = retry_after({"retry-after": format_datetime(now + timedelta(hours=1), usegmt=True)})
    assert wait is not None and 3000 < wait <= 3600
    assert retry_after({"retry-after": format_datetime(now - timedelta(hours=1), usegmt=True)}) == 0.0


def test_a_rate_limit_carries_its_wait() -> None:
    assert answered(429, **{"retry-after": "7"}).retry_after == 7.0


@each_row(("error", "line"), [("a\n  b", "a b"), ("", "server"), ("  \n", "server"), ("x" * 600, "x" * 500)])
def test_a_failed_attempt_says_why_in_one_line(error: str, line: str) -> None:
    attempt = failed_attempt(a_case("c9"), 2, "server", error, 1.5)
    assert (attempt.error, attempt.case_id, attempt.trial, attempt.retry_after) == (line, "c9", 2, 1.5)


@each_row(
    ("error_class", "sends"),
    [
        ("rate_limit", 5),
        ("server", 5),
        ("connection", 5),
        ("timeout", 2),
        ("malformed", 2),
        ("bad_request", 1),
        ("target", 1),
        (None, 1),
        *((fatal, 1) for fatal in sorted(FATAL)),
    ],
)
def test_how_often_a_call_is_sent_depends_on_the_class_of_its_error(error_class: str | None, sends: int) -> None:
    policy = RetryPolicy(tries=5)
    assert [policy.wait(error_class, sent, None) is not None for sent in range(1, 7)] == [
        sent < sends for sent in range(1, 7)
    ]


def test_a_policy_of_one_try_never_sends_again() -> None:
    assert RetryPolicy(tries=1).wait("timeout", 1, None) is None


@given(st.integers(1, 30), st.integers(0, 10_000))
def test_waits_double_up_to_the_longest_and_never_fall_below_half(sent: int, seed: int) -> None:
    policy = RetryPolicy(tries=100, first_wait=0.5, longest_wait=60.0, dice=Random(seed))
    ceiling = min(60.0, 0.5 * 2 ** (sent - 1))
    wait = policy.wait("server", sent, None)
    assert wait is not None and ceiling / 2 <= wait <= ceiling


@each_row(("asked", "wait"), [(0.0, 0.0), (7.0, 7.0), (60.0, 60.0), (60.1, None)])
def test_a_servers_own_wait_wins_unless_it_is_too_long(asked: float, wait: float | None) -> None:
    assert RetryPolicy(longest_wait=60.0).wait("rate_limit", 1, asked) == wait
