"""Rules of alerts as they are read, what a webhook sends, and addresses that must not be shown."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evergold.alerts.rules import duration, read_rules
from evergold.alerts.stage import gate_readings
from evergold.alerts.webhook import Webhook, _outcome, message, signature, webhook_of
from evergold.errors import BadInput
from evergold.settings import Settings
from tests.rows import each_row


@each_row(
    ("text", "expected"),
    [
        ("30s", timedelta(seconds=30)),
        ("5 m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        (" 7d ", timedelta(days=7)),
    ],
)
def test_a_duration_is_a_number_and_a_unit(text: str, expected: timedelta) -> None:
    assert duration(text) == expected


@each_row("text", ["", "30", "m", "1.5h", "-1h", "1w", "1h 5m"])
def test_anything_else_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="use 30m, 12h, 7d"):
        duration(text)


@each_row(
    ("table", "reason"),
    [
        ({}, "kind"),
        ({"kind": "rain"}, "rain"),
        ({"kind": "failing_rate"}, "check"),
        ({"kind": "failing_rate", "check": "x", "above": 1.0}, "above"),
        ({"kind": "failing_rate", "check": "x", "window": "31d"}, "between 1s and 30d"),
        ({"kind": "failing_rate", "check": "x", "window": "0s"}, "between 1s and 30d"),
        ({"kind": "failing_rate", "check": "x", "window": "9" * 30 + "d"}, "between 1s and 30d"),
        ({"kind": "failing_rate", "check": "x", "least": 0}, "least"),
        ({"kind": "intake_stopped", "after": "soon"}, "use 30m"),
        ({"kind": "intake_stopped", "colour": 1}, "colour"),
        ({"kind": "dataset_drop", "by": 0}, "by"),
        ({"kind": "gate_failed", "name": "x" * 101}, "name"),
    ],
)
def test_a_wrong_rule_is_named_with_its_number(table: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadInput, match=reason) as refused:
        read_rules([{"kind": "gate_failed"}, table])
    assert "rule 2" in refused.value.message


def test_rules_are_labelled_by_name_or_kind_and_subject_and_no_two_alike() -> None:
    tables: list[dict[str, Any]] = [
        {"kind": "failing_rate", "check": "answered"},
        {"kind": "dataset_drop"},
        {"kind": "dataset_drop", "dataset": "live"},
        {"kind": "gate_failed", "name": "nightly"},
    ]
    labels = [rule.label for rule in read_rules(tables)]
    assert labels == ["failing_rate:answered", "dataset_drop", "dataset_drop:live", "nightly"]
    with pytest.raises(BadInput, match="there is another rule 'dataset_drop'; give one of them a name"):
        read_rules([*tables, {"kind": "dataset_drop"}])


def test_a_gate_is_read_by_the_rules_that_watch_its_dataset() -> None:
    rules = read_rules([{"kind": "gate_failed", "dataset": "d"}, {"kind": "gate_failed"}, {"kind": "intake_stopped"}])
    assert len(gate_readings(rules, "d", "m", passed=False, why="worse")) == 2
    (other,) = gate_readings(rules, "other", "m", passed=True, why="fine")
    assert not other.firing and other.subject == "other m" and "passed: fine" in other.text


@each_row("url", ["", "slack.com/x", "ftp://x/y", "https://", "file:///etc/passwd"])
def test_an_address_that_is_no_web_address_is_refused(url: str) -> None:
    with pytest.raises(BadInput, match="webhook is not a URL"):
        Webhook(url)


def test_of_an_address_only_the_host_is_shown() -> None:
    webhook = Webhook("https://user:secret@hooks.example.org:8443/services/T0/B0/token?x=1", key="k")
    assert webhook.shown == "https://hooks.example.org:8443/…" and webhook.signed
    assert not Webhook("http://localhost/x").signed


@each_row(
    ("status", "headers", "error", "wait"),
    [
        (200, {}, "", None),
        (204, {}, "", None),
        (302, {}, "redirects are not followed", None),
        (429, {"retry-after": "30"}, "answered 429", 30.0),
        (503, {"retry-after": "Fri, 02 Jan 2026 00:00:00 GMT"}, "answered 503", None),
        (500, {"retry-after": "²"}, "answered 500", None),
    ],
)
def test_what_an_answer_means(status: int, headers: dict[str, str], error: str, wait: float | None) -> None:
    posted = _outcome(status, headers)
    assert (error in posted.error if error else posted.error == "") and posted.wait_seconds == wait


@given(st.binary(max_size=40), st.integers(0, 2**40))
def test_a_signature_changes_with_body_time_and_key(body: bytes, moment: int) -> None:
    signed = signature(b"key", moment, body)
    assert signed == signature(b"key", moment, body) and signed.startswith("v1=")
    others = {
        signature(b"other", moment, body),
        signature(b"key", moment + 1, body),
        signature(b"key", moment, body + b"x"),
    }
    assert signed not in others


def test_text_for_slack_has_no_links_or_mentions_of_its_own() -> None:
    assert message("<!channel> & <http://x|y>", {}, "test")["text"] == "&lt;!channel&gt; &amp; &lt;http://x|y&gt;"


def test_secrets_come_from_the_environment_and_never_from_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "https://x.example/y")
    monkeypatch.setenv("KEY", "k")
    assert webhook_of(Settings()) is None
    made = webhook_of(Settings(alerts_webhook="env:HOOK", alerts_secret="env:KEY"))
    assert made is not None and made.shown == "https://x.example/…" and made.signed
    with pytest.raises(BadInput, match="'NONE', which is not set"):
        webhook_of(Settings(alerts_webhook="env:NONE"))
    with pytest.raises(BadInput, match=r"alerts\.secret holds a key"):
        webhook_of(Settings(alerts_webhook="https://x.example/y", alerts_secret="plain"))
