"""Changes of the curation rules, in and out. The newest one holds; none is ever overwritten."""

from sqlalchemy import Connection, func, insert, select, text

from evergold.errors import Conflict
from evergold.model.policy import NewRules, RulesChange
from evergold.store.schema import rule_changes
from evergold.store.values import loads, now

SHOWN = 50


def newest_number(connection: Connection) -> int:
    """Give the number of the newest change; 0 where nobody has changed anything."""
    return int(connection.execute(select(func.coalesce(func.max(rule_changes.c.id), 0))).scalar_one())


def changes_of_rules(connection: Connection, most: int = SHOWN) -> list[RulesChange]:
    """List the changes, newest first."""
    query = select(rule_changes).order_by(rule_changes.c.id.desc()).limit(most)
    return [
        RulesChange(
            number=row["id"],
            rules=loads(row["body"]),
            who=row["who"],
            why=row["why"],
            created_at=row["created_at"],
        )
        for row in connection.execute(query).mappings()
    ]


def keep_rules(connection: Connection, chosen: NewRules, who: str) -> None:
    """Store a change, unless somebody stored one since the rules it was made from."""
    held = newest_number(connection)
    if held != chosen.base:
        raise Conflict(
            f"the rules were changed meanwhile (change {held}, yours began at {chosen.base}); read them again, then save"
        )
    row = {"body": chosen.rules.model_dump_json(), "who": who, "why": chosen.why, "created_at": now()}
    connection.execute(insert(rule_changes), row)


def requeue_all(connection: Connection) -> None:
    """Queue every trace for curation."""
    statement = "INSERT INTO curation_queue (trace_id) SELECT id FROM traces WHERE true ON CONFLICT DO NOTHING"
    connection.execute(text(statement))
