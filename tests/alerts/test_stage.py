"""Alerts over a real store and a real HTTP receiver: once each, retried, never in the way."""

import hashlib
import hmac
import logging
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest

from evergold.alerts.service import Alerts
from evergold.alerts.webhook import Webhook
from evergold.errors import BadInput
from evergold.model.operations import Alert, AlertEvent, DeliveryStatus
from evergold.settings import Settings
from evergold.store import Store
from evergold.store.database.rows import stamp
from evergold.workspace.cases import Cases
from evergold.workspace.intake import Intake
from tests.alerts.receiver import Receiver, receiving
from tests.builders import a_case, a_score, a_trace

STOPPED = {"kind": "intake_stopped", "after": "30m"}
FAILING = {"kind": "failing_rate", "check": "no_pii", "above": 0.25, "window": "1h", "least": 4}
DROP = {"kind": "dataset_drop", "by": 0.2, "least": 4}
GATE = {"kind": "gate_failed"}


class Clock:
    """A clock that moves when a test says so."""

    def __init__(self) -> None:
        self.now = datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_time(self, **parts: float) -> None:
        self.now += timedelta(**parts)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def make(store: Store, clock: Clock) -> Callable[..., Alerts]:
    """A server's alerts; two of them share the store."""

    def made(*rules: dict[str, object], webhook: str = "", **more: object) -> Alerts:
        settings = Settings(alerts_rules=rules, alerts_webhook=webhook, **more)  # type: ignore[arg-type]
        return Alerts(store, settings, clock)

    return made


@pytest.fixture
def silent(store: Store, settings: Settings, clock: Clock) -> Store:
    """A store whose newest trace came an hour ago."""
    Intake(store, settings).accept([a_trace()])
    clock.pass_time(hours=1)
    return store


def only(alerts: Alerts) -> Alert:
    (alert,) = alerts.state().alerts
    return alert


def test_silence_is_one_alert_until_traces_come_again(
    make: Callable[..., Alerts], silent: Store, clock: Clock, settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving() as receiver, caplog.at_level(logging.WARNING, "evergold.alerts"):
        alerts = make(STOPPED, webhook=receiver.url)
        for _ in range(3):
            assert alerts.stage.look()
            alerts.stage.deliver_due()
            clock.pass_time(minutes=1)
        assert only(alerts).firing and len(receiver.got) == 1 and "newest trace came at" in receiver.texts[0]
        Intake(silent, settings).accept([a_trace("t2")])
        moment = clock.now.isoformat().replace("+00:00", "Z")
        silent.db.write(lambda c: c.exec_driver_sql(f"UPDATE traces SET received_at = '{moment}' WHERE id = 't2'"))
        alerts.stage.look()
        assert only(alerts).firing  # it is over when it has been calm for a while
        clock.pass_time(minutes=16)
        alerts.stage.look()
        alerts.stage.deliver_due()
        assert not only(alerts).firing
        assert [got.facts["event"] for got in receiver.got] == ["firing", "resolved"]
    assert [record.message.split(":")[0] for record in caplog.records] == ["alert 1 firing", "alert 1 resolved"]


def test_a_store_that_never_had_a_trace_is_not_silent(make: Callable[..., Alerts]) -> None:
    alerts = make(STOPPED)
    alerts.stage.look()
    assert alerts.state().alerts == []


def test_a_check_that_fails_too_often(
    make: Callable[..., Alerts], store: Store, settings: Settings, clock: Clock
) -> None:
    intake, alerts, start = Intake(store, settings), make(FAILING), clock.now
    old = start - timedelta(hours=2)
    bad, good = a_score(value=0.0), a_score(value=1.0)
    intake.accept([a_trace(f"old{n}", started_at=old, scores=[bad]) for n in range(9)])
    intake.accept([a_trace(f"b{n}", started_at=start, scores=[bad]) for n in range(3)])
    alerts.stage.look()
    assert alerts.state().alerts == []  # three scores of the window say nothing yet
    intake.accept([a_trace("g", started_at=start, scores=[good])])
    clock.pass_time(minutes=1)
    alerts.stage.look()
    found = only(alerts)
    window = {"window": "1h", "since": stamp(clock.now - timedelta(hours=1)), "below": 0.3}
    assert found.details | {"rate": 0} == {"check": "no_pii", "scored": 4, "failing": 3, "rate": 0} | window
    assert "3 of 4 traces (75.0%)" in found.text


def test_a_dataset_that_loses_cases(make: Callable[..., Alerts], store: Store, clock: Clock) -> None:
    cases, alerts = Cases(store), make(DROP)
    cases.put([a_case(f"c{number}", dataset="faq") for number in range(10)])
    alerts.stage.look()
    with store.db.read() as connection:
        assert connection.exec_driver_sql("SELECT cases FROM dataset_sizes").scalars().all() == [10]
    store.db.write(lambda c: c.exec_driver_sql("UPDATE eval_dataset SET status = 'withdrawn' WHERE case_id > 'c5'"))
    clock.pass_time(hours=2)
    alerts.stage.look()
    found = only(alerts)
    assert found.subject == "faq" and found.details["cases"] == 6 and "-40.0%" in found.text
    clock.pass_time(days=2)  # the new size is what the window knows
    alerts.stage.look()
    clock.pass_time(minutes=20)
    alerts.stage.look()
    assert not only(alerts).firing


def test_a_gate_fires_until_it_passes(make: Callable[..., Alerts]) -> None:
    with receiving() as receiver:
        alerts = make(GATE, webhook=receiver.url)
        alerts.gate("faq", "openai/m", passed=True, why="accuracy 0.9")
        alerts.gate("faq", "openai/m", passed=False, why="accuracy 0.1")
        alerts.gate("faq", "openai/m", passed=False, why="accuracy 0.2")
        alerts.gate("other", "openai/m", passed=False, why="accuracy 0.2")
        alerts.gate("faq", "openai/m", passed=True, why="accuracy 0.9")
        events = [(got.facts["event"], got.facts["subject"]) for got in receiver.got]
    assert events == [("firing", "faq openai/m"), ("firing", "other openai/m"), ("resolved", "faq openai/m")]


def test_a_gate_whose_webhook_is_missing_never_raises(make: Callable[..., Alerts]) -> None:
    make(GATE, webhook="env:NO_SUCH_VARIABLE").gate("faq", "m", passed=False, why="")


def test_what_is_posted_is_signed_and_reads_in_slack(
    make: Callable[..., Alerts], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK_KEY", "s3cret")
    with receiving() as receiver:
        alerts = make(GATE, webhook=receiver.url, alerts_secret="env:HOOK_KEY")
        alerts.gate("<!channel> & co", "m", passed=False, why="low")
        (got,) = receiver.got
    assert "&lt;!channel&gt; &amp; co" in got.text
    signed = b"v1:%b:%b" % (got.headers["x-evergold-timestamp"].encode(), got.body)
    assert got.headers["x-evergold-signature"] == "v1=" + hmac.new(b"s3cret", signed, hashlib.sha256).hexdigest()
    assert got.headers["x-evergold-delivery"] == "1" and got.headers["content-type"] == "application/json"


def test_two_servers_on_one_store_send_once(make: Callable[..., Alerts], silent: Store) -> None:
    with receiving() as receiver:
        servers = [make(STOPPED, webhook=receiver.url) for _ in range(4)]
        looked = [server.stage.look() for server in servers]
        threads = [Thread(target=server.stage.deliver_due) for server in servers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert looked == [True, False, False, False] and len(receiver.got) == 1


def test_a_notification_in_flight_is_left_to_its_server_until_the_lease_ends(
    make: Callable[..., Alerts], silent: Store, clock: Clock
) -> None:
    with receiving() as receiver:
        receiver.held = True
        first, second = make(STOPPED, webhook=receiver.url), make(STOPPED, webhook=receiver.url)
        first.stage.look()
        sending = Thread(target=first.stage.deliver_due)
        sending.start()
        receiver.wait_for(1)
        assert second.stage.deliver_due() == 0
        receiver.held = False
        clock.pass_time(seconds=61)  # the first server is taken for dead
        assert second.stage.deliver_due() == 1
        receiver.released.set()
        sending.join()
        assert [got.headers["x-evergold-delivery"] for got in receiver.got] == ["1", "1"]
        assert only(second).deliveries[0].status is DeliveryStatus.SENT


def down(receiver: Receiver) -> None:
    receiver.status = 500


def moved(receiver: Receiver) -> None:
    receiver.status, receiver.headers = 302, {"location": "http://127.0.0.1:1/"}


@pytest.mark.parametrize(("fault", "words"), [(down, "answered 500"), (moved, "redirects are not followed")])
def test_a_webhook_that_fails_for_a_day_is_tried_seldom_and_then_given_up(
    make: Callable[..., Alerts], silent: Store, clock: Clock, fault: Callable[[Receiver], None], words: str
) -> None:
    with receiving() as receiver:
        fault(receiver)
        alerts = make(STOPPED, webhook=receiver.url, alerts_repeat_hours=0.0)
        alerts.stage.look()
        for _ in range(26 * 4):
            alerts.stage.deliver_due()
            clock.pass_time(minutes=15)
        last = only(alerts).deliveries[0]
        assert last.status is DeliveryStatus.GIVEN_UP and words in last.error and last.next_try_at is None
        assert 20 <= last.tries == len(receiver.got) <= 40
        receiver.status, receiver.headers = 200, {}
        assert alerts.stage.deliver_due() == 0


def test_a_webhook_that_comes_back_gets_the_latest_word_once(
    make: Callable[..., Alerts], silent: Store, clock: Clock
) -> None:
    with receiving() as receiver:
        receiver.status = 503
        alerts = make(STOPPED, webhook=receiver.url, alerts_repeat_hours=2.0)
        for _ in range(10):
            alerts.stage.look()
            alerts.stage.deliver_due()
            clock.pass_time(hours=1)
        receiver.status = 204
        clock.pass_time(hours=1)
        alerts.stage.deliver_due()
        alerts.stage.deliver_due()
        statuses = [delivery.status for delivery in only(alerts).deliveries]
        assert statuses[0] is DeliveryStatus.SENT and set(statuses[1:]) == {DeliveryStatus.SUPERSEDED}
        assert receiver.got[-1].facts["event"] == AlertEvent.REMINDER and receiver.texts[-1].startswith("Still firing")


def test_a_receiver_that_asks_to_wait_is_obeyed(make: Callable[..., Alerts], silent: Store, clock: Clock) -> None:
    with receiving() as receiver:
        receiver.status, receiver.headers = 429, {"retry-after": "600"}
        alerts = make(STOPPED, webhook=receiver.url)
        alerts.stage.look()
        assert alerts.stage.deliver_due() == 1
        clock.pass_time(seconds=599)
        assert alerts.stage.deliver_due() == 0
        clock.pass_time(seconds=2)
        assert alerts.stage.deliver_due() == 1


def test_a_receiver_that_never_answers_or_is_not_there_is_an_error_in_time() -> None:
    with receiving() as receiver:
        receiver.held = True
        posted = Webhook(receiver.url, seconds=0.2).post({"text": "x"}, "1", 0)
        assert (
            posted.error == f"http://127.0.0.1:{receiver.url.split(':')[2].split('/')[0]}/… did not answer within 0.2 s"
        )
    assert "cannot be reached" in Webhook(receiver.url).post({"text": "x"}, "1", 0).error


def test_a_rule_that_was_taken_out_ends_its_alert_in_silence(
    make: Callable[..., Alerts], silent: Store, clock: Clock
) -> None:
    make(STOPPED).stage.look()
    clock.pass_time(minutes=2)
    make(FAILING).stage.look()
    assert not only(make(FAILING)).firing


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"alerts_rules": ({"kind": "intake_stop"},)}, "did you mean 'intake_stopped'"),
        ({"alerts_rules": ({"kind": "intake_stopped", "afer": "3m"},)}, "did you mean 'after'"),
        ({"alerts_rules": ({"kind": "intake_stopped", "after": "3x"},)}, "use 30m"),
        (
            {"alerts_rules": ({"kind": "failing_rate", "check": "a", "above": 7},)},
            "above: is 7; it must be less than 1",
        ),
        ({"alerts_rules": (STOPPED, STOPPED)}, "give one of them a name"),
        ({"alerts_webhook": "ftp://x"}, "http://"),
        ({"alerts_webhook": "http://x", "alerts_secret": "plain"}, "env:NAME"),
        ({"alerts_webhook": "env:NO_SUCH_VARIABLE"}, "NO_SUCH_VARIABLE"),
        ({"alerts_every_seconds": 0}, "1 or more"),
    ],
)
def test_wrong_settings_are_one_line(store: Store, given: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput) as problem:
        Alerts(store, Settings(**given)).start()  # type: ignore[arg-type]
    assert words in problem.value.message and "plain" not in problem.value.message
