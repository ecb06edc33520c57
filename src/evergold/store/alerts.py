"""Alerts in the tables: one open alert for each rule and subject, its notifications, and what rules are held against.

Whichever server sees an alert first opens it. Notifications are queued with their alert, taken by lease, and tried again until
they are given up. Times come from the caller, who has them from the database's clock.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from sqlalchemy import Connection

from evergold.model.operations import Alert, AlertDelivery, AlertEvent, DeliveryStatus, Reading
from evergold.store.database.rows import dumps, loads, read_column, read_value, rows_among, run_for_each, run_sql
from evergold.store.facts import fact, fact_to_change, put_fact

LOOKED, RULES, MUTED = "alerts.looked_at", "alerts.rules", "alerts.muted"  # facts of the workspace
KEPT = 500  # alerts that are over; older ones are forgotten
OPEN = "rule = :rule AND subject = :subject AND resolved_at IS NULL"


def stored_rules(connection: Connection) -> list[dict[str, Any]]:
    """The rules that people made in this workspace, as tables."""
    return list(loads(fact(connection, RULES) or "[]"))


def add_rule(connection: Connection, label: str, table: Mapping[str, Any]) -> None:
    """Store a rule; its label is its name, and one of the same name is replaced."""
    rules = [one for one in loads(fact_to_change(connection, RULES) or "[]") if one["name"] != label]
    put_fact(connection, RULES, dumps([*rules, {**table, "name": label}]))


def remove_rule(connection: Connection, label: str) -> bool:
    """Remove a stored rule; whether there was one."""
    rules = loads(fact_to_change(connection, RULES) or "[]")
    left = [one for one in rules if one["name"] != label]
    put_fact(connection, RULES, dumps(left))
    return len(left) < len(rules)


def mute_rule(connection: Connection, label: str, until: str | None) -> None:
    """Send no notification of a rule until then; None: send them again."""
    muted = {**loads(fact_to_change(connection, MUTED) or "{}"), label: until}
    put_fact(connection, MUTED, dumps({name: end for name, end in muted.items() if end is not None}))


def muted_rules(connection: Connection, moment: str) -> dict[str, str]:
    """The rules of which no notification is sent now, and until when."""
    return {name: end for name, end in loads(fact(connection, MUTED) or "{}").items() if end > moment}


def claim_look(connection: Connection, moment: str, not_since: str) -> bool:
    """Take this turn to look at the rules, unless a server has looked since then."""
    # One statement is both test and claim: of two servers only one gets a row back.
    free = "ON CONFLICT (name) DO UPDATE SET value = :now WHERE workspace_facts.value < :since"
    statement = f"INSERT INTO workspace_facts (name, value) VALUES (:name, :now) {free} RETURNING 1"
    return read_value(connection, statement, name=LOOKED, now=moment, since=not_since) is not None


def open_alert(connection: Connection, reading: Reading, moment: str) -> int | None:
    """Note that a rule fires; the id of the alert when it is a new one."""
    params = {"rule": reading.rule, "subject": reading.subject, "now": moment}
    params |= {"said": reading.text, "details": dumps(reading.details)}
    # A partial unique index on (rule, subject) of open alerts makes a second insert do nothing.
    insert = """INSERT INTO alerts (rule, kind, subject, text, details, opened_at, seen_at, notified_at)
        VALUES (:rule, :kind, :subject, :said, :details, :now, :now, :now) ON CONFLICT DO NOTHING RETURNING id"""
    made: int | None = read_value(connection, insert, **params, kind=reading.kind.value)
    if made is None:
        update = "UPDATE alerts SET text = :said, details = :details, seen_at = :now, calm_since = NULL"
        run_sql(connection, f"{update} WHERE {OPEN}", **params)
    return made


def calm_alert(connection: Connection, reading: Reading, moment: str, calm_before: str) -> int | None:
    """Note that a rule does not fire; the id of its alert when it has been calm long enough to be over."""
    params = {"rule": reading.rule, "subject": reading.subject, "now": moment}
    # `calm_since` is set once and cleared when the rule fires again, so a flapping rule never counts as over.
    run_sql(connection, f"UPDATE alerts SET calm_since = :now WHERE {OPEN} AND calm_since IS NULL", **params)
    over = f"UPDATE alerts SET resolved_at = :now WHERE {OPEN} AND calm_since <= :before RETURNING id"
    return cast("int | None", read_value(connection, over, **params, before=calm_before))


def close_unknown(connection: Connection, rules: Sequence[str], moment: str) -> None:
    """End alerts of rules that are no longer in the settings; nobody is notified of that."""
    # No rule has an empty name.
    close = "UPDATE alerts SET resolved_at = :now WHERE resolved_at IS NULL AND rule NOT IN :known"
    run_sql(connection, close, now=moment, known=tuple(rules) or ("",))


def due_reminders(connection: Connection, moment: str, before: str) -> list[int]:
    """Take the alerts that fire still and whose last notification is older than that."""
    statement = "UPDATE alerts SET notified_at = :now WHERE resolved_at IS NULL AND notified_at <= :before RETURNING id"
    return read_column(connection, statement, now=moment, before=before)


def forget_old(connection: Connection) -> None:
    """Keep the newest alerts that are over, and every one that fires."""
    kept = "SELECT id FROM alerts WHERE resolved_at IS NOT NULL ORDER BY id DESC LIMIT :kept"
    statement = f"DELETE FROM alerts WHERE resolved_at IS NOT NULL AND id NOT IN ({kept})"
    run_sql(connection, statement, kept=KEPT)


def alerts_page(connection: Connection, *, firing_only: bool = False, limit: int = 100) -> list[Alert]:
    """List alerts: those that fire first, then the newest."""
    where = "resolved_at IS NULL" if firing_only else "true"
    order = "CASE WHEN resolved_at IS NULL THEN 0 ELSE 1 END, opened_at DESC, id DESC"
    return _read_alerts(connection, f"SELECT * FROM alerts WHERE {where} ORDER BY {order} LIMIT :limit", limit=limit)


def alert_by_id(connection: Connection, alert_id: int) -> Alert:
    """Read one alert that is known to exist."""
    (alert,) = _read_alerts(connection, "SELECT * FROM alerts WHERE id = :id", id=alert_id)
    return alert


def _read_alerts(connection: Connection, query: str, **values: int) -> list[Alert]:
    """Read alerts with their notifications, the newest of these first."""
    rows = run_sql(connection, query, **values).all()
    deliveries: dict[int, list[AlertDelivery]] = {row.id: [] for row in rows}
    of_alerts = "SELECT * FROM alert_deliveries WHERE alert_id"
    for row in rows_among(connection, of_alerts, list(deliveries), "ORDER BY id DESC"):
        next_try = row.next_at if row.status == DeliveryStatus.PENDING else None
        deliveries[row.alert_id].append(AlertDelivery.model_validate({**row._mapping, "next_try_at": next_try}))
    own = [{"details": loads(row.details), "deliveries": deliveries[row.id]} for row in rows]
    return [Alert.model_validate({**row._mapping, **more}) for row, more in zip(rows, own, strict=True)]


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
    drop = """UPDATE alert_deliveries SET status = 'superseded' WHERE alert_id = :alert AND status = 'pending'
        AND (lease_until IS NULL OR lease_until <= :now)"""
    run_sql(connection, drop, alert=alert_id, now=moment)
    add = "INSERT INTO alert_deliveries (alert_id, event, next_at, created_at) VALUES (:alert, :event, :now, :now)"
    run_sql(connection, add, alert=alert_id, event=event.value, now=moment)


def take_delivery(connection: Connection, owner: str, moment: str, lease_until: str) -> TakenDelivery | None:
    """Take the notification that is due longest and that nobody holds."""
    # Two servers that look at once take different rows instead of waiting for one; SQLite has one writer anyway.
    skip = " FOR UPDATE SKIP LOCKED" if connection.dialect.name == "postgresql" else ""
    due = f"""SELECT id FROM alert_deliveries WHERE status = 'pending' AND next_at <= :now
        AND (lease_until IS NULL OR lease_until <= :now) ORDER BY next_at, id LIMIT 1{skip}"""
    statement = f"""UPDATE alert_deliveries SET owner = :owner, lease_until = :until, tries = tries + 1
        WHERE id = ({due}) RETURNING id, alert_id, event, tries, created_at"""
    row = run_sql(connection, statement, now=moment, owner=owner, until=lease_until).one_or_none()
    return None if row is None else TakenDelivery(*row)._replace(event=AlertEvent(row.event))


def settle_delivery(connection: Connection, taken: TakenDelivery, owner: str, moment: str) -> None:
    """Note that a notification was sent."""
    # `owner` guards against a server whose lease ran out: another one may be sending the notification by now.
    statement = """UPDATE alert_deliveries SET status = 'sent', sent_at = :now, error = '', lease_until = NULL, owner = NULL
        WHERE id = :id AND owner = :owner"""
    run_sql(connection, statement, id=taken.id, owner=owner, now=moment)


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
    run_sql(connection, statement, id=taken.id, owner=owner, error=error, next=next_at)


KEPT_SIZES_DAYS = 31


def scored_since(connection: Connection, name: str, since: str, below: float) -> tuple[int, int]:
    """Count the scores of a name among traces that began since then: all, and those below a value."""
    query = """SELECT count(*), coalesce(sum(CASE WHEN s.value < :below THEN 1 ELSE 0 END), 0)
        FROM traces t CROSS JOIN trace_scores s WHERE t.started_at >= :since AND s.trace_id = t.id AND s.name = :name"""
    scored, failing = run_sql(connection, query, below=below, since=since, name=name).one()
    return int(scored), int(failing)


def last_received(connection: Connection) -> str | None:
    """When the newest trace came; None when there is none."""
    return cast("str | None", read_value(connection, "SELECT received_at FROM traces ORDER BY seq DESC LIMIT 1"))


def keep_sizes(connection: Connection, sizes: dict[str, int], moment: str, forget_before: str) -> None:
    """Note the sizes of this hour: the largest of it stands."""
    largest = "CASE WHEN excluded.cases > dataset_sizes.cases THEN excluded.cases ELSE dataset_sizes.cases END"
    statement = f"""INSERT INTO dataset_sizes (dataset, hour, cases) VALUES (:dataset, :hour, :cases)
        ON CONFLICT (dataset, hour) DO UPDATE SET cases = {largest}"""
    rows = ({"dataset": name, "hour": moment[:13], "cases": cases} for name, cases in sizes.items())
    run_for_each(connection, statement, rows)
    run_sql(connection, "DELETE FROM dataset_sizes WHERE hour < :hour", hour=forget_before[:13])


def largest_since(connection: Connection, since: str) -> dict[str, int]:
    """Give the most cases that each dataset had since then, as far as it was noted."""
    query = "SELECT dataset, max(cases) FROM dataset_sizes WHERE hour >= :hour GROUP BY dataset"
    return {row[0]: int(row[1]) for row in run_sql(connection, query, hour=since[:13])}
