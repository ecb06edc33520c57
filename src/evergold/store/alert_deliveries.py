"""Notifications that wait to be sent: queued with their alert, taken by lease, tried again until they are given up."""

from typing import NamedTuple

from sqlalchemy import Connection, text

from evergold.model.operations import AlertEvent, DeliveryStatus

LATER = "EXISTS (SELECT 1 FROM alert_deliveries x WHERE x.alert_id = d.alert_id AND x.id > d.id)"


class TakenDelivery(NamedTuple):
    """A notification that this server may send until its lease is over. `tries` counts this one too."""

    id: int
    alert_id: int
    event: AlertEvent
    tries: int
    created_at: str


def queue_delivery(connection: Connection, alert_id: int, event: AlertEvent, moment: str) -> None:
    """Queue a notification; one of the same alert that nobody is sending just now is not sent any more."""
    idle = "(lease_until IS NULL OR lease_until <= :now)"
    connection.execute(
        text(
            "UPDATE alert_deliveries SET status = 'superseded' "
            f"WHERE alert_id = :alert AND status = 'pending' AND {idle}"
        ),
        {"alert": alert_id, "now": moment},
    )
    connection.execute(
        text("INSERT INTO alert_deliveries (alert_id, event, next_at, created_at) VALUES (:alert, :event, :now, :now)"),
        {"alert": alert_id, "event": event.value, "now": moment},
    )


def take_delivery(connection: Connection, owner: str, moment: str, lease_until: str) -> TakenDelivery | None:
    """Take the notification that is due longest and that nobody holds."""
    # Two servers that look at once take different rows instead of waiting for one; SQLite has one writer anyway.
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    due = f"""SELECT id FROM alert_deliveries WHERE status = 'pending' AND next_at <= :now
        AND (lease_until IS NULL OR lease_until <= :now) ORDER BY next_at, id LIMIT 1{skip}"""
    statement = f"""UPDATE alert_deliveries SET owner = :owner, lease_until = :until, tries = tries + 1
        WHERE id = ({due}) RETURNING id, alert_id, event, tries, created_at"""
    row = connection.execute(text(statement), {"now": moment, "owner": owner, "until": lease_until}).one_or_none()
    return (
        None if row is None else TakenDelivery(row.id, row.alert_id, AlertEvent(row.event), row.tries, row.created_at)
    )


def settle_delivery(connection: Connection, taken: TakenDelivery, owner: str, moment: str) -> None:
    """Note that a notification was sent."""
    # `owner` guards against a server whose lease ran out: another one may be sending the notification by now.
    statement = """UPDATE alert_deliveries SET status = 'sent', sent_at = :now, error = '', lease_until = NULL, owner = NULL
        WHERE id = :id AND owner = :owner"""
    connection.execute(text(statement), {"id": taken.id, "owner": owner, "now": moment})


def postpone_delivery(
    connection: Connection, taken: TakenDelivery, owner: str, error: str, next_at: str | None
) -> None:
    """Note why a notification could not be sent, and when it is tried again; None: never. One that a later notification of
    its alert followed meanwhile is left to that."""
    # PostgreSQL cannot infer the type of a parameter that only stands in IS NULL, hence the cast.
    status = f"""CASE WHEN {LATER} THEN '{DeliveryStatus.SUPERSEDED.value}'
        WHEN CAST(:next AS text) IS NULL THEN '{DeliveryStatus.GIVEN_UP.value}' ELSE 'pending' END"""
    statement = f"""UPDATE alert_deliveries AS d SET status = {status}, error = :error, next_at = coalesce(:next, next_at),
        lease_until = NULL, owner = NULL WHERE d.id = :id AND d.owner = :owner"""
    connection.execute(text(statement), {"id": taken.id, "owner": owner, "error": error, "next": next_at})
