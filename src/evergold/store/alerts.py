"""Alerts in the tables: one open alert for each rule and subject, whichever server saw it first.

Times come from the caller, who has them from the database's clock.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, select, text

from evergold.model.operations import Alert, AlertDelivery, AlertEvent, AlertKind, DeliveryStatus, Reading
from evergold.store.schema import utc_now
from evergold.store.values import dumps, loads

LOOKED = "alerts.looked_at"
KEPT = 500  # alerts that are over; older ones are forgotten


def database_time(connection: Connection) -> str:
    """Read the database's clock, which is the same for every server."""
    return str(connection.execute(select(utc_now())).scalar_one())


def claim_look(connection: Connection, moment: str, not_since: str) -> bool:
    """Take this turn to look at the rules, unless a server has looked since then."""
    # One statement is both test and claim: of two servers only one gets a row back.
    free = "ON CONFLICT (name) DO UPDATE SET value = :now WHERE workspace_facts.value < :since"
    statement = f"INSERT INTO workspace_facts (name, value) VALUES (:name, :now) {free} RETURNING 1"
    params = {"name": LOOKED, "now": moment, "since": not_since}
    return connection.execute(text(statement), params).first() is not None


def looked_at(connection: Connection) -> str | None:
    """When a server last looked at the rules."""
    value = connection.execute(text("SELECT value FROM workspace_facts WHERE name = :name"), {"name": LOOKED}).scalar()
    return None if value is None else str(value)


def open_alert(connection: Connection, reading: Reading, moment: str) -> int | None:
    """Note that a rule fires; the id of the alert when it is a new one."""
    params: dict[str, Any] = {
        "rule": reading.rule,
        "kind": reading.kind.value,
        "subject": reading.subject,
        "said": reading.text,
        "details": dumps(reading.details),
        "now": moment,
    }
    # A partial unique index on (rule, subject) of open alerts makes a second insert do nothing.
    made = connection.execute(
        text(
            "INSERT INTO alerts (rule, kind, subject, text, details, opened_at, seen_at, notified_at) "
            "VALUES (:rule, :kind, :subject, :said, :details, :now, :now, :now) ON CONFLICT DO NOTHING RETURNING id"
        ),
        params,
    ).scalar()
    if made is None:
        connection.execute(
            text(
                "UPDATE alerts SET text = :said, details = :details, seen_at = :now, calm_since = NULL "
                "WHERE rule = :rule AND subject = :subject AND resolved_at IS NULL"
            ),
            params,
        )
    return None if made is None else int(made)


def calm_alert(connection: Connection, reading: Reading, moment: str, calm_before: str) -> int | None:
    """Note that a rule does not fire; the id of its alert when it has been calm long enough to be over."""
    params = {"rule": reading.rule, "subject": reading.subject, "now": moment, "before": calm_before}
    mine = "rule = :rule AND subject = :subject AND resolved_at IS NULL"
    # `calm_since` is set once and cleared when the rule fires again, so a flapping rule never counts as over.
    connection.execute(text(f"UPDATE alerts SET calm_since = :now WHERE {mine} AND calm_since IS NULL"), params)
    over = f"UPDATE alerts SET resolved_at = :now WHERE {mine} AND calm_since <= :before RETURNING id"
    alert_id = connection.execute(text(over), params).scalar()
    return None if alert_id is None else int(alert_id)


def close_unknown(connection: Connection, rules: Sequence[str], moment: str) -> None:
    """End alerts of rules that are no longer in the settings; nobody is notified of that."""
    known = "AND rule NOT IN :rules" if rules else ""
    statement = text(f"UPDATE alerts SET resolved_at = :now WHERE resolved_at IS NULL {known}")
    if rules:
        statement = statement.bindparams(bindparam("rules", expanding=True))
    connection.execute(statement, {"now": moment} | ({"rules": list(rules)} if rules else {}))


def due_reminders(connection: Connection, moment: str, before: str) -> list[int]:
    """Take the alerts that fire still and whose last notification is older than that."""
    statement = "UPDATE alerts SET notified_at = :now WHERE resolved_at IS NULL AND notified_at <= :before RETURNING id"
    return list(connection.execute(text(statement), {"now": moment, "before": before}).scalars())


def forget_old(connection: Connection) -> None:
    """Keep the newest alerts that are over, and every one that fires."""
    kept = "SELECT id FROM alerts WHERE resolved_at IS NOT NULL ORDER BY id DESC LIMIT :kept"
    statement = f"DELETE FROM alerts WHERE resolved_at IS NOT NULL AND id NOT IN ({kept})"
    connection.execute(text(statement), {"kept": KEPT})


def alerts_page(connection: Connection, *, firing_only: bool = False, limit: int = 100) -> list[Alert]:
    """List alerts: those that fire first, then the newest."""
    where = "WHERE resolved_at IS NULL" if firing_only else ""
    order = "CASE WHEN resolved_at IS NULL THEN 0 ELSE 1 END, opened_at DESC, id DESC"
    rows = connection.execute(
        text(f"SELECT * FROM alerts {where} ORDER BY {order} LIMIT :limit"), {"limit": limit}
    ).all()
    deliveries = _deliveries(connection, [row.id for row in rows])
    return [_alert(row, deliveries.get(row.id, ())) for row in rows]


def alert_by_id(connection: Connection, alert_id: int) -> Alert:
    """Read one alert that is known to exist."""
    row = connection.execute(text("SELECT * FROM alerts WHERE id = :id"), {"id": alert_id}).one()
    return _alert(row, _deliveries(connection, [alert_id]).get(alert_id, ()))


def _deliveries(connection: Connection, alert_ids: Sequence[int]) -> dict[int, tuple[AlertDelivery, ...]]:
    if not alert_ids:
        return {}
    query = text("SELECT * FROM alert_deliveries WHERE alert_id IN :ids ORDER BY id DESC")
    deliveries: dict[int, tuple[AlertDelivery, ...]] = {}
    for row in connection.execute(query.bindparams(bindparam("ids", expanding=True)), {"ids": list(alert_ids)}):
        pending = row.status == DeliveryStatus.PENDING
        delivery = AlertDelivery(
            id=row.id,
            event=AlertEvent(row.event),
            status=DeliveryStatus(row.status),
            tries=row.tries,
            error=row.error,
            next_try_at=row.next_at if pending else None,
            created_at=row.created_at,
            sent_at=row.sent_at,
        )
        deliveries[row.alert_id] = (*deliveries.get(row.alert_id, ()), delivery)
    return deliveries


def _alert(row: Any, deliveries: tuple[AlertDelivery, ...]) -> Alert:
    return Alert(
        id=row.id,
        rule=row.rule,
        kind=AlertKind(row.kind),
        subject=row.subject,
        text=row.text,
        details=loads(row.details),
        opened_at=row.opened_at,
        seen_at=row.seen_at,
        resolved_at=row.resolved_at,
        deliveries=deliveries,
    )
