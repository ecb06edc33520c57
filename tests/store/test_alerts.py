"""Alerts, their notifications and the sizes of datasets in the tables, on both databases."""

from sqlalchemy import Connection

from evergold.model.operations import AlertEvent, AlertKind, DeliveryStatus, Reading
from evergold.store import Store
from evergold.store.alerts import (
    KEPT,
    LOOKED,
    alert_by_id,
    alerts_page,
    calm_alert,
    claim_look,
    close_unknown,
    due_reminders,
    forget_old,
    keep_sizes,
    largest_since,
    last_received,
    open_alert,
    postpone_delivery,
    queue_delivery,
    scored_since,
    settle_delivery,
    take_delivery,
)
from evergold.store.case.cases import dataset_names
from evergold.store.case.writes import Author, put_cases
from evergold.store.facts import fact
from evergold.store.trace.traces import put_traces
from tests.builders import a_case, a_score, a_trace


def at(minute: int) -> str:
    return f"2026-01-01T{minute // 60:02}:{minute % 60:02}:00.000Z"


def reading(rule: str = "failing", subject: str = "", text: str = "3 of 4 failed") -> Reading:
    return Reading(rule=rule, kind=AlertKind.FAILING_RATE, subject=subject, firing=True, text=text, details={"n": 4})


def test_one_alert_is_open_for_each_rule_and_subject(store: Store) -> None:
    def work(connection: Connection) -> None:
        first = open_alert(connection, reading(), at(0))
        assert first is not None and open_alert(connection, reading(text="4 of 5"), at(1)) is None
        other = open_alert(connection, reading(subject="live"), at(2))
        assert other is not None and other != first
        held = alert_by_id(connection, first)
        assert (held.text, held.opened_at, held.seen_at, held.firing) == ("4 of 5", at(0), at(1), True)
        assert calm_alert(connection, reading(), at(3), at(0)) is None, "calm for too short a time"
        assert open_alert(connection, reading(), at(4)) is None
        assert calm_alert(connection, reading(), at(5), at(4)) is None, "it fired in between"
        assert calm_alert(connection, reading(), at(9), at(5)) == first
        assert open_alert(connection, reading(), at(10)) not in (None, first)
        assert [alert.subject for alert in alerts_page(connection, firing_only=True)] == ["", "live"]
        assert due_reminders(connection, at(20), at(5)) == [other] and due_reminders(connection, at(21), at(5)) == []
        close_unknown(connection, ["failing"], at(30))
        assert len(alerts_page(connection, firing_only=True)) == 2
        close_unknown(connection, [], at(30))
        assert alerts_page(connection, firing_only=True) == [] and len(alerts_page(connection, limit=2)) == 2

    store.db.write(work)


def test_old_alerts_are_forgotten_and_those_that_fire_never(store: Store) -> None:
    def work(connection: Connection) -> None:
        open_alert(connection, reading("firing"), at(0))
        for number in range(KEPT + 3):
            open_alert(connection, reading(f"r{number}"), at(1))
        close_unknown(connection, ["firing"], at(2))
        forget_old(connection)
        page = alerts_page(connection, limit=KEPT + 10)
        assert len(page) == KEPT + 1 and page[0].rule == "firing"
        assert {"r0", "r1", "r2"}.isdisjoint(alert.rule for alert in page)

    store.db.write(work)


def test_a_notification_is_sent_by_one_server_at_a_time(store: Store) -> None:
    def work(connection: Connection) -> None:
        alert = open_alert(connection, reading(), at(0))
        assert alert is not None
        queue_delivery(connection, alert, AlertEvent.FIRING, at(0))
        taken = take_delivery(connection, "one", at(1), at(5))
        assert taken is not None and taken.tries == 1 and take_delivery(connection, "two", at(1), at(5)) is None
        postpone_delivery(connection, taken, "two", "not mine", at(2))
        assert take_delivery(connection, "two", at(3), at(9)) is None, "only who holds it puts it off"
        postpone_delivery(connection, taken, "one", "no route", at(10))
        assert take_delivery(connection, "two", at(9), at(20)) is None
        again = take_delivery(connection, "two", at(10), at(20))
        assert again is not None and again.tries == 2
        settle_delivery(connection, again, "one", at(11))
        settle_delivery(connection, again, "two", at(12))
        (sent,) = alert_by_id(connection, alert).deliveries
        assert (sent.status, sent.sent_at, sent.error, sent.next_try_at) == (DeliveryStatus.SENT, at(12), "", None)

    store.db.write(work)


def test_a_later_notification_takes_the_place_of_one_that_was_not_sent(store: Store) -> None:
    def work(connection: Connection) -> None:
        alert = open_alert(connection, reading(), at(0))
        assert alert is not None
        for event in (AlertEvent.FIRING, AlertEvent.REMINDER):
            queue_delivery(connection, alert, event, at(0))
        taken = take_delivery(connection, "one", at(1), at(5))
        assert taken is not None and taken.event is AlertEvent.REMINDER
        queue_delivery(connection, alert, AlertEvent.RESOLVED, at(2))
        postpone_delivery(connection, taken, "one", "no route", at(3))
        last = take_delivery(connection, "one", at(3), at(9))
        assert last is not None and last.event is AlertEvent.RESOLVED
        postpone_delivery(connection, last, "one", "gone", None)
        states = [delivery.status for delivery in alert_by_id(connection, alert).deliveries]
        assert states == [DeliveryStatus.GIVEN_UP, DeliveryStatus.SUPERSEDED, DeliveryStatus.SUPERSEDED]

    store.db.write(work)


def test_what_rules_look_at(store: Store) -> None:
    def work(connection: Connection) -> None:
        assert last_received(connection) is None and fact(connection, LOOKED) is None
        assert claim_look(connection, at(0), at(0)) and not claim_look(connection, at(1), at(0))
        assert claim_look(connection, at(9), at(5)) and fact(connection, LOOKED) == at(9)
        put_traces(
            connection,
            [
                a_trace("t1", started_at=at(0), scores=[a_score("ok", 0.1)]),
                a_trace("t2", started_at=at(5), scores=[a_score("ok", 0.1), a_score("other", 0.0)]),
                a_trace("t3", started_at=at(6), scores=[a_score("ok", 0.9)]),
            ],
        )
        assert scored_since(connection, "ok", at(5), 0.3) == (2, 1)
        assert scored_since(connection, "none", at(0), 0.3) == (0, 0) and last_received(connection) is not None
        put_cases(connection, [a_case("c1"), a_case("c2"), a_case("c3", dataset="other")], Author())
        assert dataset_names(connection) == {"live": 2, "other": 1}
        for minute, cases in ((0, 5), (1, 3), (60, 4)):
            keep_sizes(connection, {"live": cases}, at(minute), at(0))
        assert largest_since(connection, at(0)) == {"live": 5} and largest_since(connection, at(60)) == {"live": 4}
        keep_sizes(connection, {}, at(61), at(60))
        assert largest_since(connection, at(0)) == {"live": 4}

    store.db.write(work)
